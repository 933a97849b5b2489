-- The servers and the database, as a document; $1: whether a pooler stands before it.
SELECT jsonb_build_object(
    'now_ms', (extract(epoch FROM clock_timestamp()) * 1000)::int8, 'planner', s.owner, 'lease_left_ms', CASE WHEN s.owner = '' THEN 0
        ELSE greatest(0, extract(epoch FROM s.until - clock_timestamp()) * 1000)::int8 END,
    'servers', (SELECT coalesce(jsonb_agg(m.server ORDER BY m.server ->> 'name', m.server ->> 'address'), '[]') FROM (
        SELECT jsonb_build_object('id', w.id, 'name', w.name, 'host', w.host, 'address', w.address, 'version', w.version,
            'labels', w.labels, 'capacity', w.capacity, 'is_leaving', w.is_leaving,
            'running', (SELECT count(*) FROM mainspring.open_run AS r WHERE r.worker = w.id AND r.assigned IS NOT NULL),
            'silent_ms', greatest(0, extract(epoch FROM clock_timestamp() - w.renewed) * 1000)::int8,
            'is_planner', s.owner <> '' AND w.server = s.server) FROM mainspring.worker AS w
        -- A planner that carries nothing out.
        UNION ALL SELECT jsonb_build_object('name', s.owner, 'address', s.address, 'silent_ms', 0, 'is_planner', true)
            WHERE s.owner <> '' AND NOT EXISTS (SELECT FROM mainspring.worker AS w WHERE w.server = s.server)) AS m (server)),
    'lost', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', h.id, 'host', h.host,
            'since_ms', greatest(0, extract(epoch FROM clock_timestamp() - h.gone_at) * 1000)::int8) ORDER BY h.id), '[]')
        FROM mainspring.worker_life AS h WHERE h.gone = 'lost' AND clock_timestamp() - interval '1 h' < h.gone_at),
    'takeovers', s.takeovers, 'fenced', s.fenced,
    'inbox_waiting', (SELECT count(*) FROM mainspring.inbox AS i WHERE i.refusal = '' AND NOT i.is_taken),
    'inbox_refused', (SELECT count(*) FROM mainspring.inbox AS i WHERE i.refusal <> ''),
    'inbox_oldest_ms', (SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(i.at)) * 1000)::int8
        FROM mainspring.inbox AS i WHERE i.refusal = '' AND NOT i.is_taken), 'database', jsonb_build_object(
        'version', current_setting('server_version'), 'synchronous_commit', current_setting('synchronous_commit'),
        'role', quote_ident(current_user), 'standbys', (SELECT count(*) FROM pg_stat_replication),
        'synchronous_standbys', (SELECT count(*) FROM pg_stat_replication AS r WHERE r.sync_state IN ('sync', 'quorum')),
        'wants_synchronous', current_setting('synchronous_standby_names') <> '',
        -- Without pg_read_all_stats a role sees NULL of others.
        'unseen_standbys', (SELECT count(*) FROM pg_stat_replication AS r WHERE r.sync_state IS NULL),
        'unseen_sessions', (SELECT count(*) FROM pg_stat_activity AS a
            WHERE a.datname = current_database() AND a.usesysid IS NOT NULL AND a.backend_type IS NULL),
        'oldest_transaction_ms', (SELECT coalesce(max(greatest(0,
                extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)), 0)::int8
            FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.backend_type = 'client backend'),
        'oldest_xmin_age', (SELECT coalesce(max(age(x.xmin)), 0)::int8 FROM (
            SELECT a.backend_xmin FROM pg_stat_activity AS a
            UNION ALL SELECT r.xmin FROM pg_replication_slots AS r) AS x (xmin)),
        'dead_rows', (SELECT coalesce(sum(t.n_dead_tup), 0)::int8 FROM pg_stat_user_tables AS t WHERE t.schemaname = 'mainspring'),
        'live_rows', (SELECT coalesce(sum(t.n_live_tup), 0)::int8 FROM pg_stat_user_tables AS t WHERE t.schemaname = 'mainspring'),
        'may_migrate', has_schema_privilege('mainspring', 'CREATE'), 'is_pooled', $1::bool,
        -- Where another role may create what a session, or a pooler's, looks for.
        'others_create_in', (SELECT coalesce(jsonb_agg(p.place ORDER BY p.place), '[]') FROM (
            SELECT 'the schema ' || n.nspname, n.nspowner, coalesce(n.nspacl, acldefault('n', n.nspowner))
                FROM pg_namespace AS n WHERE n.nspname IN ('mainspring', 'pg_catalog', 'public')
            UNION ALL SELECT 'the database ' || d.datname, d.datdba, coalesce(d.datacl, acldefault('d', d.datdba))
                FROM pg_database AS d WHERE d.datname = current_database()) AS p (place, owner, acl)
            WHERE EXISTS (SELECT FROM aclexplode(p.acl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
                WHERE a.privilege_type = 'CREATE' AND a.grantee <> p.owner
                AND NOT coalesce(r.rolsuper OR r.rolname = session_user, false)))))::text
FROM mainspring.planner AS s
