-- Format 6: what a batch has of the kinds that a busy server writes is done by one statement for each kind, instead of some
-- statements for each operation. A server of format 5 goes on with `commit_1`.
--
-- Plans are kept for as long as a session lasts, so they must be right for any size of the tables. Each row is looked for by
-- its key in a subquery with OFFSET 0, which the planner cannot turn around, and written by its place. Nobody else writes these
-- rows: the row of the shard is locked.

-- An end finds room for the new row beside the old one, so that no index is written.
ALTER TABLE mainspring.attempt SET (fillfactor = 50);

-- A plan that was made while a table was empty would read all of it for each
-- operation when it has become large.
ALTER FUNCTION mainspring.commit_1 SET enable_seqscan = off;

-- Undoes all that the batch has done so far, and tells the client which operations the wave does not fit: it sends them with
-- those that are done one by one.
CREATE FUNCTION mainspring.unfit(ordinals int8[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'MS001', MESSAGE = 'not in a wave', DETAIL = array_to_string(ordinals, ' ');
END $$;

-- Whether this transaction has written a row.
CREATE FUNCTION mainspring.is_ours(writer xid) RETURNS bool LANGUAGE sql STABLE
AS $$ SELECT writer OPERATOR(pg_catalog.=) pg_catalog.pg_current_xact_id()::pg_catalog.xid $$;

CREATE FUNCTION mainspring.submit_all(p_shard int8, p_ordinal int8[], p_due int8[], p_number int8[], p_name text[],
    p_is_named int8[], p_key text[], p_submitted int8[], p_kind text[], p_body text[], p_policies text[],
    p_work_group text[], p_priority int8[]) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
    done int8;
BEGIN
    INSERT INTO mainspring.pending (shard, due, number, name, is_named, key, submitted, kind, body, policies, work_group, priority)
        SELECT p_shard, u.due, u.number, u.name, u.is_named = 1, u.key, u.submitted, u.kind, u.body, u.policies, u.work_group,
            u.priority
        FROM UNNEST(p_due, p_number, p_name, p_is_named, p_key, p_submitted, p_kind, p_body, p_policies, p_work_group,
            p_priority) AS u (due, number, name, is_named, key, submitted, kind, body, policies, work_group, priority)
        WHERE NOT EXISTS (SELECT FROM mainspring.run AS r WHERE r.job = u.name AND r.nominal = u.due AND r.series = 0 OFFSET 0)
            AND NOT EXISTS (SELECT FROM mainspring.once_key AS k WHERE k.key = u.key OFFSET 0)
        ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS done = ROW_COUNT;
    IF done < cardinality(p_due) THEN
        PERFORM mainspring.unfit(array_agg(u.ordinal)) FROM UNNEST(p_ordinal, p_due, p_number) AS u (ordinal, due, number)
            WHERE NOT EXISTS (SELECT FROM mainspring.pending AS p WHERE p.shard = p_shard AND p.due = u.due
                AND p.number = u.number AND mainspring.is_ours(p.xmin));
    END IF;
    INSERT INTO mainspring.once_key (key, due, number, name)
        SELECT u.key, u.due, u.number, u.name FROM UNNEST(p_key, p_due, p_number, p_name) AS u (key, due, number, name)
        WHERE u.key IS NOT NULL;
    -- The request that asked for it goes with it.
    IF FOUND THEN
        DELETE FROM mainspring.inbox AS i USING UNNEST(p_key) AS u (key), LATERAL (
                SELECT f.ctid AS place FROM mainspring.inbox AS f WHERE f.key = u.key AND f.refusal = '' OFFSET 0) AS f
            WHERE i.ctid = f.place;
    END IF;
    RETURN done;
END $$;

-- Runs that are open: those of one-shot jobs, which leave the pending ones, and planned ones, which have no number.
CREATE FUNCTION mainspring.insert_all(p_shard int8, p_epoch int8, p_server uuid, p_ordinal int8[], p_id_due int8[],
    p_id_number int8[], p_job text[], p_nominal int8[], p_series int8[], p_cause text[], p_state text[], p_attempt int8[],
    p_due int8[], p_planned int8[], p_started int8[], p_reason text[], p_kind text[], p_body text[], p_policies text[],
    p_work_group text[], p_priority int8[], p_deaths int8[], p_forgiven int8[], OUT fired int8, OUT inserted int8)
LANGUAGE plpgsql AS $$
DECLARE
    found_ordinals int8[];
BEGIN
    WITH gone AS (
        DELETE FROM mainspring.pending AS p
            USING UNNEST(p_ordinal, p_id_due, p_id_number) AS u (ordinal, due, number), LATERAL (
                SELECT f.ctid AS place FROM mainspring.pending AS f
                WHERE f.shard = p_shard AND f.due = u.due AND f.number = u.number OFFSET 0) AS f
            WHERE p.ctid = f.place RETURNING u.ordinal
    ) SELECT coalesce(array_agg(g.ordinal), '{}') INTO found_ordinals FROM gone AS g;
    fired := cardinality(found_ordinals);
    IF fired < cardinality(array_remove(p_id_number, NULL)) THEN
        PERFORM mainspring.unfit(array_agg(u.ordinal)) FROM UNNEST(p_ordinal, p_id_number) AS u (ordinal, number)
            WHERE u.number IS NOT NULL AND u.ordinal <> ALL (found_ordinals);
    END IF;
    INSERT INTO mainspring.run (job, nominal, series, shard, cause, state, attempt, due, planned, started, reason, kind, body,
            policies, work_group, priority, deaths, forgiven)
        SELECT u.job, u.nominal, u.series, p_shard, u.cause, u.state, u.attempt, u.due, u.planned, u.started, u.reason, u.kind,
            u.body, u.policies, u.work_group, u.priority, u.deaths, u.forgiven
        FROM UNNEST(p_job, p_nominal, p_series, p_cause, p_state, p_attempt, p_due, p_planned, p_started, p_reason, p_kind,
            p_body, p_policies, p_work_group, p_priority, p_deaths, p_forgiven) AS u (job, nominal, series, cause, state,
            attempt, due, planned, started, reason, kind, body, policies, work_group, priority, deaths, forgiven)
        ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS inserted = ROW_COUNT;
    IF inserted < cardinality(p_ordinal) THEN
        PERFORM mainspring.unfit(array_agg(u.ordinal))
            FROM UNNEST(p_ordinal, p_job, p_nominal, p_series) AS u (ordinal, job, nominal, series)
            WHERE NOT EXISTS (SELECT FROM mainspring.run AS r WHERE r.job = u.job AND r.nominal = u.nominal
                AND r.series = u.series AND mainspring.is_ours(r.xmin));
    END IF;
    INSERT INTO mainspring.attempt (job, nominal, series, number, started, server, epoch)
        SELECT u.job, u.nominal, u.series, u.attempt, coalesce(u.started, u.planned), p_server, p_epoch
        FROM UNNEST(p_job, p_nominal, p_series, p_state, p_attempt, p_planned, p_started)
            AS u (job, nominal, series, state, attempt, planned, started)
        WHERE u.state = 'running';
END $$;

-- Starts of runs that are open and wait. Of one in another state the client sends the operation by itself.
CREATE FUNCTION mainspring.begin_all(p_epoch int8, p_server uuid, p_ordinal int8[], p_job text[], p_nominal int8[],
    p_series int8[], p_attempt int8[], p_at int8[], p_from text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found_ordinals int8[];
BEGIN
    WITH begun AS (
        UPDATE mainspring.run AS r SET state = 'running', attempt = u.attempt, started = u.at, ended = NULL, outcome = NULL,
            reason = ''
        FROM UNNEST(p_ordinal, p_job, p_nominal, p_series, p_attempt, p_at)
            AS u (ordinal, job, nominal, series, attempt, at), LATERAL (
            SELECT f.ctid AS place FROM mainspring.run AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.attempt + 1 = u.attempt
                AND f.state = ANY (p_from) AND mainspring.is_open(f.state) OFFSET 0) AS f
        WHERE r.ctid = f.place RETURNING u.ordinal
    ) SELECT coalesce(array_agg(b.ordinal), '{}') INTO found_ordinals FROM begun AS b;
    IF cardinality(found_ordinals) < cardinality(p_ordinal) THEN
        PERFORM mainspring.unfit(array_agg(u.ordinal)) FROM UNNEST(p_ordinal) AS u (ordinal)
            WHERE u.ordinal <> ALL (found_ordinals);
    END IF;
    INSERT INTO mainspring.attempt (job, nominal, series, number, started, server, epoch)
        SELECT u.job, u.nominal, u.series, u.attempt, u.at, p_server, p_epoch
        FROM UNNEST(p_job, p_nominal, p_series, p_attempt, p_at) AS u (job, nominal, series, attempt, at);
END $$;

CREATE FUNCTION mainspring.end_all(p_ordinal int8[], p_job text[], p_nominal int8[], p_series int8[], p_attempt int8[],
    p_state text[], p_at int8[], p_outcome text[], p_deaths int8[], p_reason text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found_ordinals int8[];
BEGIN
    WITH over AS (
        UPDATE mainspring.run AS r SET state = u.state, ended = u.at, outcome = u.outcome, reason = u.reason, deaths = u.deaths
        FROM UNNEST(p_ordinal, p_job, p_nominal, p_series, p_attempt, p_state, p_at, p_outcome, p_deaths, p_reason)
            AS u (ordinal, job, nominal, series, attempt, state, at, outcome, deaths, reason), LATERAL (
            SELECT f.ctid AS place FROM mainspring.run AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.attempt = u.attempt
                AND f.state = 'running' OFFSET 0) AS f
        WHERE r.ctid = f.place RETURNING u.ordinal
    ) SELECT coalesce(array_agg(o.ordinal), '{}') INTO found_ordinals FROM over AS o;
    IF cardinality(found_ordinals) < cardinality(p_ordinal) THEN
        PERFORM mainspring.unfit(array_agg(u.ordinal)) FROM UNNEST(p_ordinal) AS u (ordinal)
            WHERE u.ordinal <> ALL (found_ordinals);
    END IF;
    UPDATE mainspring.attempt AS a SET ended = u.at, state = u.state, outcome = u.outcome
        FROM UNNEST(p_job, p_nominal, p_series, p_attempt, p_state, p_at, p_outcome)
            AS u (job, nominal, series, attempt, state, at, outcome), LATERAL (
            SELECT f.ctid AS place FROM mainspring.attempt AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.number = u.attempt OFFSET 0) AS f
        WHERE a.ctid = f.place;
    -- As `last_came` for each: the last of a job's runs, and its last success.
    UPDATE mainspring.job AS j SET
        last_success = greatest(j.last_success, l.success),
        last_nominal = CASE WHEN l.is_last THEN l.nominal ELSE j.last_nominal END,
        last_series = CASE WHEN l.is_last THEN l.series ELSE j.last_series END,
        last_state = CASE WHEN l.is_last THEN l.state ELSE j.last_state END,
        last_ended = CASE WHEN l.is_last THEN l.at ELSE j.last_ended END
        FROM (SELECT DISTINCT ON (u.job) k.place, u.nominal, u.series, u.state, u.at,
                max(u.at) FILTER (WHERE u.state = 'succeeded') OVER (PARTITION BY u.job) AS success,
                k.last_nominal IS NULL OR (k.last_nominal, k.last_series) <= (u.nominal, u.series) AS is_last
            FROM UNNEST(p_job, p_nominal, p_series, p_state, p_at) AS u (job, nominal, series, state, at)
            CROSS JOIN LATERAL (SELECT f.ctid AS place, f.last_nominal, f.last_series FROM mainspring.job AS f
                WHERE f.name = u.job OFFSET 0) AS k
            WHERE NOT mainspring.is_open(u.state)
            ORDER BY u.job, u.nominal DESC, u.series DESC) AS l
        WHERE j.ctid = l.place;
END $$;

-- As `commit_1`. The operations of the wave touch nothing that another of the batch before them touches: the client sees to
-- that. They are done first, and the others after them in their order. All of the wave are new, or `unfit` says which are not.
CREATE FUNCTION mainspring.commit_2(
    p_shard int8, p_epoch int8, p_token text, p_lease_ms int8, p_batch int8, p_count int8, p_ops jsonb[], p_ordinals int8[],
    s_ordinal int8[], s_due int8[], s_number int8[], s_is_named int8[], s_submitted int8[], s_priority int8[],
    s_name text[], s_key text[], s_kind text[], s_body text[], s_policies text[], s_work_group text[],
    r_ordinal int8[], r_id_due int8[], r_id_number int8[], r_nominal int8[], r_series int8[], r_attempt int8[], r_due int8[],
    r_planned int8[], r_started int8[], r_priority int8[], r_deaths int8[], r_forgiven int8[],
    r_job text[], r_cause text[], r_state text[], r_reason text[], r_kind text[], r_body text[], r_policies text[],
    r_work_group text[],
    b_ordinal int8[], b_nominal int8[], b_series int8[], b_attempt int8[], b_at int8[], b_job text[], b_from text[],
    e_ordinal int8[], e_nominal int8[], e_series int8[], e_attempt int8[], e_at int8[], e_deaths int8[],
    e_job text[], e_state text[], e_outcome text[], e_reason text[],
    OUT status text, OUT answers text, OUT now int8
) LANGUAGE plpgsql SET lock_timeout = '2s' SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    shard_row mainspring.shard;
    words text[];
    word text;
    counts int8[] := ARRAY[0, 0, 0, 0, 0];
    fired int8;
    inserted int8;
BEGIN
    SELECT * INTO shard_row FROM mainspring.shard AS s
        WHERE s.shard = p_shard AND s.epoch = p_epoch AND s.token = p_token::uuid FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'fenced';
        RETURN;
    END IF;
    IF shard_row.batch = p_batch THEN
        answers := shard_row.answers;
    ELSE
        words := array_fill('N'::text, ARRAY[p_count::int]);
        IF 0 < cardinality(s_ordinal) THEN
            counts[2] := mainspring.submit_all(p_shard, s_ordinal, s_due, s_number, s_name, s_is_named, s_key, s_submitted,
                s_kind, s_body, s_policies, s_work_group, s_priority);
        END IF;
        IF 0 < cardinality(r_ordinal) THEN
            SELECT i.fired, i.inserted INTO fired, inserted FROM mainspring.insert_all(p_shard, p_epoch, shard_row.server,
                r_ordinal, r_id_due, r_id_number, r_job, r_nominal, r_series, r_cause, r_state, r_attempt, r_due, r_planned,
                r_started, r_reason, r_kind, r_body, r_policies, r_work_group, r_priority, r_deaths, r_forgiven) AS i;
            counts := ARRAY[counts[1], counts[2] - fired, counts[3] + inserted, counts[4] + inserted, counts[5]];
        END IF;
        IF 0 < cardinality(b_ordinal) THEN
            PERFORM mainspring.begin_all(p_epoch, shard_row.server, b_ordinal, b_job, b_nominal, b_series, b_attempt, b_at,
                b_from);
        END IF;
        IF 0 < cardinality(e_ordinal) THEN
            PERFORM mainspring.end_all(e_ordinal, e_job, e_nominal, e_series, e_attempt, e_state, e_at, e_outcome, e_deaths,
                e_reason);
            SELECT ARRAY[counts[1], counts[2], counts[3] - count(*) FILTER (WHERE NOT mainspring.is_open(u.state)), counts[4],
                counts[5] + count(*) FILTER (WHERE u.state = 'dead')] INTO counts FROM UNNEST(e_state) AS u (state);
        END IF;
        FOR place IN 1 .. cardinality(p_ops) LOOP
            SELECT a.counts, a.answer INTO counts, word
                FROM mainspring.apply(p_shard, p_epoch, shard_row.server, p_ops[place], counts) AS a;
            words[p_ordinals[place]] := word;
        END LOOP;
        answers := array_to_string(words, ' ');
    END IF;
    UPDATE mainspring.shard AS s SET batch = p_batch, answers = commit_2.answers,
        until = clock_timestamp() + p_lease_ms * interval '1 ms', told = greatest(s.told, mainspring.now_ns()),
        jobs = s.jobs + counts[1], pending = s.pending + counts[2], open = s.open + counts[3],
        runs = s.runs + counts[4], dead = s.dead + counts[5]
        WHERE s.shard = p_shard RETURNING s.told INTO now;
    status := 'done';
END $$;
