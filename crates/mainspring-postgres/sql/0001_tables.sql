-- The tables of format 1. Times are nanoseconds since 1970 in 64 bits, but for those of leases and registries, which only
-- the database judges. A column that comes later may be null: servers of the version before go on writing rows without it.
CREATE TABLE mainspring.meta (
    -- Which steps were made; the oldest format whose programs may go on writing.
    version int8 NOT NULL, floor int8 NOT NULL, created timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One sequence for all shards: the numbers of one-shot jobs are made of the epoch.
CREATE SEQUENCE mainspring.epoch;

CREATE TABLE mainspring.shard (
    shard int8 PRIMARY KEY,
    -- The fence: every write names both. The token tells two histories apart that have counted alike, as after the loss of
    -- a primary whose standby lagged.
    epoch int8 NOT NULL DEFAULT 0, token uuid NOT NULL DEFAULT gen_random_uuid(),
    -- Empty where the owner has left in good order.
    owner text NOT NULL DEFAULT '', address text NOT NULL DEFAULT '', server uuid,
    machine text NOT NULL DEFAULT '', machine_start text NOT NULL DEFAULT '',
    until timestamptz NOT NULL DEFAULT '-infinity',
    -- The latest time that was told: what is told never runs back.
    told int8 NOT NULL DEFAULT 0,
    -- The last batch, and what was answered.
    batch int8 NOT NULL DEFAULT 0, answers text NOT NULL DEFAULT '',
    is_paused bool NOT NULL DEFAULT false, pause_until int8, pause_note text NOT NULL DEFAULT '',
    -- How many rows there are.
    jobs int8 NOT NULL DEFAULT 0, pending int8 NOT NULL DEFAULT 0, open int8 NOT NULL DEFAULT 0,
    runs int8 NOT NULL DEFAULT 0, dead int8 NOT NULL DEFAULT 0
) WITH (fillfactor = 30);

CREATE TABLE mainspring.job (
    name text COLLATE "C" PRIMARY KEY, shard int8 NOT NULL, watermark int8 NOT NULL, runs int8 NOT NULL,
    failures int8 NOT NULL, backfills int8 NOT NULL, pause text, timetable text NOT NULL, source text,
    text text NOT NULL, deaths int8 NOT NULL, pause_until int8, pause_note text NOT NULL,
    last_nominal int8, last_series int8, last_state text, last_ended int8, last_success int8
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE mainspring.pending (
    shard int8 NOT NULL, due int8 NOT NULL, number int8 NOT NULL, name text COLLATE "C" NOT NULL, is_named bool NOT NULL,
    key text COLLATE "C", submitted int8 NOT NULL, kind text NOT NULL, body text NOT NULL, policies text NOT NULL,
    work_group text COLLATE "C", priority int8 NOT NULL, PRIMARY KEY (shard, due, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE UNIQUE INDEX pending_name ON mainspring.pending (name) WHERE is_named;

CREATE TABLE mainspring.once_key (
    key text COLLATE "C" PRIMARY KEY, due int8 NOT NULL, number int8 NOT NULL, name text COLLATE "C" NOT NULL
);
CREATE INDEX once_key_name ON mainspring.once_key (name, due);

CREATE TABLE mainspring.run (
    job text COLLATE "C" NOT NULL, nominal int8 NOT NULL, series int8 NOT NULL, shard int8 NOT NULL, cause text NOT NULL,
    state text NOT NULL, attempt int8 NOT NULL, due int8 NOT NULL, planned int8 NOT NULL, started int8, ended int8,
    outcome text, reason text NOT NULL, span_last int8, span_count int8, span_is_exact bool, kind text, body text,
    policies text, work_group text COLLATE "C", priority int8, deaths int8 NOT NULL, forgiven int8 NOT NULL,
    PRIMARY KEY (job, nominal, series)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX run_nominal ON mainspring.run (nominal, job, series);
CREATE INDEX run_open ON mainspring.run (shard, job, nominal, series) WHERE state IN ('scheduled', 'queued', 'running');
CREATE INDEX run_dead ON mainspring.run (nominal, job, series) WHERE state = 'dead';
CREATE INDEX run_once ON mainspring.run (nominal, job, series) WHERE cause = 'once';
CREATE INDEX run_ended ON mainspring.run (ended, job, nominal, series) WHERE ended IS NOT NULL;

CREATE TABLE mainspring.attempt (
    job text COLLATE "C" NOT NULL, nominal int8 NOT NULL, series int8 NOT NULL, number int8 NOT NULL, started int8 NOT NULL,
    ended int8, state text, outcome text, server uuid, epoch int8, PRIMARY KEY (job, nominal, series, number)
);

CREATE TABLE mainspring.audit (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, shard int8 NOT NULL, at int8 NOT NULL, actor text COLLATE "C" NOT NULL,
    action text NOT NULL, target text COLLATE "C" NOT NULL, note text NOT NULL
);

CREATE TABLE mainspring.server (
    id uuid PRIMARY KEY, name text NOT NULL, address text NOT NULL, version text NOT NULL,
    seen timestamptz NOT NULL DEFAULT clock_timestamp()
);
