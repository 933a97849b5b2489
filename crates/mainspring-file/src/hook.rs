//! The notifications of a job: the hook that a job file or a crontab defines.
//!
//! ```text
//! notify = "mailto:ops@example.com"                     failed, recovered, missed, unserved, silent
//! notify = { on = ["failed"], to = ["https://example.com/hook", "/usr/local/bin/page \"$NOTIFY_JOB\""] }
//! ping_url = "https://hc-ping.com/uuid"                 a request at each start, success and failure
//! silent_after = "26h"                                  how long without success is silence
//! mail_output = "ops@example.com"                       MAILTO of a crontab: a mail of each run that writes something
//! ```
//!
//! | a target that begins with | is reached by |
//! |---|---|
//! | `mailto:` | a mail, by the job's `sendmail` |
//! | `http://`, `https://` | a POST request, with what the [`receiver`](mainspring_action::receiver) at that host takes |
//! | `slack:https://` and the like | the same, where the host does not say which kind it is |
//! | anything else | a shell, as the user of the job, with variables `NOTIFY_..` |
//!
//! Each notification is a one-shot job, with retries and a timeout. These jobs have groups of their own, one
//! for each user, and the lowest priorities.
//!
//! Cost: a small document for each call.
//!
//! Does not send anything.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use mainspring_action::body::{Body, MailBody, NotificationBody, ProcessBody, WebhookBody};
use mainspring_action::notification::{
    Destination, MAX_REASON_CHARACTERS, Message, NotificationFacts, WebhookTarget, counted,
};
use mainspring_action::ping::{PingEvent, PingTarget};
use mainspring_action::receiver::{RECEIVERS, Receiver};
use mainspring_action::url::{percent, prefixed_url};
use mainspring_job::{
    Call, Failure, Group, Hook, JobName, MAX_CALLS, Notice, NoticeKind, Outcome, RunKey, Work,
};

use mainspring_host::accounts::Account;
use mainspring_host::sys::host_name;

use crate::crontab::habits::{Habits, MAX_USER_OPEN};
use crate::plain;
use crate::spelling::suggestion;

/// The program that takes mails where nothing else is said: where all mailers of Unix have it.
pub const SENDMAIL: &str = "/usr/sbin/sendmail";

/// The most targets of a job.
pub const MAX_TARGETS: usize = 4;

const _: () =
    assert!(MAX_TARGETS + 2 <= MAX_CALLS, "each target, a ping and a mail of the output are called");

/// How many notifications are under way at once: few, so that jobs have their places.
const GROUP_LIMIT: u32 = 4;

/// How many notifications of another user's jobs are under way: they take no place of the server's own, nor
/// of a third user.
const MAX_USER_NOTIFICATIONS: u32 = 2;

/// By which rules a notification is made: at least once, for a while, and never for long.
const POLICIES: &str =
    "retry=5,backoff=10s,on=failed+timed_out+abandoned timeout=30s dead-letters=after-retries";

/// The same for a ping that says that a run starts: when it comes late it is worth nothing.
const START_POLICIES: &str = "timeout=10s dead-letters=never";

/// The longest link that a notification has: a longer one would leave no room in a chat's message.
const MAX_LINK_BYTES: usize = 512;

/// A notification goes last of all that wait for a place. That of a job of another user, who may make any
/// number of them, goes behind the server's own.
const PRIORITY: i8 = i8::MIN + 1;
const PRIORITY_OF_OTHERS: i8 = i8::MIN;

const _: () = assert!(PRIORITY_OF_OTHERS < PRIORITY, "no user's crontab holds up what root is told");

/// The group of the notifications of the server's own jobs. That of another user has `@` and the user behind
/// its name.
///
/// # Panics
///
/// Never: the name is one.
pub fn group() -> Group {
    Group::new(JobName::new("mainspring:notify").expect("letters and a colon are a name"), GROUP_LIMIT)
}

/// The groups of all notifications: that of the server's own, and those of each other user.
///
/// # Panics
///
/// Never: the names are some.
pub fn groups() -> Vec<Group> {
    let name = JobName::new(&format!("{}@", group().name)).expect("a name and @ are a name");
    vec![group(), Group::new(name, MAX_USER_NOTIFICATIONS).with_max_open(MAX_USER_OPEN)]
}

/// Who is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// These addresses.
    Mail(Vec<String>),
    /// The server at a URL.
    Webhook(Box<WebhookTarget>),
    /// A line for a shell.
    Command(String),
}

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as a sentence.
    pub fn parse(text: &str) -> Result<Target, String> {
        if let Some(addresses) = text.strip_prefix("mailto:") {
            return addresses_of(addresses).map(Target::Mail);
        }
        let text = text.trim();
        let Some((word, url)) = prefixed_url(text) else {
            let expected = || "expected mailto:ADDRESS, a URL or a command".to_owned();
            return (!text.is_empty()).then(|| Target::Command(text.to_owned())).ok_or_else(expected);
        };
        let receiver = word.map(|word| Receiver::of_name(word).ok_or_else(|| unknown(word))).transpose()?;
        if !crate::url::is_url(url) {
            return Err("this is no URL".to_owned());
        }
        let kind = receiver.map(|receiver| receiver.name.to_owned());
        let webhook = WebhookBody { url: url.replace('{', "%7B"), ..WebhookBody::default() };
        Ok(Target::Webhook(Box::new(WebhookTarget { kind, webhook })))
    }
}

/// That no receiver has a name.
fn unknown(word: &str) -> String {
    let names: Vec<&str> = RECEIVERS.iter().map(|row| row.name).collect();
    format!("no receiver is called `{}`; {}", plain::line(word), suggestion(word, &names))
}

/// As it is written.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Mail(addresses) => write!(f, "mailto:{}", addresses.join(",")),
            Target::Webhook(target) => match &target.kind {
                Some(kind) => write!(f, "{kind}:{}", target.webhook.url),
                None => f.write_str(&target.webhook.url),
            },
            Target::Command(text) => f.write_str(text),
        }
    }
}

/// Addresses with commas between them.
///
/// # Errors
///
/// What is wrong with one of them, as a sentence.
pub fn addresses_of(text: &str) -> Result<Vec<String>, String> {
    let addresses: Vec<String> =
        text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
    let is_bad =
        |address: &String| address.starts_with('-') || address.contains(|c: char| c.is_control() || c == ' ');
    match addresses.iter().find(|address| is_bad(address)) {
        Some(address) => Err(format!("`{}` is no address", plain::line(address))),
        None if addresses.is_empty() => Err("expected an address".to_owned()),
        None => Ok(addresses),
    }
}

/// The hook of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobHook {
    /// Of what is reported.
    pub on: Vec<NoticeKind>,
    /// Who is told; `None` where nothing is said, so that the default of the server holds.
    pub targets: Option<Vec<Target>>,
    /// What is reported of each start, success and failure.
    pub ping_url: Option<PingTarget>,
    /// How long no run may have succeeded.
    pub silent_after: Option<Duration>,
    /// Who gets what a run writes.
    pub mail_output: Vec<String>,
    /// More headers of these mails, `Name: value` each.
    pub mail_headers: Vec<String>,
    /// The program that takes mails.
    pub sendmail: PathBuf,
    /// Who runs it, and the commands.
    pub user: Option<String>,
    /// What the job does, for people.
    pub summary: String,
    /// Where the page of the server is, for links to runs.
    pub page: Option<String>,
}

impl Default for JobHook {
    fn default() -> JobHook {
        JobHook {
            on: NoticeKind::FOR_PEOPLE.to_vec(),
            targets: None,
            ping_url: None,
            silent_after: None,
            mail_output: Vec::new(),
            mail_headers: Vec::new(),
            sendmail: SENDMAIL.into(),
            user: None,
            summary: String::new(),
            page: None,
        }
    }
}

impl JobHook {
    /// Whether it ever does anything. The page and the metrics show a silence also where nothing tells of it.
    pub fn is_needed(&self) -> bool {
        self.targets.as_ref().is_some_and(|targets| !targets.is_empty())
            || self.ping_url.is_some()
            || self.silent_after.is_some()
            || !self.mail_output.is_empty()
    }

    /// Roughly how many bytes its texts take.
    pub(crate) fn weight(&self) -> usize {
        let addresses = |all: &[String]| all.iter().map(|one| size_of::<String>() + one.len()).sum::<usize>();
        let target = |target: &Target| match target {
            Target::Mail(all) => addresses(all),
            Target::Webhook(target) => size_of::<WebhookTarget>() + target.weight(),
            Target::Command(text) => text.len(),
        };
        self.targets.iter().flatten().map(target).sum::<usize>()
            + addresses(&self.mail_output)
            + addresses(&self.mail_headers)
            + self.ping_url.as_ref().map_or(0, |target| target.url.len())
            + self.page.as_ref().map_or(0, String::len)
            + self.sendmail.as_os_str().len()
            + self.summary.len()
    }

    /// Whether it sends mails.
    pub fn sends_mail(&self) -> bool {
        let is_mail = |target: &Target| matches!(target, Target::Mail(_));
        !self.mail_output.is_empty() || self.targets.iter().flatten().any(is_mail)
    }

    /// Whether its mails have somebody to take them on this machine.
    pub fn has_mailer(&self) -> bool {
        Path::new(&self.sendmail).exists()
    }

    /// What happened, with a link to it.
    fn facts(&self, title: &str, event: &str, notice: Option<&Notice>) -> NotificationFacts {
        let facts = NotificationFacts {
            title: title.to_owned(),
            event: event.to_owned(),
            host: host().to_owned(),
            count: 1,
            ..NotificationFacts::default()
        };
        let Some(notice) = notice else { return facts };
        let run = notice.run.as_ref().map(ToString::to_string).unwrap_or_default();
        NotificationFacts {
            job: notice.job.to_string(),
            at: format!("{:.3}", notice.at),
            reason: plain::line(&notice.detail).chars().take(MAX_REASON_CHARACTERS).collect(),
            url: self.link(notice),
            attempts: notice.attempts,
            failures: notice.failures,
            count: notice.count,
            run,
            ..facts
        }
    }

    /// The run on the page, or else its job; empty if the page has no address that people know.
    fn link(&self, notice: &Notice) -> String {
        let (of, name) = match &notice.run {
            Some(run) if notice.kind != NoticeKind::Missed => ("run", run.to_string()),
            _ => ("job", notice.job.to_string()),
        };
        let link = self.page.as_ref().map(|page| format!("{page}?page={of}&{of}={}", percent(&name)));
        link.filter(|link| link.len() <= MAX_LINK_BYTES).unwrap_or_default()
    }

    fn work(&self, target: &Target, facts: NotificationFacts) -> Option<Work> {
        let has_output = facts.event == NoticeKind::Failed.name() && !facts.run.is_empty();
        let output_of = has_output.then(|| facts.run.clone());
        let to = match target {
            Target::Webhook(target) => Destination::Webhook(WebhookTarget::clone(target)),
            Target::Command(text) => {
                // Many users of the system have no home.
                let (shell, user, cwd_else) = (Some(text.clone()), self.user.clone(), Some("/".into()));
                Destination::Process(ProcessBody { shell, user, cwd_else, ..ProcessBody::default() })
            }
            Target::Mail(to) => {
                let mut text = Message { facts: &facts, output: "" }.letter();
                text.push_str(if output_of.is_some() { "\nWhat it wrote:\n\n" } else { "" });
                let subject = format!("[mainspring] {}", facts.title);
                let body = Body::Mail(MailBody { text, output_of, ..self.mail(to, subject) });
                return self.notification(&body, POLICIES);
            }
        };
        let body = NotificationBody { to, facts, output_of, sequence: None };
        self.notification(&Body::Notification(Box::new(body)), POLICIES)
    }

    /// What a watchdog is told of a run.
    fn ping(&self, notice: &Notice, event: PingEvent) -> Option<Call> {
        let target = self.ping_url.as_ref()?;
        let facts = self.facts(notice.job.as_str(), notice.kind.name(), Some(notice));
        let body = target.notification(event, facts, &run_id(notice.run.as_ref()?))?;
        let policies = if event == PingEvent::Start { START_POLICIES } else { POLICIES };
        self.notification(&Body::Notification(Box::new(body)), policies).map(|work| Call::new(None, work))
    }

    fn mail(&self, to: &[String], subject: String) -> MailBody {
        let (sendmail, user) = (self.sendmail.clone(), self.user.clone());
        MailBody { sendmail, user, to: to.to_vec(), subject, ..MailBody::default() }
    }

    /// The mail that cron sends: what a run wrote, if it wrote anything.
    fn output_mail(&self, notice: &Notice) -> Option<Work> {
        // Filters look for the first part of the name.
        let host = host().split('.').next().unwrap_or_default();
        let subject = format!("Cron <{}@{host}> {}", self.user_name(), self.summary);
        let output_of = notice.run.as_ref().map(ToString::to_string);
        let headers = self.mail_headers.clone();
        let mail = self.mail(&self.mail_output, subject);
        self.notification(&Body::Mail(MailBody { output_of, headers, needs_output: true, ..mail }), POLICIES)
    }

    /// The user of the job.
    fn user_name(&self) -> &str {
        let user = self.user.as_deref().unwrap_or(ourselves());
        user.split(':').next().unwrap_or(user)
    }

    fn notification(&self, body: &Body, policies: &str) -> Option<Work> {
        // What is too long to be told is not: the history has it.
        let policies = policies.parse().expect("these are policies");
        let mut work = Work::new(body.encode().ok()?).with_policies(policies);
        let user = Some(self.user_name().to_owned()).filter(|user| user != ourselves());
        work.priority = if user.is_none() { PRIORITY } else { PRIORITY_OF_OTHERS };
        work.group = Some(Habits { user, ..Habits::default() }.named(group().name));
        Some(work)
    }
}

impl Hook for JobHook {
    fn calls(&self, notice: &Notice) -> Vec<Call> {
        let job = &notice.job;
        let title = match notice.kind {
            NoticeKind::Started => return self.ping(notice, PingEvent::Start).into_iter().collect(),
            NoticeKind::Ended => {
                let event = match &notice.outcome {
                    Some(Outcome::Succeeded) => PingEvent::Success,
                    Some(Outcome::Failed(Failure::Exit(code))) => PingEvent::Failure(Some(*code)),
                    _ => PingEvent::Failure(None),
                };
                let is_mailed = !self.mail_output.is_empty();
                let mail = is_mailed.then(|| self.output_mail(notice)).flatten();
                let mail = mail.map(|work| Call::new(None, work));
                return mail.into_iter().chain(self.ping(notice, event)).collect();
            }
            kind if !self.on.contains(&kind) => return Vec::new(),
            NoticeKind::Recovered => format!("{job} has recovered on {}", host()),
            NoticeKind::Missed => {
                format!("{job} has missed {} on {}", counted(notice.count, "occurrence"), host())
            }
            NoticeKind::Unserved => format!("{job} waits: no server can run it, says {}", host()),
            NoticeKind::Silent => format!("{job} is silent on {}", host()),
            _ => format!("{job} has failed on {}", host()),
        };
        let targets = self.targets.iter().flatten().take(MAX_TARGETS);
        let call = |target: &Target| {
            let work = self.work(target, self.facts(&title, notice.kind.name(), Some(notice)))?;
            Some(Call::new(Some(target.to_string()), work))
        };
        targets.filter_map(call).collect()
    }

    fn more(&self, target: &str) -> Option<Work> {
        let target = self.targets.iter().flatten().find(|known| known.to_string() == target)?;
        let title = format!(
            "more has happened on {} than is told one by one: mainspring history --state failed,dead,missed",
            host()
        );
        self.work(target, self.facts(&title, "more", None))
    }

    fn silent_after(&self) -> Option<Duration> {
        self.silent_after
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// A UUID that is the same for all pings of a run: RFC 9562, 5.8, of two hashes of its key.
fn run_id(run: &RunKey) -> String {
    let half = |salt: &str| mainspring_job::text_hash(&format!("{salt} {run}"));
    let (high, low) = (half("high"), half("low"));
    let (high, low) = (high & !0xF000 | 0x8000, low & !(0b11 << 62) | 0b10 << 62);
    let digits = format!("{high:016x}{low:016x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// The user of this server.
fn ourselves() -> &'static str {
    static USER: OnceLock<String> = OnceLock::new();
    USER.get_or_init(|| Account::ourselves().map_or_else(|_| String::new(), |account| account.name))
}

/// The name of this machine.
fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let name = host_name();
        if name.is_empty() { "localhost".to_owned() } else { name }
    })
}

#[cfg(test)]
mod tests;
