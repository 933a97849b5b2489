//! The notifications of a job: the hook that a job file or a crontab defines.
//!
//! ```text
//! notify = "mailto:ops@example.com"                     failed, recovered, missed, silent
//! notify = { on = ["failed"], to = ["https://example.com/hook", "/usr/local/bin/page \"$NOTIFY_JOB\""] }
//! ping_url = "https://hc-ping.com/uuid"                 a GET request after each success
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
//! Each notification is a one-shot job, with retries and a timeout. These jobs have a group of their own and
//! the lowest priority.
//!
//! Cost: a small document for each call.
//!
//! Does not send anything.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use mainspring_action::body::{Body, MailBody, ProcessBody, WebhookBody};
use mainspring_action::receiver::{self, Message, Receiver};
use mainspring_job::{Call, Group, Hook, JobName, Notice, NoticeKind, Work};

use mainspring_host::accounts::Account;

use crate::plain;

/// The program that takes mails where nothing else is said: where all mailers of Unix have it.
pub const SENDMAIL: &str = "/usr/sbin/sendmail";

/// What may be told of.
pub const KINDS: [NoticeKind; 4] =
    [NoticeKind::Failed, NoticeKind::Recovered, NoticeKind::Missed, NoticeKind::Silent];

/// The most targets of a job.
pub const MAX_TARGETS: usize = 4;

/// How many notifications are under way at once: few, so that jobs have their places.
const GROUP_LIMIT: u32 = 4;

/// By which rules a notification is made: at least once, for a while, and never for long.
const POLICIES: &str =
    "retry=5,backoff=10s,on=failed+timed_out+abandoned timeout=30s dead-letters=after-retries";

/// The least priority: a notification goes last of all that wait for a place.
const PRIORITY: i8 = i8::MIN;

/// The group of all notifications.
///
/// # Panics
///
/// Never: the name is one.
pub fn group() -> Group {
    Group::new(JobName::new("mainspring:notify").expect("letters and a colon are a name"), GROUP_LIMIT)
}

/// Who is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// These addresses.
    Mail(Vec<String>),
    /// The server at this URL, and its kind if a prefix says it.
    Url(String, Option<&'static str>),
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
        let (prefix, rest) = match Receiver::of_prefix(text) {
            Some((receiver, url)) => (Some(receiver.name), url),
            None => (None, text),
        };
        let is_url = rest.starts_with("http://") || rest.starts_with("https://");
        match rest {
            "" => Err("expected mailto:ADDRESS, a URL or a command".to_owned()),
            url if is_url && !crate::url::is_url(url) => Err("this is no URL".to_owned()),
            url if is_url => Ok(Target::Url(url.replace('{', "%7B"), prefix)),
            command => Ok(Target::Command(command.to_owned())),
        }
    }
}

/// As it is written.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Mail(addresses) => write!(f, "mailto:{}", addresses.join(",")),
            Target::Url(url, Some(prefix)) => write!(f, "{prefix}:{url}"),
            Target::Url(text, None) | Target::Command(text) => f.write_str(text),
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobHook {
    /// Of what is told.
    pub on: Vec<NoticeKind>,
    /// Who is told; `None` where nothing is said, so that the default of the server holds.
    pub targets: Option<Vec<Target>>,
    /// What gets a request after each success.
    pub ping_url: Option<String>,
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
}

impl Default for JobHook {
    fn default() -> JobHook {
        JobHook {
            on: KINDS.to_vec(),
            targets: None,
            ping_url: None,
            silent_after: None,
            mail_output: Vec::new(),
            mail_headers: Vec::new(),
            sendmail: SENDMAIL.into(),
            user: None,
            summary: String::new(),
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
            Target::Url(text, _) | Target::Command(text) => text.len(),
        };
        self.targets.iter().flatten().map(target).sum::<usize>()
            + addresses(&self.mail_output)
            + addresses(&self.mail_headers)
            + self.ping_url.as_ref().map_or(0, String::len)
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

    fn work(&self, target: &Target, event: &str, title: &str, notice: Option<&Notice>) -> Option<Work> {
        let run = notice.and_then(|notice| notice.run.as_ref()).map(ToString::to_string).unwrap_or_default();
        let (job, detail) = notice.map_or(("", ""), |notice| (notice.job.as_str(), notice.detail.as_str()));
        let at = notice.map(|notice| format!("{:.3}", notice.at)).unwrap_or_default();
        let texts = [
            ("event", event),
            ("job", job),
            ("run", run.as_str()),
            ("at", at.as_str()),
            ("detail", detail),
            ("host", host()),
        ];
        let (attempts, failures, count) = notice.map_or((0, 0, 1), |it| (it.attempts, it.failures, it.count));
        let numbers =
            [("attempts", u64::from(attempts)), ("failures", u64::from(failures)), ("count", count)];
        let body = match target {
            Target::Url(url, prefix) => {
                let text = told(&run, detail, attempts, failures);
                let is_urgent = notice.is_none_or(|notice| notice.kind != NoticeKind::Recovered);
                let message = Message { title, text: &text, is_urgent };
                Body::Webhook(match Receiver::of(url, *prefix) {
                    Some(receiver) => receiver.request(url, &message),
                    None => {
                        let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).into()));
                        let numbers =
                            numbers.iter().map(|(name, number)| ((*name).to_owned(), (*number).into()));
                        receiver::object(url, &message, texts.chain(numbers).collect())
                    }
                })
            }
            Target::Command(text) => {
                let name = |name: &str| format!("NOTIFY_{}", name.to_ascii_uppercase());
                let texts = texts.iter().map(|(of, text)| (name(of), plain::line(text).to_string()));
                let numbers = numbers.iter().map(|(of, number)| (name(of), number.to_string()));
                let (user, env) = (self.user.clone(), texts.chain(numbers).collect());
                Body::Process(ProcessBody { shell: Some(text.clone()), user, env, ..ProcessBody::default() })
            }
            Target::Mail(to) => {
                let mut text = format!("{title}\n\n");
                let named = [("job", job), ("run", run.as_str()), ("at", at.as_str()), ("detail", detail)];
                for (name, value) in named.into_iter().filter(|(_, value)| !value.is_empty()) {
                    text.push_str(&format!("{name:<10}{}\n", plain::line(value)));
                }
                if 0 < failures {
                    text.push_str(&format!("failures  {failures} in a row\n"));
                }
                let is_of_run = notice.is_some_and(|notice| notice.kind == NoticeKind::Failed);
                let output_of = is_of_run.then(|| run.clone()).filter(|run| !run.is_empty());
                text.push_str(if output_of.is_some() { "\nWhat it wrote:\n\n" } else { "" });
                Body::Mail(MailBody { text, output_of, ..self.mail(to, format!("[mainspring] {title}")) })
            }
        };
        work(&body)
    }

    fn mail(&self, to: &[String], subject: String) -> MailBody {
        let (sendmail, user) = (self.sendmail.clone(), self.user.clone());
        MailBody { sendmail, user, to: to.to_vec(), subject, ..MailBody::default() }
    }

    /// The mail that cron sends: what a run wrote, if it wrote anything.
    fn output_mail(&self, notice: &Notice) -> Option<Work> {
        let user: &str = match &self.user {
            Some(user) => user.split(':').next().unwrap_or(user),
            None => ourselves(),
        };
        // Filters look for the first part of the name.
        let host = host().split('.').next().unwrap_or_default();
        let subject = format!("Cron <{user}@{host}> {}", self.summary);
        let output_of = notice.run.as_ref().map(ToString::to_string);
        let headers = self.mail_headers.clone();
        let mail = self.mail(&self.mail_output, subject);
        work(&Body::Mail(MailBody { output_of, headers, needs_output: true, ..mail }))
    }
}

impl Hook for JobHook {
    fn calls(&self, notice: &Notice) -> Vec<Call> {
        let job = &notice.job;
        let title = match notice.kind {
            NoticeKind::Ended if self.mail_output.is_empty() => return Vec::new(),
            NoticeKind::Ended => {
                return self.output_mail(notice).into_iter().map(|work| Call::new(None, work)).collect();
            }
            NoticeKind::Succeeded => {
                let ping = self.ping_url.as_ref().and_then(|url| {
                    let method = Some("GET".to_owned());
                    work(&Body::Webhook(WebhookBody { url: url.clone(), method, ..WebhookBody::default() }))
                });
                return ping.into_iter().map(|work| Call::new(None, work)).collect();
            }
            kind if !self.on.contains(&kind) => return Vec::new(),
            NoticeKind::Recovered => format!("{job} has recovered on {}", host()),
            NoticeKind::Missed => {
                format!("{job} has missed {} on {}", counted(notice.count, "occurrence"), host())
            }
            NoticeKind::Silent => format!("{job} is silent on {}", host()),
            _ => format!("{job} has failed on {}", host()),
        };
        let targets = self.targets.iter().flatten().take(MAX_TARGETS);
        let call = |target: &Target| {
            let work = self.work(target, notice.kind.name(), &title, Some(notice))?;
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
        self.work(target, "more", &title, None)
    }

    fn silent_after(&self) -> Option<Duration> {
        self.silent_after
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// The lines of a message below its title.
fn told(run: &str, detail: &str, attempts: u32, failures: u32) -> String {
    let mut lines = vec![plain::line(detail).to_string()];
    if !run.is_empty() {
        lines.push(format!("run {run}, {}", counted(attempts.into(), "attempt")));
    }
    if 1 < failures {
        lines.push(format!("{failures} failures in a row"));
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

fn work(body: &Body) -> Option<Work> {
    // What is too long to be told is not: the history has it.
    let policies = POLICIES.parse().expect("these are policies");
    let mut work = Work::new(body.encode().ok()?).with_policies(policies);
    (work.group, work.priority) = (Some(group().name), PRIORITY);
    Some(work)
}

fn counted(count: u64, of: &str) -> String {
    if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
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
        let read = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        if read.trim().is_empty() { "localhost".to_owned() } else { read.trim().to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_action::template::{Template, Values};

    #[test]
    fn targets_are_told_apart_by_how_they_begin_and_written_as_they_were() {
        let mail = Target::parse("mailto:a@b, c@d").unwrap();
        assert_eq!(mail, Target::Mail(vec!["a@b".into(), "c@d".into()]));
        assert_eq!(mail.to_string(), "mailto:a@b,c@d");
        assert_eq!(Target::parse("https://x/y"), Ok(Target::Url("https://x/y".into(), None)));
        let chat = Target::parse("slack:https://chat.lan/hooks/1").unwrap();
        assert_eq!(chat, Target::Url("https://chat.lan/hooks/1".into(), Some("slack")));
        assert_eq!(chat.to_string(), "slack:https://chat.lan/hooks/1");
        assert_eq!(Target::parse("page me"), Ok(Target::Command("page me".into())));
        for bad in ["", " ", "mailto:", "mailto:-oQ/tmp", "mailto:a b", "http://"] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_told_is_text_wherever_it_goes() {
        let targets = ["mailto:a@b", "http://x/{job}", "page"].map(|text| Target::parse(text).unwrap());
        let hook = JobHook { targets: Some(targets.to_vec()), ..JobHook::default() };
        let mut notice =
            Notice::new(JobName::new("j").unwrap(), NoticeKind::Failed, jiff::Timestamp::UNIX_EPOCH);
        notice.detail = "said {job}\n\"quoted\"".into();
        let bodies: Vec<Body> =
            hook.calls(&notice).iter().map(|call| Body::decode(&call.work.action).unwrap()).collect();
        let [Body::Mail(mail), Body::Webhook(webhook), Body::Process(process)] = &bodies[..] else {
            panic!("{bodies:?}")
        };
        assert!(mail.message("out").contains("Subject: [mainspring] j has failed on "), "{mail:?}");
        let filled = Template::parse(&webhook.body, &[]).unwrap().fill(&Values::default());
        assert!(filled.contains(r#""detail":"said {job}\n\"quoted\"""#), "{filled}");
        assert!(
            filled.contains(r#""text":"j has failed on "#) && webhook.url == "http://x/%7Bjob}",
            "{webhook:?}"
        );
        assert!(process.env.contains(&("NOTIFY_EVENT".into(), "failed".into())), "{process:?}");
        notice.kind = NoticeKind::Succeeded;
        assert!(hook.calls(&notice).is_empty());
    }
}
