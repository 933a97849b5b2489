//! Tables of other schedulers, read and written as a job file.
//!
//! ```text
//! crontab ─────────────┐
//! .timer + .service ───┤             ┌─▶ writer ─▶ a job file, which the parser of job files has read
//! CronJob (YAML) ──────┼─▶ JobFacts ─┘
//! sidekiq-cron (YAML) ─┤
//! APScheduler (YAML) ──┤      each key ─▶ its row ─▶ what it is here, or why it has no equal ─▶ findings
//! Quartz ──────────────┘
//! ```
//!
//! Each key of each format stands in one row of a table: the reader finds it there, the findings say what the
//! row says, and `docs/reference/import.md` shows it. What must not run as it is, because it is suspended
//! there or its command is not known, is written as a comment. A file that cannot be read is a problem at a
//! place, and then nothing is written.
//!
//! Cost: time and memory in proportion to the text, of at most 4 MiB a file.
//!
//! Does no input and output, and does not ask the other scheduler: what is not in the text is not known. It
//! does not promise that the command finds what it needs on this machine.

#![forbid(unsafe_code)]

mod finding;

mod facts;
mod schedule;
mod shell;

mod yaml;

mod draft;
mod key;

mod crontab;
mod systemd;

mod kubernetes;

mod apscheduler;
mod sidekiq;

mod quartz;

mod writer;

mod kind;

mod import;

pub use import::{Import, Options, import};
pub use kind::Kind;
pub use systemd::services_of;
