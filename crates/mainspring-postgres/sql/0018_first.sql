-- Format 16: of several submissions under one key that wait in the inbox, the commit that has the job takes the first out, and no
-- other: one of other work was taken out with it, and its refusal was kept nowhere. What is refused at once: an empty key, which
-- made one job of all submissions, and work with a process and a webhook. A server of format 15 calls the same functions, and goes on.
CREATE OR REPLACE FUNCTION mainspring.submit(
    work jsonb, due timestamptz DEFAULT clock_timestamp(), name text DEFAULT NULL, key text DEFAULT NULL
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    chosen text := coalesce(key, 'sql-' || gen_random_uuid());
BEGIN
    IF jsonb_typeof(work) IS DISTINCT FROM 'object' OR (work ? 'process') = (work ? 'webhook') THEN
        RAISE EXCEPTION 'the work is an object with a process or a webhook, and not with both' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF key = '' THEN
        RAISE EXCEPTION 'the key is empty' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF due IS NULL OR NOT isfinite(due) THEN
        RAISE EXCEPTION 'the time is a moment' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF 1000000 < length(work::text) THEN
        RAISE EXCEPTION 'the work has more than a million characters' USING ERRCODE = 'program_limit_exceeded';
    END IF;
    IF EXISTS (SELECT FROM mainspring.pending AS p WHERE p.is_named AND p.name = submit.name AND p.key IS DISTINCT FROM chosen) THEN
        RAISE EXCEPTION 'the name % is that of a job that waits', submit.name USING ERRCODE = 'unique_violation';
    END IF;
    INSERT INTO mainspring.inbox (request, actor, waits, key) VALUES ((work || jsonb_build_object(
        'command', 'submit', 'key', chosen,
        'due', to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ) || CASE WHEN name IS NULL THEN '{}' ELSE jsonb_build_object('name', name) END)::text, session_user, false, chosen);
    RETURN chosen;
END $$;

-- As in format 13, but for the request that goes: the first under the key.
CREATE OR REPLACE FUNCTION mainspring.submit(p_shard int8, p_once jsonb, INOUT counts int8[], OUT answer text) LANGUAGE plpgsql AS $$
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
        DELETE FROM mainspring.inbox AS i
            WHERE i.id = (SELECT min(f.id) FROM mainspring.inbox AS f WHERE f.key = once.key AND f.refusal = '');
    END IF;
    counts[2] := counts[2] + 1;
    answer := 'N';
END $$;

-- As in format 9, but for the request that goes, as above. Format 13 has given it this name.
CREATE OR REPLACE FUNCTION mainspring.submit_rows(p_shard int8, p_ordinal int8[], p_due int8[], p_number int8[], p_name text[],
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
                SELECT f.ctid AS place FROM mainspring.inbox AS f WHERE f.key = u.key AND f.refusal = ''
                ORDER BY f.id LIMIT 1) AS f
            WHERE i.ctid = f.place;
    END IF;
    RETURN done;
END $$;
