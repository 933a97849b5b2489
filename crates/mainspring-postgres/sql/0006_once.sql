-- Format 4: a request of the inbox goes in the commit that does it, and an owner that lost the answer of `acquire_1` takes its
-- shard again at once. A server of format 3 calls the same functions, and goes on.
ALTER TABLE mainspring.inbox ADD COLUMN key text COLLATE "C";
CREATE INDEX inbox_key ON mainspring.inbox (key) WHERE key IS NOT NULL;

-- How the owner came to the shard, for one that asks again because it did not hear it. Null: a server of format 3 took it.
ALTER TABLE mainspring.shard ADD COLUMN takeover text;

-- As in format 3, and the request names the key.
CREATE OR REPLACE FUNCTION mainspring.submit(
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
    INSERT INTO mainspring.inbox (request, actor, waits, key) VALUES ((work || jsonb_build_object(
        'command', 'submit', 'key', chosen,
        'due', to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ) || CASE WHEN name IS NULL THEN '{}' ELSE jsonb_build_object('name', name) END)::text, session_user, false, chosen);
    RETURN chosen;
END $$;

-- As in format 1, and the request that asked for it goes with it. A repeated request finds its key, and goes too.
CREATE OR REPLACE FUNCTION mainspring.submit(p_shard int8, p_once jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    once mainspring.pending;
    holder text;
BEGIN
    once := jsonb_populate_record(NULL::mainspring.pending, p_once);
    once.shard := p_shard;
    SELECT 'D' || k.due || ':' || k.number INTO answer FROM mainspring.once_key AS k WHERE k.key = once.key;
    IF FOUND THEN
        DELETE FROM mainspring.inbox AS i WHERE i.key = once.key AND i.refusal = '';
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
        DELETE FROM mainspring.inbox AS i WHERE i.key = once.key AND i.refusal = '';
    END IF;
    counts[2] := counts[2] + 1;
    answer := 'N';
END $$;

-- As in format 1, but the process that has the shard is not refused it. It asks again where the answer was lost, or where it
-- has ended all that ran because it could not renew the lease. It gets another epoch and another token, so that what it may
-- have sent before is refused. Nothing was committed yet: then it is told once more how it came to the shard.
CREATE OR REPLACE FUNCTION mainspring.acquire_1(
    p_shard int8, p_lease_ms int8, p_owner text, p_address text, p_server text, p_machine text, p_machine_start text,
    OUT status text, OUT epoch int8, OUT token text, OUT takeover text, OUT held_by text, OUT left_ms int8, OUT now int8
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    shard_row mainspring.shard;
    lapse timestamptz;
    is_same bool;
BEGIN
    INSERT INTO mainspring.shard (shard) VALUES (p_shard) ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT shard_row FROM mainspring.shard AS s WHERE s.shard = p_shard FOR NO KEY UPDATE;
    lapse := shard_row.until + interval '1 s';
    is_same := shard_row.server IS NOT DISTINCT FROM p_server::uuid;
    IF shard_row.owner <> '' AND NOT is_same AND clock_timestamp() <= lapse THEN
        status := 'held';
        held_by := shard_row.owner;
        left_ms := greatest(1, ceil(extract(epoch FROM lapse - clock_timestamp()) * 1000)::int8);
        now := mainspring.now_ns();
        RETURN;
    END IF;
    takeover := CASE
        WHEN shard_row.owner = '' THEN 'clean'
        WHEN is_same AND shard_row.batch = 0 THEN coalesce(shard_row.takeover, 'interrupted')
        WHEN is_same THEN 'interrupted'
        WHEN shard_row.machine <> p_machine OR shard_row.machine_start = '' OR p_machine_start = '' THEN 'unclean'
        WHEN shard_row.machine_start <> p_machine_start THEN 'rebooted'
        ELSE 'unclean' END;
    UPDATE mainspring.shard AS s SET epoch = nextval('mainspring.epoch'), token = gen_random_uuid(), owner = p_owner,
        address = p_address, server = p_server::uuid, machine = p_machine, machine_start = p_machine_start,
        until = clock_timestamp() + p_lease_ms * interval '1 ms', told = greatest(s.told, mainspring.now_ns()),
        batch = 0, answers = '', takeover = acquire_1.takeover
        WHERE s.shard = p_shard RETURNING s.epoch, s.token::text, s.told INTO epoch, token, now;
    status := 'done';
END $$;
