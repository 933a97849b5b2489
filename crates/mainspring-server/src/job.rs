//! A job of a crontab, ready to run: name, schedule, user, environment and command.
//!
//! A job's name is its line number and the first word of its command that is not an assignment, without directories:
//!
//! | line | name |
//! |---|---|
//! | `12: 0 5 * * *  LANG=C /usr/local/bin/backup.sh --all` | `12:backup.sh` |
//! | `13: @daily     [ -x /usr/sbin/x ] && /usr/sbin/x` | `13:command` |
//!
//! The line number makes it unique in the file; the word makes it readable. It holds letters, digits, and `._+-` only.
//!
//! The environment is made from nothing, as Debian's cron makes it: SHELL=/bin/sh, HOME and LOGNAME and USER of the
//! account, PATH=/usr/bin:/bin; then the crontab's settings, which may replace all of these but LOGNAME.
//!
//! Cost: one look-up per user column.
//!
//! Does not read the user's login shell: SHELL is what the crontab says.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1.

use std::collections::HashMap;
use std::collections::hash_map;
use std::path::Path;

use jiff::tz::TimeZone;
use mainspring_cron::Schedule;

use crate::accounts::{Account, Refusal};
use crate::crontab::command::Command;
use crate::crontab::entry::UserColumn;
use crate::crontab::environment::{Environment, Setting};
use crate::crontab::{Crontab, PlacedEntry};
use crate::executor::spec::{ProcessSpec, Program};
use crate::problem::{Fault, Problem};

/// The shell, unless the crontab sets SHELL.
pub const DEFAULT_SHELL: &str = "/bin/sh";

/// The search path, unless the crontab sets PATH.
pub const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// The longest word that becomes part of a name.
pub const MAX_NAME_WORD_CHARS: usize = 24;

/// Everything that a run needs to know, and nothing about its time.
#[derive(Clone, Debug)]
pub struct Job {
    /// See the head of this file.
    pub name: String,
    /// When.
    pub schedule: Schedule,
    /// Whose.
    pub account: Account,
    /// Complete; holds SHELL and HOME.
    pub environment: Environment,
    /// What.
    pub command: Command,
}

impl Job {
    /// Makes the jobs of a crontab. An entry whose user cannot be become is a problem, and no job.
    /// `zone` is for the entries above which no `CRON_TZ` stands.
    pub fn prepare(crontab: &Crontab, zone: &TimeZone, ourselves: &Account) -> (Vec<Job>, Vec<Problem>) {
        let mut accounts = HashMap::new();
        let mut jobs = Vec::with_capacity(crontab.entries.len());
        let mut problems = Vec::new();
        for placed in &crontab.entries {
            match account(placed, ourselves, &mut accounts) {
                Ok(account) => jobs.push(Job::new(placed, zone, account)),
                Err(fault) => problems.push(placed.problem(fault)),
            }
        }
        (jobs, problems)
    }

    /// The shell that runs the command.
    pub fn shell(&self) -> &str {
        self.environment.value("SHELL").expect("a complete environment holds SHELL")
    }

    /// The directory in which the command starts.
    pub fn home(&self) -> &Path {
        Path::new(self.environment.value("HOME").expect("a complete environment holds HOME"))
    }

    /// What a run executes.
    pub fn process_spec(&self) -> ProcessSpec {
        let program =
            Program::Shell { shell: self.shell().to_owned(), text: self.command.shell_text.clone() };
        let setting = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        ProcessSpec {
            directory: self.home().to_owned(),
            environment: self.environment.iter().map(setting).collect(),
            input: self.command.input.clone(),
            // All of it goes to the log, which keeps nothing.
            output_bytes_max: u64::MAX,
            ..ProcessSpec::new(program, self.account.clone())
        }
    }

    fn new(placed: &PlacedEntry, zone: &TimeZone, account: Account) -> Job {
        Job {
            name: job_name(placed),
            schedule: placed.schedule(zone),
            environment: complete(&placed.environment, &account),
            account,
            command: placed.entry.command.clone(),
        }
    }
}

/// The name of an entry's job: see the head of this file.
pub fn job_name(placed: &PlacedEntry) -> String {
    format!("{}:{}", placed.line_number, name_word(&placed.entry.command.shell_text))
}

/// The account of an entry, looked up once per name.
fn account(
    placed: &PlacedEntry,
    ourselves: &Account,
    known: &mut HashMap<String, Result<Account, Fault>>,
) -> Result<Account, Fault> {
    let Some(user) = &placed.entry.user else {
        return Ok(ourselves.clone());
    };
    let found = match known.entry(user.name.clone()) {
        hash_map::Entry::Occupied(known) => known.into_mut(),
        hash_map::Entry::Vacant(unknown) => {
            let named = Account::named(&user.name, ourselves);
            unknown.insert(named.map_err(|refusal| refused(user, &refusal)))
        }
    };
    found.clone().map_err(|fault| Fault { span: user.span.clone(), ..fault })
}

/// What to say of a user column that cannot be followed.
fn refused(user: &UserColumn, refusal: &Refusal) -> Fault {
    let UserColumn { name, span } = user;
    let fault = |message: String| Fault::new(span.clone(), message);
    match refusal {
        Refusal::Unknown | Refusal::UnknownGroup => unknown_user(user),
        Refusal::NotRoot { ourselves } => {
            fault(format!("cannot run as user `{name}`: mainspring was started by {ourselves}"))
                .with_hint("only root can run commands as another user")
        }
        Refusal::Lookup(error) => fault(format!("cannot look up user `{name}`: {error}")),
    }
}

/// The fault of a user column that names nobody.
pub fn unknown_user(user: &UserColumn) -> Fault {
    let fault = Fault::new(user.span.clone(), format!("there is no user `{}`", user.name));
    fault.with_hint("in a system crontab a user name stands between the time and the command")
}

/// The whole environment of a command.
fn complete(settings: &Environment, account: &Account) -> Environment {
    let mut environment = Environment::default();
    let home = account.home.to_string_lossy().into_owned();
    let mut set = |name: &str, value: &str| {
        environment.set(Setting { name: name.to_owned(), value: value.to_owned() });
    };
    for (name, value) in
        [("SHELL", DEFAULT_SHELL), ("HOME", &home), ("USER", &account.name), ("PATH", DEFAULT_PATH)]
    {
        set(name, value);
    }
    for (name, value) in settings.iter() {
        set(name, value);
    }
    set("LOGNAME", &account.name);
    environment
}

/// The first word of a command that is not an assignment, without directories.
pub(crate) fn name_word(shell_text: &str) -> String {
    let is_assignment = |word: &str| word.split('/').next().is_some_and(|start| start.contains('='));
    let word = shell_text.split_whitespace().find(|word| !is_assignment(word)).unwrap_or_default();
    let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let kept: String = last.chars().filter(is_kept).take(MAX_NAME_WORD_CHARS).collect();
    if kept.is_empty() { "command".to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crontab::Format;
    use crate::source::Source;

    fn jobs(text: &str, format: Format) -> (Vec<Job>, Vec<Problem>) {
        let crontab = Crontab::parse(&Source::new("test", text), format);
        assert_eq!(crontab.problems, []);
        let ourselves = Account { name: "alice".into(), home: "/home/alice".into(), identity: None };
        Job::prepare(&crontab, &TimeZone::UTC, &ourselves)
    }

    #[test]
    fn a_name_is_the_line_and_the_first_word_of_the_command() {
        let cases = [
            ("LANG=C /usr/local/bin/backup.sh --all", "backup.sh"),
            ("echo hello", "echo"),
            ("[ -x /a ] && /a", "command"),
            ("(cd /; ls)", "cd"),
            ("./a=b", "ab"),
            ("A=1", "command"),
            ("\"/opt/my app/run\"", "my"),
            ("/opt/bin/", "bin"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa"),
        ];
        for (command, expected) in cases {
            let (jobs, _) = jobs(&format!("\n@daily {command}\n"), Format::User);
            assert_eq!(jobs[0].name, format!("2:{expected}"), "{command}");
        }
    }

    #[test]
    fn the_environment_is_made_from_nothing() {
        let (jobs, _) = jobs("@daily env\n", Format::User);
        let mut environment: Vec<_> = jobs[0].environment.iter().collect();
        environment.sort_unstable();
        let expected = [
            ("HOME", "/home/alice"),
            ("LOGNAME", "alice"),
            ("PATH", "/usr/bin:/bin"),
            ("SHELL", "/bin/sh"),
            ("USER", "alice"),
        ];
        assert_eq!(environment, expected);
    }

    #[test]
    fn settings_replace_the_defaults_but_not_the_login_name() {
        let (jobs, _) = jobs("LOGNAME=root\nHOME=/x\nSHELL=/bin/bash\nPATH=/p\n@daily env\n", Format::User);
        let value = |name| jobs[0].environment.value(name);
        assert_eq!([value("LOGNAME"), value("HOME")], [Some("alice"), Some("/x")]);
        assert_eq!((jobs[0].shell(), jobs[0].home()), ("/bin/bash", Path::new("/x")));
    }

    #[test]
    fn an_entry_for_an_unknown_user_is_a_problem_and_stops_no_other() {
        let text = "@daily nobody-of-that-name true\n  @daily nobody-of-that-name true\n@daily alice true\n";
        let (jobs, problems) = jobs(text, Format::System);
        let spans: Vec<_> = problems.iter().map(|problem| problem.fault.span.clone()).collect();
        assert_eq!(spans, [7..26, 9..28]);
        assert_eq!(jobs.len(), 1);
        assert_eq!(jobs[0].account.identity, None);
    }
}
