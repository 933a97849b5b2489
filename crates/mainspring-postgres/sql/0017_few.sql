-- Format 15: runs that did not succeed are found without the others, as few are in such a state where most succeed. A run that
-- was asked for under a key, and whose job another shard has, is refused as one without a key is. A server of format 14 goes on.

-- Dead letters are among them.
CREATE INDEX history_other ON mainspring.history (nominal) WHERE state <> 'succeeded';
CREATE INDEX history_other_ended ON mainspring.history (ended) WHERE state <> 'succeeded' AND ended IS NOT NULL;
DROP INDEX IF EXISTS mainspring.history_dead;

-- As in format 9, but for what fires and is no one-shot job: it holds the key of a run. Neither the key nor what waits under it
-- is kept, so the shard that has the job may be asked under that key.
CREATE OR REPLACE FUNCTION mainspring.apply_to_rows(p_shard int8, p_epoch int8, p_server uuid, op jsonb, INOUT counts int8[], OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    what text := op ->> 'op';
    of_key text;
BEGIN
    IF what IN ('mark', 'rewind') AND mainspring.is_elsewhere(p_shard, op -> 'job' ->> 'name')
        OR what = 'forget' AND mainspring.is_elsewhere(p_shard, op ->> 'job') THEN
        answer := 'N';
    ELSIF what IN ('plan', 'fire') AND op -> 'run' ->> 'cause' <> 'once'
        AND mainspring.is_elsewhere(p_shard, op -> 'run' ->> 'job') THEN
        answer := 'G';
        IF what = 'fire' THEN
            DELETE FROM mainspring.pending AS p
                WHERE p.shard = p_shard AND p.due = (op ->> 'due')::int8 AND p.number = (op ->> 'number')::int8
                RETURNING p.key INTO of_key;
            IF FOUND THEN
                counts[2] := counts[2] - 1;
                DELETE FROM mainspring.once_key AS k WHERE k.key = of_key;
            END IF;
        END IF;
    ELSIF what IN ('begin', 'move') AND mainspring.is_elsewhere(p_shard, op ->> 'job')
        AND EXISTS (SELECT FROM mainspring.run_of(op) AS r
            WHERE r.cause <> 'once' AND (r.shard <> p_shard OR what = 'begin' OR mainspring.is_open(op ->> 'to'))) THEN
        answer := 'G';
    ELSE
        SELECT a.counts, a.answer INTO counts, answer
            FROM mainspring.apply_here(p_shard, p_epoch, p_server, op, counts) AS a;
    END IF;
END $$;
