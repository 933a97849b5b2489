-- Format 9: a job whose definition puts it into another shard goes on there where it was. `take_1` moves the row of a job, and
-- with it the job: its mark, its pause, its history, and the runs that wait. The row says whose the job is. So what the old owner
-- writes of it afterwards is refused, but for the ends of what runs there.

-- What was taken from the owner of a shard, so that it forgets it. Another owner reads what is there, and needs none of this.
CREATE TABLE mainspring.departure (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, shard int8 NOT NULL, epoch int8 NOT NULL,
    job text COLLATE "C" NOT NULL
);
CREATE INDEX departure_shard ON mainspring.departure (shard, number);

-- Whether another shard has a job.
CREATE FUNCTION mainspring.is_elsewhere(p_shard int8, p_job text) RETURNS bool LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM mainspring.job AS j
        WHERE j.name OPERATOR(pg_catalog.=) p_job AND j.shard OPERATOR(pg_catalog.<>) p_shard)
$$;

-- A job that is defined leaves a shard: its owner is told. Rows for owners before that one go.
CREATE FUNCTION mainspring.depart(p_shard int8, p_jobs text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM mainspring.departure AS d USING mainspring.shard AS s
        WHERE d.shard = p_shard AND s.shard = p_shard AND d.epoch <> s.epoch;
    INSERT INTO mainspring.departure (shard, epoch, job)
        SELECT p_shard, s.epoch, u.job FROM mainspring.shard AS s, UNNEST(p_jobs) AS u (job) WHERE s.shard = p_shard;
    UPDATE mainspring.shard AS s SET jobs = s.jobs - cardinality(p_jobs) WHERE s.shard = p_shard;
END $$;

-- Brings jobs of other shards into this one, for its owner: `done`, `fenced`, or `busy` if one of them moves at this moment. The
-- rows of all shards that it concerns are locked, in the order of their numbers. So it waits for commits in flight, and those that
-- come see where the job is.
CREATE FUNCTION mainspring.take_1(p_shard int8, p_epoch int8, p_token text, p_jobs text[], OUT status text, OUT taken text[])
LANGUAGE plpgsql SET lock_timeout = '2s' SET enable_seqscan = off AS $$
DECLARE
    others int8[];
    other record;
BEGIN
    taken := '{}';
    others := ARRAY(SELECT DISTINCT j.shard FROM mainspring.job AS j WHERE j.name = ANY (p_jobs) AND j.shard <> p_shard);
    PERFORM FROM mainspring.shard AS s WHERE s.shard = p_shard OR s.shard = ANY (others) ORDER BY s.shard FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM mainspring.shard AS s
        WHERE s.shard = p_shard AND s.epoch = p_epoch AND s.token = p_token::uuid) THEN
        status := 'fenced';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM mainspring.job AS j
        WHERE j.name = ANY (p_jobs) AND j.shard <> p_shard AND j.shard <> ALL (others)) THEN
        status := 'busy';
        RETURN;
    END IF;
    FOR other IN SELECT j.shard, array_agg(j.name) AS jobs,
            coalesce(array_agg(j.name) FILTER (WHERE j.source IS NOT NULL), '{}') AS defined
        FROM mainspring.job AS j WHERE j.name = ANY (p_jobs) AND j.shard <> p_shard GROUP BY j.shard
    LOOP
        PERFORM mainspring.depart(other.shard, other.defined);
        UPDATE mainspring.job AS j SET shard = p_shard WHERE j.name = ANY (other.jobs);
        UPDATE mainspring.shard AS s SET jobs = s.jobs + cardinality(other.defined) WHERE s.shard = p_shard;
        PERFORM mainspring.carry(p_shard, other.shard, other.jobs);
        taken := taken || other.jobs;
    END LOOP;
    status := 'done';
END $$;

-- The history of jobs, and those of their runs that wait, go with them. What runs stays with its owner. So does a history that
-- is too long: to move a row takes some 20 us, no owner of the two writes meanwhile, and a lease lasts for seconds. The jobs with
-- the shortest come first. Dead letters always go: somebody will have them run again.
CREATE FUNCTION mainspring.carry(p_to int8, p_from int8, p_jobs text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    max_rows CONSTANT int8 := 50000;
    carried text[];
    open_count int8;
    ended_count int8;
    dead_count int8;
BEGIN
    SELECT array_agg(c.job) INTO carried FROM (
        SELECT u.job, sum(k.kept) OVER (ORDER BY k.kept, u.job) AS total FROM UNNEST(p_jobs) AS u (job),
            LATERAL (SELECT count(*) AS kept FROM (SELECT FROM mainspring.history AS h
                WHERE h.job = u.job AND h.shard = p_from AND h.cause <> 'once' LIMIT max_rows + 1) AS one) AS k
        ) AS c WHERE c.total <= max_rows;
    UPDATE mainspring.open_run AS r SET shard = p_to
        WHERE r.job = ANY (p_jobs) AND r.shard = p_from AND r.state <> 'running' AND r.cause <> 'once';
    GET DIAGNOSTICS open_count = ROW_COUNT;
    WITH carried AS (
        UPDATE mainspring.history AS r SET shard = p_to WHERE r.job = ANY (p_jobs) AND r.shard = p_from AND r.cause <> 'once'
            AND (r.state = 'dead' OR r.job = ANY (carried))
        RETURNING r.state
    ) SELECT count(*), count(*) FILTER (WHERE c.state = 'dead') INTO ended_count, dead_count FROM carried AS c;
    UPDATE mainspring.shard AS s SET open = s.open - open_count, runs = s.runs - open_count - ended_count,
        dead = s.dead - dead_count WHERE s.shard = p_from;
    UPDATE mainspring.shard AS s SET open = s.open + open_count, runs = s.runs + open_count + ended_count,
        dead = s.dead + dead_count WHERE s.shard = p_to;
END $$;

-- As in format 8. A server of that format takes a job by defining it; the shard that had it is told, and has one less.
CREATE OR REPLACE FUNCTION mainspring.define(p_shard int8, p_job jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    job mainspring.job;
    former int8;
BEGIN
    job := jsonb_populate_record(NULL::mainspring.job, p_job);
    job.shard := p_shard;
    SELECT j.shard INTO former FROM mainspring.job AS j WHERE j.name = job.name AND j.source IS NOT NULL;
    IF former IS DISTINCT FROM p_shard THEN
        counts[1] := counts[1] + 1;
    END IF;
    IF former <> p_shard THEN
        PERFORM mainspring.depart(former, ARRAY[job.name]);
    END IF;
    INSERT INTO mainspring.source (name) VALUES (job.source) ON CONFLICT (name) DO UPDATE SET defined = clock_timestamp();
    INSERT INTO mainspring.source_part (name, shard) VALUES (job.source, p_shard) ON CONFLICT DO NOTHING;
    INSERT INTO mainspring.job VALUES (job.*) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM mainspring.last_look(job.name);
    ELSE
        UPDATE mainspring.job AS j SET source = job.source, text = job.text, shard = p_shard WHERE j.name = job.name;
    END IF;
    answer := 'N';
END $$;

-- What the owner of a shard says of a job that has left it changes nothing: its new owner says how it is. A run of it is not
-- planned, begun or tried again there: that is answered as if it was gone. A name of a one-shot job may be that of a job.
CREATE OR REPLACE FUNCTION mainspring.apply(p_shard int8, p_epoch int8, p_server uuid, op jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    what text := op ->> 'op';
BEGIN
    IF what IN ('mark', 'rewind') AND mainspring.is_elsewhere(p_shard, op -> 'job' ->> 'name')
        OR what = 'forget' AND mainspring.is_elsewhere(p_shard, op ->> 'job') THEN
        answer := 'N';
    ELSIF what = 'plan' AND op -> 'run' ->> 'cause' <> 'once' AND mainspring.is_elsewhere(p_shard, op -> 'run' ->> 'job') THEN
        answer := 'G';
    ELSIF what IN ('begin', 'move') AND mainspring.is_elsewhere(p_shard, op ->> 'job')
        AND EXISTS (SELECT FROM mainspring.run_of(op) AS r
            WHERE r.cause <> 'once' AND (r.shard <> p_shard OR what = 'begin' OR mainspring.is_open(op ->> 'to'))) THEN
        answer := 'G';
    ELSE
        SELECT a.counts, a.answer INTO counts, answer
            FROM mainspring.apply_here(p_shard, p_epoch, p_server, op, counts) AS a;
    END IF;
END $$;

-- The same of what is done by the wave: those that are refused are done one by one.
ALTER FUNCTION mainspring.insert_all(int8, int8, uuid, int8[], int8[], int8[], text[], int8[], int8[], text[], text[], int8[],
    int8[], int8[], int8[], text[], text[], text[], text[], text[], int8[], int8[], int8[]) RENAME TO insert_here;
CREATE FUNCTION mainspring.insert_all(p_shard int8, p_epoch int8, p_server uuid, p_ordinal int8[], p_id_due int8[],
    p_id_number int8[], p_job text[], p_nominal int8[], p_series int8[], p_cause text[], p_state text[], p_attempt int8[],
    p_due int8[], p_planned int8[], p_started int8[], p_reason text[], p_kind text[], p_body text[], p_policies text[],
    p_work_group text[], p_priority int8[], p_deaths int8[], p_forgiven int8[], OUT fired int8, OUT inserted int8)
LANGUAGE plpgsql AS $$
DECLARE
    strange int8[];
BEGIN
    IF (SELECT 1 < m.shards FROM mainspring.meta AS m) THEN
        SELECT array_agg(u.ordinal) INTO strange FROM UNNEST(p_ordinal, p_job, p_cause) AS u (ordinal, job, cause)
            WHERE u.cause <> 'once'
                AND EXISTS (SELECT FROM mainspring.job AS j WHERE j.name = u.job AND j.shard <> p_shard OFFSET 0);
        IF strange IS NOT NULL THEN
            PERFORM mainspring.unfit(strange);
        END IF;
    END IF;
    SELECT i.fired, i.inserted INTO fired, inserted FROM mainspring.insert_here(p_shard, p_epoch, p_server, p_ordinal, p_id_due,
        p_id_number, p_job, p_nominal, p_series, p_cause, p_state, p_attempt, p_due, p_planned, p_started, p_reason, p_kind,
        p_body, p_policies, p_work_group, p_priority, p_deaths, p_forgiven) AS i;
END $$;

-- The owner's epoch names its shard: no two owners have the same.
ALTER FUNCTION mainspring.begin_all(int8, uuid, int8[], text[], int8[], int8[], int8[], int8[], text[]) RENAME TO begin_here;
CREATE FUNCTION mainspring.begin_all(p_epoch int8, p_server uuid, p_ordinal int8[], p_job text[], p_nominal int8[],
    p_series int8[], p_attempt int8[], p_at int8[], p_from text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    strange int8[];
BEGIN
    IF (SELECT 1 < m.shards FROM mainspring.meta AS m) THEN
        SELECT array_agg(u.ordinal) INTO strange
            FROM UNNEST(p_ordinal, p_job, p_nominal, p_series) AS u (ordinal, job, nominal, series),
                mainspring.shard AS s
            WHERE s.epoch = p_epoch AND EXISTS (SELECT FROM mainspring.open_run AS r
                WHERE r.job = u.job AND r.nominal = u.nominal AND r.series = u.series AND r.shard <> s.shard OFFSET 0);
        IF strange IS NOT NULL THEN
            PERFORM mainspring.unfit(strange);
        END IF;
    END IF;
    PERFORM mainspring.begin_here(p_epoch, p_server, p_ordinal, p_job, p_nominal, p_series, p_attempt, p_at, p_from);
END $$;

-- Who has rights on the table of sources gets them on a table that is new.
CREATE FUNCTION mainspring.grant_as_before(p_table text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    granted record;
BEGIN
    FOR granted IN SELECT a.privilege_type AS what, coalesce(quote_ident(r.rolname), 'PUBLIC') AS who
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
        WHERE c.oid = 'mainspring.source'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON mainspring.%I TO %s', granted.what, p_table, granted.who);
    END LOOP;
END $$;
SELECT mainspring.grant_as_before('departure');
