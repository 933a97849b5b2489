-- Format 8: the jobs may be spread over several shards, each with an owner of its own. One is the default, and all is as before.

-- How many there are: 0 to that number less one.
ALTER TABLE mainspring.meta ADD COLUMN shards int8 NOT NULL DEFAULT 1;

-- Whose owner is asked. Null: what comes from a user of SQL, for the owner of the first.
ALTER TABLE mainspring.inbox ADD COLUMN shard int8;

-- In which shards a source was ever applied: each owner applies its own part of a file.
CREATE TABLE mainspring.source_part (
    name text COLLATE "C" NOT NULL, shard int8 NOT NULL, PRIMARY KEY (name, shard)
);
INSERT INTO mainspring.source_part (name, shard) SELECT s.name, 0 FROM mainspring.source AS s;

-- As in format 2. A job that another shard has comes into this one: its definition says now that it belongs here.
CREATE OR REPLACE FUNCTION mainspring.define(p_shard int8, p_job jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    job mainspring.job;
BEGIN
    job := jsonb_populate_record(NULL::mainspring.job, p_job);
    job.shard := p_shard;
    IF NOT EXISTS (SELECT FROM mainspring.job AS j
        WHERE j.name = job.name AND j.source IS NOT NULL AND j.shard = p_shard) THEN
        counts[1] := counts[1] + 1;
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

-- What the owner of a shard says of a job that has left it changes nothing: its new owner says how it is.
ALTER FUNCTION mainspring.apply(int8, int8, uuid, jsonb, int8[]) RENAME TO apply_here;
CREATE FUNCTION mainspring.apply(p_shard int8, p_epoch int8, p_server uuid, op jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    what text := op ->> 'op';
BEGIN
    IF what IN ('mark', 'rewind', 'forget') AND EXISTS (SELECT FROM mainspring.job AS j
        WHERE j.name = CASE what WHEN 'forget' THEN op ->> 'job' ELSE op -> 'job' ->> 'name' END AND j.shard <> p_shard) THEN
        IF what = 'forget' THEN
            counts[1] := counts[1] - 1;
        END IF;
        answer := 'N';
        RETURN;
    END IF;
    SELECT a.counts, a.answer INTO counts, answer FROM mainspring.apply_here(p_shard, p_epoch, p_server, op, counts) AS a;
END $$;

-- Spreads all that there is over so many shards: `done`, or who owns one. The caller says where each job belongs, and where
-- each group of one-shot jobs; of other one-shot jobs it does not matter. Programs that know of one shard only must not write
-- where there are several.
CREATE FUNCTION mainspring.spread_1(p_count int8, p_jobs text[], p_shards int8[], p_groups text[], p_group_shards int8[])
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    holder text;
BEGIN
    LOCK TABLE mainspring.shard IN EXCLUSIVE MODE;
    SELECT s.owner INTO holder FROM mainspring.shard AS s
        WHERE s.owner <> '' AND clock_timestamp() <= s.until + interval '1 s' LIMIT 1;
    IF FOUND THEN
        RETURN holder;
    END IF;
    UPDATE mainspring.meta SET shards = p_count, floor = CASE WHEN p_count = 1 THEN 1 ELSE 8 END;
    INSERT INTO mainspring.shard (shard) SELECT generate_series(0, p_count - 1) ON CONFLICT DO NOTHING;
    UPDATE mainspring.shard AS s SET is_paused = p.is_paused, pause_until = p.pause_until, pause_note = p.pause_note
        FROM (SELECT * FROM mainspring.shard ORDER BY is_paused DESC, shard LIMIT 1) AS p;
    -- Who owned a shard that is no more finds no row, and writes nothing.
    DELETE FROM mainspring.shard AS s WHERE p_count <= s.shard;
    UPDATE mainspring.job AS j SET shard = u.shard FROM UNNEST(p_jobs, p_shards) AS u (name, shard) WHERE j.name = u.name;
    UPDATE mainspring.pending AS p SET shard = coalesce(
        (SELECT u.shard FROM UNNEST(p_groups, p_group_shards) AS u (name, shard) WHERE u.name = p.work_group),
        p.number % p_count);
    UPDATE mainspring.open_run AS r SET shard = CASE WHEN r.cause = 'once' THEN coalesce(
        (SELECT u.shard FROM UNNEST(p_groups, p_group_shards) AS u (name, shard) WHERE u.name = r.work_group),
        (hashtext(r.job)::int8 & 2147483647) % p_count)
        ELSE coalesce((SELECT j.shard FROM mainspring.job AS j WHERE j.name = r.job), 0) END;
    UPDATE mainspring.history AS r SET shard = CASE WHEN r.cause = 'once' THEN (hashtext(r.job)::int8 & 2147483647) % p_count
        ELSE coalesce((SELECT j.shard FROM mainspring.job AS j WHERE j.name = r.job), 0) END;
    DELETE FROM mainspring.source_part;
    INSERT INTO mainspring.source_part (name, shard)
        SELECT s.name, n FROM mainspring.source AS s CROSS JOIN generate_series(0, p_count - 1) AS n;
    UPDATE mainspring.shard AS s SET
        jobs = (SELECT count(*) FROM mainspring.job AS j WHERE j.shard = s.shard AND j.source IS NOT NULL),
        pending = (SELECT count(*) FROM mainspring.pending AS p WHERE p.shard = s.shard),
        open = (SELECT count(*) FROM mainspring.open_run AS r WHERE r.shard = s.shard),
        runs = (SELECT count(*) FROM mainspring.open_run AS r WHERE r.shard = s.shard)
            + (SELECT count(*) FROM mainspring.history AS r WHERE r.shard = s.shard),
        dead = (SELECT count(*) FROM mainspring.history AS r WHERE r.shard = s.shard AND r.state = 'dead');
    RETURN 'done';
END $$;

-- The end of what a run wrote, for servers that have not the file. It goes with its run.
CREATE TABLE mainspring.output (
    job text COLLATE "C" NOT NULL, nominal int8 NOT NULL, series int8 NOT NULL, left_out int8 NOT NULL, lines text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (job, nominal, series)
);
CREATE FUNCTION mainspring.drop_outputs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM mainspring.output AS o USING gone AS g
        WHERE o.job = g.job AND o.nominal = g.nominal AND o.series = g.series;
    RETURN NULL;
END $$;
CREATE TRIGGER drop_outputs AFTER DELETE ON mainspring.history REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION mainspring.drop_outputs();

-- Who had rights on the table of sources has them on the tables that are new: servers of the version before write into them, by
-- functions that have changed under them.
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN SELECT a.privilege_type AS what, coalesce(quote_ident(r.rolname), 'PUBLIC') AS who
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
        WHERE c.oid = 'mainspring.source'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON mainspring.source_part, mainspring.output TO %s', granted.what, granted.who);
    END LOOP;
END $$;
