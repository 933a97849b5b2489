-- Format 3: what the owner is asked through the database, by users of SQL in their own transactions and by commands at other servers.
CREATE TABLE mainspring.inbox (
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- A request of the socket's protocol.
    request text NOT NULL,
    actor text NOT NULL,
    -- Whether somebody waits for the reply: then it is done at most once. Otherwise it is done at least once, under its key.
    waits bool NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Why it cannot be done; empty while that is not known.
    refusal text NOT NULL DEFAULT ''
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX inbox_open ON mainspring.inbox (id) WHERE refusal = '';

CREATE TABLE mainspring.reply (
    id int8 PRIMARY KEY, response text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Submits something to do once, as a part of the caller's transaction: it is done if that commits. Returns the key, under which
-- it is done once; a key of one's own makes a repeated call one submission. The work has a process or a webhook, and policies:
--   SELECT mainspring.submit('{"process": {"run": ["/usr/bin/send-mail", "ada"]}, "policies": "retry=3"}', now() + interval '1 h');
-- It runs with the rights of this schema's owner, and may be granted to others, who then may run any command on the servers:
--   GRANT USAGE ON SCHEMA mainspring TO app; GRANT EXECUTE ON FUNCTION mainspring.submit(jsonb, timestamptz, text, text) TO app;
CREATE FUNCTION mainspring.submit(
    work jsonb, due timestamptz DEFAULT clock_timestamp(), name text DEFAULT NULL, key text DEFAULT NULL
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    chosen text := coalesce(key, 'sql-' || gen_random_uuid());
BEGIN
    IF jsonb_typeof(work) IS DISTINCT FROM 'object' OR NOT (work ? 'process' OR work ? 'webhook') THEN
        RAISE EXCEPTION 'the work is an object with a process or a webhook' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF due IS NULL OR NOT isfinite(due) THEN
        RAISE EXCEPTION 'the time is a moment' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF 1000000 < length(work::text) THEN
        RAISE EXCEPTION 'the work has more than a million characters' USING ERRCODE = 'program_limit_exceeded';
    END IF;
    INSERT INTO mainspring.inbox (request, actor, waits) VALUES ((work || jsonb_build_object(
        'command', 'submit', 'key', chosen,
        'due', to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ) || CASE WHEN name IS NULL THEN '{}' ELSE jsonb_build_object('name', name) END)::text, session_user, false);
    RETURN chosen;
END $$;
REVOKE EXECUTE ON FUNCTION mainspring.submit(jsonb, timestamptz, text, text) FROM PUBLIC;
