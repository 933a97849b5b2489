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
        lists: &[("mainspring-action/src/process.rs", "KEYS")],
        place: Place::JobOrDefaults,
        rows: &[],
    },
    KeySection {
        title: "Webhook",
        note: "In `[jobs.NAME.webhook]` and `[defaults.webhook]`. [Webhooks](../manual.md#webhooks) has the variables of `url`, `headers` and `body`.",
        lists: &[("mainspring-action/src/webhook.rs", "KEYS")],
        place: Place::Table,
        rows: &[],
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
        lists: &[("mainspring-job/src/policy.rs", "KEYS")],
        place: Place::JobOrDefaults,
        rows: &[],
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
                "the group whose `limit` and `rate` the job's runs share",
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
        note: "A target is one of four: `mailto:` and addresses; a URL, which gets a POST request; a table with `url`, `kind` \
               and the keys of a [webhook](#webhook); a line for `/bin/sh`, which runs as the user of the job. The page and \
               the metrics show the silence of a job with `silent_after` also where it has no notification.",
        lists: &[("mainspring-file/src/jobfile/notify.rs", "KEYS")],
        place: Place::JobOrDefaults,
        rows: &[],
    },
];
