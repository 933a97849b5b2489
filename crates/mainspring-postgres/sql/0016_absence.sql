-- Format 14: a job that its source does not have any more may come back as it was. What that takes stands in the place of its
-- definition, which it has not any more. A server of an earlier format takes such a job for one that was removed.
ALTER FUNCTION mainspring.apply_here(int8, int8, uuid, jsonb, int8[]) RENAME TO apply_without_absence;
CREATE FUNCTION mainspring.apply_here(p_shard int8, p_epoch int8, p_server uuid, op jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT a.counts, a.answer INTO counts, answer
        FROM mainspring.apply_without_absence(p_shard, p_epoch, p_server, op, counts) AS a;
    IF op ->> 'op' = 'forget' THEN
        UPDATE mainspring.job AS j SET text = coalesce(op ->> 'text', '') WHERE j.name = op ->> 'job';
    END IF;
END $$;
