//! The keys for notifications of a job: `notify`, `ping_url`, `silent_after`, `mail_output`, `sendmail`.
//!
//! Cost: one pass.
//!
//! Does not send anything: see [`hook`](crate::hook).

use mainspring_cron::Expression;
use mainspring_job::NoticeKind;
use toml::Spanned;
use toml::de::DeValue;

use super::body::path;
use super::fields::{Faults, Fields, Text, text_of};
use crate::hook::{JobHook, KINDS, MAX_TARGETS, Target, addresses_of};
use crate::problem::Fault;
use crate::spelling::suggestion;

/// The keys.
pub(super) const OPTIONS: &[&str] = &["notify", "ping_url", "silent_after", "mail_output", "sendmail"];

pub(super) fn read(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> JobHook {
    let usual = JobHook::default();
    let (on, targets) = fields.get("notify").map_or((None, None), |value| notify(value, faults));
    JobHook {
        on: on.unwrap_or(usual.on),
        targets,
        ping_url: fields.text("ping_url", faults).and_then(|text| ping_url(&text, faults)),
        silent_after: fields.text("silent_after", faults).and_then(|text| duration(&text, faults)),
        mail_output: fields.text("mail_output", faults).map_or_else(Vec::new, |text| mail(&text, faults)),
        sendmail: path(fields, "sendmail", faults).unwrap_or(usual.sendmail),
        user: fields.text("user", faults).map(|text| text.value.to_owned()),
        summary: String::new(),
    }
}

type Notify = (Option<Vec<NoticeKind>>, Option<Vec<Target>>);

/// A target, a list of them, or a table with that and with what they are told of.
fn notify(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Notify {
    let DeValue::Table(table) = value.get_ref() else { return (None, Some(targets(value, faults))) };
    let fields = Fields::of(table);
    fields.check_known(&["on", "to"], faults);
    let on = fields.has("on").then(|| {
        let texts = fields.texts("on", faults);
        texts.iter().filter_map(|text| kind(text, faults)).collect()
    });
    let Some(to) = fields.get("to") else {
        let fault = Fault::new(value.span(), "who is told is missing");
        faults.push(fault.with_hint("for example: { on = [\"failed\"], to = \"mailto:ops@example.com\" }"));
        return (on, None);
    };
    (on, Some(targets(to, faults)))
}

fn targets(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Vec<Target> {
    let values: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
        DeValue::Array(values) => values.iter().collect(),
        _ => vec![value],
    };
    if MAX_TARGETS < values.len() {
        faults.push(Fault::new(value.span(), format!("at most {MAX_TARGETS} are told")));
    }
    let target = |value: &Spanned<DeValue<'_>>| {
        let text = text_of(value, faults)?;
        Target::parse(text.value).map_err(|message| faults.push(Fault::new(text.span, message))).ok()
    };
    values.into_iter().filter_map(target).collect()
}

fn kind(text: &Text<'_>, faults: &mut Faults<'_>) -> Option<NoticeKind> {
    let found = KINDS.into_iter().find(|kind| kind.name() == text.value);
    if found.is_none() {
        let names = KINDS.map(NoticeKind::name);
        let fault = Fault::new(text.span.clone(), format!("expected one of {}", names.join(", ")));
        faults.push(fault.with_hint(suggestion(text.value, &names)));
    }
    found
}

fn ping_url(text: &Text<'_>, faults: &mut Faults<'_>) -> Option<String> {
    match Target::parse(text.value) {
        Ok(Target::Url(url)) => Some(url),
        _ => {
            faults.push(Fault::new(text.span.clone(), "expected a URL that begins with http:// or https://"));
            None
        }
    }
}

fn mail(text: &Text<'_>, faults: &mut Faults<'_>) -> Vec<String> {
    addresses_of(text.value).unwrap_or_else(|message| {
        faults.push(Fault::new(text.span.clone(), message));
        Vec::new()
    })
}

fn duration(text: &Text<'_>, faults: &mut Faults<'_>) -> Option<std::time::Duration> {
    match Expression::parse(&format!("@every {}", text.value)) {
        Ok(Expression::Every(every)) => Some(every.period()),
        _ => {
            faults.push(Fault::new(text.span.clone(), "expected a length of time, such as \"26h\""));
            None
        }
    }
}
