//! The keys for notifications of a job, each a row of [`KEYS`].
//!
//! A new key is a field of [`JobHook`], with what is done about it, and a row with its reader.
//!
//! Cost: one pass.
//!
//! Does not send anything: see [`hook`](crate::hook).

use mainspring_action::mail::MAX_LINE_BYTES;
use mainspring_action::notification::{WebhookTarget, fact_names};
use mainspring_action::ping::{PingTarget, SERVICES};
use mainspring_action::receiver::{RECEIVERS, Receiver};
use mainspring_cron::Expression;
use mainspring_job::NoticeKind;
use toml::Spanned;
use toml::de::DeValue;

use super::body::absolute;
use super::fields::{Faults, Fields, Text, text_of, values_of};
use super::webhook;
use crate::hook::{JobHook, MAX_TARGETS, Target, addresses_of};
use crate::problem::Fault;
use crate::spelling::suggestion;
use crate::url;

/// A key of a hook.
#[derive(Debug)]
pub struct HookKey {
    /// As files write it.
    pub name: &'static str,
    /// What it may be, in words.
    pub value: &'static str,
    /// What holds where nothing is said, in words.
    pub default: &'static str,
    /// What it does, in words.
    pub says: &'static str,
    read: fn(&mut JobHook, &Spanned<DeValue<'_>>, &mut Faults<'_>),
}

/// The keys.
pub const KEYS: &[HookKey] = &[
    HookKey {
        name: "notify",
        value: "a target, up to four of them, or `{ on, to }`; `[]` for none; a target may be a table, see below",
        default: "`serve --notify`",
        says: "who is told of what happens to the job",
        read: notify,
    },
    HookKey {
        name: "ping_url",
        value: "a URL",
        default: "none",
        says: "is requested when a run starts, succeeds and fails, for a service that reports when such requests stop: see below",
        read: |hook, value, faults| hook.ping_url = ping_url(value, faults),
    },
    HookKey {
        name: "silent_after",
        value: "a duration",
        default: "none",
        says: "how long a job may go without a successful run before this is reported, also while nothing runs; of a job that has never succeeded, from when it was defined",
        read: |hook, value, faults| hook.silent_after = duration(value, faults),
    },
    HookKey {
        name: "mail_output",
        value: "addresses, as one text with commas between",
        default: "none",
        says: "get the output of each run by mail; a run without output sends no mail",
        read: |hook, value, faults| hook.mail_output = mail(value, faults).unwrap_or_default(),
    },
    HookKey {
        name: "mail_headers",
        value: "a list of texts `Name: value`",
        default: "none",
        says: "more headers of these mails, such as `From: ..`; one replaces the usual header of its name, and without a value leaves it out; the user of a mail is put into `X-Cron-Env: <HOME={}>` and `<LOGNAME={}>`",
        read: |hook, value, faults| hook.mail_headers = headers(value, faults).unwrap_or_default(),
    },
    HookKey {
        name: "sendmail",
        value: "a path",
        default: "`/usr/sbin/sendmail`",
        says: "the program that takes mails on its standard input, with the addresses as arguments",
        read: |hook, value, faults| hook.sendmail = absolute(value, faults).unwrap_or_default(),
    },
];

/// Reads the keys. Of a faulty one the hook has nothing, because its job does not come into force.
pub(super) fn read(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> JobHook {
    let mut hook = JobHook::default();
    for key in KEYS {
        if let Some(value) = fields.get(key.name) {
            (key.read)(&mut hook, value, faults);
        }
    }
    hook.user = fields.text("user", faults).map(|text| text.value.to_owned());
    hook
}

/// A target, a list of them, or a table with that and with what they are told of.
fn notify(hook: &mut JobHook, value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) {
    let fields = value.get_ref().as_table().map(Fields::of);
    let Some(fields) = fields.filter(|fields| !fields.has("url")) else {
        hook.targets = Some(targets(value, faults));
        return;
    };
    fields.check_known(&["on", "to"], faults);
    if fields.has("on") {
        let texts = fields.texts("on", faults);
        hook.on = texts.iter().filter_map(|text| kind(text, faults)).collect();
    }
    let to = faults.expect(fields.get("to"), || {
        let fault = Fault::new(value.span(), "who is told is missing");
        fault.with_hint("for example: { on = [\"failed\"], to = \"mailto:ops@example.com\" }")
    });
    hook.targets = to.map(|to| targets(to, faults));
}

fn targets(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Vec<Target> {
    let values = values_of(value);
    if MAX_TARGETS < values.len() {
        faults.push(Fault::new(value.span(), format!("at most {MAX_TARGETS} are told")));
    }
    values.into_iter().filter_map(|value| target(value, faults)).collect()
}

/// A text, or a table with the keys of a webhook and `kind`.
fn target(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<Target> {
    let DeValue::Table(table) = value.get_ref() else {
        let text = text_of(value, faults)?;
        return faults.accept(text.span, Target::parse(text.value));
    };
    let fields = Fields::of(table);
    let kind = fields.text("kind", faults);
    let names = || RECEIVERS.iter().map(|row| row.name).collect::<Vec<_>>();
    let kind = kind
        .and_then(|text| faults.expect(Receiver::of_name(text.value), || unknown(&text, &names())))
        .map(|receiver| receiver.name.to_owned());
    let webhook = webhook::read(value.span(), &fact_names(), &["kind"], &fields, faults)?;
    if kind.is_some() && fields.has("body") {
        let fault = Fault::new(fields.name_span("kind"), "a target has a kind or a body, not both");
        faults.push(fault.with_hint("the kind says what the body is"));
    }
    Some(Target::Webhook(Box::new(WebhookTarget { kind, webhook })))
}

/// That a text is none of these words.
fn unknown(text: &Text<'_>, names: &[&str]) -> Fault {
    let fault = Fault::new(text.span.clone(), format!("expected one of {}", names.join(", ")));
    fault.with_hint(suggestion(text.value, names))
}

fn kind(text: &Text<'_>, faults: &mut Faults<'_>) -> Option<NoticeKind> {
    let found = NoticeKind::FOR_PEOPLE.into_iter().find(|kind| kind.name() == text.value);
    faults.expect(found, || unknown(text, &NoticeKind::FOR_PEOPLE.map(NoticeKind::name)))
}

fn ping_url(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<PingTarget> {
    let text = text_of(value, faults)?;
    let target = PingTarget::parse(text.value).filter(|target| url::is_url(&target.url));
    faults.expect(target, || {
        let fault = Fault::new(text.span, "expected a URL that begins with http:// or https://");
        let names = SERVICES.iter().map(|row| format!("{}:", row.name)).collect::<Vec<_>>().join(", ");
        fault.with_hint(format!("before it may stand what answers there: {names}"))
    })
}

fn mail(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<Vec<String>> {
    let text = text_of(value, faults)?;
    faults.accept(text.span, addresses_of(text.value))
}

fn headers(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<Vec<String>> {
    let header = |value: &Spanned<DeValue<'_>>| {
        let text = text_of(value, faults)?;
        let is_header = is_header(text.value);
        if !is_header {
            let fault = Fault::new(text.span, "expected a header such as `From: ops@example.com`");
            faults.push(fault.with_hint(format!("it is one line of at most {MAX_LINE_BYTES} bytes")));
        }
        is_header.then(|| text.value.to_owned())
    };
    values_of(value).into_iter().map(header).collect()
}

/// Whether a text is a header of a mail, in one line.
fn is_header(text: &str) -> bool {
    let Some((name, value)) = text.split_once(':') else { return false };
    let is_line = text.len() <= MAX_LINE_BYTES && (value.is_empty() || value.starts_with(' '));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_name && is_line && !text.contains(|c: char| c.is_control())
}

fn duration(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<std::time::Duration> {
    let text = text_of(value, faults)?;
    let length = match Expression::parse(&format!("@every {}", text.value)) {
        Ok(Expression::Every(every)) => Some(every.period()),
        _ => None,
    };
    faults.expect(length, || Fault::new(text.span, "expected a length of time, such as \"26h\""))
}
