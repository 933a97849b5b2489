//! The kinds of tables that are read, and how a file shows of which it is.
//!
//! Cost: a few passes over the file.
//!
//! Does not read a file as its kind.

use std::fmt;
use std::str::FromStr;

use mainspring_file::source::Source;

/// A kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A crontab.
    Crontab,
    /// Timers and services of systemd.
    Systemd,
    /// CronJobs of Kubernetes.
    Kubernetes,
    /// Expressions of Quartz in a properties file or in XML.
    Quartz,
    /// Jobs of sidekiq-cron.
    Sidekiq,
    /// Jobs of APScheduler.
    Apscheduler,
}

impl Kind {
    /// All of them, with their names.
    pub const ALL: [(&str, Kind); 6] = [
        ("crontab", Kind::Crontab),
        ("systemd", Kind::Systemd),
        ("kubernetes", Kind::Kubernetes),
        ("quartz", Kind::Quartz),
        ("sidekiq", Kind::Sidekiq),
        ("apscheduler", Kind::Apscheduler),
    ];

    /// What a file seems to be, by its name and what stands in it. What says nothing is a crontab.
    pub fn of(source: &Source) -> Kind {
        let name = source.name();
        let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
        let has_line = |begins: &[&str]| {
            let begins_so = |line: &[u8]| begins.iter().any(|begin| line.starts_with(begin.as_bytes()));
            source.lines().any(|line| begins_so(line.bytes.trim_ascii_start()))
        };
        let first = source.bytes().trim_ascii_start().first();
        if ends(&[".timer", ".service"]) || has_line(&["[Timer]", "[Service]"]) {
            Kind::Systemd
        } else if ends(&[".properties", ".xml"]) || first == Some(&b'<') {
            Kind::Quartz
        } else if has_line(&["apiVersion:", "kind:", "\"apiVersion\":", "\"kind\":"]) {
            Kind::Kubernetes
        } else if ends(&[".yml", ".yaml", ".json"]) || matches!(first, Some(b'[' | b'{')) {
            let text = String::from_utf8_lossy(source.bytes());
            let is_python = ["func:", "\"func\"", "'func'", "trigger:"].iter().any(|key| text.contains(key));
            if is_python { Kind::Apscheduler } else { Kind::Sidekiq }
        } else {
            Kind::Crontab
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Kind::ALL.iter().find(|(_, kind)| kind == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let found = Kind::ALL.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind);
        let names = Kind::ALL.map(|(name, _)| name).join(", ");
        found.ok_or_else(|| format!("expected one of {names}, found `{text}`"))
    }
}
