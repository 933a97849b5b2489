//! A job as facts: what every reader makes, and the one writer writes.
//!
//! Cost: plain data.
//!
//! Does not check anything: the writer has each table read by the parser of job files.

use std::collections::HashMap;
use std::time::Duration;

use mainspring_action::body::ProcessBody;
use mainspring_cron::Every;
use mainspring_job::{MAX_TRIGGERS, Policies};

use crate::finding::Place;
use crate::shell;

/// The most comments above a job.
const MAX_COMMENTS: usize = 16;

/// How old a time may be that is caught up whatever its age: ten years stand for any.
pub(crate) const ANY_AGE: Duration = Duration::from_secs(3_650 * 86_400);

/// A job that was read elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobFacts {
    /// What it is called there; the writer makes a name of it.
    pub(crate) name: String,
    /// Where it stands.
    pub(crate) place: Place,
    /// What a person should see above it.
    pub(crate) comments: Vec<String>,
    /// When it is due.
    pub(crate) when: Vec<When>,
    /// Its zone, if it says one.
    pub(crate) zone: Option<String>,
    /// What it does when the clock changes, unless that is the default.
    pub(crate) dst: Option<&'static str>,
    /// How two restricted day fields are read, unless that is the default.
    pub(crate) day_rule: Option<&'static str>,
    /// The language of its cron expressions is Quartz's.
    pub(crate) is_quartz: bool,
    /// From what `H` and `~` choose their values.
    pub(crate) hash: Option<String>,
    /// Its bounds, as times. It is due at both.
    pub(crate) start: Option<String>,
    pub(crate) last: Option<String>,
    /// After how many runs it is done.
    pub(crate) max_runs: Option<u64>,
    /// Which of its group starts first.
    pub(crate) priority: i8,
    /// What it runs.
    pub(crate) body: ProcessBody,
    /// What it calls there, where that is no command.
    pub(crate) call: Option<Call>,
    /// The image of its container.
    pub(crate) image: Option<String>,
    /// Why it says no command, if the reader knows.
    pub(crate) no_command: Option<String>,
    /// By which rules.
    pub(crate) policies: Policies,
    /// Who gets its output by mail.
    pub(crate) mail_output: Vec<String>,
    /// Headers of these mails that are not the usual ones.
    pub(crate) mail_headers: Vec<String>,
    /// Which program takes the mails, unless that is the default.
    pub(crate) sendmail: Option<String>,
    /// Why it must not run as it is: it is written as a comment then.
    pub(crate) off: Option<String>,
}

/// What a job calls, where that is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A class or a call of a function: one word of a shell.
    Text(String),
    /// The arguments of the program of an image: a word each.
    Arguments(Vec<String>),
}

impl Call {
    /// The call in a line for a shell.
    pub(crate) fn of_shell(&self) -> String {
        match self {
            Call::Text(text) => shell::quoted(text),
            Call::Arguments(words) => shell::line(words.iter().map(String::as_str)),
        }
    }
}

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Cron(String),
    OnCalendar(String),
    Every(String),
    At(String),
    Boot,
    ServerStart,
}

impl When {
    /// A period, as job files have it.
    pub(crate) fn every(every: &Every) -> When {
        When::Every(every.to_string().trim_start_matches("@every ").to_owned())
    }
}

impl JobFacts {
    /// A job of this name at this place.
    pub(crate) fn new(name: impl Into<String>, place: Place) -> JobFacts {
        JobFacts { name: name.into(), place, ..JobFacts::default() }
    }

    /// Adds what a person should see above it.
    pub(crate) fn comment(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.comments.len() < MAX_COMMENTS && !self.comments.contains(&text) {
            self.comments.push(text);
        }
    }

    /// Adds a trigger: one more than a job may have is kept, so that it is refused.
    pub(crate) fn due(&mut self, when: When) {
        if self.when.len() <= MAX_TRIGGERS {
            self.when.push(when);
        }
    }

    /// Has it written as a comment; the first reason counts.
    pub(crate) fn switch_off(&mut self, why: impl Into<String>) {
        self.off.get_or_insert_with(|| why.into());
    }

    /// The same for a job whose time cannot be said here: its table has some time, as each has one.
    pub(crate) fn switch_off_without_time(&mut self, why: impl Into<String>) {
        self.due(When::Cron("@daily".to_owned()));
        self.switch_off(why);
    }

    /// Whether it says what to run.
    pub(crate) fn has_command(&self) -> bool {
        self.body.shell.is_some() || !self.body.run.is_empty()
    }
}

/// Variables, of which the last of a name counts. A look-up takes the same time however many there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    all: Vec<(String, String)>,
    index_of: HashMap<String, usize>,
}

impl Variables {
    /// Sets a variable.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        match self.index_of.get(name) {
            Some(index) => self.all[*index].1 = value,
            None => {
                self.index_of.insert(name.to_owned(), self.all.len());
                self.all.push((name.to_owned(), value));
            }
        }
        debug_assert_eq!(self.all.len(), self.index_of.len(), "each name is there once");
    }

    /// The value of a variable.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.index_of.get(name).map(|index| self.all[*index].1.as_str())
    }

    /// Takes all of them, in the order in which they were set first.
    pub(crate) fn take(&mut self) -> Vec<(String, String)> {
        self.index_of.clear();
        std::mem::take(&mut self.all)
    }
}
