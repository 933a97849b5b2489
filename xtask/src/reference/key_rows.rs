//! Rows for the keys of job files: their values, and what the code's own tables do not say of them.
//!
//! The code has the names of the keys, and the test beside `keys.rs` compares them with these rows. Where the
//! code says the default of a key and what it does, the page has that.
//!
//! Cost: none.

/// A key: its name, its value with its unit, its default, and what it does.
pub(super) type KeyRow = (&'static str, &'static str, &'static str, &'static str);

/// The keys of one list in the code.
pub(super) struct KeySection {
    /// The heading.
    pub(super) title: &'static str,
    /// What holds for all of them.
    pub(super) note: &'static str,
    /// The lists: files below `crates`, and constants or variables in them. One that is not there is empty.
    pub(super) lists: &'static [(&'static str, &'static str)],
    /// Where they stand.
    pub(super) place: Place,
    /// In the order of the page.
    pub(super) rows: &'static [KeyRow],
}

/// Where the keys of a section stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the table of a job, and in `[defaults]`.
    JobOrDefaults,
    /// In the table of a job alone.
    Job,
    /// In a table of their own, which the note names.
    Table,
}

/// All keys of job files.
pub(super) const SECTIONS: &[KeySection] = &[
    KeySection {
        title: "When a job is due",
        note: "A job has at least one of these. Each but the last two may be a list.",
        lists: &[("mainspring-file/src/jobfile/timetable.rs", "TRIGGERS")],
        place: Place::Job,
        rows: &[
            (
                "cron",
                "an expression of five to seven fields, or a nickname such as `\"@daily\"`",
                "",
                "times of a calendar; `mainspring explain` says what it means",
            ),
            ("oncalendar", "a calendar expression of systemd", "", "the same in systemd's language"),
            ("every", "a duration, such as `\"90s\"`, `\"15m\"`", "", "again and again"),
            ("at", "a [time](../manual.md#times)", "", "once"),
            (
                "after",
                "the name of a job, or `{ job, on }` with `on` `\"succeeded\"`, `\"failed\"` or `\"any\"`",
                "",
                "[follows the runs of another job](../manual.md#after)",
            ),
            (
                "at_boot",
                "`true`",
                "",
                "once at each start of the machine; see [At a start](../manual.md#reboot)",
            ),
            (
                "at_server_start",
                "`true`",
                "",
                "once at each start of the server, and at each takeover of a shared database",
            ),
        ],
    },
    KeySection {
        title: "How times are read, and which are left out",
        note: "",
        lists: &[("mainspring-file/src/jobfile/timetable.rs", "OPTIONS")],
        place: Place::JobOrDefaults,
        rows: &[
            (
                "zone",
                "a name of the IANA database",
                "`serve --tz`, else the system's",
                "the zone of expressions, dates and times without an offset",
            ),
            (
                "dst",
                "`\"cron\"`, `\"literal\"`, `\"skip\"`, `\"shift\"`",
                "`\"cron\"`; `\"skip\"` for `oncalendar`",
                "fixed times when the clock changes: see `mainspring next --help`",
            ),
            ("dialect", "`\"unix\"`, `\"quartz\"`", "`\"unix\"`", "the language of `cron`"),
            (
                "day_rule",
                "`\"star\"`, `\"or\"`, `\"and\"`",
                "`\"star\"`",
                "what two restricted day fields mean together: see `mainspring next --help`",
            ),
            (
                "hash",
                "a text",
                "the job's name",
                "from what `H` and `~` of an expression choose their values",
            ),
            ("exclude", "expressions of `cron`", "none", "what lies in a minute that they name is not due"),
            (
                "exclude_dates",
                "dates, and `\"FIRST..LAST\"` of dates",
                "none",
                "whole days on which nothing is due",
            ),
            ("start", "a time", "none", "nothing is due before"),
            ("end", "a time", "none", "nothing is due after"),
        ],
    },
    KeySection {
        title: "What a job does",
        note: "A job has one of these.",
        lists: &[("mainspring-file/src/jobfile/definition.rs", "ACTIONS")],
        place: Place::Job,
        rows: &[
            ("run", "a list: a program and its arguments", "", "runs it, with no shell in between"),
            ("shell", "a text", "", "a line for `/bin/sh -c`, or for `interpreter`"),
            ("webhook", "a table: [Webhook](#webhook)", "", "sends a request"),
            (
                "handler",
                "a table: [Handler](#handler)",
                "",
                "calls a function of [the program that has it](../embed.md); `serve` cannot run it",
            ),
        ],
    },
    KeySection {
        title: "Process",
        note: "With `run` or `shell`. Paths begin with `/`.",
        lists: &[
            ("mainspring-action/src/process.rs", "KEYS"),
            ("mainspring-file/src/jobfile/process.rs", "OPTIONS"),
        ],
        place: Place::JobOrDefaults,
        rows: &[
            ("interpreter", "a program", "`/bin/sh`", "gets `-c` and the text of `shell`"),
            (
                "user",
                "`\"NAME\"` or `\"NAME:GROUP\"`",
                "the server's",
                "who runs it; only if the server runs as root",
            ),
            ("cwd", "a path", "the user's home", "where it starts"),
            (
                "env",
                "a table of texts, numbers, `true` and `false`",
                "`HOME`, `USER`, `LOGNAME`, `SHELL`, `PATH=/usr/bin:/bin`",
                "variables",
            ),
            (
                "env_file",
                "paths",
                "none",
                "files of `NAME=value` lines, read at each start by the rules for [files of secrets](../../SECURITY.md#rules-of-files); not masked; `env` takes precedence",
            ),
            (
                "inherit_env",
                "`true`, `false`",
                "`false`",
                "the process also has all variables of the server; `check` warns of it beside `user`",
            ),
            (
                "secrets",
                "a table: variable = path, or = `{ path = PATH }`",
                "none",
                "the content of a file, or its path, in a variable; masked: see [Rules of files](../../SECURITY.md#rules-of-files)",
            ),
            ("umask", "octal digits, as in `\"027\"`", "the server's", "as its name says"),
            ("nice", "-20 to 19", "the server's", "as its name says"),
            (
                "limits",
                "a table: LIMITS; a number, or `\"unlimited\"`",
                "the server's",
                "limits of the process, as `ulimit` sets them",
            ),
            (
                "memory_max",
                "bytes, or `\"512M\"` (K, M, G, T), from `\"1M\"`",
                "none",
                "how much memory the run and all that it starts may have; a run with more is killed as a whole. It needs a [cgroup](../manual.md#processes)",
            ),
            (
                "cpu_max",
                "per cent of a processor, as in `\"150%\"`",
                "none",
                "how much processor time. It needs a cgroup",
            ),
            ("stdin", "a text", "empty", "standard input"),
            (
                "output_bytes",
                "bytes, up to 1 GiB",
                "1 MiB",
                "how much output of a run is kept: its beginning and, once the run has ended, its end (64 KiB, or half if that is less); a line in between says how much is left out",
            ),
            (
                "on_server_death",
                "`\"leave\"`, `\"kill\"`",
                "`\"leave\"`",
                "what becomes of it [when the server is killed](../manual.md#when-the-server-is-killed)",
            ),
            (
                "on_lease_loss",
                "`\"kill\"`, `\"leave\"`",
                "`\"kill\"`",
                "among [several servers](../cluster.md#a-run-that-may-run-twice); with one server it means nothing",
            ),
            (
                "no_new_privileges",
                "`true`, `false`",
                "`false`",
                "no program in the job gains privileges when it is executed, as `sudo` and set-user-id programs do",
            ),
        ],
    },
    KeySection {
        title: "Webhook",
        note: "In `[jobs.NAME.webhook]` and `[defaults.webhook]`. [Webhooks](../manual.md#webhooks) has the variables of `url`, `headers` and `body`.",
        lists: &[
            ("mainspring-action/src/webhook.rs", "KEYS"),
            ("mainspring-file/src/jobfile/webhook.rs", "KEYS"),
        ],
        place: Place::Table,
        rows: &[
            ("url", "`http://` or `https://`", "", "where it goes"),
            ("method", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", "`\"POST\"`", "the method"),
            ("headers", "a table, up to 64", "none", "further headers"),
            ("body", "a text, with POST, PUT and PATCH", "empty", "what is sent"),
            (
                "success",
                "statuses, as in `[\"200-299\", 404]`",
                "`\"200-299\"`",
                "answers that are a success",
            ),
            ("secrets", "a table: name = path", "none", "for `{secret.NAME}`"),
            ("signing_secret", "a path", "none", "the key that signs requests, of 16 bytes at least"),
            ("ca_file", "a path", "public authorities", "certificates of the authorities that are trusted"),
            ("output_bytes", "bytes, up to 1 GiB", "64 KiB", "how much of the answer is kept"),
        ],
    },
    KeySection {
        title: "Handler",
        note: "In `[jobs.NAME.handler]`.",
        lists: &[("mainspring-file/src/jobfile/handler.rs", "KEYS")],
        place: Place::Table,
        rows: &[
            ("name", "a text", "", "the name under which the program knows the function"),
            ("version", "a number", "0", "the version of the payload's form"),
            ("payload", "a JSON document as text", "none", "what the function gets"),
        ],
    },
    KeySection {
        title: "Policies",
        note: "A policy is a word, or a table with its first part under the name that is given here: `retry = 3` is \
               `retry = { max = 3 }`. In a crontab's comment and on the command line it is one word, as in \
               `retry=3,backoff=10s`, and its name has `-` for `_`.",
        lists: &[
            ("mainspring-job/src/policy.rs", "KEYS"),
            ("mainspring-file/src/jobfile/policies.rs", "NAMES"),
        ],
        place: Place::JobOrDefaults,
        rows: &[
            (
                "misfire",
                "`rule`: `none`, `latest`, `earliest`, `all`; `window`, `spread`, `grace` (durations), `cap` (of `all`)",
                "`latest,window=24h,spread=2m,grace=1m`",
                "[what becomes of an occurrence](../manual.md#misfire) whose time passed while no server ran; a nightly job of a zone with summer time has one night of 25 hours, for which it takes `window=26h`",
            ),
            (
                "overlap",
                "`rule`: `skip`, `queue-one`, `queue-all`, `replace`, `kill-old`, `allow`; `cap` (of `queue-all`)",
                "`skip`",
                "[what happens](../manual.md#overlap) if the job's last run still runs",
            ),
            (
                "retry",
                "`max`: 0 to 1,000; `backoff`, `cap` (durations), `factor`, `jitter` (per cent), `on`: `failed`, `timed_out`, `abandoned`",
                "`0,backoff=10s,factor=2,cap=1h,jitter=10,on=failed+timed_out`",
                "[whether a failure is tried again](../manual.md#retry), when, and how often",
            ),
            (
                "timeout",
                "`after`: a duration or `none`; `signal`: TERM, INT, HUP, QUIT, USR1, USR2, KILL; `grace`: up to 1 h",
                "`none,signal=TERM,grace=10s`",
                "how long an attempt may take; the signal and the time until SIGKILL, whatever it is killed for",
            ),
            (
                "retention",
                "`keep`: runs; `days`",
                "`keep=100,days=90`",
                "[how much history is kept](../manual.md#retention)",
            ),
            (
                "jitter",
                "a duration, up to a day",
                "`0s`",
                "how much later than its nominal time a run may start",
            ),
            (
                "pause_after",
                "a number, `never`",
                "`never`",
                "after how many failures in a row the job is paused",
            ),
            (
                "dead_letters",
                "`after-retries`, `always`, `never`",
                "`after-retries`",
                "whether failed runs wait for a person: `mainspring dead`",
            ),
        ],
    },
    KeySection {
        title: "Other keys of a job",
        note: "",
        lists: &[("mainspring-file/src/jobfile/definition.rs", "of_job")],
        place: Place::JobOrDefaults,
        rows: &[
            (
                "group",
                "the name of a table `[groups.NAME]` of the file",
                "none",
                "the group whose `limit` the job's runs share",
            ),
            (
                "priority",
                "-128 to 127",
                "0",
                "which run starts first when several wait for a place: the one with the highest number",
            ),
            (
                "max_runs",
                "a number from 1",
                "none",
                "how many occurrences become runs, ever; skipped and missed occurrences and runs by hand do not count",
            ),
            (
                "labels",
                "a table of texts: at most 16, of at most 64 bytes",
                "none",
                "words by which people choose jobs: `labels = { team = \"ops\" }`",
            ),
        ],
    },
    KeySection {
        title: "Notifications",
        note: "A target is one of three: `mailto:` and addresses; a URL, which gets a POST request with a JSON object; a line \
               for `/bin/sh`, which runs as the user of the job. The environment of the line has `NOTIFY_EVENT`, `NOTIFY_JOB`, \
               `NOTIFY_RUN`, `NOTIFY_DETAIL`, `NOTIFY_ATTEMPTS`, `NOTIFY_FAILURES`, `NOTIFY_COUNT`, `NOTIFY_AT` and \
               `NOTIFY_HOST`. The page and the metrics show the silence of a job with `silent_after` also where it has no \
               notification.",
        lists: &[
            ("mainspring-file/src/jobfile/notify.rs", "KEYS"),
            ("mainspring-file/src/jobfile/notify.rs", "OPTIONS"),
        ],
        place: Place::JobOrDefaults,
        rows: &[
            (
                "notify",
                "a [target](../manual.md#notifications), up to four of them, or `{ on, to }`; `[]` for none",
                "`serve --notify`",
                "who is told of what happens to the job",
            ),
            (
                "ping_url",
                "a URL",
                "none",
                "gets a GET request after each success, for a monitoring service that reports when such requests stop",
            ),
            (
                "silent_after",
                "a duration",
                "none",
                "how long a job may go without a successful run before this is reported, also while nothing runs; of a job that has never succeeded, from the start of the server",
            ),
            (
                "mail_output",
                "addresses, with commas between",
                "none",
                "get the output of each run by mail; a run without output sends no mail",
            ),
            (
                "sendmail",
                "a path",
                "`/usr/sbin/sendmail`",
                "the program that takes mails on its standard input, with the addresses as arguments",
            ),
        ],
    },
];
