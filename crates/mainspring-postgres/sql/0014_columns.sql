-- Format 12: in the journal and in packs a column whose rows are alike has one row. Of the twenty numbers and texts that an entry has
-- of a job nine are the same for most, and five of the thirteen of a pack: each costs as much as another to read from the network and to
-- store.

-- All rows of a column that stands beside one of so many.
CREATE FUNCTION mainspring.whole(p_column anyarray, p_count int8) RETURNS anyarray LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN pg_catalog.cardinality(p_column) OPERATOR(pg_catalog.=) 1 AND 1 OPERATOR(pg_catalog.<) p_count
        THEN pg_catalog.array_fill(p_column[1], ARRAY[p_count::integer]) ELSE p_column END
$$;

-- Some rows of such a column, in the same form.
CREATE FUNCTION mainspring.part(p_column anyarray, p_first int4, p_last int4) RETURNS anyarray LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN pg_catalog.cardinality(p_column) OPERATOR(pg_catalog.=) 1 THEN p_column ELSE p_column[p_first:p_last] END
$$;

-- As in format 10.
CREATE OR REPLACE FUNCTION mainspring.settle_rows(p_shard int8, p_keep int8[], p_otherwise text, OUT counts int8[]) LANGUAGE plpgsql
SET enable_hashjoin = on SET enable_mergejoin = on SET enable_nestloop = off SET jit = off SET work_mem = '32MB' AS $$
BEGIN
    EXECUTE replace($sql$ WITH j AS MATERIALIZED (
        DELETE FROM mainspring.entry AS j WHERE j.shard = $1 RETURNING j.*
    ), s AS (
        SELECT j.server, j.epoch, j.batch, u.* FROM j, UNNEST(
            mainspring.whole(j.s_due, cardinality(j.s_number)), j.s_number,
            mainspring.whole(j.s_submitted, cardinality(j.s_number)), mainspring.whole(j.s_priority, cardinality(j.s_number)),
            mainspring.whole(j.s_name, cardinality(j.s_number)), mainspring.whole(j.s_kind, cardinality(j.s_number)),
            mainspring.whole(j.s_body, cardinality(j.s_number)), mainspring.whole(j.s_policies, cardinality(j.s_number)),
            mainspring.whole(j.s_work_group, cardinality(j.s_number)))
            AS u (nominal, number, submitted, priority, name, kind, body, policies, work_group)
    ), r AS (
        SELECT u.* FROM j, UNNEST(
            j.r_number, mainspring.whole(j.r_due, cardinality(j.r_number)),
            mainspring.whole(j.r_planned, cardinality(j.r_number)), mainspring.whole(j.r_started, cardinality(j.r_number)),
            mainspring.whole(j.r_state, cardinality(j.r_number)))
            AS u (number, due, planned, started, state) WHERE u.state IS NOT NULL
    ), b AS (
        SELECT u.* FROM j, UNNEST(j.b_number, mainspring.whole(j.b_at, cardinality(j.b_number))) AS u (number, at) WHERE u.at IS NOT NULL
    ), e AS (
        SELECT u.* FROM j, UNNEST(
            j.e_number, mainspring.whole(j.e_at, cardinality(j.e_number)), mainspring.whole(j.e_deaths, cardinality(j.e_number)),
            mainspring.whole(j.e_state, cardinality(j.e_number)), mainspring.whole(j.e_outcome, cardinality(j.e_number)),
            mainspring.whole(j.e_reason, cardinality(j.e_number)))
            AS u (number, at, deaths, state, outcome, reason)
    ), m AS (
        SELECT u.* FROM j, UNNEST(
            j.m_number, mainspring.whole(j.m_due, cardinality(j.m_number)), mainspring.whole(j.m_at, cardinality(j.m_number)),
            mainspring.whole(j.m_state, cardinality(j.m_number)), mainspring.whole(j.m_reason, cardinality(j.m_number)))
            AS u (number, due, at, state, reason)
    ), life AS MATERIALIZED (
        SELECT s.*, coalesce(m.due, r.due) AS due, r.planned, coalesce(r.started, b.at) AS started,
            CASE WHEN mainspring.is_open(m.state) THEN e.at ELSE coalesce(m.at, e.at) END AS ended, e.at AS first_ended,
            e.state AS first_state, e.outcome, coalesce(m.reason, e.reason, '') AS reason, coalesce(e.deaths, 0) AS deaths,
            coalesce(m.state, e.state, CASE WHEN b.number IS NULL THEN r.state ELSE 'running' END) AS state,
            r.state AS r_state, r.started AS r_started, b.at AS b_at, k.number IS NOT NULL AND e.number IS NULL AS is_kept
        FROM s LEFT JOIN r USING (number) LEFT JOIN b USING (number) LEFT JOIN e USING (number) LEFT JOIN m USING (number)
            LEFT JOIN UNNEST($2) AS k (number) USING (number)
    ), waiting AS (
        INSERT INTO mainspring.pending (shard, due, number, name, is_named, submitted, kind, body, policies, work_group, priority)
        SELECT $1, l.nominal, l.number, l.name, false, l.submitted, l.kind, l.body, l.policies, l.work_group, l.priority
            FROM life AS l WHERE l.state IS NULL AND NOT l.is_kept
        otherwise RETURNING 1
    ), open AS (
        INSERT INTO mainspring.open_run (job, nominal, series, shard, cause, state, attempt, due, planned, started, ended, outcome,
            reason, kind, body, policies, work_group, priority, deaths, forgiven)
        SELECT l.name, l.nominal, 0, $1, 'once', l.state, CASE WHEN l.started IS NULL THEN 0 ELSE 1 END, l.due, l.planned,
            l.started, l.ended, l.outcome, l.reason, l.kind, l.body, l.policies, l.work_group, l.priority, l.deaths, 0
            FROM life AS l WHERE mainspring.is_open(l.state) AND NOT l.is_kept
        otherwise RETURNING 1
    ), over AS (
        INSERT INTO mainspring.history (job, nominal, series, shard, cause, state, attempt, due, planned, started, ended, outcome,
            reason, kind, body, policies, work_group, priority, deaths, forgiven)
        SELECT l.name, l.nominal, 0, $1, 'once', l.state, 1, l.due, l.planned, l.started, l.ended, l.outcome, l.reason,
            l.kind, l.body, l.policies, l.work_group, l.priority, l.deaths, 0
            FROM life AS l WHERE NOT mainspring.is_open(l.state)
        otherwise RETURNING state
    ), begun AS (
        INSERT INTO mainspring.attempt (job, nominal, series, number, started, ended, state, outcome, server, epoch)
        SELECT l.name, l.nominal, 0, 1, l.started, l.first_ended, l.first_state, l.outcome, l.server, l.epoch
            FROM life AS l WHERE l.started IS NOT NULL AND NOT l.is_kept
        otherwise
    ), again AS (
        INSERT INTO mainspring.entry
        SELECT $1, l.epoch, max(l.batch), l.server, array_agg(l.nominal), array_agg(l.number), array_agg(l.submitted),
            array_agg(l.priority), array_agg(l.name), array_agg(l.kind), array_agg(l.body), array_agg(l.policies),
            array_agg(l.work_group), array_agg(l.number), array_agg(l.due), array_agg(l.planned), array_agg(l.r_started),
            array_agg(l.r_state), array_agg(l.number), array_agg(l.b_at),
            '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'
            FROM life AS l WHERE l.is_kept GROUP BY l.epoch, l.server
    ) SELECT ARRAY[0, w.count, o.count, o.count + h.count, h.dead] FROM (SELECT count(*) FROM waiting) AS w,
        (SELECT count(*) FROM open) AS o,
        (SELECT count(*), count(*) FILTER (WHERE state = 'dead') AS dead FROM over) AS h $sql$, 'otherwise', p_otherwise)
    INTO counts USING p_shard, p_keep;
END $$;

-- As in format 11.
CREATE OR REPLACE FUNCTION mainspring.open_packs(p_shard int8, p_ids int8[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    doubled int8;
BEGIN
    WITH p AS MATERIALIZED (
        DELETE FROM mainspring.pack AS p WHERE p.shard = p_shard AND p.id = ANY (p_ids) RETURNING p.*
    ), runs AS MATERIALIZED (
        SELECT p.server, p.epoch, u.* FROM p, UNNEST(
            mainspring.whole(p.nominal, p.count), mainspring.whole(p.due, p.count), mainspring.whole(p.planned, p.count),
            mainspring.whole(p.started, p.count), mainspring.whole(p.ended, p.count), mainspring.whole(p.priority, p.count),
            mainspring.whole(p.name, p.count), mainspring.whole(p.kind, p.count), mainspring.whole(p.body, p.count),
            mainspring.whole(p.policies, p.count), mainspring.whole(p.work_group, p.count), mainspring.whole(p.outcome, p.count))
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

-- As in format 11.
CREATE OR REPLACE FUNCTION mainspring.drop_pack(p_id int8) RETURNS void LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM mainspring.pack AS p WHERE p.id = p_id RETURNING p.name, mainspring.whole(p.nominal, p.count) AS nominal
    ) DELETE FROM mainspring.output AS o USING gone AS g, UNNEST(g.name, g.nominal) AS u (name, nominal)
        WHERE o.job = u.name AND o.nominal = u.nominal AND o.series = 0
$$;

-- As in format 11.
CREATE OR REPLACE FUNCTION mainspring.settle_2(p_shard int8, p_epoch int8, p_token text, p_times int8, p_batch int8, p_keep int8[], has_rest int8,
    k_nominal int8[], k_number int8[], k_due int8[], k_planned int8[], k_started int8[], k_ended int8[], k_priority int8[],
    k_name text[], k_kind text[], k_body text[], k_policies text[], k_work_group text[], k_outcome text[],
    s_due int8[], s_number int8[], s_submitted int8[], s_priority int8[], s_name text[], s_kind text[], s_body text[],
    s_policies text[], s_work_group text[], r_number int8[], r_due int8[], r_planned int8[], r_started int8[], r_state text[],
    b_number int8[], b_at int8[], e_number int8[], e_at int8[], e_deaths int8[], e_state text[], e_outcome text[], e_reason text[],
    m_number int8[], m_due int8[], m_at int8[], m_state text[], m_reason text[],
    OUT status text, OUT times int8, OUT kept bool) LANGUAGE plpgsql SET lock_timeout = '2s' SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    -- As many as a pruning drops at most: so a pack is dropped at once.
    max_jobs CONSTANT int4 := 1000;
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
            mainspring.part(k_nominal, i, j), mainspring.part(k_number, i, j), mainspring.part(k_due, i, j),
            mainspring.part(k_planned, i, j), mainspring.part(k_started, i, j), mainspring.part(k_ended, i, j),
            mainspring.part(k_priority, i, j), mainspring.part(k_name, i, j), mainspring.part(k_kind, i, j),
            mainspring.part(k_body, i, j), mainspring.part(k_policies, i, j), mainspring.part(k_work_group, i, j),
            mainspring.part(k_outcome, i, j)
        FROM generate_series(1, cardinality(k_number), max_jobs) AS i, LATERAL (SELECT (i + max_jobs - 1)::int4 AS j) AS last, LATERAL (
            -- What is alike stands beside the first.
            SELECT min(u.number) AS first, max(u.number) AS last, count(*) AS count, min(u.nominal) AS first_nominal,
                max(u.nominal) AS last_nominal, min(u.ended) AS first_ended, max(u.ended) AS last_ended
            FROM UNNEST(k_number[i:j], mainspring.part(k_nominal, i, j), mainspring.part(k_ended, i, j)) AS u (number, nominal, ended)
        ) AS n;
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

-- Does a batch as `commit_2` does, and puts into the journal what of it is for that (`has_entry` is 1, and `j_`). A batch before the last is a
-- request that was given up and comes late: it is refused as one of an owner that was taken over. So is one whose predecessor is not there: another
-- database was promoted that never got it. If somebody else has settled the journal since `p_times`, nothing is done. What is done twice is in
-- the journal once. A session plans the statements here once; one statement with all of this costs as much to plan as a tenth of a large batch.
CREATE FUNCTION mainspring.commit_3(
    p_shard int8, p_epoch int8, p_token text, p_lease_ms int8, p_batch int8, p_count int8, p_ops jsonb[], p_ordinals int8[],
    s_ordinal int8[], s_due int8[], s_number int8[], s_is_named int8[], s_submitted int8[], s_priority int8[], s_name text[],
    s_key text[], s_kind text[], s_body text[], s_policies text[], s_work_group text[], r_ordinal int8[], r_id_due int8[],
    r_id_number int8[], r_nominal int8[], r_series int8[], r_attempt int8[], r_due int8[], r_planned int8[], r_started int8[],
    r_priority int8[], r_deaths int8[], r_forgiven int8[], r_job text[], r_cause text[], r_state text[], r_reason text[],
    r_kind text[], r_body text[], r_policies text[], r_work_group text[], b_ordinal int8[], b_nominal int8[], b_series int8[],
    b_attempt int8[], b_at int8[], b_job text[], b_from text[], e_ordinal int8[], e_nominal int8[], e_series int8[],
    e_attempt int8[], e_at int8[], e_deaths int8[], e_job text[], e_state text[], e_outcome text[], e_reason text[],
    has_entry int8, p_times int8, j_s_due int8[], j_s_number int8[], j_s_submitted int8[], j_s_priority int8[], j_s_name text[],
    j_s_kind text[], j_s_body text[], j_s_policies text[], j_s_work_group text[], j_r_number int8[], j_r_due int8[],
    j_r_planned int8[], j_r_started int8[], j_r_state text[], j_b_number int8[], j_b_at int8[], j_e_number int8[], j_e_at int8[],
    j_e_deaths int8[], j_e_state text[], j_e_outcome text[], j_e_reason text[], j_m_number int8[], j_m_due int8[], j_m_at int8[],
    j_m_state text[], j_m_reason text[], j_prunes jsonb[],
    OUT status text, OUT answers text, OUT now int8, OUT is_done bool
) LANGUAGE plpgsql SET lock_timeout = '2s' SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    shard_row mainspring.shard;
BEGIN
    SELECT * INTO shard_row FROM mainspring.shard AS s
        WHERE s.shard = p_shard AND (s.epoch <> p_epoch OR s.batch IN (p_batch - 1, p_batch)) FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'fenced';
        RETURN;
    END IF;
    is_done := shard_row.epoch = p_epoch AND shard_row.batch = p_batch;
    IF has_entry = 1 AND NOT is_done AND shard_row.settled IS DISTINCT FROM p_times THEN
        status := 'settled';
        RETURN;
    END IF;
    SELECT c.status, c.answers, c.now INTO status, answers, now FROM mainspring.commit_2(
        p_shard, p_epoch, p_token, p_lease_ms, p_batch, p_count, p_ops, p_ordinals, s_ordinal, s_due, s_number, s_is_named,
        s_submitted, s_priority, s_name, s_key, s_kind, s_body, s_policies, s_work_group, r_ordinal, r_id_due, r_id_number,
        r_nominal, r_series, r_attempt, r_due, r_planned, r_started, r_priority, r_deaths, r_forgiven, r_job, r_cause, r_state,
        r_reason, r_kind, r_body, r_policies, r_work_group, b_ordinal, b_nominal, b_series, b_attempt, b_at, b_job, b_from,
        e_ordinal, e_nominal, e_series, e_attempt, e_at, e_deaths, e_job, e_state, e_outcome, e_reason) AS c;
    IF has_entry = 1 AND NOT is_done AND status = 'done' THEN
        INSERT INTO mainspring.entry (shard, epoch, batch, server,
            s_due, s_number, s_submitted, s_priority, s_name, s_kind, s_body, s_policies, s_work_group, r_number, r_due,
            r_planned, r_started, r_state, b_number, b_at, e_number, e_at, e_deaths, e_state, e_outcome, e_reason, m_number,
            m_due, m_at, m_state, m_reason, prunes)
        VALUES (p_shard, p_epoch, p_batch, shard_row.server,
            j_s_due, j_s_number, j_s_submitted, j_s_priority, j_s_name, j_s_kind, j_s_body, j_s_policies, j_s_work_group,
            j_r_number, j_r_due, j_r_planned, j_r_started, j_r_state, j_b_number, j_b_at, j_e_number, j_e_at, j_e_deaths,
            j_e_state, j_e_outcome, j_e_reason, j_m_number, j_m_due, j_m_at, j_m_state, j_m_reason, j_prunes);
    END IF;
END $$;
