-- Format 11: of one-shot jobs out of the journal those that have succeeded with their first attempt are kept in packs, some hundreds
-- in one row. A run and its attempt are rows with six entries of indexes; in a pack they are two hundred bytes beside what they
-- carry. Who looks for them has the packs opened that may have them, and then they are rows as all others. Most are never looked for,
-- and retention drops them a pack at a time.

-- Each array has a place for each job. What is not here is the same for all of them: the cause is `once`, the series 0, the state
-- `succeeded`, the attempt 1, and there is no reason and no crash.
CREATE TABLE mainspring.pack (
    shard int8 NOT NULL, first_number int8 NOT NULL, last_number int8 NOT NULL, count int8 NOT NULL, server uuid, epoch int8 NOT NULL,
    first_nominal int8 NOT NULL, last_nominal int8 NOT NULL, first_ended int8 NOT NULL, last_ended int8 NOT NULL,
    nominal int8[] NOT NULL, number int8[] NOT NULL, due int8[] NOT NULL, planned int8[] NOT NULL, started int8[] NOT NULL,
    ended int8[] NOT NULL, priority int8[] NOT NULL, name text[] NOT NULL, kind text[] NOT NULL, body text[] NOT NULL,
    policies text[] NOT NULL, work_group text[] NOT NULL, outcome text[] NOT NULL,
    -- Not a number of a job: after the promotion of a standby that lacks some, numbers may come twice.
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY
) WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX pack_shard ON mainspring.pack (shard);
-- To compress it costs more than all else that is done for it.
DO $$
DECLARE
    big text;
BEGIN
    FOR big IN SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = 'mainspring.pack'::regclass AND a.attndims = 1 LOOP
        EXECUTE format('ALTER TABLE mainspring.pack ALTER %I SET STORAGE EXTERNAL', big);
    END LOOP;
END $$;
SELECT mainspring.grant_as_before('pack');

-- A server of the format before has `settle` called if there is a row in `journal`, and then finds all it reads as rows.
ALTER TABLE mainspring.journal RENAME TO entry;
CREATE VIEW mainspring.journal AS SELECT e.* FROM mainspring.entry AS e
    UNION ALL SELECT e.* FROM mainspring.pack AS p LEFT JOIN mainspring.entry AS e ON false;
SELECT mainspring.grant_as_before('journal');
CREATE FUNCTION mainspring.write_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mainspring.entry VALUES (NEW.*);
    RETURN NEW;
END $$;
CREATE TRIGGER write_entry INSTEAD OF INSERT ON mainspring.journal FOR EACH ROW EXECUTE FUNCTION mainspring.write_entry();

-- As in format 10, of the table as it is called now.
DO $$
DECLARE
    former regprocedure;
BEGIN
    FOREACH former IN ARRAY ARRAY['mainspring.settle_rows(int8, int8[], text)', 'mainspring.settle(int8, int8[])']::regprocedure[] LOOP
        EXECUTE replace(pg_get_functiondef(former), 'mainspring.journal', 'mainspring.entry');
    END LOOP;
END $$;

-- Makes rows of packs of a shard, which the caller has locked. Rows that somebody has written by hand stay, and the runs
-- in whose place they are do not count.
CREATE FUNCTION mainspring.open_packs(p_shard int8, p_ids int8[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    doubled int8;
BEGIN
    WITH p AS MATERIALIZED (
        DELETE FROM mainspring.pack AS p WHERE p.shard = p_shard AND p.id = ANY (p_ids) RETURNING p.*
    ), runs AS MATERIALIZED (
        SELECT p.server, p.epoch, u.* FROM p, UNNEST(p.nominal, p.due, p.planned, p.started, p.ended, p.priority, p.name, p.kind,
            p.body, p.policies, p.work_group, p.outcome)
            AS u (nominal, due, planned, started, ended, priority, name, kind, body, policies, work_group, outcome)
    ), over AS (
        INSERT INTO mainspring.history (job, nominal, series, shard, cause, state, attempt, due, planned, started, ended, outcome,
            reason, kind, body, policies, work_group, priority, deaths, forgiven)
        SELECT r.name, r.nominal, 0, p_shard, 'once', 'succeeded', 1, r.due, r.planned, r.started, r.ended, r.outcome,
            '', r.kind, r.body, r.policies, r.work_group, r.priority, 0, 0 FROM runs AS r
        ON CONFLICT DO NOTHING RETURNING 1
    ), begun AS (
        INSERT INTO mainspring.attempt (job, nominal, series, number, started, ended, state, outcome, server, epoch)
        SELECT r.name, r.nominal, 0, 1, r.started, r.ended, 'succeeded', r.outcome, r.server, r.epoch FROM runs AS r
        ON CONFLICT DO NOTHING
    ) SELECT (SELECT count(*) FROM runs) - (SELECT count(*) FROM over) INTO doubled;
    IF doubled <> 0 THEN
        UPDATE mainspring.shard AS s SET runs = s.runs - doubled WHERE s.shard = p_shard;
    END IF;
END $$;

-- The shard is locked before its packs are touched, by readers too, and that with the lesser number first: so no two wait for each other.
CREATE FUNCTION mainspring.lock_shard(p_shard int8) RETURNS void LANGUAGE sql AS $$
    SELECT FROM mainspring.shard AS s WHERE s.shard = p_shard FOR NO KEY UPDATE
$$;

-- All packs, for those who read everything.
CREATE FUNCTION mainspring.open_packs() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    each int8;
BEGIN
    FOR each IN SELECT DISTINCT p.shard FROM mainspring.pack AS p ORDER BY p.shard LOOP
        PERFORM mainspring.lock_shard(each);
        PERFORM mainspring.open_packs(each, ARRAY(SELECT p.id FROM mainspring.pack AS p WHERE p.shard = each));
    END LOOP;
END $$;

-- Those that have one of these jobs.
CREATE FUNCTION mainspring.open_packs_of(p_numbers int8[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT p.shard, array_agg(p.id) AS packs FROM mainspring.pack AS p
        WHERE EXISTS (SELECT FROM UNNEST(p_numbers) AS u (number) WHERE p.first_number <= u.number AND u.number <= p.last_number
            AND u.number = ANY (p.number)) GROUP BY p.shard ORDER BY p.shard
    LOOP
        PERFORM mainspring.lock_shard(found.shard);
        PERFORM mainspring.open_packs(found.shard, found.packs);
    END LOOP;
END $$;

-- Those that may have a run of a page: the newest first, until there are as many rows that are newer than what is left in packs. A
-- null shard stands for all. `p_rows` says which rows are on the page, if their time is; where it is empty that is not known, and all
-- packs are opened that the times allow.
CREATE FUNCTION mainspring.open_page(p_shard int8, by_end bool, p_since int8, p_until int8, p_limit int8, p_rows text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    pack record;
    each int8;
    is_locked bool := false;
    newer int8;
BEGIN
    LOOP
        SELECT p.shard, p.id, CASE WHEN by_end THEN p.last_ended ELSE p.last_nominal END AS newest INTO pack
            FROM mainspring.pack AS p WHERE coalesce(p.shard = p_shard, true)
                AND CASE WHEN by_end THEN p.first_ended ELSE p.first_nominal END <= p_until
                AND p_since <= CASE WHEN by_end THEN p.last_ended ELSE p.last_nominal END
            ORDER BY 3 DESC LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF p_rows <> '' THEN
            -- Each half has an index.
            EXECUTE replace('SELECT count(*) FROM ((SELECT FROM mainspring.history WHERE cause = ''once'' AND some LIMIT $4)
                    UNION ALL (SELECT FROM mainspring.history WHERE cause <> ''once'' AND some LIMIT $4)) AS f', 'some',
                format('%s AND $1 < %I AND %2$I < $2 AND coalesce(shard = $3, true)', p_rows,
                    CASE WHEN by_end THEN 'ended' ELSE 'nominal' END))
                INTO newer USING pack.newest, p_until, p_shard, p_limit;
            EXIT WHEN p_limit <= newer;
        END IF;
        IF NOT is_locked THEN
            FOR each IN SELECT DISTINCT p.shard FROM mainspring.pack AS p WHERE coalesce(p.shard = p_shard, true) ORDER BY p.shard LOOP
                PERFORM mainspring.lock_shard(each);
            END LOOP;
            is_locked := true;
            CONTINUE;
        END IF;
        PERFORM mainspring.open_packs(pack.shard, ARRAY[pack.id]);
    END LOOP;
END $$;

-- As in format 10, and all packs are opened: for people, for servers of the format before, and for copies.
ALTER FUNCTION mainspring.settle() RENAME TO settle_entries;
CREATE OR REPLACE FUNCTION mainspring.settle_entries() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    each int8;
BEGIN
    FOR each IN SELECT DISTINCT e.shard FROM mainspring.entry AS e ORDER BY e.shard LOOP
        PERFORM mainspring.settle(each, '{}');
    END LOOP;
END $$;
CREATE FUNCTION mainspring.settle() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM mainspring.settle_entries();
    PERFORM mainspring.open_packs();
END $$;

-- A copy is one snapshot, and nothing else here is: it has the packs opened, too. Who takes a shard need not wait for that.
CREATE OR REPLACE FUNCTION mainspring.settle_left() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    each int8;
BEGIN
    FOR each IN SELECT DISTINCT s.shard FROM mainspring.shard AS s JOIN mainspring.entry AS e ON e.shard = s.shard
        WHERE s.owner = '' OR s.until + interval '1 s' < clock_timestamp() ORDER BY s.shard
    LOOP
        PERFORM mainspring.settle(each, '{}');
    END LOOP;
    IF current_setting('transaction_isolation') = 'repeatable read' THEN
        PERFORM mainspring.open_packs();
    END IF;
    RETURN NULL;
END $$;

-- As in format 8, of runs that are rows: a pack is of one shard.
ALTER FUNCTION mainspring.spread_1(int8, text[], int8[], text[], int8[]) RENAME TO spread_rows;
CREATE FUNCTION mainspring.spread_1(p_count int8, p_jobs text[], p_shards int8[], p_groups text[], p_group_shards int8[])
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE mainspring.shard IN EXCLUSIVE MODE;
    PERFORM mainspring.open_packs();
    RETURN mainspring.spread_rows(p_count, p_jobs, p_shards, p_groups, p_group_shards);
END $$;

-- Settles the journal of a shard by what its owner knows of it: which of its jobs go into a pack (`k_`), and what else there is,
-- which becomes its one entry. Of that what is not in `p_keep` goes into the tables, if there is something (`has_rest` is 1). If somebody
-- else has settled it meanwhile, it is as with `settle_1`.
CREATE FUNCTION mainspring.settle_2(p_shard int8, p_epoch int8, p_token text, p_times int8, p_batch int8, p_keep int8[], has_rest int8,
    k_nominal int8[], k_number int8[], k_due int8[], k_planned int8[], k_started int8[], k_ended int8[], k_priority int8[],
    k_name text[], k_kind text[], k_body text[], k_policies text[], k_work_group text[], k_outcome text[],
    s_due int8[], s_number int8[], s_submitted int8[], s_priority int8[], s_name text[], s_kind text[], s_body text[],
    s_policies text[], s_work_group text[], r_number int8[], r_due int8[], r_planned int8[], r_started int8[], r_state text[],
    b_number int8[], b_at int8[], e_number int8[], e_at int8[], e_deaths int8[], e_state text[], e_outcome text[], e_reason text[],
    m_number int8[], m_due int8[], m_at int8[], m_state text[], m_reason text[],
    OUT status text, OUT times int8, OUT kept bool) LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    -- As many as a pruning drops at most: so a pack is dropped at once.
    max_jobs CONSTANT int8 := 1000;
    v_server uuid;
    prunes jsonb[];
BEGIN
    SELECT s.settled = p_times, s.server INTO kept, v_server FROM mainspring.shard AS s
        WHERE s.shard = p_shard AND s.epoch = p_epoch AND s.token = p_token::uuid FOR NO KEY UPDATE;
    status := CASE WHEN FOUND THEN 'done' ELSE 'fenced' END;
    kept := coalesce(kept, false);
    IF status = 'fenced' THEN
        RETURN;
    ELSIF NOT kept THEN
        times := mainspring.settle(p_shard, '{}');
        RETURN;
    END IF;
    prunes := ARRAY(SELECT u.op FROM mainspring.entry AS e, UNNEST(e.prunes) AS u (op) WHERE e.shard = p_shard ORDER BY e.epoch, e.batch);
    DELETE FROM mainspring.entry AS e WHERE e.shard = p_shard;
    INSERT INTO mainspring.pack
        SELECT p_shard, n.first, n.last, n.count, v_server, p_epoch, n.first_nominal, n.last_nominal, n.first_ended, n.last_ended,
            k_nominal[i:j], k_number[i:j], k_due[i:j], k_planned[i:j], k_started[i:j], k_ended[i:j], k_priority[i:j], k_name[i:j],
            k_kind[i:j], k_body[i:j], k_policies[i:j], k_work_group[i:j], k_outcome[i:j]
        FROM generate_series(1, cardinality(k_number), max_jobs) AS i, LATERAL (SELECT i + max_jobs - 1 AS j) AS last, LATERAL (
            SELECT min(u.number) AS first, max(u.number) AS last, count(*) AS count, min(u.nominal) AS first_nominal,
                max(u.nominal) AS last_nominal, min(u.ended) AS first_ended, max(u.ended) AS last_ended
            FROM UNNEST(k_number[i:j], k_nominal[i:j], k_ended[i:j]) AS u (number, nominal, ended)) AS n;
    IF 0 < cardinality(s_number) + cardinality(prunes) THEN
        INSERT INTO mainspring.entry VALUES (p_shard, p_epoch, p_batch, v_server, s_due, s_number, s_submitted, s_priority, s_name,
            s_kind, s_body, s_policies, s_work_group, r_number, r_due, r_planned, r_started, r_state, b_number, b_at, e_number,
            e_at, e_deaths, e_state, e_outcome, e_reason, m_number, m_due, m_at, m_state, m_reason, prunes);
    END IF;
    UPDATE mainspring.shard AS s SET runs = s.runs + cardinality(k_number) WHERE s.shard = p_shard;
    IF has_rest <> 0 OR 0 < cardinality(prunes) THEN
        times := mainspring.settle(p_shard, p_keep);
    ELSE
        UPDATE mainspring.shard AS s SET settled = s.settled + 1 WHERE s.shard = p_shard RETURNING s.settled INTO times;
    END IF;
END $$;

-- As in format 2, but that a number that is submitted again may be that of a job in a pack.
ALTER FUNCTION mainspring.submit_all(int8, int8[], int8[], int8[], text[], int8[], text[], int8[], text[], text[], text[], text[], int8[])
    RENAME TO submit_rows;
CREATE FUNCTION mainspring.submit_all(p_shard int8, p_ordinal int8[], p_due int8[], p_number int8[], p_name text[],
    p_is_named int8[], p_key text[], p_submitted int8[], p_kind text[], p_body text[], p_policies text[],
    p_work_group text[], p_priority int8[]) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM mainspring.pack AS p
        WHERE p.shard = p_shard AND (SELECT min(u.number) FROM UNNEST(p_number) AS u (number)) <= p.last_number) THEN
        PERFORM mainspring.open_packs(p_shard, ARRAY(SELECT p.id FROM mainspring.pack AS p
            WHERE p.shard = p_shard AND p.number && p_number));
    END IF;
    RETURN mainspring.submit_rows(p_shard, p_ordinal, p_due, p_number, p_name, p_is_named, p_key, p_submitted, p_kind, p_body,
        p_policies, p_work_group, p_priority);
END $$;

-- One operation, as in format 9. What it is about may be in a pack: a submission names its number, all else the run.
ALTER FUNCTION mainspring.apply(int8, int8, uuid, jsonb, int8[]) RENAME TO apply_to_rows;
CREATE FUNCTION mainspring.apply(p_shard int8, p_epoch int8, p_server uuid, op jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    v_name text := coalesce(op ->> 'job', op -> 'once' ->> 'name', op -> 'run' ->> 'job');
    found int8[];
BEGIN
    IF op ->> 'op' IN ('submit', 'plan', 'begin', 'end', 'clear', 'move') AND v_name LIKE 'once-%'
        AND NOT EXISTS (SELECT FROM mainspring.open_run AS r WHERE r.job = v_name) THEN
        found := ARRAY(SELECT p.id FROM mainspring.pack AS p WHERE p.shard = p_shard AND v_name = ANY (p.name));
        IF 0 < cardinality(found) THEN
            PERFORM mainspring.open_packs(p_shard, found);
        END IF;
    END IF;
    SELECT a.counts, a.answer INTO counts, answer FROM mainspring.apply_to_rows(p_shard, p_epoch, p_server, op, counts) AS a;
END $$;

-- As in format 7, of what is in packs too: a pack goes at once if all in it goes, and one that may lose a part is opened before.
ALTER FUNCTION mainspring.prune(int8, jsonb, int8[]) RENAME TO prune_rows;
CREATE FUNCTION mainspring.prune(p_shard int8, op jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    pack record;
    v_keep int8 := (op ->> 'keep')::int8;
    v_before int8 := (op ->> 'before')::int8;
    v_limit int8 := (op ->> 'limit')::int8;
    packed int8 := 0;
BEGIN
    IF op ->> 'job' IS NULL THEN
        FOR pack IN SELECT p.id, p.count, p.first_nominal, p.last_nominal FROM mainspring.pack AS p WHERE p.shard = p_shard
            ORDER BY p.last_nominal, p.id
        LOOP
            IF v_keep <= mainspring.newer(p_shard, pack.last_nominal + 1, true, v_keep) THEN
                -- One that is more than may go now goes with the next pruning.
                v_limit := CASE WHEN pack.count <= v_limit THEN v_limit - pack.count ELSE -1 END;
                EXIT WHEN v_limit < 0;
                PERFORM mainspring.drop_pack(pack.id);
                counts[4] := counts[4] - pack.count;
            ELSIF v_keep < mainspring.newer(p_shard, pack.first_nominal, false, v_keep + 1) THEN
                PERFORM mainspring.open_packs(p_shard, ARRAY[pack.id]);
            END IF;
        END LOOP;
        -- Those that are left are among the newest that are kept. Of these some are too old all the same: what goes leaves its place
        -- empty.
        FOR pack IN SELECT p.id, p.count, p.first_ended, p.last_ended FROM mainspring.pack AS p WHERE p.shard = p_shard AND 0 <= v_limit
            ORDER BY p.last_nominal, p.id
        LOOP
            packed := packed + pack.count;
            IF pack.last_ended < v_before THEN
                v_limit := CASE WHEN pack.count <= v_limit THEN v_limit - pack.count ELSE -1 END;
                EXIT WHEN v_limit < 0;
                PERFORM mainspring.drop_pack(pack.id);
                counts[4] := counts[4] - pack.count;
            ELSIF pack.first_ended < v_before THEN
                PERFORM mainspring.open_packs(p_shard, ARRAY[pack.id]);
                packed := packed - pack.count;
            END IF;
        END LOOP;
    END IF;
    IF v_limit < 0 THEN
        answer := 'N';
        RETURN;
    END IF;
    -- What is or was in those is newer than the rows that are too many.
    SELECT p.counts, p.answer INTO counts, answer FROM mainspring.prune_rows(p_shard,
        op || jsonb_build_object('keep', greatest(v_keep - packed, 0), 'limit', v_limit), counts) AS p;
END $$;

-- How many ended runs of one-shot jobs of a shard have a time from `p_from` on: of packs those that have such times alone (`is_whole`),
-- or that have such a time. Rows are counted up to so many, and dead letters are not.
CREATE FUNCTION mainspring.newer(p_shard int8, p_from int8, is_whole bool, p_most int8) RETURNS int8 LANGUAGE sql AS $$
    SELECT coalesce((SELECT sum(p.count) FROM mainspring.pack AS p
            WHERE p.shard = p_shard AND p_from <= CASE WHEN is_whole THEN p.first_nominal ELSE p.last_nominal END), 0)::int8
        + (SELECT count(*) FROM (SELECT FROM mainspring.history AS r WHERE r.cause = 'once' AND r.shard = p_shard
            AND r.state <> 'dead' AND p_from <= r.nominal LIMIT p_most) AS f)
$$;

-- With what its runs have written.
CREATE FUNCTION mainspring.drop_pack(p_id int8) RETURNS void LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM mainspring.pack AS p WHERE p.id = p_id RETURNING p.name, p.nominal
    ) DELETE FROM mainspring.output AS o USING gone AS g, UNNEST(g.name, g.nominal) AS u (name, nominal)
        WHERE o.job = u.name AND o.nominal = u.nominal AND o.series = 0
$$;
