-- Format 10: what a large batch says of one-shot jobs that are new is one row of the journal, and some batches later what has
-- become of those jobs is written into the tables. A job that was submitted, began and ended meanwhile is written there once.
--
-- The journal has whole lives: what it has of a job begins with the submission, and the number of the job is new. So nothing has to
-- be looked for when it is written. A program settles it before it reads the tables.

CREATE TABLE mainspring.journal (
    shard int8 NOT NULL, epoch int8 NOT NULL, batch int8 NOT NULL, server uuid,
    -- Submissions.
    s_due int8[] NOT NULL, s_number int8[] NOT NULL, s_submitted int8[] NOT NULL, s_priority int8[] NOT NULL, s_name text[] NOT NULL,
    s_kind text[] NOT NULL, s_body text[] NOT NULL, s_policies text[] NOT NULL, s_work_group text[] NOT NULL,
    -- The runs that they became, begun or not. A job without a run, or below without a start, may have nulls.
    r_number int8[] NOT NULL, r_due int8[] NOT NULL, r_planned int8[] NOT NULL, r_started int8[] NOT NULL, r_state text[] NOT NULL,
    -- Starts of those that waited, ends, and what follows an end at once.
    b_number int8[] NOT NULL, b_at int8[] NOT NULL,
    e_number int8[] NOT NULL, e_at int8[] NOT NULL, e_deaths int8[] NOT NULL, e_state text[] NOT NULL, e_outcome text[] NOT NULL,
    e_reason text[] NOT NULL,
    m_number int8[] NOT NULL, m_due int8[] NOT NULL, m_at int8[] NOT NULL, m_state text[] NOT NULL, m_reason text[] NOT NULL,
    -- What is pruned when all that is written.
    prunes jsonb[] NOT NULL,
    PRIMARY KEY (shard, epoch, batch)
) WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
-- A row lives for a moment: to compress it costs more than to write it.
DO $$
DECLARE
    big text;
BEGIN
    FOR big IN SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = 'mainspring.journal'::regclass AND a.attndims = 1 LOOP
        EXECUTE format('ALTER TABLE mainspring.journal ALTER %I SET STORAGE EXTERNAL', big);
    END LOOP;
END $$;
SELECT mainspring.grant_as_before('journal');

-- How often the journal of the shard was settled. An owner names it with what it puts there: if somebody else has settled it, the
-- jobs that the owner takes for new are rows now.
ALTER TABLE mainspring.shard ADD COLUMN settled int8 NOT NULL DEFAULT 0;

-- Writes what has become of the jobs in the journal of a shard, whose row is locked. What is inserted has no rows in its way, and an
-- insertion that does not look for them takes two thirds of the time. `p_otherwise` says what if there are some. Of the jobs in `p_keep`
-- those that have not ended stay in the journal, in one row.
CREATE FUNCTION mainspring.settle_rows(p_shard int8, p_keep int8[], p_otherwise text, OUT counts int8[]) LANGUAGE plpgsql
SET enable_hashjoin = on SET enable_mergejoin = on SET enable_nestloop = off SET jit = off SET work_mem = '32MB' AS $$
BEGIN
    EXECUTE replace($sql$ WITH j AS MATERIALIZED (
        DELETE FROM mainspring.journal AS j WHERE j.shard = $1 RETURNING j.*
    ), s AS (
        SELECT j.server, j.epoch, j.batch, u.* FROM j, UNNEST(j.s_due, j.s_number, j.s_submitted, j.s_priority, j.s_name, j.s_kind,
            j.s_body, j.s_policies, j.s_work_group) AS u (nominal, number, submitted, priority, name, kind, body, policies, work_group)
    ), r AS (
        SELECT u.* FROM j, UNNEST(j.r_number, j.r_due, j.r_planned, j.r_started, j.r_state)
            AS u (number, due, planned, started, state) WHERE u.state IS NOT NULL
    ), b AS (
        SELECT u.* FROM j, UNNEST(j.b_number, j.b_at) AS u (number, at) WHERE u.at IS NOT NULL
    ), e AS (
        SELECT u.* FROM j, UNNEST(j.e_number, j.e_at, j.e_deaths, j.e_state, j.e_outcome, j.e_reason)
            AS u (number, at, deaths, state, outcome, reason)
    ), m AS (
        SELECT u.* FROM j, UNNEST(j.m_number, j.m_due, j.m_at, j.m_state, j.m_reason) AS u (number, due, at, state, reason)
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
        INSERT INTO mainspring.journal
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

-- Settles the journal of a shard, but for what is to stay there, and returns how often that was done. The plans of what is pruned are
-- those of a commit.
CREATE FUNCTION mainspring.settle(p_shard int8, p_keep int8[]) RETURNS int8 LANGUAGE plpgsql SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    times int8;
    counts int8[];
    prunes jsonb[];
BEGIN
    SELECT s.settled INTO times FROM mainspring.shard AS s WHERE s.shard = p_shard FOR NO KEY UPDATE;
    prunes := ARRAY(SELECT u.op FROM mainspring.journal AS j, UNNEST(j.prunes) AS u (op)
        WHERE j.shard = p_shard ORDER BY j.epoch, j.batch);
    IF times IS NULL OR NOT EXISTS (SELECT FROM mainspring.journal AS j WHERE j.shard = p_shard) THEN
        RETURN times;
    END IF;
    -- Where somebody has written rows by hand, those that are there stay: what the journal says was answered long ago, and must not
    -- keep the shard.
    BEGIN
        counts := mainspring.settle_rows(p_shard, p_keep, '');
    EXCEPTION WHEN unique_violation THEN
        counts := mainspring.settle_rows(p_shard, p_keep, 'ON CONFLICT DO NOTHING');
    END;
    -- All that were asked for at once: the last says what is to be kept.
    IF 0 < cardinality(prunes) THEN
        SELECT p.counts INTO counts FROM mainspring.prune(p_shard, prunes[cardinality(prunes)] || jsonb_build_object('limit',
            (SELECT sum((u.op ->> 'limit')::int8) FROM UNNEST(prunes) AS u (op))), counts) AS p;
    END IF;
    UPDATE mainspring.shard AS s SET settled = s.settled + 1, jobs = s.jobs + counts[1], pending = s.pending + counts[2],
        open = s.open + counts[3], runs = s.runs + counts[4], dead = s.dead + counts[5] WHERE s.shard = p_shard;
    RETURN times + 1;
END $$;

-- The same for the owner, whose jobs of `p_keep` are in the journal if nobody else has settled it since `p_times`. `kept`: they are
-- there still.
CREATE FUNCTION mainspring.settle_1(p_shard int8, p_epoch int8, p_token text, p_times int8, p_keep int8[],
    OUT status text, OUT times int8, OUT kept bool) LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
BEGIN
    SELECT s.settled = p_times INTO kept FROM mainspring.shard AS s
        WHERE s.shard = p_shard AND s.epoch = p_epoch AND s.token = p_token::uuid FOR NO KEY UPDATE;
    status := CASE WHEN FOUND THEN 'done' ELSE 'fenced' END;
    kept := coalesce(kept, false);
    IF status = 'done' THEN
        times := mainspring.settle(p_shard, CASE WHEN kept THEN p_keep ELSE '{}' END);
    END IF;
END $$;

-- The same for all shards, for those who read the tables.
CREATE FUNCTION mainspring.settle() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    each int8;
BEGIN
    FOR each IN SELECT DISTINCT j.shard FROM mainspring.journal AS j ORDER BY j.shard LOOP
        PERFORM mainspring.settle(each, '{}');
    END LOOP;
END $$;

-- Who takes a shard, of this format or of one before, finds all that was acknowledged in the tables: in the transaction that takes it.
CREATE FUNCTION mainspring.settle_taken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM mainspring.settle(NEW.shard, '{}');
    RETURN NULL;
END $$;
CREATE TRIGGER settle_taken AFTER UPDATE OF epoch ON mainspring.shard FOR EACH ROW
    WHEN (NEW.epoch <> OLD.epoch) EXECUTE FUNCTION mainspring.settle_taken();

-- Copies and other numbers of shards are made where no server runs: a server that was killed may have left rows of the journal.
-- Programs of any format begin both by adding rows of shards that are missing.
CREATE FUNCTION mainspring.settle_left() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    each int8;
BEGIN
    FOR each IN SELECT DISTINCT s.shard FROM mainspring.shard AS s JOIN mainspring.journal AS j ON j.shard = s.shard
        WHERE s.owner = '' OR s.until + interval '1 s' < clock_timestamp() ORDER BY s.shard
    LOOP
        PERFORM mainspring.settle(each, '{}');
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER settle_left BEFORE INSERT ON mainspring.shard FOR EACH STATEMENT EXECUTE FUNCTION mainspring.settle_left();
