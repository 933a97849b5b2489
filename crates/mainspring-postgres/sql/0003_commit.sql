-- The commit of a batch: each operation is guarded as the table of `mainspring_job::Operation` says, and answered with one word:
-- N new, G gone, M missing, D duplicate, D<due>:<number> duplicate of that one-shot job. What a state may become is known to
-- the planner, which says with the operation whether the change is allowed.

CREATE FUNCTION mainspring.is_open(state text) RETURNS bool LANGUAGE sql IMMUTABLE
AS $$ SELECT state OPERATOR(pg_catalog.=) ANY (ARRAY['scheduled', 'queued', 'running']) $$;

-- The last run of a job that is over, looked for anew.
CREATE FUNCTION mainspring.last_look(p_job text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE mainspring.job SET (last_nominal, last_series, last_state, last_ended) =
        (SELECT r.nominal, r.series, r.state, coalesce(r.ended, r.planned) FROM mainspring.run AS r WHERE r.job = p_job
            AND NOT mainspring.is_open(r.state) ORDER BY r.nominal DESC, r.series DESC LIMIT 1)
        WHERE name = p_job;
END $$;

-- A run is over.
CREATE FUNCTION mainspring.last_came(p_job text, p_nominal int8, p_series int8, p_state text, p_ended int8) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE mainspring.job SET
        last_success = CASE p_state WHEN 'succeeded' THEN greatest(last_success, p_ended) ELSE last_success END,
        last_nominal = CASE WHEN is_last THEN p_nominal ELSE last_nominal END,
        last_series = CASE WHEN is_last THEN p_series ELSE last_series END,
        last_state = CASE WHEN is_last THEN p_state ELSE last_state END,
        last_ended = CASE WHEN is_last THEN p_ended ELSE last_ended END
        FROM (SELECT j.name AS job, j.last_nominal IS NULL OR (j.last_nominal, j.last_series) <= (p_nominal, p_series) AS is_last
            FROM mainspring.job AS j WHERE j.name = p_job) AS known
        WHERE name = p_job AND known.job = name;
END $$;

-- Adds a run, unless there is one under its key.
CREATE FUNCTION mainspring.insert_run(p_shard int8, p_epoch int8, p_server uuid, p_run jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    run mainspring.run;
BEGIN
    run := jsonb_populate_record(NULL::mainspring.run, p_run);
    run.shard := p_shard;
    INSERT INTO mainspring.run VALUES (run.*) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        answer := 'D';
        RETURN;
    END IF;
    counts := ARRAY[counts[1], counts[2], counts[3] + mainspring.is_open(run.state)::int, counts[4] + 1,
        counts[5] + (run.state = 'dead')::int];
    IF NOT mainspring.is_open(run.state) THEN
        PERFORM mainspring.last_came(run.job, run.nominal, run.series, run.state, coalesce(run.ended, run.planned));
    END IF;
    IF run.state = 'running' THEN
        INSERT INTO mainspring.attempt (job, nominal, series, number, started, server, epoch)
            VALUES (run.job, run.nominal, run.series, run.attempt, coalesce(run.started, run.planned), p_server, p_epoch);
    END IF;
    answer := 'N';
END $$;

CREATE FUNCTION mainspring.submit(p_shard int8, p_once jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    once mainspring.pending;
    holder text;
BEGIN
    once := jsonb_populate_record(NULL::mainspring.pending, p_once);
    once.shard := p_shard;
    SELECT 'D' || k.due || ':' || k.number INTO answer FROM mainspring.once_key AS k WHERE k.key = once.key;
    IF FOUND THEN
        RETURN;
    END IF;
    INSERT INTO mainspring.pending VALUES (once.*) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        SELECT 'D' || p.due || ':' || p.number INTO holder FROM mainspring.pending AS p
            WHERE once.is_named AND p.is_named AND p.name = once.name;
        answer := coalesce(holder, 'D' || once.due || ':' || once.number);
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM mainspring.run AS r WHERE r.job = once.name AND r.nominal = once.due AND r.series = 0) THEN
        DELETE FROM mainspring.pending AS p WHERE p.shard = p_shard AND p.due = once.due AND p.number = once.number;
        answer := 'D';
        RETURN;
    END IF;
    IF once.key IS NOT NULL THEN
        INSERT INTO mainspring.once_key (key, due, number, name) VALUES (once.key, once.due, once.number, once.name);
    END IF;
    counts[2] := counts[2] + 1;
    answer := 'N';
END $$;

-- The run that an operation names. One query and no volatile part, so that the planner puts it into the statement that asks.
CREATE FUNCTION mainspring.run_of(op jsonb) RETURNS SETOF mainspring.run LANGUAGE sql STABLE AS $$
    SELECT * FROM mainspring.run AS r
        WHERE r.job OPERATOR(pg_catalog.=) (op OPERATOR(pg_catalog.->>) 'job')
            AND r.nominal OPERATOR(pg_catalog.=) (op OPERATOR(pg_catalog.->>) 'nominal')::bigint
            AND r.series OPERATOR(pg_catalog.=) (op OPERATOR(pg_catalog.->>) 'series')::bigint
$$;

-- Changes the state of a run, of which the caller knows that it may.
CREATE FUNCTION mainspring.begin_attempt(p_epoch int8, p_server uuid, op jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    run mainspring.run;
    number int8 := (op ->> 'attempt')::int8;
BEGIN
    SELECT * INTO run FROM mainspring.run_of(op);
    IF NOT FOUND THEN
        answer := 'M';
    ELSIF number <= run.attempt THEN
        answer := 'D';
    ELSIF number <> run.attempt + 1 OR NOT op -> 'from' ? run.state THEN
        answer := 'G';
    ELSE
        UPDATE mainspring.run AS r SET state = 'running', attempt = number, started = (op ->> 'at')::int8, ended = NULL,
            outcome = NULL, reason = '' WHERE r.job = run.job AND r.nominal = run.nominal AND r.series = run.series;
        INSERT INTO mainspring.attempt (job, nominal, series, number, started, server, epoch)
            VALUES (run.job, run.nominal, run.series, number, (op ->> 'at')::int8, p_server, p_epoch);
        counts[3] := counts[3] + 1 - mainspring.is_open(run.state)::int;
        counts[5] := counts[5] - (run.state = 'dead')::int;
        answer := 'N';
    END IF;
END $$;

CREATE FUNCTION mainspring.end_attempt(op jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    run mainspring.run;
    is_open bool := mainspring.is_open(op ->> 'state');
BEGIN
    SELECT * INTO run FROM mainspring.run_of(op);
    IF NOT FOUND THEN
        answer := 'M';
    ELSIF run.attempt <> (op ->> 'attempt')::int8 OR run.state <> 'running' OR NOT (op ->> 'is_allowed')::bool THEN
        answer := 'G';
    ELSE
        UPDATE mainspring.run AS r SET state = op ->> 'state', ended = (op ->> 'at')::int8, outcome = op ->> 'outcome',
            reason = op ->> 'reason', deaths = (op ->> 'deaths')::int8
            WHERE r.job = run.job AND r.nominal = run.nominal AND r.series = run.series;
        UPDATE mainspring.attempt AS a SET ended = (op ->> 'at')::int8, state = op ->> 'state', outcome = op ->> 'outcome'
            WHERE a.job = run.job AND a.nominal = run.nominal AND a.series = run.series AND a.number = run.attempt;
        counts[3] := counts[3] - 1 + is_open::int;
        counts[5] := counts[5] + (op ->> 'state' = 'dead')::int;
        IF NOT is_open THEN
            PERFORM mainspring.last_came(run.job, run.nominal, run.series, op ->> 'state', (op ->> 'at')::int8);
        END IF;
        answer := 'N';
    END IF;
END $$;

CREATE FUNCTION mainspring.move_run(op jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    run mainspring.run;
    was_open bool := mainspring.is_open(op ->> 'from');
    is_open bool := mainspring.is_open(op ->> 'to');
BEGIN
    SELECT * INTO run FROM mainspring.run_of(op);
    IF NOT FOUND THEN
        answer := 'M';
    ELSIF run.state <> op ->> 'from' OR NOT (op ->> 'is_allowed')::bool THEN
        answer := 'G';
    ELSE
        UPDATE mainspring.run AS r SET state = op ->> 'to', due = (op ->> 'due')::int8, reason = op ->> 'reason',
            ended = CASE WHEN is_open THEN r.ended ELSE (op ->> 'at')::int8 END,
            forgiven = CASE WHEN (op ->> 'is_forgiven')::bool THEN r.attempt ELSE r.forgiven END
            WHERE r.job = run.job AND r.nominal = run.nominal AND r.series = run.series;
        counts[3] := counts[3] - was_open::int + is_open::int;
        counts[5] := counts[5] - (op ->> 'from' = 'dead')::int + (op ->> 'to' = 'dead')::int;
        IF NOT is_open THEN
            PERFORM mainspring.last_came(run.job, run.nominal, run.series, op ->> 'to', (op ->> 'at')::int8);
        ELSIF NOT was_open THEN
            PERFORM mainspring.last_look(run.job);
        END IF;
        answer := 'N';
    END IF;
END $$;

CREATE FUNCTION mainspring.define(p_shard int8, p_job jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    job mainspring.job;
BEGIN
    job := jsonb_populate_record(NULL::mainspring.job, p_job);
    job.shard := p_shard;
    IF NOT EXISTS (SELECT FROM mainspring.job AS j WHERE j.name = job.name AND j.source IS NOT NULL) THEN
        counts[1] := counts[1] + 1;
    END IF;
    INSERT INTO mainspring.job VALUES (job.*) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM mainspring.last_look(job.name);
    ELSE
        UPDATE mainspring.job AS j SET source = job.source, text = job.text WHERE j.name = job.name;
    END IF;
    answer := 'N';
END $$;

CREATE FUNCTION mainspring.keep_mark(p_job jsonb, may_rewind bool, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    mark mainspring.job := jsonb_populate_record(NULL::mainspring.job, p_job);
BEGIN
    UPDATE mainspring.job AS j SET
        watermark = CASE WHEN j.timetable = mark.timetable AND NOT may_rewind
            THEN greatest(j.watermark, mark.watermark) ELSE mark.watermark END,
        runs = mark.runs, failures = mark.failures, backfills = mark.backfills, pause = mark.pause,
        timetable = mark.timetable, deaths = mark.deaths, pause_until = mark.pause_until, pause_note = mark.pause_note
        WHERE j.name = mark.name;
    answer := CASE WHEN FOUND THEN 'N' ELSE 'M' END;
END $$;

-- Drops what retention does not keep, the oldest first. A null job stands for all one-shot jobs of the shard together.
CREATE FUNCTION mainspring.prune(p_shard int8, op jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    v_job text := op ->> 'job';
    dropped int8;
    -- In the text, so that each of the two has a plan by its own index.
    theirs text := CASE WHEN v_job IS NULL THEN 'r.cause = ''once''' ELSE 'r.job = $2 AND r.cause <> ''once''' END;
BEGIN
    EXECUTE format($sql$ WITH over AS MATERIALIZED (
        SELECT r.nominal, r.job, r.series, r.ended,
            row_number() OVER (ORDER BY r.nominal DESC, r.job DESC, r.series DESC) AS place
        FROM mainspring.run AS r
        WHERE r.shard = $1 AND r.state NOT IN ('scheduled', 'queued', 'running', 'dead') AND %s
    ), surplus AS (
        SELECT o.nominal, o.job, o.series FROM over AS o WHERE $3 < o.place OR o.ended < $4
        ORDER BY o.nominal, o.job, o.series LIMIT $5
    ), runs AS (
        DELETE FROM mainspring.run AS r USING surplus AS s
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
                SELECT FROM mainspring.run AS r
                WHERE r.job = j.name AND r.nominal = j.last_nominal AND r.series = j.last_series);
    END IF;
    answer := 'N';
END $$;

-- One operation. The counts are those of jobs, pending jobs, open runs, runs and dead letters.
CREATE FUNCTION mainspring.apply(p_shard int8, p_epoch int8, p_server uuid, op jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    once mainspring.pending;
    v_number int8;
BEGIN
    CASE op ->> 'op'
    WHEN 'submit' THEN
        SELECT s.counts, s.answer INTO counts, answer FROM mainspring.submit(p_shard, op -> 'once', counts) AS s;
    WHEN 'fire', 'withdraw' THEN
        DELETE FROM mainspring.pending AS p
            WHERE p.shard = p_shard AND p.due = (op ->> 'due')::int8 AND p.number = (op ->> 'number')::int8
            RETURNING * INTO once;
        IF NOT FOUND THEN
            answer := 'G';
            RETURN;
        END IF;
        counts[2] := counts[2] - 1;
        -- What was withdrawn becomes a run out of its own row.
        SELECT i.counts, i.answer INTO counts, answer FROM mainspring.insert_run(p_shard, p_epoch, p_server,
            CASE op ->> 'op' WHEN 'fire' THEN op -> 'run' ELSE (op -> 'run') || jsonb_build_object(
                'job', once.name, 'nominal', once.due, 'due', once.due, 'kind', once.kind, 'body', once.body,
                'policies', once.policies, 'work_group', once.work_group, 'priority', once.priority) END,
            counts) AS i;
    WHEN 'plan' THEN
        SELECT i.counts, i.answer INTO counts, answer
            FROM mainspring.insert_run(p_shard, p_epoch, p_server, op -> 'run', counts) AS i;
    WHEN 'begin' THEN
        SELECT b.counts, b.answer INTO counts, answer FROM mainspring.begin_attempt(p_epoch, p_server, op, counts) AS b;
    WHEN 'end' THEN
        SELECT e.counts, e.answer INTO counts, answer FROM mainspring.end_attempt(op, counts) AS e;
    WHEN 'clear' THEN
        UPDATE mainspring.run AS r SET deaths = 0 WHERE r.job = op ->> 'job' AND r.nominal = (op ->> 'nominal')::int8
            AND r.series = (op ->> 'series')::int8 AND r.attempt = (op ->> 'attempt')::int8 AND r.state = 'running';
        answer := CASE WHEN FOUND THEN 'N' WHEN EXISTS (SELECT FROM mainspring.run_of(op)) THEN 'G' ELSE 'M' END;
    WHEN 'move' THEN
        SELECT m.counts, m.answer INTO counts, answer FROM mainspring.move_run(op, counts) AS m;
    WHEN 'define' THEN
        SELECT d.counts, d.answer INTO counts, answer FROM mainspring.define(p_shard, op -> 'job', counts) AS d;
    WHEN 'mark' THEN
        answer := mainspring.keep_mark(op -> 'job', false);
    WHEN 'rewind' THEN
        answer := mainspring.keep_mark(op -> 'job', true);
    WHEN 'forget' THEN
        counts[1] := counts[1] - (SELECT count(*) FROM mainspring.job AS j WHERE j.name = op ->> 'job' AND j.source IS NOT NULL);
        UPDATE mainspring.job AS j SET source = NULL, text = '' WHERE j.name = op ->> 'job';
        answer := CASE WHEN FOUND THEN 'N' ELSE 'M' END;
    WHEN 'prune' THEN
        SELECT p.counts, p.answer INTO counts, answer FROM mainspring.prune(p_shard, op, counts) AS p;
    WHEN 'pause_all' THEN
        UPDATE mainspring.shard AS s SET is_paused = (op ->> 'is_paused')::bool, pause_until = (op ->> 'pause_until')::int8,
            pause_note = op ->> 'pause_note' WHERE s.shard = p_shard;
        answer := 'N';
    WHEN 'audit' THEN
        INSERT INTO mainspring.audit (shard, at, actor, action, target, note)
            VALUES (p_shard, (op ->> 'at')::int8, op ->> 'actor', op ->> 'action', op ->> 'target', op ->> 'note')
            RETURNING number INTO v_number;
        DELETE FROM mainspring.audit AS a WHERE a.number <= v_number - (op ->> 'most')::int8;
        answer := 'N';
    END CASE;
END $$;

-- A batch, for the owner of a shard: all of it or nothing, once, and the lease is renewed.
CREATE FUNCTION mainspring.commit_1(
    p_shard int8, p_epoch int8, p_token text, p_lease_ms int8, p_batch int8, p_ops jsonb[],
    OUT status text, OUT answers text, OUT now int8
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    shard_row mainspring.shard;
    op jsonb;
    words text[] := '{}';
    word text;
    counts int8[] := ARRAY[0, 0, 0, 0, 0];
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
        FOREACH op IN ARRAY p_ops LOOP
            SELECT a.counts, a.answer INTO counts, word FROM mainspring.apply(p_shard, p_epoch, shard_row.server, op, counts) AS a;
            words := words || word;
        END LOOP;
        answers := array_to_string(words, ' ');
    END IF;
    UPDATE mainspring.shard AS s SET batch = p_batch, answers = commit_1.answers,
        until = clock_timestamp() + p_lease_ms * interval '1 ms', told = greatest(s.told, mainspring.now_ns()),
        jobs = s.jobs + counts[1], pending = s.pending + counts[2], open = s.open + counts[3],
        runs = s.runs + counts[4], dead = s.dead + counts[5]
        WHERE s.shard = p_shard RETURNING s.told INTO now;
    status := 'done';
END $$;
