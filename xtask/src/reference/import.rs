//! The page of what the keys of other schedulers are called here: the rows of the readers.
//!
//! A row of the code is a call: `is("there", "here", read, "says")`, `near(..)` of the same,
//! `lost("there", "says", "todo")` or `unneeded("there", "says")`.
//!
//! Cost: one pass over the tables.

use std::fmt::Write;

use super::code::{constant, elements, file, string_of};
use crate::tidy::Source;

/// What stands above the tables.
const INTRODUCTION: &str = "`mainspring import FILE ..` reads the tables of other schedulers and writes a \
     [job file](keys.md); `mainspring help import` has its options. Each key below is said on standard error where it \
     has no equal, or is not quite the same. A job that is suspended, or whose command is not in the table, is written as \
     a comment. The other scheduler is not switched off: a job that both run runs twice.\n\n\
     A key that has no row is said too. `*` stands for the rest of a name.\n";

/// A format: its heading, what is read of it, and its tables: what they are of, and where they stand.
struct Format {
    title: &'static str,
    reads: &'static str,
    tables: &'static [(&'static str, &'static str, &'static str)],
}

const FORMATS: &[Format] = &[
    Format {
        title: "Crontabs",
        reads: "Of a user, and with `--system` with a column of users. Times, users and commands are read as `serve` reads \
                them, lines `# mainspring: ..` too.",
        tables: &[("entry", "crontab.rs", "ENTRY_KEYS"), ("setting", "crontab.rs", "SETTING_KEYS")],
    },
    Format {
        title: "systemd",
        reads: "A `.timer` with its `.service`, which is looked for beside it, or both in one text, as `systemctl cat` \
                prints them with their drop-ins. A timer whose service is not given starts it with `systemctl start`. \
                Specifiers such as `%i` are put in; those that depend on the machine are said.",
        tables: &[
            ("`[Timer]`", "systemd/timer.rs", "TIMER_KEYS"),
            ("`[Service]`", "systemd/service.rs", "SERVICE_KEYS"),
            ("`[Unit]`", "systemd/service.rs", "UNIT_KEYS"),
            ("`[Install]`", "systemd/service.rs", "INSTALL_KEYS"),
        ],
    },
    Format {
        title: "Kubernetes",
        reads: "CronJobs in YAML or JSON: documents, a `List`, a `CronJobList`. The command runs on the machine of the \
                server, and in no container.",
        tables: &[
            ("object", "kubernetes/manifest.rs", "TOP_KEYS"),
            ("`metadata`", "kubernetes/manifest.rs", "METADATA_KEYS"),
            ("`spec`", "kubernetes/manifest.rs", "SPEC_KEYS"),
            ("`jobTemplate`", "kubernetes/manifest.rs", "TEMPLATE_KEYS"),
            ("`jobTemplate.spec`", "kubernetes/manifest.rs", "JOB_KEYS"),
            ("`template`", "kubernetes/manifest.rs", "POD_TEMPLATE_KEYS"),
            ("`template.spec`", "kubernetes/pod.rs", "POD_KEYS"),
            ("container", "kubernetes/pod.rs", "CONTAINER_KEYS"),
            ("`resources`", "kubernetes/pod.rs", "RESOURCE_KEYS"),
            ("`resources.limits`", "kubernetes/pod.rs", "LIMIT_KEYS"),
            ("variable of `env`", "kubernetes/pod.rs", "VARIABLE_KEYS"),
        ],
    },
    Format {
        title: "Quartz",
        reads: "A properties file, each line `name = expression` (an end such as `.cron` is no part of the name; a value \
                that is no expression is said; six fields without a `?` are an expression of Spring), or the XML of Quartz, `job-scheduling-data` with its cron triggers. `{call}` \
                of `--run` is the class of the job.",
        tables: &[("element of `cron`", "quartz/xml.rs", "QUARTZ_KEYS")],
    },
    Format {
        title: "sidekiq-cron",
        reads: "YAML: a table of jobs by name, or a list of jobs with `name`; in sections of environments, and under \
                `:schedule:` of `sidekiq.yml`. `every` is of sidekiq-scheduler.",
        tables: &[("key", "sidekiq.rs", "SIDEKIQ_KEYS")],
    },
    Format {
        title: "APScheduler",
        reads: "A list of jobs in YAML, in JSON or as Python writes it, with the keys of `add_job` and of the trigger \
                beside them or in a table `trigger` with `type`: the form of Flask-APScheduler. The list may stand under \
                `JOBS`, or be a table by `id`. Fields below the least that is said have their least value, as there.",
        tables: &[
            ("key beside the jobs", "apscheduler.rs", "SCHEDULER_KEYS"),
            ("key of a job", "apscheduler.rs", "APSCHEDULER_KEYS"),
            ("key of a trigger", "apscheduler/trigger.rs", "TRIGGER_KEYS"),
        ],
    },
];

/// The page's text.
pub(super) fn text(sources: &[Source]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for Format { title, reads, tables } in FORMATS {
        let _ = write!(text, "\n## {title}\n{reads}\n");
        for (of, path, name) in *tables {
            let _ = write!(text, "\n| {of} | here | |\n|---|---|---|\n");
            let source = file(sources, &format!("crates/mainspring-import/src/{path}"));
            let constant = source.and_then(|source| constant(source, name));
            let rows = constant.map(|constant| elements(&constant.expr)).unwrap_or_default();
            text.extend(rows.into_iter().filter_map(row));
        }
    }
    text
}

/// A row of the page.
fn row(element: &syn::Expr) -> Option<String> {
    let syn::Expr::Call(call) = element else { return None };
    let syn::Expr::Path(function) = &*call.func else { return None };
    let fate = function.path.segments.last()?.ident.to_string();
    let cell = |index: usize| call.args.get(index).and_then(string_of).unwrap_or_default();
    let code = |words: &str, between: &str| {
        let words = words.split(between).map(|word| format!("`{word}`"));
        words.collect::<Vec<_>>().join(", ")
    };
    // A key of a job file is one word; all else is a sentence.
    let here = |text: &str| {
        let is_key = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || "_.NAME".contains(c));
        if text.split(", ").all(is_key) { code(text, ", ") } else { text.to_owned() }
    };
    let (here, says) = match fate.as_str() {
        "is" | "near" => (here(&cell(1)), cell(3)),
        "lost" => ("no equal".to_owned(), format!("{}; what to do: {}", cell(1), cell(2))),
        "unneeded" => ("not needed".to_owned(), cell(1)),
        _ => return None,
    };
    Some(format!("| {} | {here} | {} |\n", code(&cell(0), " "), says.replace('|', "\\|")))
}
