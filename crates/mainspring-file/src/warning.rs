//! Schedules and actions that are valid and probably not meant, as faults that can be shown with carets.
//!
//! Cost: one explanation of the schedule, and one look at an action.
//!
//! Does not decide whether a warning stops anything: `check --strict` does.
//!
//! Source: the warnings about schedules are those of `mainspring-cron`.

use std::net::IpAddr;

use jiff::Timestamp;
use mainspring_cron::{Expression, Schedule, Warning};

use crate::classics;
use crate::crontab::Format;
use crate::crontab::command::input_mark;
use crate::presence::is_program;
use crate::problem::Fault;
use mainspring_action::body::{Body, ProcessBody, WebhookBody};
use mainspring_action::template::SECRET_PREFIX;
use mainspring_action::url::host;
use mainspring_host::accounts::Account;

/// Of a command that ends with `&`.
const LEFT_ALONE: &str =
    "the `&` at the end leaves the process to itself: nobody sees whether it runs, fails or ends";

/// The warnings about a schedule whose expression was read from `text`, or from its beginning. A change of
/// the clock is warned of if it comes within a year after `from`.
///
/// # Example
///
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_cron::{Expression, Schedule};
/// use mainspring_file::warning::warnings;
///
/// let text = "*/7 * * * *";
/// let schedule = Schedule::new(Expression::parse(text)?, TimeZone::UTC);
/// let faults = warnings(&schedule, text, "2026-01-01T00:00:00Z".parse()?);
/// assert_eq!(faults[0].span, 0..3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn warnings(schedule: &Schedule, text: &str, from: Timestamp) -> Vec<Fault> {
    if schedule.next_after(from).is_none() && schedule.prev_before(from).is_some() {
        let text = text.trim_end();
        let message = match schedule.expression() {
            Expression::At(_) => "that time is past: it never runs",
            _ => "all of its times are past: it never runs",
        };
        return vec![Fault::new(0..text.len(), message)];
    }
    schedule.explain(from).warnings.into_iter().map(|warning| fault(warning, text)).collect()
}

/// A warning as a fault of the text that its expression was read from.
pub fn fault(warning: Warning, text: &str) -> Fault {
    // A warning about the whole is about the expression's own text, which may have lost the blanks around it.
    let end = warning.span.end.min(text.len());
    Fault::new(warning.span.start.min(end)..end, warning.text)
}

/// What is doubtful about the command of a crontab's entry, whose text begins at `start` of its line and
/// which `shell` runs.
pub fn of_command(text: &str, start: usize, format: Format, shell: Option<&str>) -> Vec<Fault> {
    let command = &text[start..];
    let classic = classics::of_command(before_input(command), shell);
    let mut found: Vec<Fault> = classic.into_iter().map(|fault| fault.shifted(start)).collect();
    if let Some(at) = date_format(command) {
        let message = "a `%` ends the command, and what follows is its standard input";
        let fault = Fault::new(start + at..start + at + 2, message);
        found.push(fault.with_hint(format!("write \\{} for the character itself", &command[at..at + 2])));
    }
    if let Some(at) = background(before_input(command)) {
        let fault = Fault::new(start + at..start + at + 1, LEFT_ALONE);
        found.push(
            fault.with_hint(
                "without it the run lasts as long as the process, which one should not start twice",
            ),
        );
    }
    let first = command.split([' ', '\t']).next().unwrap_or_default();
    let is_user = || Account::exists(first).unwrap_or(false);
    if format == Format::User && first.len() < command.trim_end().len() && !is_program(first) && is_user() {
        let message = format!("the command is `{first}`, which is no program and the name of a user");
        let fault = Fault::new(start..start + first.len(), message);
        found.push(fault.with_hint("--system reads crontabs that have a user before the command"));
    }
    found
}

/// The command of a crontab's entry without its input.
fn before_input(command: &str) -> &str {
    &command[..input_mark(command).unwrap_or(command.len())]
}

/// Where the `&` stands that ends a text for a shell.
fn background(shell: &str) -> Option<usize> {
    let shell = shell.trim_end_matches([' ', '\t', '\n', ';', ')', '}']);
    let rest = shell.strip_suffix('&')?;
    (!rest.ends_with(['&', '\\', '>', '<'])).then_some(rest.len())
}

/// Where the `%` stands that ends a command, if it looks like one of a date's format: `+%F`, `_%H`, `"%d`.
fn date_format(command: &str) -> Option<usize> {
    let bytes = command.as_bytes();
    let at = input_mark(command)?;
    let before = at.checked_sub(1).map(|index| bytes[index])?;
    let is_letter = bytes.get(at + 1).is_some_and(|byte| b"YymdHMSFTDRjsaAbBeuVNZz".contains(byte));
    (is_letter && b"+-_.:'\"".contains(&before)).then_some(at)
}

/// What is doubtful about the action of a job.
pub fn of_action(action: &Body) -> Vec<String> {
    match action {
        Body::Process(process) => of_process(process),
        Body::Webhook(webhook) => {
            let mut found = unused_secrets(webhook);
            // What is signed with a secret does not hold it.
            if !webhook.secrets.is_empty() && is_in_the_clear(&webhook.url) {
                let why = "the secret goes over the network in the clear, and nobody knows who answers";
                found.push(format!("{why}: use https://"));
            }
            found
        }
        Body::Mail(_) | Body::Notification(_) | Body::Handler(_) => Vec::new(),
    }
}

fn of_process(process: &ProcessBody) -> Vec<String> {
    let exposed = process.user.as_ref().filter(|_| process.inherit_env).map(|user| {
        format!("inherit_env gives all variables of the server to user `{user}`, such as passwords; name those that are needed in env")
    });
    let left = process.shell.as_deref().and_then(background).map(|_| LEFT_ALONE.to_owned());
    exposed.into_iter().chain(left).collect()
}

/// The secrets that stand nowhere in what is sent.
fn unused_secrets(webhook: &WebhookBody) -> Vec<String> {
    let headers = webhook.headers.iter().map(|(_, value)| value);
    let texts = || headers.clone().chain([&webhook.url, &webhook.body]);
    let unused = webhook.secrets.iter().filter(|secret| {
        let word = format!("{{{SECRET_PREFIX}{}}}", secret.name);
        !texts().any(|text| text.contains(&word))
    });
    unused
        .map(|secret| {
            let name = &secret.name;
            format!("the secret `{name}` is sent nowhere: {{{SECRET_PREFIX}{name}}} stands for it in url, headers and body")
        })
        .collect()
}

/// Whether others than this machine see it.
fn is_in_the_clear(url: &str) -> bool {
    let is_here = |host: &String| {
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    };
    url.starts_with("http://") && !host(url).as_ref().is_some_and(is_here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;
    use mainspring_action::body::SecretBody;

    #[test]
    fn a_schedule_that_lies_in_the_past_is_warned_of() {
        let from = "2026-01-01T00:00:00Z".parse().unwrap();
        let warned = |expression: Expression| {
            let schedule = Schedule::new(expression, TimeZone::UTC);
            let faults = warnings(&schedule, &schedule.expression().to_string(), from);
            faults.iter().any(|fault| fault.message.contains("past"))
        };
        let oncalendar = |text: &str| Expression::parse_oncalendar(text).unwrap();
        let cron = |text: &str| Expression::parse(text).unwrap();
        assert!(warned(oncalendar("2020-*-* 09:00")));
        assert!(warned(oncalendar("2025-12-31 23:59:59")));
        assert!(warned(cron("0 0 0 1 1 * 2019-2025")));
        assert!(warned(cron("@at 2020-01-01T00:00:00Z")));
        for coming in
            [oncalendar("2020..2026-*-* 09:00"), oncalendar("2026-01-01 00:00:01"), cron("@every 1h")]
        {
            assert!(!warned(coming));
        }
        assert!(!warned(cron("0 0 0 30 2 *")), "it is no time at all, which is said in other words");
        assert!(!warned(cron("@reboot")));
    }

    #[test]
    fn a_command_that_leaves_its_process_behind_is_warned_of() {
        let warned = |command: &str| {
            let faults = of_command(&format!("@reboot {command}"), 8, Format::System, None);
            faults.iter().any(|fault| fault.message.contains("`&`"))
        };
        for command in ["daemon &", "daemon&", "cd / && daemon >log 2>&1 & ", "(daemon &)", "daemon &%input"]
        {
            assert!(warned(command), "{command}");
            assert!(warned(&format!("date +\\%F; {command}")), "{command}");
        }
        for command in ["daemon", "a && b", "a &&", "echo \\&", "a & wait", "daemon 2>&1", "echo a% &"] {
            assert!(!warned(command), "{command}");
            assert!(!warned(&format!("date +\\%F; {command}")), "{command}");
        }
        let of_job = |shell: &str| {
            !of_action(&Body::Process(ProcessBody { shell: Some(shell.into()), ..Default::default() }))
                .is_empty()
        };
        // A job file has no input after a `%`.
        for shell in ["daemon &", "cd /\ndaemon &\n", "date +%F &"] {
            assert!(of_job(shell), "{shell}");
        }
        assert!(!of_job("daemon & wait") && !of_job("a && b"));
    }

    #[test]
    fn a_secret_over_plain_http_is_warned_of() {
        let secret = SecretBody { name: "TOKEN".into(), path: "/etc/token".into(), is_path: false };
        let warned = |url: &str, secrets: Vec<SecretBody>| {
            let body = "{secret.TOKEN}".into();
            !of_action(&Body::Webhook(WebhookBody { url: url.into(), body, secrets, ..Default::default() }))
                .is_empty()
        };
        for url in [
            "http://example.org/x",
            "http://10.0.0.1:80",
            "http://localhost@example.org",
            "http://[fe80::1]/",
        ] {
            assert!(warned(url, vec![secret.clone()]), "{url}");
            assert!(!warned(url, Vec::new()), "{url}");
        }
        for url in
            ["https://example.org", "http://127.0.0.1:80/", "http://u:p@LOCALHOST/x@y", "http://[::1]:8080/"]
        {
            assert!(!warned(url, vec![secret.clone()]), "{url}");
        }
    }

    #[test]
    fn the_servers_variables_are_warned_of_where_another_user_gets_them() {
        let warned = |user: Option<&str>, inherit_env| {
            let user = user.map(str::to_owned);
            !of_action(&Body::Process(ProcessBody { user, inherit_env, ..Default::default() })).is_empty()
        };
        assert!(warned(Some("backup"), true));
        assert!(!warned(Some("backup"), false));
        assert!(!warned(None, true));
    }
}
