//! The entries of a crontab as durable jobs.
//!
//! Unless a note names an entry, its name is found later, when all files are known: see
//! [`names`](super::names).
//!
//! Cost: one pass over the entries.
//!
//! Does not look up users.
//!
//! Source: the environment is that of crontab(5) of Debian's cron 3.0pl1.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use mainspring_job::{Job, JobError, JobName, MAX_BODY_BYTES};

use super::habits::{Habits, MAX_USER_ENTRIES};
use super::note::Note;
use super::{Crontab, PlacedEntry};
use crate::budget::Budget;
use crate::definition::Definition;
use crate::hook::{JobHook, addresses_of};
use crate::jobfile::PlacedJob;
use crate::problem::{Fault, Problem};
use mainspring_action::body::{Body, ProcessBody};
use mainspring_action::mail;
use mainspring_action::names::{DEFAULT_PATH, DEFAULT_SHELL};

/// The jobs of a crontab called `source`, and the problems of those entries that cannot be one. `zone` is for
/// the entries above which no `CRON_TZ` stands. Those without a name of their own are all called `command`
/// yet. They end with the entry that is beyond what is left of the budget.
pub fn jobs(
    crontab: &Crontab,
    source: &str,
    zone: &TimeZone,
    habits: &Habits,
    budget: &mut Budget,
) -> (Vec<PlacedJob>, Vec<Problem>) {
    let (mut jobs, mut problems) = (Vec::new(), Vec::new());
    let mut lines: BTreeMap<JobName, usize> = BTreeMap::new();
    let unnamed = habits.named(JobName::new("command").expect("a word is a name"));
    for placed in &crontab.entries {
        let own = placed.note.as_ref().and_then(|note| note.name.clone()).map(|name| habits.named(name));
        let whole = 0..placed.line.len() - placed.indent;
        if habits.user.is_some() && MAX_USER_ENTRIES <= jobs.len() {
            let message = format!("a user's crontab has at most {MAX_USER_ENTRIES} entries");
            problems.push(placed.problem(Fault::new(whole, message)));
            break;
        }
        if let Some(key) = placed.note.as_ref().and_then(|note| habits.refused_key(note)) {
            let message = format!("`{key}` in the line above is not for the crontab of a user");
            problems.push(placed.problem(Fault::new(whole, message)));
            continue;
        }
        if let Some(name) = &own
            && let Some(line) = lines.insert(name.clone(), placed.line_number)
        {
            problems
                .push(placed.problem(Fault::new(whole, format!("the name `{name}` is that of line {line}"))));
            continue;
        }
        let is_named = own.is_some();
        let taken = match job(placed, own.unwrap_or_else(|| unnamed.clone()), source, zone, habits) {
            Ok(job) => {
                let (line_number, follows) = (placed.line_number, Vec::new());
                let hook = hook(placed, habits);
                let made = PlacedJob { line_number, is_named, follows, hook, job }.hooked();
                budget.take_bytes(made.weight()).map(|()| jobs.push(made))
            }
            Err(error) => {
                problems.push(placed.problem(Fault::new(whole.clone(), error.to_string())));
                // What is too long was made before that was seen.
                budget.take_bytes(MAX_BODY_BYTES)
            }
        };
        if let Err(fault) = taken {
            problems.push(placed.problem(Fault { span: whole, ..fault }));
            break;
        }
    }
    (jobs, problems)
}

fn job(
    placed: &PlacedEntry,
    name: JobName,
    source: &str,
    zone: &TimeZone,
    habits: &Habits,
) -> Result<Job, JobError> {
    let silent = Note::default();
    let note = placed.note.as_deref().unwrap_or(&silent);
    let schedule = placed.schedule(zone);
    let definition = Definition {
        hash_text: placed.entry.hash_text.clone(),
        policies: habits.policies(note, &placed.entry.command.shell_text),
        group: note.group.clone().or_else(|| habits.group().map(|group| group.name)),
        priority: note.priority,
        max_runs: note.max_runs,
        hook: hook(placed, habits),
        ..Definition::new(name, schedule, Body::Process(body(placed, habits)))
    };
    definition.job(source)
}

/// Who runs an entry, if it is not the user of the server.
fn user_of(placed: &PlacedEntry, habits: &Habits) -> Option<String> {
    placed.entry.user.as_ref().map(|user| user.name.clone()).or_else(|| habits.user.clone())
}

/// Mails of what an entry writes, as its `MAILTO` says; none where that is empty. Where it is not set, the
/// habit decides.
fn hook(placed: &PlacedEntry, habits: &Habits) -> JobHook {
    let setting = |name: &str| placed.environment.value(name).filter(|value| !value.is_empty());
    let usual = JobHook::default();
    // What is no address is warned of at its line: see `classics`.
    let user = user_of(placed, habits);
    let mail_output = match placed.environment.value("MAILTO") {
        None => user.iter().filter(|_| habits.are_crons).cloned().collect(),
        Some(text) => addresses_of(text).unwrap_or_default(),
    };
    JobHook {
        mail_headers: if mail_output.is_empty() { Vec::new() } else { headers(placed, user.as_deref()) },
        mail_output,
        sendmail: setting("SENDMAIL").map_or(usual.sendmail, Into::into),
        user,
        ..JobHook::default()
    }
}

/// The headers by which people and filters know a mail of Debian's cron, with its variables in its order.
fn headers(placed: &PlacedEntry, user: Option<&str>) -> Vec<String> {
    let setting = |name: &str| placed.environment.value(name);
    let given = |name: &str| setting(name).filter(|value| !value.is_empty());
    let of_settings = [
        ("From", Some(given("MAILFROM").unwrap_or("root (Cron Daemon)"))),
        ("To", given("MAILTO")),
        ("Content-Type", given("CONTENT_TYPE")),
        ("Content-Transfer-Encoding", given("CONTENT_TRANSFER_ENCODING")),
        // Mails of Debian's cron have neither.
        ("Auto-Submitted", Some("")),
        ("Precedence", Some("")),
    ];
    let of_settings = of_settings.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let login =
        user.map_or_else(|| mail::variable_of_user("LOGNAME"), |user| mail::variable("LOGNAME", user));
    let usual = [
        ("SHELL", mail::variable("SHELL", DEFAULT_SHELL)),
        ("HOME", mail::variable_of_user("HOME")),
        ("PATH", mail::variable("PATH", DEFAULT_PATH)),
        ("LOGNAME", login.clone()),
    ];
    let usual = usual.into_iter().filter(|(name, _)| setting(name).is_none()).map(|(_, header)| header);
    let variables = placed.environment.iter().map(|entry @ (name, value)| {
        if is_kept(&entry) { mail::variable(name, value) } else { login.clone() }
    });
    let all = of_settings.map(|(name, value)| format!("{name}: {value}")).chain(variables).chain(usual);
    all.map(|header| header.replace(|c: char| c.is_control(), " ")).collect()
}

/// Whether a setting may be a variable: cron says itself who the user is.
fn is_kept((name, _): &(&str, &str)) -> bool {
    *name != "LOGNAME"
}

fn body(placed: &PlacedEntry, habits: &Habits) -> ProcessBody {
    let setting = |name: &str| placed.environment.value(name).map(str::to_owned);
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    ProcessBody {
        shell: Some(placed.entry.command.shell_text.clone()),
        interpreter: Some(setting("SHELL").unwrap_or_else(|| DEFAULT_SHELL.to_owned())),
        user: user_of(placed, habits),
        cwd: setting("HOME").map(Into::into),
        cwd_else: habits.cwd_else.clone(),
        pam_env: habits.pam_env.clone(),
        env: placed.environment.iter().filter(is_kept).map(owned).collect(),
        stdin: placed.entry.command.input.clone(),
        ..ProcessBody::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cron_places::CronPlaces;
    use crate::crontab::Format;
    use crate::jobfile::JobFile;
    use crate::source::Source;

    fn read(text: &str, format: Format) -> (Vec<PlacedJob>, Vec<Problem>) {
        let crontab = Crontab::parse(&Source::new("test", text), format);
        assert_eq!(crontab.problems, []);
        jobs(&crontab, "test", &TimeZone::UTC, &Habits::default(), &mut Budget::default())
    }

    #[test]
    fn an_entry_of_a_users_crontab_is_that_users() {
        let crontab = Crontab::parse(&Source::new("mara", "@daily a\nMAILTO=\"\"\n@daily b\n"), Format::User);
        let places = CronPlaces::below("/no/such/root".as_ref());
        let habits = places.kind("/no/such/root/var/spool/cron/crontabs/mara".as_ref()).unwrap().habits;
        let (jobs, _) = jobs(&crontab, "test", &TimeZone::UTC, &habits, &mut Budget::default());
        assert_eq!(
            (&*jobs[0].hook.mail_output, jobs[1].hook.mail_output.len()),
            (&["mara".to_owned()][..], 0)
        );
        let Body::Process(body) = Body::decode(&jobs[0].job.work.action).unwrap() else { unreachable!() };
        assert_eq!((body.user.as_deref(), body.cwd_else), (Some("mara"), Some("/".into())));
        assert_eq!(body.pam_env[1], std::path::Path::new("/no/such/root/etc/default/locale"));
        assert_eq!(jobs[0].job.work.group, habits.group().map(|group| group.name));
        assert_eq!(jobs[0].job.name.as_str(), "command@mara");
    }

    #[test]
    fn a_users_crontab_has_a_bound_and_roots_has_not() {
        let crontab =
            Crontab::parse(&Source::new("mara", &*"@daily a\n".repeat(MAX_USER_ENTRIES + 2)), Format::User);
        let read = |user: Option<&str>| {
            let habits = Habits { user: user.map(str::to_owned), ..Habits::default() };
            jobs(&crontab, "test", &TimeZone::UTC, &habits, &mut Budget::default())
        };
        let (of_user, problems) = read(Some("mara"));
        assert_eq!((of_user.len(), problems.len()), (MAX_USER_ENTRIES, 1));
        assert_eq!(problems[0].line_number, MAX_USER_ENTRIES + 1);
        assert_eq!(problems[0].fault.message, "a user's crontab has at most 10000 entries");
        assert_eq!(read(None).0.len(), MAX_USER_ENTRIES + 2);
    }

    #[test]
    fn a_note_gives_its_entry_a_name_and_policies() {
        let text = "# mainspring: name=nightly timeout=1h overlap=queue-one pause-after=3 priority=5\n@daily true\n@daily false\n";
        let (jobs, problems) = read(text, Format::User);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(jobs[0].job.name.as_str(), "nightly");
        assert_eq!((jobs[0].job.work.priority, jobs[0].job.work.policies.pause_after), (5, Some(3)));
        assert_eq!(jobs[1].job.work.policies, Default::default());
    }

    #[test]
    fn a_user_s_crontab_puts_no_job_before_those_of_others() {
        let habits = Habits { user: Some("mara".into()), ..Habits::default() };
        let text = "# mainspring: name=a priority=9\n@daily true\n# mainspring: group=b\n@daily true\n\
                    # mainspring: name=c retry=3\n@daily true\n";
        let crontab = Crontab::parse(&Source::new("mara", text), Format::User);
        let (found, problems) = jobs(&crontab, "test", &TimeZone::UTC, &habits, &mut Budget::default());
        assert_eq!(found[0].job.name.as_str(), "c@mara");
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line_number).collect();
        assert_eq!((found.len(), lines), (1, vec![2, 4]));
        assert_eq!(read(text, Format::User).0.len(), 3, "root's file may say so");
    }

    #[test]
    fn a_name_that_is_taken_is_a_problem() {
        let note = "# mainspring: name=x\n@daily true\n";
        let (jobs, problems) = read(&format!("{note}{note}"), Format::User);
        assert_eq!((jobs.len(), problems[0].line_number), (1, 4));
        assert_eq!(problems[0].fault.message, "the name `x` is that of line 2");
    }

    #[test]
    fn a_mail_has_the_headers_of_cron() {
        let text = "A=1\tx\nMAILTO=a@b\n0 0 1 1 * alice true\nMAILFROM=c@d\nCONTENT_TYPE=text/html\nPATH=/bin\n@daily bob true\n\
                    MAILTO=\"\"\n@daily bob true\n";
        let (jobs, _) = read(text, Format::System);
        let headers = |index: usize| jobs[index].hook.mail_headers.join("\n");
        let first = "From: root (Cron Daemon)\nTo: a@b\nAuto-Submitted: \nPrecedence: \nX-Cron-Env: <A=1 x>\n\
                     X-Cron-Env: <MAILTO=a@b>\nX-Cron-Env: <SHELL=/bin/sh>\nX-Cron-Env: <HOME={}>\n\
                     X-Cron-Env: <PATH=/usr/bin:/bin>\nX-Cron-Env: <LOGNAME=alice>";
        assert_eq!(headers(0), first);
        assert!(
            headers(1).starts_with("From: c@d\nTo: a@b\nContent-Type: text/html\nAuto-Submitted: \n"),
            "{}",
            headers(1)
        );
        assert!(headers(1).contains("<PATH=/bin>") && !headers(1).contains(DEFAULT_PATH), "{}", headers(1));
        assert_eq!(headers(2), "", "no mail is sent");
    }

    #[test]
    fn the_written_table_is_the_same_job() {
        let text = "CRON_TZ=Asia/Tokyo\nSHELL=/bin/bash\nHOME=/srv\nA=\"b c\"\n\
                    # mainspring: name=one retry=3,backoff=1s pause-after=7 max-runs=9 dead-letters=always\n\
                    H 3 * * mon-fri  root  printf '\\%s' a%in%put\n@every 90s root true\n@reboot root boot\n\
                    MAILTO=ada@example.com\nMAILFROM=cron@example.com\n@at 2030-01-31T08:00:00Z root once\n";
        let (jobs, problems) = read(text, Format::System);
        assert!(problems.is_empty());
        assert_eq!(jobs.len(), 4);
        for placed in jobs {
            let again = JobFile::parse(&Source::new("test", placed.job.text.clone()), &TimeZone::UTC);
            assert!(again.problems.is_empty(), "{}: {:?}", placed.job.text, again.problems);
            assert_eq!(again.jobs[0].hook.mail_headers, placed.hook.mail_headers);
            let again = &again.jobs[0].job;
            assert_eq!(again.work.policies, placed.job.work.policies);
            assert_eq!(again.timetable.to_string(), placed.job.timetable.to_string());
            assert_eq!((&again.name, again.max_runs), (&placed.job.name, placed.job.max_runs));
            let bodies = [again, &placed.job].map(|job| Body::decode(&job.work.action).unwrap());
            let sorted = bodies.map(|body| match body {
                Body::Process(mut body) => {
                    body.env.sort();
                    body
                }
                _ => unreachable!("a crontab starts processes"),
            });
            assert_eq!(sorted[0], sorted[1]);
        }
    }
}
