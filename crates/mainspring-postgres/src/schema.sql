-- The pool's database: what one planner decides, and what its workers report. The first step of the schema.
--
--   submit ─▶ inbox ─▶ pending ─▶ open_run ─▶ history ─▶ gone, by retention
--                                    │ ▲
--              assigned to a worker ─┘ └─ End, by the planner, out of a report
--
-- Times are nanoseconds since 1970, but for those that only the database judges (leases, the inbox), which are timestamptz. A function
-- finds every name in pg_catalog or by its schema, whatever the session says: no other role's function is called in its place.
-- The planner alone writes decisions, in `commit`, and holds its row meanwhile: two batches are never at once.

-- Who decides. One row.
CREATE TABLE mainspring.planner (
    one bool PRIMARY KEY DEFAULT true CHECK (one),
    -- Which steps were made, and the oldest program that may go on writing.
    version int8 NOT NULL, floor int8 NOT NULL,
    -- The fence: every write names both. The token tells two histories apart that have counted alike, as after the loss of a primary
    -- whose standby lagged.
    epoch int8 NOT NULL DEFAULT 0, token uuid NOT NULL DEFAULT gen_random_uuid(),
    -- Empty where the planner has left in good order.
    owner text NOT NULL DEFAULT '', address text NOT NULL DEFAULT '', server text NOT NULL DEFAULT '',
    machine text NOT NULL DEFAULT '', machine_start text NOT NULL DEFAULT '', takeover text NOT NULL DEFAULT '',
    until timestamptz NOT NULL DEFAULT '-infinity',
    -- The latest time that was told: no later one is before it.
    told int8 NOT NULL DEFAULT 0,
    -- The last batch, and what was answered.
    batch int8 NOT NULL DEFAULT 0, answers text NOT NULL DEFAULT '',
    is_paused bool NOT NULL DEFAULT false, pause_until int8, pause_note text NOT NULL DEFAULT '',
    -- The files that were ever in force: one whose last job was removed must not come back with an old server.
    sources text[] NOT NULL DEFAULT '{}',
    -- What the planner alone knows of itself, and of the places of definitions: documents for the other servers.
    status text NOT NULL DEFAULT '', lines text NOT NULL DEFAULT '',
    -- How many rows there are; of `once` those that a prune may drop.
    jobs int8 NOT NULL DEFAULT 0, pending int8 NOT NULL DEFAULT 0, open int8 NOT NULL DEFAULT 0, runs int8 NOT NULL DEFAULT 0,
    dead int8 NOT NULL DEFAULT 0, once int8 NOT NULL DEFAULT 0,
    -- How often the lease was taken, and how; how often somebody was refused who had lost it.
    takeovers jsonb NOT NULL DEFAULT '{}', fenced int8 NOT NULL DEFAULT 0
) WITH (fillfactor = 30);

-- A server that carries runs out: one row for each of its lives. It outlives the life, so that a history can say where a run ran.
CREATE TABLE mainspring.worker_life (
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, server text NOT NULL, name text NOT NULL, host text NOT NULL,
    address text NOT NULL, version text NOT NULL, labels jsonb NOT NULL, capacity int8 NOT NULL,
    -- How many more it may be given, which wait there.
    ahead int8 NOT NULL, is_leaving bool NOT NULL DEFAULT false, joined timestamptz NOT NULL DEFAULT clock_timestamp(),
    renewed timestamptz NOT NULL DEFAULT clock_timestamp(), until timestamptz NOT NULL,
    -- How far what runs there is, for people, and how often that was another with a renewal.
    progress text NOT NULL DEFAULT '', progress_count int8 NOT NULL DEFAULT 0,
    -- How it ended: 'left', then all that it began is on record; 'lost', of which people are told unless its process is 'back'.
    gone text, gone_at timestamptz
) WITH (fillfactor = 50);
CREATE INDEX worker_life_here ON mainspring.worker_life (id) WHERE gone IS NULL;
-- Those that are there.
CREATE VIEW mainspring.worker AS SELECT * FROM mainspring.worker_life WHERE gone IS NULL;

-- What a worker says. It counts its reports itself and sends them in order, so what is there has no gap that is filled later.
CREATE TABLE mainspring.report (
    worker int8, number int8, job text COLLATE "C" NOT NULL, nominal int8 NOT NULL, series int8 NOT NULL, attempt int8 NOT NULL,
    outcome text NOT NULL, retry_at int8,
    -- By the database's clock, whatever the worker's says.
    ended timestamptz NOT NULL, PRIMARY KEY (worker, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE mainspring.job (
    name text COLLATE "C" PRIMARY KEY, watermark int8 NOT NULL, runs int8 NOT NULL, failures int8 NOT NULL, deaths int8 NOT NULL,
    max_series int8 NOT NULL, pause text, pause_until int8, pause_note text NOT NULL, timetable text NOT NULL, source text,
    text text NOT NULL, last_success int8,
    -- How many runs of it a prune may drop: over, not dead, and no one-shot's.
    over int8 NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE mainspring.pending (
    due int8, number int8, name text COLLATE "C" NOT NULL, is_named bool NOT NULL, key text COLLATE "C", submitted int8 NOT NULL,
    kind text NOT NULL, body text NOT NULL, policies text NOT NULL, work_group text COLLATE "C", priority int8 NOT NULL,
    PRIMARY KEY (due, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE UNIQUE INDEX pending_name ON mainspring.pending (name) WHERE is_named;
-- The members of a batch: its name is the last word of their policies.
CREATE INDEX pending_batch ON mainspring.pending (split_part(' ' || policies, ' batch=', 2)) WHERE policies LIKE '%batch=%';

-- The one-shot job that a key names, while it waits and while its run is kept.
CREATE TABLE mainspring.once_key (
    key text COLLATE "C" PRIMARY KEY, due int8 NOT NULL, number int8 NOT NULL, name text COLLATE "C" NOT NULL
);
CREATE INDEX once_key_name ON mainspring.once_key (name, due);

-- Runs that are over. Each has its last attempt in itself.
CREATE TABLE mainspring.history (
    job text COLLATE "C", nominal int8, series int8, cause text NOT NULL, state text NOT NULL, attempt int8 NOT NULL,
    due int8 NOT NULL, planned int8 NOT NULL, started int8, ended int8, outcome text, reason text NOT NULL, span_last int8,
    span_count int8, span_is_exact bool, kind text, body text, policies text, work_group text COLLATE "C", priority int8,
    deaths int8 NOT NULL, forgiven int8 NOT NULL, worker int8, PRIMARY KEY (job, nominal, series)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
-- By time, each row in one of two. Rows of equal times are sorted when a page is read: entries are short, and come in order.
CREATE INDEX history_once ON mainspring.history (nominal) WHERE cause = 'once';
CREATE INDEX history_nominal ON mainspring.history (nominal) WHERE cause <> 'once';
CREATE INDEX history_once_ended ON mainspring.history (ended) WHERE cause = 'once' AND ended IS NOT NULL;
CREATE INDEX history_ended ON mainspring.history (ended) WHERE cause <> 'once' AND ended IS NOT NULL;
-- What is too old of a job.
CREATE INDEX history_job_ended ON mainspring.history (job, ended) WHERE cause <> 'once';
-- What people ask for and few runs have: a state that is no success, a cause that is no timetable's.
CREATE INDEX history_other ON mainspring.history (nominal) WHERE state <> 'succeeded';
CREATE INDEX history_other_ended ON mainspring.history (ended) WHERE state <> 'succeeded' AND ended IS NOT NULL;
CREATE INDEX history_rare ON mainspring.history (cause, nominal) WHERE cause NOT IN ('trigger', 'once');
CREATE INDEX history_rare_ended ON mainspring.history (cause, ended) WHERE cause NOT IN ('trigger', 'once') AND ended IS NOT NULL;

-- Runs that wait or run: a small table with one index. Where another server carries the attempt out the row is its assignment too: a
-- row of its own would be one more written and one more dropped for each attempt, and this one goes when it must.
CREATE TABLE mainspring.open_run (
    LIKE mainspring.history, document text, assigned int8, is_killed bool NOT NULL DEFAULT false, PRIMARY KEY (job, nominal, series)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX open_run_assigned ON mainspring.open_run (worker, assigned) WHERE assigned IS NOT NULL;
CREATE INDEX open_run_killed ON mainspring.open_run (worker) WHERE is_killed;
-- In the order of commits, as there is one planner.
CREATE SEQUENCE mainspring.assigned;

-- Attempts of a run before its last one.
CREATE TABLE mainspring.past_attempt (
    job text COLLATE "C", nominal int8, series int8, number int8, started int8 NOT NULL, ended int8, state text, outcome text,
    worker int8, PRIMARY KEY (job, nominal, series, number)
);

-- The end of what an attempt wrote, for servers that have not its file. Of one that ran when somebody read it also when that was, and its
-- worker: that keeps it so for some seconds.
CREATE TABLE mainspring.output (
    job text COLLATE "C", nominal int8, series int8, attempt int8, left_out int8 NOT NULL, lines text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), worker int8, read timestamptz, PRIMARY KEY (job, nominal, series, attempt)
);
CREATE INDEX output_read ON mainspring.output (worker, read) WHERE worker IS NOT NULL;

CREATE TABLE mainspring.audit (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at int8 NOT NULL, actor text COLLATE "C" NOT NULL, action text NOT NULL,
    target text COLLATE "C" NOT NULL, note text NOT NULL
);

-- What the planner is asked, by users of SQL in their own transactions and by other servers.
CREATE TABLE mainspring.inbox (
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, request text NOT NULL, actor text NOT NULL,
    -- Whether somebody waits for the reply: then it is done at most once. Else at least once, under its key, which makes that once.
    waits bool NOT NULL, key text COLLATE "C", at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Why it cannot be done; empty while that is not known.
    refusal text NOT NULL DEFAULT '',
    -- Where somebody waits: it is done or being done, and what was answered, until who waits has read it.
    is_taken bool NOT NULL DEFAULT false, response text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX inbox_open ON mainspring.inbox (id) WHERE refusal = '' AND NOT is_taken;
CREATE INDEX inbox_key ON mainspring.inbox (key, id) WHERE key IS NOT NULL;

CREATE VIEW mainspring.run AS SELECT * FROM mainspring.history UNION ALL
    SELECT job, nominal, series, cause, state, attempt, due, planned, started, ended, outcome, reason, span_last, span_count,
    span_is_exact, kind, body, policies, work_group, priority, deaths, forgiven, worker FROM mainspring.open_run;

-- The last attempt is the run's own, as long as no later change of the run has kept it.
CREATE VIEW mainspring.attempt AS SELECT * FROM mainspring.past_attempt UNION ALL
    SELECT r.job, r.nominal, r.series, r.attempt, r.started, CASE WHEN r.state <> 'running' THEN r.ended END,
        nullif(r.state, 'running'), r.outcome, r.worker FROM mainspring.run AS r
    WHERE 0 < r.attempt AND NOT EXISTS (SELECT FROM mainspring.past_attempt AS a
        WHERE a.job = r.job AND a.nominal = r.nominal AND a.series = r.series AND a.number = r.attempt OFFSET 0);

CREATE FUNCTION mainspring.now_ns() RETURNS int8 LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RETURN (extract(epoch FROM clock_timestamp()) * 1000000000)::int8; END $$;

---- The planner's lease. It is judged by clock_timestamp() alone. ----

-- Takes the lease if it is free, or ran out half a second ago. A commit in flight holds the row: this waits for it, and never comes between
-- its check and its write. The process that has the lease is not refused it: it asks again where the answer was lost, or where it
-- could not renew the lease and has ended what it ran. It gets another epoch, so that what it may have sent before is refused.
CREATE FUNCTION mainspring.acquire(
    p_known int8, p_lease_ms int8, p_owner text, p_address text, p_server text, p_machine text, p_machine_start text, OUT status text,
    OUT epoch int8, OUT token text, OUT takeover text, OUT held_by text, OUT left_ms int8, OUT now int8, OUT silent_ms int8
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    held mainspring.planner;
    lapse timestamptz;
    is_same bool;
BEGIN
    SELECT * INTO STRICT held FROM mainspring.planner FOR NO KEY UPDATE;
    lapse := held.until + interval '500 ms';
    is_same := held.server = p_server;
    IF p_known < held.floor THEN
        status := 'too new';
        RETURN;
    ELSIF held.owner <> '' AND NOT is_same AND clock_timestamp() <= lapse THEN
        status := 'held';
        held_by := held.owner;
        left_ms := greatest(1, ceil(extract(epoch FROM lapse - clock_timestamp()) * 1000)::int8);
        RETURN;
    END IF;
    takeover := CASE
        WHEN held.owner = '' THEN 'clean'
        -- It did nothing with it yet: it is told once more how it came to it.
        WHEN is_same AND held.batch = 0 THEN held.takeover
        WHEN is_same THEN 'interrupted'
        WHEN held.machine <> p_machine OR held.machine_start = '' OR p_machine_start = '' THEN 'unclean'
        WHEN held.machine_start <> p_machine_start THEN 'rebooted'
        ELSE 'unclean' END;
    -- The lease began to run when its holder was last heard of.
    silent_ms := CASE WHEN isfinite(held.until)
        THEN ceil(extract(epoch FROM clock_timestamp() - held.until) * 1000)::int8 + p_lease_ms END;
    UPDATE mainspring.planner AS p SET epoch = held.epoch + 1, token = gen_random_uuid(), owner = p_owner, address = p_address,
        server = p_server, machine = p_machine, machine_start = p_machine_start, takeover = acquire.takeover,
        until = clock_timestamp() + p_lease_ms * interval '1 ms', told = greatest(p.told, mainspring.now_ns()), batch = 0,
        answers = '', takeovers = CASE WHEN is_same AND held.batch = 0 THEN p.takeovers ELSE p.takeovers || jsonb_build_object(
            acquire.takeover, coalesce((p.takeovers ->> acquire.takeover)::int8, 0) + 1) END
        RETURNING p.epoch, p.token::text, p.told INTO epoch, token, now;
    status := 'done';
END $$;

-- It looks into the inbox on its way.
CREATE FUNCTION mainspring.renew(p_epoch int8, p_token text, p_lease_ms int8, OUT status text, OUT now int8, OUT has_requests bool)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
BEGIN
    UPDATE mainspring.planner AS p SET until = clock_timestamp() + p_lease_ms * interval '1 ms',
        told = greatest(p.told, mainspring.now_ns()) WHERE p.epoch = p_epoch AND p.token = p_token::uuid RETURNING p.told INTO now;
    status := CASE WHEN FOUND THEN 'done' ELSE 'fenced' END;
    has_requests := EXISTS (SELECT FROM mainspring.inbox AS i WHERE i.refusal = '' AND NOT i.is_taken);
END $$;

-- The token is another one afterwards, so that who has left can write nothing more. Who stands by is told.
CREATE FUNCTION mainspring.release(p_epoch int8, p_token text, OUT status text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
BEGIN
    UPDATE mainspring.planner AS p SET owner = '', server = '', token = gen_random_uuid(), until = '-infinity'
        WHERE p.epoch = p_epoch AND p.token = p_token::uuid;
    status := CASE WHEN FOUND THEN 'done' ELSE 'fenced' END;
    PERFORM pg_notify('mainspring_free', '') WHERE status = 'done';
END $$;

---- Commits. ----

-- An operation. Which columns it has depends on its kind: see `src/operation_row.rs`.
CREATE TYPE mainspring.operation AS (
    -- In the batch, from 1: where its answer goes.
    place int8,
    -- The run.
    job text COLLATE "C", nominal int8, series int8, cause text, state text, attempt int8, due int8, planned int8, started int8,
    ended int8, outcome text, reason text, span_last int8, span_count int8, span_is_exact bool, deaths int8, forgiven int8,
    -- Where the attempt is carried out, and what the worker is to know.
    worker int8, document text,
    -- The one-shot job. One that was named so by a person is named.
    once_due int8, number int8, key text COLLATE "C", is_named bool,
    kind text, body text, policies text, work_group text COLLATE "C", priority int8,
    -- When it is done; the state that is left; for kinds that are seldom the rest.
    at int8, from_state text, details jsonb
);

-- What a batch has come to: its answers, and how many rows there are more.
CREATE TYPE mainspring.tally AS (answers text[], jobs int8, pending int8, open int8, runs int8, dead int8, once int8);

-- How these functions are written. Each does all operations of one kind that touch nothing in common. Plans are kept for as long as a
-- session lasts, and must be right for any size of the tables: a row is looked for by its key in a subquery with OFFSET 0, which the
-- planner of the database cannot turn around, and written by its place (ctid). Nobody else writes these rows.

-- One answer for some operations.
CREATE FUNCTION mainspring.answer(t mainspring.tally, word text, places int8[]) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place int8;
BEGIN
    FOREACH place IN ARRAY places LOOP
        t.answers[place] := word;
    END LOOP;
    RETURN t;
END $$;

-- Why operations on runs were not done, all but some: there is no such run, that attempt was begun, the run has moved on.
CREATE FUNCTION mainspring.explain(ops mainspring.operation[], done int8[], t mainspring.tally, kind text) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o record;
    attempt int8;
BEGIN
    FOR o IN SELECT u.* FROM unnest(ops) AS u WHERE u.place <> ALL (done) LOOP
        SELECT r.attempt INTO attempt FROM mainspring.run AS r WHERE r.job = o.job AND r.nominal = o.nominal AND r.series = o.series;
        t.answers[o.place] := CASE WHEN NOT FOUND THEN 'M' WHEN kind = 'begin' AND o.attempt <= attempt THEN 'D' ELSE 'G' END;
    END LOOP;
    RETURN t;
END $$;

-- What has come to a job's runs that a prune may drop, or left them; and when a run of it succeeded, if one did.
CREATE TYPE mainspring.change AS (job text COLLATE "C", is_once bool, over int8, success int8);

-- Keeps that with the jobs; those of one-shot jobs are counted together.
CREATE FUNCTION mainspring.count_over(t mainspring.tally, changes mainspring.change[]) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    t.once := t.once + coalesce((SELECT sum(c.over) FROM unnest(changes) AS c WHERE c.is_once), 0);
    UPDATE mainspring.job AS j SET over = j.over + c.over, last_success = greatest(j.last_success, c.success)
        FROM (SELECT c.job, coalesce(sum(c.over) FILTER (WHERE NOT c.is_once), 0)::int8, max(c.success) FROM unnest(changes) AS c
            WHERE NOT c.is_once OR c.success IS NOT NULL GROUP BY c.job) AS c (job, over, success), LATERAL (
            SELECT f.ctid AS place FROM mainspring.job AS f WHERE f.name = c.job OFFSET 0) AS f
        WHERE j.ctid = f.place;
    RETURN t;
END $$;

-- One-shot jobs. Of some it is known that nothing is in their place: they have no key and no name of a person, and a number that is
-- given for the first time. The request of the inbox that asked for a job goes with it, so that it is neither lost nor done twice: it is
-- known by the job's key, or by the name that its id makes.
CREATE FUNCTION mainspring.commit_submits(ops mainspring.operation[], t mainspring.tally, is_new bool) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o record;
    taken int8[] := '{}';
BEGIN
    IF NOT is_new THEN
        taken := ARRAY(SELECT u.place FROM unnest(ops) AS u
        WHERE u.key IS NOT NULL AND EXISTS (SELECT FROM mainspring.once_key AS k WHERE k.key = u.key OFFSET 0)
        OR u.is_named AND EXISTS (SELECT FROM mainspring.pending AS p WHERE p.is_named AND p.name = u.job OFFSET 0)
        OR EXISTS (SELECT FROM mainspring.pending AS p WHERE p.due = u.once_due AND p.number = u.number OFFSET 0)
        OR EXISTS (SELECT FROM mainspring.open_run AS r WHERE r.job = u.job AND r.nominal = u.once_due AND r.series = 0 OFFSET 0)
        OR EXISTS (SELECT FROM mainspring.history AS r WHERE r.job = u.job AND r.nominal = u.once_due AND r.series = 0 OFFSET 0));
    END IF;
    IF 0 < cardinality(taken) THEN
        FOR o IN SELECT u.* FROM unnest(ops) AS u WHERE u.place = ANY (taken) LOOP
            t.answers[o.place] := coalesce(
                (SELECT 'D' || k.due || ':' || k.number FROM mainspring.once_key AS k WHERE k.key = o.key),
                (SELECT 'D' || p.due || ':' || p.number FROM mainspring.pending AS p
                    WHERE o.is_named AND p.is_named AND p.name = o.job),
                (SELECT 'D' || p.due || ':' || p.number FROM mainspring.pending AS p
                    WHERE p.due = o.once_due AND p.number = o.number), 'D');
        END LOOP;
        ops := ARRAY(SELECT u FROM unnest(ops) AS u WHERE u.place <> ALL (taken));
    END IF;
    INSERT INTO mainspring.pending
        SELECT u.once_due, u.number, u.job, u.is_named, u.key, u.at, u.kind, u.body, u.policies, u.work_group, u.priority
        FROM unnest(ops) AS u;
    t.pending := t.pending + cardinality(ops);
    IF is_new THEN
        RETURN t;
    END IF;
    INSERT INTO mainspring.once_key SELECT u.key, u.once_due, u.number, u.job FROM unnest(ops) AS u WHERE u.key IS NOT NULL;
    -- The first under the key, and no other: that may be of other work, and is refused.
    DELETE FROM mainspring.inbox AS i USING unnest(ops) AS u, LATERAL (SELECT f.ctid AS place FROM mainspring.inbox AS f
            WHERE f.key = coalesce(u.key, u.job) AND f.refusal = '' ORDER BY f.id LIMIT 1) AS f
        WHERE (u.key IS NOT NULL OR NOT u.is_named) AND i.ctid = f.place;
    RETURN t;
END $$;

-- Runs that are new: those of one-shot jobs, which leave the pending ones unless they fire as they are submitted ('open'), and planned
-- ones, which have no number. Where each is that of a one-shot job without a name of a person, there is none in its place, as there was
-- none when the job was submitted.
CREATE FUNCTION mainspring.commit_runs(ops mainspring.operation[], t mainspring.tally, kind text) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fires int8 := CASE kind WHEN 'open' THEN 0 WHEN 'fire' THEN cardinality(ops) ELSE (SELECT count(u.number) FROM unnest(ops) AS u) END;
    found int8[];
    opened int8;
BEGIN
    IF 0 < fires THEN
        WITH gone AS (
            DELETE FROM mainspring.pending AS p USING unnest(ops) AS u, LATERAL (SELECT f.ctid AS place FROM mainspring.pending AS f
                WHERE f.due = u.once_due AND f.number = u.number OFFSET 0) AS f
            WHERE p.ctid = f.place RETURNING u.place
        ) SELECT coalesce(array_agg(g.place), '{}') INTO found FROM gone AS g;
        t.pending := t.pending - cardinality(found);
        IF cardinality(found) < fires THEN
            t := mainspring.answer(t, 'G', ARRAY(SELECT u.place FROM unnest(ops) AS u
                WHERE u.number IS NOT NULL AND u.place <> ALL (found)));
            ops := ARRAY(SELECT u FROM unnest(ops) AS u WHERE u.number IS NULL OR u.place = ANY (found));
        END IF;
    END IF;
    IF kind = 'plan' THEN
        found := ARRAY(SELECT u.place FROM unnest(ops) AS u
            WHERE EXISTS (SELECT FROM mainspring.open_run AS r
                WHERE r.job = u.job AND r.nominal = u.nominal AND r.series = u.series OFFSET 0)
            OR EXISTS (SELECT FROM mainspring.history AS r
                WHERE r.job = u.job AND r.nominal = u.nominal AND r.series = u.series OFFSET 0));
        IF 0 < cardinality(found) THEN
            t := mainspring.answer(t, 'D', found);
            ops := ARRAY(SELECT u FROM unnest(ops) AS u WHERE u.place <> ALL (found));
        END IF;
    END IF;
    INSERT INTO mainspring.open_run
        SELECT u.job, u.nominal, u.series, u.cause, u.state, u.attempt, u.due, u.planned, u.started, u.ended, u.outcome, u.reason,
            u.span_last, u.span_count, u.span_is_exact, u.kind, u.body, u.policies, u.work_group, u.priority, u.deaths, u.forgiven,
            u.worker, u.document, CASE WHEN u.document IS NOT NULL THEN nextval('mainspring.assigned') END
        FROM unnest(ops) AS u WHERE u.state IN ('scheduled', 'queued', 'running');
    GET DIAGNOSTICS opened = ROW_COUNT;
    t.open := t.open + opened;
    t.runs := t.runs + cardinality(ops);
    IF opened < cardinality(ops) THEN
        INSERT INTO mainspring.history
            SELECT u.job, u.nominal, u.series, u.cause, u.state, u.attempt, u.due, u.planned, u.started, u.ended, u.outcome,
                u.reason, u.span_last, u.span_count, u.span_is_exact, u.kind, u.body, u.policies, u.work_group, u.priority,
                u.deaths, u.forgiven, u.worker FROM unnest(ops) AS u WHERE u.state NOT IN ('scheduled', 'queued', 'running');
        t := mainspring.count_over(t, ARRAY(SELECT ROW(u.job, u.cause = 'once', 1, NULL)::mainspring.change FROM unnest(ops) AS u
            WHERE u.state NOT IN ('scheduled', 'queued', 'running', 'dead')));
    END IF;
    RETURN t;
END $$;

-- A one-shot job becomes a run that never ran.
CREATE FUNCTION mainspring.commit_withdrawals(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o record;
    p mainspring.pending;
BEGIN
    FOR o IN SELECT u.* FROM unnest(ops) AS u LOOP
        DELETE FROM mainspring.pending AS f WHERE f.due = o.once_due AND f.number = o.number RETURNING f.* INTO p;
        IF NOT FOUND THEN
            t.answers[o.place] := 'G';
            CONTINUE;
        END IF;
        t.pending := t.pending - 1;
        IF EXISTS (SELECT FROM mainspring.run AS r WHERE r.job = p.name AND r.nominal = p.due AND r.series = 0) THEN
            t.answers[o.place] := 'D';
            CONTINUE;
        END IF;
        INSERT INTO mainspring.history (job, nominal, series, cause, state, attempt, due, planned, ended, reason, kind, body, policies,
                work_group, priority, deaths, forgiven)
            VALUES (p.name, p.due, 0, o.cause, o.state, 0, p.due, o.at, o.at, o.reason, p.kind, p.body, p.policies, p.work_group,
                p.priority, 0, 0);
        t.runs := t.runs + 1;
        t := mainspring.count_over(t, ARRAY[ROW(p.name, o.cause = 'once', 1, NULL)::mainspring.change]);
    END LOOP;
    RETURN t;
END $$;

-- Starts of attempts. What may start is scheduled or queued, and so it is open.
CREATE FUNCTION mainspring.commit_begins(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    done int8[];
BEGIN
    WITH begun AS (
        UPDATE mainspring.open_run AS r SET state = 'running', attempt = u.attempt, started = u.at, ended = NULL, outcome = NULL,
            reason = CASE r.reason WHEN 'retry_requested' THEN r.reason ELSE '' END, worker = u.worker, document = u.document,
            is_killed = false,
            assigned = CASE WHEN u.document IS NOT NULL THEN nextval('mainspring.assigned') END
        FROM unnest(ops) AS u, LATERAL (SELECT f.ctid AS place FROM mainspring.open_run AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.attempt + 1 = u.attempt
                AND f.state IN ('scheduled', 'queued') OFFSET 0) AS f
        WHERE r.ctid = f.place RETURNING u.place
    ) SELECT coalesce(array_agg(b.place), '{}') INTO done FROM begun AS b;
    RETURN CASE WHEN cardinality(done) < cardinality(ops) THEN mainspring.explain(ops, done, t, 'begin') ELSE t END;
END $$;

-- From here on no attempt of the run died with its server.
CREATE FUNCTION mainspring.commit_clears(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    done int8[];
BEGIN
    WITH cleared AS (
        UPDATE mainspring.open_run AS r SET deaths = 0 FROM unnest(ops) AS u, LATERAL (
            SELECT f.ctid AS place FROM mainspring.open_run AS f WHERE f.job = u.job AND f.nominal = u.nominal
                AND f.series = u.series AND f.attempt = u.attempt AND f.state = 'running' OFFSET 0) AS f
        WHERE r.ctid = f.place RETURNING u.place
    ) SELECT coalesce(array_agg(c.place), '{}') INTO done FROM cleared AS c;
    RETURN CASE WHEN cardinality(done) < cardinality(ops) THEN mainspring.explain(ops, done, t, 'clear') ELSE t END;
END $$;

-- Ends of attempts. The state is NULL where none such may follow.
CREATE FUNCTION mainspring.commit_ends(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    done int8[];
    changes mainspring.change[];
    onces int8;
BEGIN
    WITH over AS (
        DELETE FROM mainspring.open_run AS r USING unnest(ops) AS u, LATERAL (SELECT f.ctid AS place FROM mainspring.open_run AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.attempt = u.attempt
                AND f.state = 'running' AND u.state IS NOT NULL OFFSET 0) AS f
        WHERE r.ctid = f.place
        RETURNING u.place, u.is_named, r.job, r.nominal, r.series, r.cause, u.state, r.attempt, r.due, r.planned, r.started, u.at,
            u.outcome, u.reason, r.span_last, r.span_count, r.span_is_exact, r.kind, r.body, r.policies, r.work_group, r.priority,
            u.deaths, r.forgiven, r.worker
    ), kept AS (
        INSERT INTO mainspring.history SELECT o.job, o.nominal, o.series, o.cause, o.state, o.attempt, o.due, o.planned, o.started, o.at, o.outcome, o.reason,
            o.span_last, o.span_count, o.span_is_exact, o.kind, o.body, o.policies, o.work_group, o.priority, o.deaths, o.forgiven,
            o.worker FROM over AS o
    ) SELECT coalesce(array_agg(o.place), '{}'), count(*) FILTER (WHERE o.cause = 'once'), array_agg(ROW(o.job, o.cause = 'once',
            1, CASE WHEN o.state = 'succeeded' THEN o.at END)::mainspring.change) FILTER (WHERE o.is_named)
        INTO done, onces, changes FROM over AS o;
    t.open := t.open - cardinality(done);
    -- Only what is named may be a job's: the others have no row to look for.
    IF changes IS NOT NULL THEN
        onces := onces - (SELECT count(*) FROM unnest(changes) AS c WHERE c.is_once);
        t := mainspring.count_over(t, changes);
    END IF;
    t.once := t.once + onces;
    RETURN CASE WHEN cardinality(done) < cardinality(ops) THEN mainspring.explain(ops, done, t, 'end') ELSE t END;
END $$;

-- Other changes of state. The state that follows is NULL where it may not. A row is taken out and put where it belongs then; how the
-- last attempt ended is kept apart from now on.
CREATE FUNCTION mainspring.commit_moves(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    done int8[];
    moved mainspring.history[];
    changes mainspring.change[];
    opened int8;
    buried int8;
BEGIN
    WITH open AS (
        DELETE FROM mainspring.open_run AS r USING unnest(ops) AS u, LATERAL (SELECT f.ctid AS place FROM mainspring.open_run AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.state = u.from_state
                AND u.state IS NOT NULL OFFSET 0) AS f
        WHERE r.ctid = f.place
        RETURNING u AS o, ROW(r.job, r.nominal, r.series, r.cause, r.state, r.attempt, r.due, r.planned, r.started, r.ended, r.outcome,
            r.reason, r.span_last, r.span_count, r.span_is_exact, r.kind, r.body, r.policies, r.work_group, r.priority, r.deaths,
            r.forgiven, r.worker)::mainspring.history AS r
    ), over AS (
        DELETE FROM mainspring.history AS r USING unnest(ops) AS u, LATERAL (SELECT f.ctid AS place FROM mainspring.history AS f
            WHERE f.job = u.job AND f.nominal = u.nominal AND f.series = u.series AND f.state = u.from_state
                AND u.state IS NOT NULL OFFSET 0) AS f
        WHERE r.ctid = f.place RETURNING u AS o, r
    ), past AS (
        INSERT INTO mainspring.past_attempt
            SELECT r.job, r.nominal, r.series, r.attempt, r.started, r.ended, r.state, r.outcome, r.worker
            FROM (SELECT (f.r).* FROM over AS f) AS r WHERE 0 < r.attempt
            -- What was given back.
            UNION ALL SELECT (f.r).job, (f.r).nominal, (f.r).series, (f.r).attempt, (f.r).started, (f.o).at, (f.o).state, 'returned',
                (f.r).worker FROM open AS f WHERE (f.o).forgiven = 1 ON CONFLICT DO NOTHING
    ), found AS (
        SELECT f.was_open, (f.o).*, (f.o).state IN ('scheduled', 'queued', 'running') AS is_open, f.r
            FROM (SELECT true AS was_open, open.* FROM open UNION ALL SELECT false, over.* FROM over) AS f
    ) SELECT coalesce(array_agg(f.place), '{}'), coalesce(sum(f.is_open::int - f.was_open::int), 0),
            coalesce(sum((f.state = 'dead')::int - (f.from_state = 'dead')::int), 0),
            array_agg(ROW(f.job, (f.r).cause = 'once', (NOT f.is_open AND f.state <> 'dead')::int
                - (NOT f.was_open AND f.from_state <> 'dead')::int, NULL)::mainspring.change),
            array_agg(ROW(f.job, f.nominal, f.series, (f.r).cause, f.state, (f.r).attempt, f.due, (f.r).planned, (f.r).started,
                CASE WHEN f.is_open THEN (f.r).ended ELSE f.at END, (f.r).outcome, f.reason, (f.r).span_last, (f.r).span_count,
                (f.r).span_is_exact, (f.r).kind, (f.r).body, (f.r).policies, (f.r).work_group, (f.r).priority, (f.r).deaths,
                CASE f.forgiven WHEN 2 THEN (f.r).attempt WHEN 1 THEN (f.r).forgiven + 1 ELSE (f.r).forgiven END,
                (f.r).worker)::mainspring.history)
        INTO done, opened, buried, changes, moved FROM found AS f;
    INSERT INTO mainspring.open_run SELECT m.* FROM unnest(moved) AS m WHERE m.state IN ('scheduled', 'queued', 'running');
    INSERT INTO mainspring.history SELECT m.* FROM unnest(moved) AS m WHERE m.state NOT IN ('scheduled', 'queued', 'running');
    t.open := t.open + opened;
    t.dead := t.dead + buried;
    t := mainspring.count_over(t, changes);
    RETURN CASE WHEN cardinality(done) < cardinality(ops) THEN mainspring.explain(ops, done, t, 'move') ELSE t END;
END $$;

-- Jobs: what is defined, how far each is, what is defined no more.
CREATE FUNCTION mainspring.commit_definitions(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    t.jobs := t.jobs + (SELECT count(*) FROM unnest(ops) AS u
        WHERE NOT EXISTS (SELECT FROM mainspring.job AS j WHERE j.name = u.job AND j.source IS NOT NULL OFFSET 0));
    INSERT INTO mainspring.job AS j (name, watermark, runs, failures, deaths, max_series, pause, pause_until, pause_note, timetable,
            source, text, since, over)
        SELECT u.job, m.watermark, m.runs, m.failures, m.deaths, m.max_series, m.pause, m.pause_until, m.pause_note, m.timetable,
            m.source, m.text, coalesce(m.since, m.watermark), mainspring.over_of(u.job)
        FROM unnest(ops) AS u, jsonb_populate_record(NULL::mainspring.job, u.details) AS m
        ON CONFLICT (name) DO UPDATE SET source = EXCLUDED.source, text = EXCLUDED.text;
    UPDATE mainspring.planner AS p SET sources = p.sources || n.names FROM (
            SELECT array_agg(DISTINCT u.details ->> 'source') FROM unnest(ops) AS u, mainspring.planner AS q
            WHERE u.details ->> 'source' <> ALL (q.sources)) AS n (names)
        WHERE n.names IS NOT NULL;
    RETURN t;
END $$;

-- What a prune may drop of a job without a row.
CREATE FUNCTION mainspring.over_of(p_job text) RETURNS int8 LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*) FROM mainspring.history AS r WHERE r.job = p_job AND r.cause <> 'once' AND r.state <> 'dead'
$$;

CREATE FUNCTION mainspring.commit_marks(ops mainspring.operation[], t mainspring.tally, is_rewound bool) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    done int8[];
BEGIN
    WITH marked AS (
        UPDATE mainspring.job AS j SET watermark = CASE WHEN is_rewound OR j.timetable <> m.timetable THEN m.watermark
                ELSE greatest(j.watermark, m.watermark) END,
            since = coalesce(m.since, j.since), runs = m.runs, failures = m.failures, deaths = m.deaths, max_series = m.max_series, pause = m.pause,
            pause_until = m.pause_until, pause_note = m.pause_note, timetable = m.timetable
        FROM unnest(ops) AS u, jsonb_populate_record(NULL::mainspring.job, u.details) AS m, LATERAL (
            SELECT f.ctid AS place FROM mainspring.job AS f WHERE f.name = u.job OFFSET 0) AS f
        WHERE j.ctid = f.place RETURNING u.place
    ) SELECT coalesce(array_agg(m.place), '{}') INTO done FROM marked AS m;
    RETURN mainspring.answer(t, 'M', ARRAY(SELECT u.place FROM unnest(ops) AS u
        WHERE cardinality(done) < cardinality(ops) AND u.place <> ALL (done)));
END $$;

CREATE FUNCTION mainspring.commit_forgets(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o record;
    had text;
BEGIN
    FOR o IN SELECT u.* FROM unnest(ops) AS u LOOP
        SELECT j.source INTO had FROM mainspring.job AS j WHERE j.name = o.job;
        t.answers[o.place] := CASE WHEN FOUND THEN 'N' ELSE 'M' END;
        t.jobs := t.jobs - (had IS NOT NULL)::int;
        UPDATE mainspring.job AS j SET source = NULL, text = o.details ->> 'text' WHERE j.name = o.job;
    END LOOP;
    RETURN t;
END $$;

-- Drops what retention does not keep of the runs of a job, or of all one-shot jobs together (`job` is NULL). How many there are is
-- counted, so each is a range of an index: those that ended first, and those that ended too long ago.
CREATE FUNCTION mainspring.commit_prunes(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o record;
    surplus int8;
    -- Of each kind, none of the other.
    once int8;
    own int8;
    dropped int8;
BEGIN
    FOR o IN SELECT u.place, u.job, m.* FROM unnest(ops) AS u, jsonb_to_record(u.details) AS m (keep int8, before int8, most int8) LOOP
        surplus := least(o.most, greatest(0, CASE WHEN o.job IS NULL THEN t.once + (SELECT p.once FROM mainspring.planner AS p)
            ELSE coalesce((SELECT j.over FROM mainspring.job AS j WHERE j.name = o.job), mainspring.over_of(o.job)) END - o.keep));
        once := (o.job IS NULL)::int;
        own := 1 - once;
        WITH old AS (
            (SELECT r.ctid AS place, r.ended, r.nominal, r.job, r.series, r.attempt, r.state FROM mainspring.history AS r WHERE r.cause = 'once'
                AND r.state <> 'dead' AND r.ended IS NOT NULL ORDER BY r.ended, r.job, r.nominal, r.series LIMIT surplus * once)
            UNION ALL (SELECT r.ctid, r.ended, r.nominal, r.job, r.series, r.attempt, r.state FROM mainspring.history AS r WHERE r.cause = 'once'
                AND r.state <> 'dead' AND r.ended < o.before ORDER BY r.ended LIMIT o.most * once)
            UNION ALL (SELECT r.ctid, r.ended, r.nominal, r.job, r.series, r.attempt, r.state FROM mainspring.history AS r WHERE r.job = o.job AND r.cause <> 'once'
                AND r.state <> 'dead' ORDER BY r.job, r.ended, r.nominal, r.series LIMIT surplus * own)
            UNION ALL (SELECT r.ctid, r.ended, r.nominal, r.job, r.series, r.attempt, r.state FROM mainspring.history AS r WHERE r.job = o.job AND r.cause <> 'once'
                AND r.state <> 'dead' AND r.ended < o.before ORDER BY r.job, r.ended LIMIT o.most * own)
        ), dropping AS MATERIALIZED (
            SELECT * FROM old ORDER BY old.ended, old.job, old.nominal, old.series LIMIT o.most
        ), runs AS (
            DELETE FROM mainspring.history AS r USING dropping AS d WHERE r.ctid = d.place RETURNING 1
        ), attempts AS (
            DELETE FROM mainspring.past_attempt AS a USING dropping AS d, LATERAL (SELECT f.ctid AS place
                FROM mainspring.past_attempt AS f WHERE f.job = d.job AND f.nominal = d.nominal AND f.series = d.series OFFSET 0) AS f
            WHERE (1 < d.attempt OR d.state <> 'succeeded') AND a.ctid = f.place
        ), outputs AS (
            DELETE FROM mainspring.output AS a USING dropping AS d, LATERAL (SELECT f.ctid AS place
                FROM mainspring.output AS f WHERE f.job = d.job AND f.nominal = d.nominal AND f.series = d.series OFFSET 0) AS f
            WHERE a.ctid = f.place AND EXISTS (SELECT FROM mainspring.output)
        ), keys AS (
            DELETE FROM mainspring.once_key AS k USING dropping AS d, LATERAL (SELECT f.ctid AS place
                FROM mainspring.once_key AS f WHERE f.name = d.job AND f.due = d.nominal AND d.series = 0 OFFSET 0) AS f
            WHERE k.ctid = f.place AND EXISTS (SELECT FROM mainspring.once_key)
        ) SELECT count(*) INTO dropped FROM runs;
        t.runs := t.runs - dropped;
        IF 0 < dropped THEN
            t := mainspring.count_over(t, ARRAY[ROW(coalesce(o.job, ''), o.job IS NULL, -dropped, NULL)::mainspring.change]);
        END IF;
        -- The row of a removed job goes with the last of its runs, unless it was planned too far for that.
        DELETE FROM mainspring.job AS j WHERE j.name = o.job AND j.source IS NULL AND j.watermark < o.before
            AND NOT EXISTS (SELECT FROM mainspring.run AS r WHERE r.job = o.job OFFSET 0);
        t.answers[o.place] := CASE WHEN FOUND THEN 'G' ELSE 'N' END;
    END LOOP;
    RETURN t;
END $$;

-- Keeps who asked for what, and no more of it than the latest.
CREATE FUNCTION mainspring.commit_audits(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO mainspring.audit (at, actor, action, target, note)
        SELECT u.at, m.actor, m.action, m.target, m.note FROM unnest(ops) AS u, jsonb_populate_record(NULL::mainspring.audit, u.details) AS m
        ORDER BY u.place;
    DELETE FROM mainspring.audit AS a WHERE a.number <= (SELECT max(b.number) FROM mainspring.audit AS b)
        - (SELECT (u.details ->> 'most')::int8 FROM unnest(ops) AS u LIMIT 1);
    RETURN t;
END $$;

-- Whether all is paused: the last one counts.
CREATE FUNCTION mainspring.commit_pause(ops mainspring.operation[], t mainspring.tally) RETURNS mainspring.tally
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mainspring.planner AS p SET is_paused = m.is_paused, pause_until = m.pause_until, pause_note = m.pause_note
        FROM jsonb_populate_record(NULL::mainspring.planner, ops[cardinality(ops)].details) AS m;
    RETURN t;
END $$;

-- Applies a batch once, and renews the lease. The operations are in the order in which they are done: those of one kind that touch
-- nothing in common stand together, and `p_lasts` says where each such group ends; of `p_count` in all, those that do nothing of their
-- own are left out. A batch before the last is a request that was given up and comes late; one that leaves a number out follows batches
-- that this database never got. Both are refused.
CREATE FUNCTION mainspring.commit(
    p_epoch int8, p_token text, p_lease_ms int8, p_batch int8, p_count int8, p_kinds text[], p_lasts int8[],
    p_operations mainspring.operation[], p_workers text[], OUT status text, OUT answers text, OUT now int8
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_memoize = off SET jit = off AS $$
DECLARE
    held mainspring.planner;
    t mainspring.tally;
    ops mainspring.operation[];
    before int8 := 0;
BEGIN
    -- Whatever somebody has set since the store was opened: what is acknowledged must not be forgotten.
    PERFORM set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
    SELECT * INTO held FROM mainspring.planner AS p
        WHERE p.epoch = p_epoch AND p.token = p_token::uuid AND p.batch IN (p_batch - 1, p_batch) FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'fenced';
        RETURN;
    END IF;
    t := ROW(array_fill('N'::text, ARRAY[p_count::int4]), 0, 0, 0, 0, 0, 0);
    answers := held.answers;
    IF held.batch < p_batch THEN
        FOR i IN 1 .. cardinality(p_kinds) LOOP
            ops := p_operations[before + 1 : p_lasts[i]];
            before := p_lasts[i];
            t := CASE p_kinds[i]
                WHEN 'new' THEN mainspring.commit_submits(ops, t, true) WHEN 'submit' THEN mainspring.commit_submits(ops, t, false)
                WHEN 'open' THEN mainspring.commit_runs(ops, t, 'open') WHEN 'fire' THEN mainspring.commit_runs(ops, t, 'fire')
                WHEN 'plan' THEN mainspring.commit_runs(ops, t, 'plan')
                WHEN 'withdraw' THEN mainspring.commit_withdrawals(ops, t) WHEN 'begin' THEN mainspring.commit_begins(ops, t)
                WHEN 'clear' THEN mainspring.commit_clears(ops, t) WHEN 'end' THEN mainspring.commit_ends(ops, t)
                WHEN 'move' THEN mainspring.commit_moves(ops, t) WHEN 'define' THEN mainspring.commit_definitions(ops, t)
                WHEN 'mark' THEN mainspring.commit_marks(ops, t, false) WHEN 'rewind' THEN mainspring.commit_marks(ops, t, true)
                WHEN 'forget' THEN mainspring.commit_forgets(ops, t) WHEN 'prune' THEN mainspring.commit_prunes(ops, t)
                WHEN 'audit' THEN mainspring.commit_audits(ops, t) WHEN 'pause' THEN mainspring.commit_pause(ops, t) END;
        END LOOP;
        answers := array_to_string(t.answers, ' ');
        -- They have something to start, or had it before.
        PERFORM pg_notify('mainspring_worker', w.worker) FROM unnest(p_workers) AS w (worker);
    END IF;
    UPDATE mainspring.planner AS p SET batch = p_batch, answers = commit.answers, until = clock_timestamp() + p_lease_ms * interval '1 ms',
        told = greatest(p.told, mainspring.now_ns()), jobs = p.jobs + t.jobs, pending = p.pending + t.pending, open = p.open + t.open,
        runs = p.runs + t.runs, dead = p.dead + t.dead, once = p.once + t.once RETURNING p.told INTO now;
    status := 'done';
END $$;

-- What a worker is to start, after one that it knows, in the order of commits; then what it is to end, and whose output is read elsewhere.
CREATE FUNCTION mainspring.orders(
    p_worker int8, p_after int8, p_most int8, OUT job text, OUT nominal int8, OUT series int8, OUT attempt int8, OUT assigned int8,
    OUT document text
) RETURNS SETOF record LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN QUERY (SELECT r.job, r.nominal, r.series, r.attempt, r.assigned, r.document FROM mainspring.open_run AS r
            WHERE r.worker = p_worker AND p_after < r.assigned AND r.state = 'running' ORDER BY r.worker, r.assigned LIMIT p_most)
        UNION ALL (SELECT r.job, r.nominal, r.series, r.attempt, NULL, NULL FROM mainspring.open_run AS r
            WHERE r.worker = p_worker AND r.is_killed LIMIT p_most)
        UNION ALL (SELECT o.job, o.nominal, o.series, o.attempt, NULL, '' FROM mainspring.output AS o
            WHERE o.worker = p_worker AND clock_timestamp() - interval '10 s' < o.read LIMIT p_most);
END $$;

-- What is kept of a run's attempts after one, in their order. The worker of an open run is asked to keep it so.
CREATE FUNCTION mainspring.read_output(
    p_job text, p_nominal int8, p_series int8, p_after int8, p_is_open bool, OUT attempt int8, OUT left_out int8, OUT lines text
) RETURNS SETOF record LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    asked int8;
BEGIN
    IF p_is_open THEN
        INSERT INTO mainspring.output AS o (job, nominal, series, attempt, left_out, lines, worker, read)
            SELECT r.job, r.nominal, r.series, r.attempt, 0, '', r.worker, clock_timestamp() FROM mainspring.open_run AS r
                WHERE r.job = p_job AND r.nominal = p_nominal AND r.series = p_series AND r.state = 'running'
            ON CONFLICT (job, nominal, series, attempt) DO UPDATE SET worker = EXCLUDED.worker, read = EXCLUDED.read
                WHERE o.worker IS DISTINCT FROM EXCLUDED.worker OR o.read < EXCLUDED.read - interval '5 s'
            RETURNING o.worker INTO asked;
        PERFORM set_config('synchronous_commit', 'off', true), pg_notify('mainspring_worker', asked::text) WHERE asked IS NOT NULL;
    END IF;
    RETURN QUERY SELECT o.attempt, o.left_out, o.lines FROM mainspring.output AS o WHERE o.job = p_job AND o.nominal = p_nominal
        AND o.series = p_series AND p_after < o.attempt ORDER BY o.attempt;
END $$;

-- Keeps what a worker tells, each so many microseconds after it ended, and tells the planner of it; false if the worker was declared lost, or has left. Its row is held meanwhile:
-- a declaration comes before or after. It does not wait for the disk: a report that is lost is made again, as its attempt runs by the
-- records until what follows from it is on disk, and with that the report would be.
CREATE FUNCTION mainspring.report(
    p_worker int8, numbers int8[], jobs text[], nominals int8[], series int8[], attempts int8[], outcomes text[], retries int8[],
    ages int8[]
) RETURNS bool LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM FROM mainspring.worker AS w WHERE w.id = p_worker FOR SHARE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO mainspring.report
        SELECT p_worker, r.number, r.job, r.nominal, r.series, r.attempt, r.outcome, r.retry_at, clock_timestamp() - r.age * interval '1 us'
        FROM unnest(numbers, jobs, nominals, series, attempts, outcomes, retries, ages)
            AS r (number, job, nominal, series, attempt, outcome, retry_at, age) ON CONFLICT DO NOTHING;
    PERFORM set_config('synchronous_commit', 'off', true), pg_notify('mainspring_report', '');
    RETURN true;
END $$;

-- Drops the reports of attempts that run no more by the records; false to who plans no more. The row of the planner is not held, lest a
-- commit wait for this: what is dropped is done, also if another plans by now, and what a crash brings back is dropped again. Each is
-- looked for by its key, and nothing is compiled: as a join, planned each time, it took up to 300 ms.
CREATE FUNCTION mainspring.forget_reports(p_epoch int8, p_token text) RETURNS bool LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM mainspring.planner AS p WHERE p.epoch = p_epoch AND p.token = p_token::uuid) THEN
        RETURN false;
    END IF;
    DELETE FROM mainspring.report AS r WHERE NOT EXISTS (SELECT FROM mainspring.open_run AS o WHERE o.job = r.job AND o.nominal = r.nominal
        AND o.series = r.series AND o.attempt = r.attempt AND o.worker = r.worker AND o.state = 'running' OFFSET 0);
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN true;
END $$;

-- What workers have told beyond what was read of each, by ranges of the key: what was read is dropped later, and is stepped over.
CREATE FUNCTION mainspring.reports(workers int8[], numbers int8[], most int8) RETURNS SETOF mainspring.report
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN QUERY SELECT r.* FROM unnest(workers, numbers) AS k (worker, number), LATERAL (SELECT f.* FROM mainspring.report AS f
        WHERE f.worker = k.worker AND k.number < f.number ORDER BY f.worker, f.number LIMIT most) AS r
        ORDER BY r.worker, r.number LIMIT most;
END $$;

---- For people and programs. ----

-- Submits something to do once, as a part of the caller's transaction: it is done if that commits. Returns the key, under which it is
-- done once; a key of one's own makes a repeated call one submission. The work has a process, a webhook, or a handler of a program, and
-- perhaps policies, a group and a priority:
--   SELECT mainspring.submit('{"process": {"run": ["/usr/bin/send-mail", "ada"]}, "policies": "retry=3"}', now() + interval '1 h');
--   SELECT mainspring.submit('{"handler": {"name": "send-mail", "input": {"to": "ada"}}}', wakes => true);
-- It is looked for each second. With `wakes` it is taken at once; commits that tell so wait for each other.
-- It runs with the rights of this schema's owner, and may be granted to others, who then may run any command on the servers:
--   GRANT USAGE ON SCHEMA mainspring TO app; GRANT EXECUTE ON FUNCTION mainspring.submit TO app;
CREATE FUNCTION mainspring.submit(
    work jsonb, due timestamptz DEFAULT clock_timestamp(), name text DEFAULT NULL, key text DEFAULT NULL, wakes bool DEFAULT false
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The key of a handler's job is the handler's.
    chosen text := coalesce(work #>> '{handler,name}' || '/', '') || coalesce(key, 'sql-' || gen_random_uuid());
    asked text;
    kept text := chosen;
BEGIN
    IF jsonb_typeof(work) IS DISTINCT FROM 'object'
        OR (work ? 'process')::int + (work ? 'webhook')::int + (work ? 'handler')::int <> 1 THEN
        RAISE EXCEPTION 'the work is an object with one of: a process, a webhook, a handler' USING ERRCODE = 'invalid_parameter_value';
    ELSIF key = '' THEN
        RAISE EXCEPTION 'the key is empty' USING ERRCODE = 'invalid_parameter_value';
    ELSIF due IS NULL OR NOT isfinite(due) THEN
        RAISE EXCEPTION 'the time is a moment' USING ERRCODE = 'invalid_parameter_value';
    ELSIF 1000000 < length(work::text) THEN
        RAISE EXCEPTION 'the work has more than a million characters' USING ERRCODE = 'program_limit_exceeded';
    ELSIF EXISTS (SELECT FROM mainspring.pending AS p
        WHERE p.is_named AND p.name = submit.name AND p.key IS DISTINCT FROM chosen) THEN
        RAISE EXCEPTION 'the name % is that of a job that waits', submit.name USING ERRCODE = 'unique_violation';
    END IF;
    asked := (work || jsonb_build_object(
        'command', 'submit', 'key', chosen,
        'due', to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ) || CASE WHEN name IS NULL THEN '{}' ELSE jsonb_build_object('name', name) END)::text;
    -- As servers keep texts: the character by which they mark those that PostgreSQL cannot hold is marked itself. Other encodings lack
    -- it, and their databases would refuse the expression.
    IF getdatabaseencoding() = 'UTF8' THEN
        asked := replace(asked, chr(63743), chr(63743) || '1');
        kept := replace(chosen, chr(63743), chr(63743) || '1');
    END IF;
    INSERT INTO mainspring.inbox (request, actor, waits, key) VALUES (asked, session_user, false, kept);
    PERFORM pg_notify('mainspring_asked', '') WHERE wakes;
    RETURN chosen;
END $$;
REVOKE EXECUTE ON FUNCTION mainspring.submit FROM PUBLIC;
