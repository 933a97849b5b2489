-- Format 5: which servers there are, how often the jobs were taken over, and one document of all that for people.
CREATE TABLE mainspring.tally (name text PRIMARY KEY, count int8 NOT NULL);

CREATE FUNCTION mainspring.count_1(p_name text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO mainspring.tally AS t (name, count) VALUES (p_name, 1)
        ON CONFLICT (name) DO UPDATE SET count = t.count + 1
$$;

-- In the transaction that takes the shard. A process that asks again because it did not hear the answer has not taken it twice.
CREATE FUNCTION mainspring.count_takeover() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM mainspring.count_1('takeover ' || coalesce(NEW.takeover, 'unknown'));
    RETURN NULL;
END $$;
CREATE TRIGGER count_takeover AFTER UPDATE OF epoch ON mainspring.shard FOR EACH ROW
    WHEN (NEW.epoch <> OLD.epoch AND (OLD.owner = '' OR NEW.server IS DISTINCT FROM OLD.server OR 0 < OLD.batch))
    EXECUTE FUNCTION mainspring.count_takeover();

-- A server says that it is there. Most calls write nothing; servers that were silent for an hour are forgotten.
CREATE FUNCTION mainspring.seen_1(p_id text, p_name text, p_address text, p_version text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM mainspring.server AS s WHERE s.id = p_id::uuid AND clock_timestamp() < s.seen + interval '4 s') THEN
        RETURN;
    END IF;
    INSERT INTO mainspring.server AS s (id, name, address, version, seen)
        VALUES (p_id::uuid, p_name, p_address, p_version, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET name = p_name, address = p_address, version = p_version, seen = clock_timestamp();
    DELETE FROM mainspring.server AS s WHERE s.seen < clock_timestamp() - interval '1 h';
END $$;

CREATE FUNCTION mainspring.cluster_1(p_shard int8, p_is_pooled bool) RETURNS text LANGUAGE sql AS $$
    SELECT jsonb_build_object(
        'owner', s.owner,
        'lease_left_ms', CASE WHEN s.owner = '' THEN 0
            ELSE greatest(0, extract(epoch FROM s.until - clock_timestamp()) * 1000)::int8 END,
        'servers', (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'name', m.name, 'address', m.address, 'version', m.version,
            'silent_ms', greatest(0, extract(epoch FROM clock_timestamp() - m.seen) * 1000)::int8,
            'is_owner', s.owner <> '' AND m.id = s.server) ORDER BY m.name, m.address), '[]') FROM mainspring.server AS m),
        'takeovers', (SELECT coalesce(jsonb_object_agg(substr(t.name, 10), t.count), '{}')
            FROM mainspring.tally AS t WHERE t.name LIKE 'takeover %'),
        'fenced', (SELECT coalesce(sum(t.count), 0)::int8 FROM mainspring.tally AS t WHERE t.name = 'fenced'),
        'inbox_waiting', (SELECT count(*) FROM mainspring.inbox AS i WHERE i.refusal = ''),
        'inbox_refused', (SELECT count(*) FROM mainspring.inbox AS i WHERE i.refusal <> ''),
        'inbox_oldest_ms', (SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(i.at)) * 1000)::int8
            FROM mainspring.inbox AS i WHERE i.refusal = ''),
        'database', jsonb_build_object(
            'version', current_setting('server_version'),
            'synchronous_commit', current_setting('synchronous_commit'),
            'standbys', (SELECT count(*) FROM pg_stat_replication),
            'synchronous_standbys', (SELECT count(*) FROM pg_stat_replication AS r WHERE r.sync_state IN ('sync', 'quorum')),
            'wants_synchronous', current_setting('synchronous_standby_names') <> '',
            'oldest_transaction_ms', (SELECT coalesce(max(greatest(0,
                    extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)), 0)::int8
                FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.backend_type = 'client backend'),
            'oldest_xmin_age', (SELECT coalesce(max(age(x.xmin)), 0)::int8 FROM (
                SELECT a.backend_xmin FROM pg_stat_activity AS a
                UNION ALL SELECT r.xmin FROM pg_replication_slots AS r) AS x (xmin)),
            'dead_rows', (SELECT coalesce(sum(t.n_dead_tup), 0)::int8 FROM pg_stat_user_tables AS t
                WHERE t.schemaname = 'mainspring'),
            'live_rows', (SELECT coalesce(sum(t.n_live_tup), 0)::int8 FROM pg_stat_user_tables AS t
                WHERE t.schemaname = 'mainspring'),
            'may_migrate', has_schema_privilege('mainspring', 'CREATE'),
            'is_pooled', p_is_pooled)
        )::text FROM mainspring.shard AS s WHERE s.shard = p_shard
$$;
