//! The definition of a job before it has a text: a line of a crontab, or the arguments of `every`.
//!
//! ```text
//!  line of a crontab ─┐                             ┌─▶ what the planner runs
//!  `every`            ├─▶ Definition ─▶ job(source) ┤
//!                     │                             └─▶ its text: the table of a job file, as `show` and `export` print it
//!  [jobs.name] ───────┘ (keeps what its author wrote: see `written`)
//! ```
//!
//! So no text is written only to be read again. The text is for people, and for a server that starts and
//! needs the job's former definition.
//!
//! Cost: one pass.
//!
//! Does not check the body: the reader of the file does, and so does the executor.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use mainspring_action::body::Body;
use mainspring_cron::Schedule;
use mainspring_job::{Job, JobError, JobName, Policies, Timetable, Work};

use crate::hook::JobHook;
use crate::jobfile::written::Table;

/// The variable of a process that says in which zone it is: tzset(3).
const ZONE_VARIABLE: &str = "TZ";

/// When, one thing to do, and the rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The job's name.
    pub name: JobName,
    /// When it is due. Its schedules and exclusions are in one zone.
    pub timetable: Timetable,
    /// What `H` and `~` in the schedule are made from.
    pub hash_text: String,
    /// What it does.
    pub body: Body,
    /// By which rules.
    pub policies: Policies,
    /// Its group, which something else gives a limit.
    pub group: Option<JobName>,
    /// Its priority.
    pub priority: i8,
    /// After how many runs it is done.
    pub max_runs: Option<u64>,
    /// Words about it.
    pub labels: BTreeMap<String, String>,
    /// Who gets what it writes; all else of a hook is for job files.
    pub hook: JobHook,
}

impl Definition {
    /// A job with one schedule, without rules of its own.
    ///
    /// # Panics
    /// Never: one trigger is neither none nor too many.
    pub fn new(name: JobName, schedule: Schedule, body: Body) -> Definition {
        let timetable = Timetable::new([schedule]).expect("one trigger is neither none nor too many");
        Definition::of(name, timetable, body)
    }

    /// A job with a timetable, without rules of its own.
    pub fn of(name: JobName, timetable: Timetable, body: Body) -> Definition {
        let hash_text = name.to_string();
        let (policies, group, priority, max_runs) = (Policies::default(), None, 0, None);
        let (labels, hook) = (BTreeMap::new(), JobHook::default());
        Definition { name, timetable, hash_text, body, policies, group, priority, max_runs, labels, hook }
    }

    /// The job, from a source.
    ///
    /// # Errors
    /// When what it does is too long.
    pub fn job(self, source: &str) -> Result<Job, JobError> {
        let text = self.text();
        let body = match self.timetable.zone() {
            Some(zone) => in_zone(self.body, zone),
            None => self.body,
        };
        let mut work = Work::new(body.encode()?).with_policies(self.policies);
        (work.group, work.priority) = (self.group, self.priority);
        let mut job = Job::new(self.name, self.timetable, work);
        (job.max_runs, job.labels) = (self.max_runs, self.labels);
        (job.source, job.text) = (source.to_owned(), text);
        Ok(job)
    }

    /// The table of a job file that says the same, but for its group, which has to be defined where it
    /// stands.
    fn text(&self) -> String {
        let mut table = Table::new(self.name.as_str());
        table.timetable(&self.timetable, &self.hash_text);
        table.labels(&self.labels);
        table.policies(&self.policies);
        if self.priority != 0 {
            table.raw("priority", &self.priority.to_string());
        }
        if let Some(count) = self.max_runs {
            table.raw("max_runs", &count.to_string());
        }
        if !self.hook.mail_output.is_empty() {
            table.text("mail_output", &self.hook.mail_output.join(","));
            table.text("sendmail", &self.hook.sendmail.to_string_lossy());
            table.texts("mail_headers", &self.hook.mail_headers);
        }
        table.body(&self.body);
        table.finish()
    }
}

/// What a job does, in the zone in which it is planned: a process has `TZ`, unless its environment may say
/// it. Variables of cron's files mean cron's environment, which has none.
pub(crate) fn in_zone(body: Body, zone: &TimeZone) -> Body {
    let Body::Process(mut process) = body else { return body };
    let is_open = process.env_file.is_empty() && process.pam_env.is_empty();
    let has_own = process.env.iter().any(|(name, _)| name == ZONE_VARIABLE);
    if let Some(zone) = zone.iana_name().filter(|_| is_open && !has_own) {
        // Variables of a job file are in the order of their names.
        let index = process.env.partition_point(|(name, _)| name.as_str() < ZONE_VARIABLE);
        process.env.insert(index, (ZONE_VARIABLE.to_owned(), zone.to_owned()));
    }
    Body::Process(process)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobfile::JobFile;
    use crate::source::Source;
    use jiff::tz::TimeZone;
    use mainspring_action::body::{HandlerBody, ProcessBody, SecretBody, WebhookBody};
    use mainspring_cron::Expression;
    use mainspring_job::{After, Ending, Exclusion, Trigger};

    fn definition(expression: &str, body: Body) -> Definition {
        let expression = Expression::parse(expression).unwrap();
        let schedule = Schedule::new(expression, TimeZone::get("Europe/Berlin").unwrap());
        let policies = "retry=3,backoff=1s pause-after=7 timeout=1h".parse().unwrap();
        Definition { policies, priority: -1, ..Definition::new("one".parse().unwrap(), schedule, body) }
    }

    fn assert_is_read_again(definition: Definition) {
        let job = definition.job("test").unwrap();
        let again = JobFile::parse(&Source::new("test", job.text.clone()), &TimeZone::UTC);
        assert!(again.problems.is_empty(), "{}: {:?}", job.text, again.problems);
        assert_eq!(again.jobs[0].job.work, job.work, "{}", job.text);
        assert_eq!(again.jobs[0].job.timetable.to_string(), job.timetable.to_string(), "{}", job.text);
    }

    #[test]
    fn a_process_is_read_again_as_it_was_meant() {
        let process = ProcessBody {
            run: vec!["echo".into(), "a \"b\"".into()],
            cwd: Some("/srv".into()),
            env: vec![("A".into(), "b\nc".into())],
            secrets: vec![SecretBody { name: "S".into(), path: "/s".into(), is_path: true }],
            umask: Some(0o27),
            limits: vec![("cpu_seconds".into(), u64::MAX), ("processes".into(), 9)],
            ..ProcessBody::default()
        };
        for expression in ["@every 90s", "30 2 * * mon", "@reboot"] {
            assert_is_read_again(definition(expression, Body::Process(process.clone())));
        }
    }

    #[test]
    fn a_handler_is_read_again_as_it_was_meant() {
        let payload = r#"{"to": "Ada \"L\"", "at": 1.5}"#.to_owned();
        let handler = HandlerBody { name: "remind".into(), version: 3, payload };
        assert_is_read_again(definition("0 3 * * mon-fri", Body::Handler(handler)));
        let plain = HandlerBody { name: "invoices".into(), ..HandlerBody::default() };
        assert_is_read_again(definition("@every 5m", Body::Handler(plain)));
    }

    #[test]
    fn a_timetable_is_read_again_as_it_was_meant() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let schedule = |text: &str| Schedule::new(Expression::parse(text).unwrap(), zone.clone());
        let holidays = [("2026-12-24", "2026-12-26"), ("2027-01-01", "2027-01-01")].map(|(first, last)| {
            let (first, last) = (first.parse().unwrap(), last.parse().unwrap());
            Exclusion::Dates { first, last, zone: zone.clone() }
        });
        let lunch = Exclusion::Times(Box::new(schedule("* 12 * * *")));
        let after = |job: &str, ending| Trigger::from(After::new(job.parse().unwrap(), ending));
        let triggers = vec![
            Trigger::from(schedule("30 2 * * mon")),
            Trigger::from(schedule("0 11 * * sat")),
            Trigger::from(schedule("@every 90s")),
            after("extract", Ending::Succeeded),
            after("load.2", Ending::Any),
        ];
        let timetable = Timetable::new(triggers).unwrap();
        let timetable = timetable.without([lunch].into_iter().chain(holidays).collect()).unwrap();
        let start = "2026-11-22T00:00:00Z".parse().ok();
        let timetable = timetable.between(start, "2036-11-22T00:00:00Z".parse().ok()).unwrap();
        let handler = Body::Handler(HandlerBody { name: "one".into(), ..HandlerBody::default() });
        let labels = BTreeMap::from([("team".to_owned(), "ops \"2\"".to_owned())]);
        let definition = Definition { timetable, labels, ..definition("@daily", handler) };
        let job = definition.clone().job("test").unwrap();
        let again = JobFile::parse(&Source::new("test", job.text.clone()), &TimeZone::UTC);
        assert!(again.problems.is_empty(), "{}: {:?}", job.text, again.problems);
        assert_eq!(again.jobs[0].job.labels, job.labels);
        assert_is_read_again(definition);
    }

    #[test]
    fn a_webhook_is_read_again_as_it_was_meant() {
        let webhook = WebhookBody {
            url: "https://example.com/{job}".into(),
            method: Some("PUT".into()),
            headers: vec![("X-Key".into(), "{secret.T}".into())],
            body: "{\"due\": \"{nominal}\"}".into(),
            success: vec![(200, 204), (404, 404)],
            secrets: vec![SecretBody { name: "T".into(), path: "/t".into(), is_path: false }],
            signing_secret: Some("/signing".into()),
            ca_file: Some("/ca".into()),
            output_bytes: Some(10),
        };
        assert_is_read_again(definition("@every 5m", Body::Webhook(webhook)));
    }
}
