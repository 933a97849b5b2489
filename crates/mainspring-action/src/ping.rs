//! Pings of a watchdog: the request that each service wants when a run starts, succeeds or fails.
//!
//! ```text
//!  https://hc-ping.com/UUID ─┬─ a run starts    /start?rid=..
//!                            ├─ it succeeds     ?rid=..            with the end of its output as body
//!                            └─ it fails        /3?rid=.., /fail   the exit code, or why there is none
//! ```
//!
//! A service is known by its host or a part of its path, or said by a prefix as in `healthchecks:https://..`.
//! Any other URL gets a GET request after each success, and nothing else. A new service is a row of
//! [`SERVICES`].
//!
//! Cost: a small document for each ping.
//!
//! Does not send anything.
//!
//! Sources: the `source` of each row.

use crate::names::has_body;
use crate::notification::{
    Destination, MAX_REASON_CHARACTERS, NotificationBody, NotificationFacts, WebhookTarget,
};
use crate::url::{host, is_of, percent, prefixed_url};
use crate::webhook::WebhookBody;

/// How many characters of a reason a URL has.
const MAX_URL_REASON_CHARACTERS: usize = 200;

const _: () = assert!(MAX_URL_REASON_CHARACTERS <= MAX_REASON_CHARACTERS);

/// What is reported of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingEvent {
    /// It starts.
    Start,
    /// It has succeeded.
    Success,
    /// It has failed, with this exit code if it has one.
    Failure(Option<i32>),
}

/// What follows the URL: a path and a query, with words between braces.
#[derive(Debug)]
pub struct PingForm {
    path: &'static str,
    query: &'static str,
}

/// A service that watches jobs by their pings.
#[derive(Debug)]
pub struct PingService {
    /// As a prefix has it.
    pub name: &'static str,
    /// What the names of its hosts end with.
    pub hosts: &'static [&'static str],
    /// A part of the path that servers of one's own have; empty if there is none.
    pub path: &'static str,
    /// The method.
    pub method: &'static str,
    /// For a start; `None` if it has no such ping.
    pub start: Option<PingForm>,
    /// For a success.
    pub success: PingForm,
    /// For a failure; `None` if it has no such ping.
    pub failure: Option<PingForm>,
    /// What stands for `{code}` where a run has no exit code; empty where no form has a code.
    pub no_code: &'static str,
    /// Its document.
    pub source: &'static str,
}

/// The services. The last is any other.
pub const SERVICES: &[PingService] = &[
    PingService {
        name: "healthchecks",
        hosts: &["hc-ping.com"],
        path: "/ping/",
        method: "POST",
        start: Some(PingForm { path: "/start", query: "rid={rid}" }),
        success: PingForm { path: "", query: "rid={rid}" },
        failure: Some(PingForm { path: "/{code}", query: "rid={rid}" }),
        no_code: "fail",
        source: "https://healthchecks.io/docs/http_api/",
    },
    PingService {
        name: "cronitor",
        hosts: &["cronitor.link"],
        path: "",
        method: "GET",
        start: Some(PingForm { path: "", query: "state=run&series={rid}" }),
        success: PingForm { path: "", query: "state=complete&series={rid}" },
        failure: Some(PingForm { path: "", query: "state=fail&series={rid}&message={reason}" }),
        no_code: "",
        source: "https://cronitor.io/docs/telemetry-api",
    },
    PingService {
        name: "uptime-kuma",
        hosts: &[],
        path: "/api/push/",
        method: "GET",
        start: None,
        success: PingForm { path: "", query: "status=up&msg=OK" },
        failure: Some(PingForm { path: "", query: "status=down&msg={reason}" }),
        no_code: "",
        source: "https://github.com/louislam/uptime-kuma/wiki",
    },
    PingService {
        name: "dead-mans-snitch",
        hosts: &["nosnch.in"],
        path: "",
        method: "GET",
        start: None,
        success: PingForm { path: "", query: "s=0" },
        failure: Some(PingForm { path: "", query: "s={code}&m={reason}" }),
        no_code: "1",
        source: "https://deadmanssnitch.com/docs",
    },
    PingService {
        name: "any",
        hosts: &[],
        path: "",
        method: "GET",
        start: None,
        success: PingForm { path: "", query: "" },
        failure: None,
        no_code: "",
        source: "",
    },
];

const _: () = assert!(SERVICES[SERVICES.len() - 1].hosts.is_empty(), "the last is any other");

/// The URL that is pinged, and the service there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingTarget {
    name: &'static str,
    /// The URL without a prefix.
    pub url: String,
}

impl PingTarget {
    /// Reads a URL, with or without a prefix. `None` if it is neither.
    pub fn parse(text: &str) -> Option<PingTarget> {
        let (word, url) = prefixed_url(text)?;
        let service = match word {
            Some(name) => SERVICES.iter().find(|service| service.name == name)?,
            None => service_of(url),
        };
        Some(PingTarget { name: service.name, url: url.replace('{', "%7B") })
    }

    /// What tells of an event. `None` if the service has no such ping. `run_id` is a UUID.
    pub fn notification(
        &self,
        event: PingEvent,
        facts: NotificationFacts,
        run_id: &str,
    ) -> Option<NotificationBody> {
        let service = SERVICES.iter().find(|service| service.name == self.name)?;
        let form = match event {
            PingEvent::Start => service.start.as_ref()?,
            PingEvent::Success => &service.success,
            PingEvent::Failure(_) => service.failure.as_ref()?,
        };
        let code = match event {
            PingEvent::Failure(Some(code @ 1..=255)) => code.to_string(),
            _ => service.no_code.to_owned(),
        };
        let reason: String = facts.reason.chars().take(MAX_URL_REASON_CHARACTERS).collect();
        let filled = |form: &str| {
            let form = form.replace("{rid}", run_id).replace("{code}", &code);
            form.replace("{reason}", &percent(&reason))
        };
        let has_code = form.path.contains("{code}") || form.query.contains("{code}");
        debug_assert!(!has_code || !code.is_empty(), "what stands for an exit code says something");
        let (path, query) = (filled(form.path), filled(form.query));
        debug_assert!(!path.contains('{') && !query.contains('{'), "each variable of a form has its value");
        let url = joined(&self.url, &path, &query);
        let output_of = Some(facts.run.clone()).filter(|_| event != PingEvent::Start);
        let body = match event {
            _ if !has_body(service.method) => "",
            PingEvent::Start => "{run}",
            PingEvent::Success => "{output}",
            PingEvent::Failure(_) => "{reason}\n\n{output}",
        };
        let headers = vec![("Content-Type".to_owned(), "text/plain; charset=utf-8".to_owned())];
        let headers = if body.is_empty() { Vec::new() } else { headers };
        let (method, body) = (Some(service.method.to_owned()), body.to_owned());
        let webhook = WebhookBody { url, method, headers, body, ..WebhookBody::default() };
        let to = Destination::Webhook(WebhookTarget { kind: None, webhook });
        Some(NotificationBody { to, facts, output_of, sequence: Some(run_id.to_owned()) })
    }
}

fn service_of(url: &str) -> &'static PingService {
    let host = host(url).unwrap_or_default();
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    let is_it = |service: &&PingService| {
        let is_path = !service.path.is_empty() && path.is_some_and(|path| path.contains(service.path));
        is_path || service.hosts.iter().any(|known| is_of(&host, known))
    };
    SERVICES.iter().find(is_it).unwrap_or(SERVICES.last().expect("the table has rows"))
}

/// A URL with a longer path and more parameters. One of its own that is among these is left out.
fn joined(url: &str, path: &str, query: &str) -> String {
    let (base, own) = url.split_once('?').unwrap_or((url, ""));
    let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
    let is_new = |parameter: &&str| !query.split('&').any(|other| name(other) == name(parameter));
    let all = query.split('&').chain(own.split('&').filter(is_new)).filter(|one| !one.is_empty());
    let all = all.collect::<Vec<_>>().join("&");
    let base = if path.is_empty() { base } else { base.trim_end_matches('/') };
    format!("{base}{path}{}{all}", if all.is_empty() { "" } else { "?" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str, event: PingEvent) -> Option<String> {
        let facts = NotificationFacts { reason: "exit 3".into(), ..Default::default() };
        let body = PingTarget::parse(text).unwrap().notification(event, facts, "r")?;
        match body.to {
            Destination::Webhook(target) => Some(target.webhook.url),
            Destination::Process(_) => None,
        }
    }

    #[test]
    fn each_service_gets_the_urls_that_its_documents_name() {
        let events =
            [PingEvent::Start, PingEvent::Success, PingEvent::Failure(Some(3)), PingEvent::Failure(None)];
        let cases = [
            (
                "https://hc-ping.com/u",
                [
                    "https://hc-ping.com/u/start?rid=r",
                    "https://hc-ping.com/u?rid=r",
                    "https://hc-ping.com/u/3?rid=r",
                    "https://hc-ping.com/u/fail?rid=r",
                ],
            ),
            (
                "https://hc.lan/ping/key/slug/?create=1",
                [
                    "https://hc.lan/ping/key/slug/start?rid=r&create=1",
                    "https://hc.lan/ping/key/slug/?rid=r&create=1",
                    "https://hc.lan/ping/key/slug/3?rid=r&create=1",
                    "https://hc.lan/ping/key/slug/fail?rid=r&create=1",
                ],
            ),
            (
                "https://kuma.lan/api/push/t?status=up&msg=OK&ping=",
                [
                    "",
                    "https://kuma.lan/api/push/t?status=up&msg=OK&ping=",
                    "https://kuma.lan/api/push/t?status=down&msg=exit%203&ping=",
                    "https://kuma.lan/api/push/t?status=down&msg=exit%203&ping=",
                ],
            ),
            (
                "https://nosnch.in/t",
                [
                    "",
                    "https://nosnch.in/t?s=0",
                    "https://nosnch.in/t?s=3&m=exit%203",
                    "https://nosnch.in/t?s=1&m=exit%203",
                ],
            ),
            (
                "cronitor:https://c.lan/p/k/j",
                [
                    "https://c.lan/p/k/j?state=run&series=r",
                    "https://c.lan/p/k/j?state=complete&series=r",
                    "https://c.lan/p/k/j?state=fail&series=r&message=exit%203",
                    "https://c.lan/p/k/j?state=fail&series=r&message=exit%203",
                ],
            ),
            ("https://example.com/alive?a=1", ["", "https://example.com/alive?a=1", "", ""]),
        ];
        for (text, expected) in cases {
            let found = events.map(|event| url(text, event).unwrap_or_default());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn an_unknown_prefix_is_no_target() {
        for bad in ["snitch:https://a", "hc-ping.com/u", "", "ftp://a"] {
            assert_eq!(PingTarget::parse(bad), None, "{bad}");
        }
    }
}
