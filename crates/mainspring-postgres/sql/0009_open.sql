-- Format 7: a run that is open is in a small table with one index, and goes into the history when it ends. Before, its row was
-- written into four indexes when it started and again when it ended.
--
-- `mainspring.run` is a view of both, with the columns that the table had. A server of format 6 or older reads it, and calls
-- the same functions, which write the tables. What is done one by one writes through the view.

-- Commits in flight end before, and those that come wait here.
LOCK TABLE mainspring.shard IN EXCLUSIVE MODE;

ALTER TABLE mainspring.run RENAME TO history;
ALTER TABLE mainspring.history RENAME CONSTRAINT run_pkey TO history_pkey;
CREATE TABLE mainspring.open_run (
    LIKE mainspring.history, PRIMARY KEY (job, nominal, series), CHECK (state IN ('scheduled', 'queued', 'running'))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
INSERT INTO mainspring.open_run SELECT * FROM mainspring.history WHERE state IN ('scheduled', 'queued', 'running');
DELETE FROM mainspring.history WHERE state IN ('scheduled', 'queued', 'running');
-- A row is written once and changed seldom.
ALTER TABLE mainspring.history SET (fillfactor = 100),
    ADD CHECK (state NOT IN ('scheduled', 'queued', 'running'));
-- Rows of equal times are sorted when a page is read: the entries are short, and come in order. Each row is in one of the first
-- two.
DROP INDEX mainspring.run_open, mainspring.run_nominal, mainspring.run_once, mainspring.run_ended;
CREATE INDEX history_nominal ON mainspring.history (nominal) WHERE cause <> 'once';
CREATE INDEX history_once ON mainspring.history (nominal) WHERE cause = 'once';
CREATE INDEX history_ended ON mainspring.history (ended) WHERE ended IS NOT NULL;
ALTER INDEX mainspring.run_dead RENAME TO history_dead;

CREATE VIEW mainspring.run AS SELECT * FROM mainspring.open_run UNION ALL SELECT * FROM mainspring.history;

-- Who had rights on the table has them on what it has become.
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN SELECT a.privilege_type AS what, coalesce(quote_ident(r.rolname), 'PUBLIC') AS who
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
        WHERE c.oid = 'mainspring.history'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON mainspring.open_run, mainspring.run TO %s', granted.what, granted.who);
    END LOOP;
END $$;

-- Which columns an update writes is not worth a statement of each kind here: it is for what is done one by one.
CREATE FUNCTION mainspring.write_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND mainspring.is_open(OLD.state) THEN
        DELETE FROM mainspring.open_run AS r
            WHERE r.job = OLD.job AND r.nominal = OLD.nominal AND r.series = OLD.series;
    ELSIF TG_OP <> 'INSERT' THEN
        DELETE FROM mainspring.history AS r
            WHERE r.job = OLD.job AND r.nominal = OLD.nominal AND r.series = OLD.series;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF EXISTS (SELECT FROM mainspring.run AS r WHERE r.job = NEW.job AND r.nominal = NEW.nominal AND r.series = NEW.series) THEN
        RETURN NULL;
    ELSIF mainspring.is_open(NEW.state) THEN
        INSERT INTO mainspring.open_run VALUES (NEW.*);
    ELSE
        INSERT INTO mainspring.history VALUES (NEW.*);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER write_run INSTEAD OF INSERT OR UPDATE OR DELETE ON mainspring.run
    FOR EACH ROW EXECUTE FUNCTION mainspring.write_run();

-- As in format 1, of the view's type.
DROP FUNCTION mainspring.run_of(jsonb);
CREATE FUNCTION mainspring.run_of(op jsonb) RETURNS SETOF mainspring.run LANGUAGE sql STABLE AS $$
    SELECT * FROM mainspring.run AS r
        WHERE r.job OPERATOR(pg_catalog.=) (op OPERATOR(pg_catalog.->>) 'job')
            AND r.nominal OPERATOR(pg_catalog.=) (op OPERATOR(pg_catalog.->>) 'nominal')::bigint
            AND r.series OPERATOR(pg_catalog.=) (op OPERATOR(pg_catalog.->>) 'series')::bigint
$$;

-- As in format 1, in the table of runs that are over.
CREATE OR REPLACE FUNCTION mainspring.last_look(p_job text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE mainspring.job SET (last_nominal, last_series, last_state, last_ended) =
        (SELECT r.nominal, r.series, r.state, coalesce(r.ended, r.planned) FROM mainspring.history AS r
            WHERE r.job = p_job ORDER BY r.nominal DESC, r.series DESC LIMIT 1)
        WHERE name = p_job;
END $$;

CREATE OR REPLACE FUNCTION mainspring.prune(p_shard int8, op jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    v_job text := op ->> 'job';
    dropped int8;
    -- In the text, so that each of the two has a plan by its own index.
    theirs text := CASE WHEN v_job IS NULL THEN 'r.cause = ''once''' ELSE 'r.job = $2 AND r.cause <> ''once''' END;
BEGIN
    EXECUTE format($sql$ WITH over AS MATERIALIZED (
        SELECT r.nominal, r.job, r.series, r.ended,
            row_number() OVER (ORDER BY r.nominal DESC, r.job DESC, r.series DESC) AS place
        FROM mainspring.history AS r WHERE r.shard = $1 AND r.state <> 'dead' AND %s
    ), surplus AS (
        SELECT o.nominal, o.job, o.series FROM over AS o WHERE $3 < o.place OR o.ended < $4
        ORDER BY o.nominal, o.job, o.series LIMIT $5
    ), runs AS (
        DELETE FROM mainspring.history AS r USING surplus AS s
        WHERE r.job = s.job AND r.nominal = s.nominal AND r.series = s.series RETURNING r.job
    ), attempts AS (
        DELETE FROM mainspring.attempt AS a USING surplus AS s
        WHERE a.job = s.job AND a.nominal = s.nominal AND a.series = s.series
    ), keys AS (
        DELETE FROM mainspring.once_key AS k USING surplus AS s WHERE k.name = s.job AND k.due = s.nominal AND s.series = 0
    ) SELECT count(*) FROM runs $sql$, theirs) INTO dropped
        USING p_shard, v_job, (op ->> 'keep')::int8, (op ->> 'before')::int8, (op ->> 'limit')::int8;
    counts[4] := counts[4] - dropped;
    IF 0 < dropped THEN
        -- Of jobs whose last run is gone.
        PERFORM mainspring.last_look(j.name) FROM mainspring.job AS j
            WHERE j.last_nominal IS NOT NULL AND (v_job IS NULL OR j.name = v_job) AND NOT EXISTS (
                SELECT FROM mainspring.history AS r
                WHERE r.job = j.name AND r.nominal = j.last_nominal AND r.series = j.last_series);
    END IF;
    answer := 'N';
END $$;

CREATE OR REPLACE FUNCTION mainspring.submit_all(p_shard int8, p_ordinal int8[], p_due int8[], p_number int8[], p_name text[],
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
        WHERE NOT EXISTS (SELECT FROM mainspring.open_run AS r WHERE r.job = u.name AND r.nominal = u.due AND r.series = 0 OFFSET 0)
            AND NOT EXISTS (SELECT FROM mainspring.history AS r WHERE r.job = u.name AND r.nominal = u.due AND r.series = 0 OFFSET 0)
            AND (u.key IS NULL OR NOT EXISTS (SELECT FROM mainspring.once_key AS k WHERE k.key = u.key OFFSET 0))
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

CREATE OR REPLACE FUNCTION mainspring.insert_all(p_shard int8, p_epoch int8, p_server uuid, p_ordinal int8[], p_id_due int8[],
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
    INSERT INTO mainspring.open_run (job, nominal, series, shard, cause, state, attempt, due, planned, started, reason, kind,
            body, policies, work_group, priority, deaths, forgiven)
        SELECT u.job, u.nominal, u.series, p_shard, u.cause, u.state, u.attempt, u.due, u.planned, u.started, u.reason, u.kind,
            u.body, u.policies, u.work_group, u.priority, u.deaths, u.forgiven
        FROM UNNEST(p_job, p_nominal, p_series, p_cause, p_state, p_attempt, p_due, p_planned, p_started, p_reason, p_kind,
            p_body, p_policies, p_work_group, p_priority, p_deaths, p_forgiven) AS u (job, nominal, series, cause, state,
            attempt, due, planned, started, reason, kind, body, policies, work_group, priority, deaths, forgiven)
        WHERE NOT EXISTS (SELECT FROM mainspring.history AS r
            WHERE r.job = u.job AND r.nominal = u.nominal AND r.series = u.series OFFSET 0)
        ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS inserted = ROW_COUNT;
    IF inserted < cardinality(p_ordinal) THEN
        PERFORM mainspring.unfit(array_agg(u.ordinal))
            FROM UNNEST(p_ordinal, p_job, p_nominal, p_series) AS u (ordinal, job, nominal, series)
            WHERE NOT EXISTS (SELECT FROM mainspring.open_run AS r WHERE r.job = u.job AND r.nominal = u.nominal
                AND r.series = u.series AND mainspring.is_ours(r.xmin));
    END IF;
    INSERT INTO mainspring.attempt (job, nominal, series, number, started, server, epoch)
        SELECT u.job, u.nominal, u.series, u.attempt, coalesce(u.started, u.planned), p_server, p_epoch
        FROM UNNEST(p_job, p_nominal, p_series, p_state, p_attempt, p_planned, p_started)
            AS u (job, nominal, series, state, attempt, planned, started)
        WHERE u.state = 'running';
END $$;

-- A run that is dead, or over otherwise, the client begins by itself.
CREATE OR REPLACE FUNCTION mainspring.begin_all(p_epoch int8, p_server uuid, p_ordinal int8[], p_job text[], p_nominal int8[],
    p_series int8[], p_attempt int8[], p_at int8[], p_from text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found_ordinals int8[];
BEGIN
    WITH begun AS (
        UPDATE mainspring.open_run AS r SET state = 'running', attempt = u.attempt, started = u.at, ended = NULL,
            outcome = NULL, reason = ''
        FROM UNNEST(p_ordinal, p_job, p_nominal, p_series, p_attempt, p_at)
            AS u (ordinal, job, nominal, series, attempt, at), LATERAL (
            SELECT f.ctid AS place FROM mainspring.open_run AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.attempt + 1 = u.attempt
                AND f.state = ANY (p_from) OFFSET 0) AS f
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

-- A run whose state is open afterwards, because another attempt follows, stays where it is.
CREATE OR REPLACE FUNCTION mainspring.end_all(p_ordinal int8[], p_job text[], p_nominal int8[], p_series int8[], p_attempt int8[],
    p_state text[], p_at int8[], p_outcome text[], p_deaths int8[], p_reason text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found_ordinals int8[];
    others int8[];
BEGIN
    WITH over AS (
        DELETE FROM mainspring.open_run AS r
        USING UNNEST(p_ordinal, p_job, p_nominal, p_series, p_attempt, p_state, p_at, p_outcome, p_deaths, p_reason)
            AS u (ordinal, job, nominal, series, attempt, state, at, outcome, deaths, reason), LATERAL (
            SELECT f.ctid AS place FROM mainspring.open_run AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.attempt = u.attempt
                AND f.state = 'running' OFFSET 0) AS f
        WHERE r.ctid = f.place AND NOT mainspring.is_open(u.state)
        RETURNING u.ordinal, r.job, r.nominal, r.series, r.shard, r.cause, u.state, r.attempt, r.due, r.planned, r.started,
            u.at, u.outcome, u.reason, r.span_last, r.span_count, r.span_is_exact, r.kind, r.body, r.policies, r.work_group,
            r.priority, u.deaths, r.forgiven
    ), kept AS (
        INSERT INTO mainspring.history (job, nominal, series, shard, cause, state, attempt, due, planned, started, ended,
            outcome, reason, span_last, span_count, span_is_exact, kind, body, policies, work_group, priority, deaths, forgiven)
        SELECT o.job, o.nominal, o.series, o.shard, o.cause, o.state, o.attempt, o.due, o.planned, o.started, o.at,
            o.outcome, o.reason, o.span_last, o.span_count, o.span_is_exact, o.kind, o.body, o.policies, o.work_group,
            o.priority, o.deaths, o.forgiven
        FROM over AS o
    ) SELECT coalesce(array_agg(o.ordinal), '{}') INTO found_ordinals FROM over AS o;
    IF cardinality(found_ordinals) < cardinality(p_ordinal) THEN
        WITH again AS (
            UPDATE mainspring.open_run AS r SET state = u.state, ended = u.at, outcome = u.outcome, reason = u.reason,
                deaths = u.deaths
            FROM UNNEST(p_ordinal, p_job, p_nominal, p_series, p_attempt, p_state, p_at, p_outcome, p_deaths, p_reason)
                AS u (ordinal, job, nominal, series, attempt, state, at, outcome, deaths, reason), LATERAL (
                SELECT f.ctid AS place FROM mainspring.open_run AS f
                WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.attempt = u.attempt
                    AND f.state = 'running' OFFSET 0) AS f
            WHERE r.ctid = f.place AND mainspring.is_open(u.state) RETURNING u.ordinal
        ) SELECT coalesce(array_agg(a.ordinal), '{}') INTO others FROM again AS a;
        found_ordinals := found_ordinals || others;
    END IF;
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
