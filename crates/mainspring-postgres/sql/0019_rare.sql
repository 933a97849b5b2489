-- Format 17: runs of a cause that few runs have, as backfills, are found without the others. A write of another run costs a look at
-- its cause. A server of format 16 goes on.
CREATE INDEX history_rare ON mainspring.history (cause, nominal) WHERE cause NOT IN ('trigger', 'once');
CREATE INDEX history_rare_ended ON mainspring.history (cause, ended) WHERE cause NOT IN ('trigger', 'once') AND ended IS NOT NULL;
