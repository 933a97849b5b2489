-- Format 2: which files were ever in force. A server applies a file of its own when the database has none of that name; so a
-- file whose last job was removed must be remembered, or an old server that starts again would bring its jobs back.
CREATE TABLE mainspring.source (
    name text COLLATE "C" PRIMARY KEY,
    -- When a definition of it was last kept.
    defined timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO mainspring.source (name) SELECT DISTINCT j.source FROM mainspring.job AS j WHERE j.source IS NOT NULL;

-- As in format 1, and keeps the source. A server of format 1 calls it too.
CREATE OR REPLACE FUNCTION mainspring.define(p_shard int8, p_job jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    job mainspring.job;
BEGIN
    job := jsonb_populate_record(NULL::mainspring.job, p_job);
    job.shard := p_shard;
    IF NOT EXISTS (SELECT FROM mainspring.job AS j WHERE j.name = job.name AND j.source IS NOT NULL) THEN
        counts[1] := counts[1] + 1;
    END IF;
    INSERT INTO mainspring.source (name) VALUES (job.source) ON CONFLICT (name) DO UPDATE SET defined = clock_timestamp();
    INSERT INTO mainspring.job VALUES (job.*) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM mainspring.last_look(job.name);
    ELSE
        UPDATE mainspring.job AS j SET source = job.source, text = job.text WHERE j.name = job.name;
    END IF;
    answer := 'N';
END $$;
