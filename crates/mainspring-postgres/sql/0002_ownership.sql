-- Ownership of a shard. A lease is judged by clock_timestamp() alone, and each function is one statement and one transaction for
-- its caller: no pooler can separate its parts, and nothing is left open if the caller dies.

CREATE FUNCTION mainspring.now_ns() RETURNS int8 LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::int8 $$;

-- Takes a shard that is free, or whose lease ran out a second ago. A commit in flight holds the row, so this waits for it, and
-- never comes between its check and its write.
CREATE FUNCTION mainspring.acquire_1(
    p_shard int8, p_lease_ms int8, p_owner text, p_address text, p_server text, p_machine text, p_machine_start text,
    OUT status text, OUT epoch int8, OUT token text, OUT takeover text, OUT held_by text, OUT left_ms int8, OUT now int8
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    shard_row mainspring.shard;
    lapse timestamptz;
BEGIN
    INSERT INTO mainspring.shard (shard) VALUES (p_shard) ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT shard_row FROM mainspring.shard AS s WHERE s.shard = p_shard FOR NO KEY UPDATE;
    lapse := shard_row.until + interval '1 s';
    IF shard_row.owner <> '' AND clock_timestamp() <= lapse THEN
        status := 'held';
        held_by := shard_row.owner;
        left_ms := greatest(1, ceil(extract(epoch FROM lapse - clock_timestamp()) * 1000)::int8);
        now := mainspring.now_ns();
        RETURN;
    END IF;
    takeover := CASE
        WHEN shard_row.owner = '' THEN 'clean'
        WHEN shard_row.server = p_server::uuid THEN 'interrupted'
        WHEN shard_row.machine <> p_machine OR shard_row.machine_start = '' OR p_machine_start = '' THEN 'unclean'
        WHEN shard_row.machine_start <> p_machine_start THEN 'rebooted'
        ELSE 'unclean' END;
    UPDATE mainspring.shard AS s SET epoch = nextval('mainspring.epoch'), token = gen_random_uuid(), owner = p_owner,
        address = p_address, server = p_server::uuid, machine = p_machine, machine_start = p_machine_start,
        until = clock_timestamp() + p_lease_ms * interval '1 ms', told = greatest(s.told, mainspring.now_ns()),
        batch = 0, answers = ''
        WHERE s.shard = p_shard RETURNING s.epoch, s.token::text, s.told INTO epoch, token, now;
    status := 'done';
END $$;

CREATE FUNCTION mainspring.renew_1(
    p_shard int8, p_epoch int8, p_token text, p_lease_ms int8, OUT status text, OUT now int8
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
BEGIN
    UPDATE mainspring.shard AS s SET until = clock_timestamp() + p_lease_ms * interval '1 ms',
        told = greatest(s.told, mainspring.now_ns())
        WHERE s.shard = p_shard AND s.epoch = p_epoch AND s.token = p_token::uuid RETURNING s.told INTO now;
    status := CASE WHEN FOUND THEN 'done' ELSE 'fenced' END;
END $$;

-- The token is another one afterwards, so that the owner that left can write nothing more.
CREATE FUNCTION mainspring.release_1(p_shard int8, p_epoch int8, p_token text, OUT status text)
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
BEGIN
    UPDATE mainspring.shard AS s SET owner = '', token = gen_random_uuid(), until = '-infinity'
        WHERE s.shard = p_shard AND s.epoch = p_epoch AND s.token = p_token::uuid;
    status := CASE WHEN FOUND THEN 'done' ELSE 'fenced' END;
END $$;
