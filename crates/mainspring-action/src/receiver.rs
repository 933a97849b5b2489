//! Receivers of notifications at a URL: the request that each kind of service takes.
//!
//! ```text
//!  https://hooks.slack.com/services/..     known by its host
//!  slack:https://chat.example.com/hooks/1  said by a prefix or by the key `kind`, for a server of one's own
//!  https://example.com/hook                any other: a JSON object
//!  url with a body                         what the body says, with facts between its braces
//! ```
//!
//! A new kind is a row of [`RECEIVERS`]. Of the output each gets the last lines that fit into its limit.
//!
//! Cost: a document for each notification, made again a few times if it is too long.
//!
//! Does not send anything, and does not sign in: a URL with a secret in it is the service's own way.
//!
//! Sources: the `source` of each row. Of those that take what Slack does,
//! [Mattermost](https://developers.mattermost.com/integrate/webhooks/incoming/)'s.

use serde_json::{Value, json};

use crate::body::WebhookBody;
use crate::names::has_body;
use crate::notification::{
    MAX_REASON_CHARACTERS, Message, NotificationFacts, WebhookTarget, fact_names, last,
};
use crate::template::{Template, TemplateError, escaped};
use crate::url::{host, is_of, percent};

/// How many characters Slack wants in a message; it cuts at 40,000. Rocket.Chat takes 5,000.
const SLACK_CHARACTERS: usize = 4_000;

/// How many characters Discord takes in a message.
const DISCORD_CHARACTERS: usize = 2_000;

/// How many bytes Teams takes in a request.
const TEAMS_BYTES: usize = 28 * 1_024;

/// How many bytes Google Chat takes in a message.
const GOOGLE_CHAT_BYTES: usize = 32_000;

/// How many bytes ntfy shows as a message: it makes an attachment of a longer one.
const NTFY_BYTES: usize = 4_096;

/// How much a JSON object or a template may have: enough for people, and little for any server.
const OTHER_BYTES: usize = 64 * 1_024;

/// How much of the output a chat gets at most, in bytes: about a screen.
const CHAT_OUTPUT_BYTES: usize = 3_000;

/// How much of the output any other receiver gets at most, in bytes.
const OTHER_OUTPUT_BYTES: usize = 16 * 1_024;

const _: () =
    assert!(CHAT_OUTPUT_BYTES <= OTHER_OUTPUT_BYTES, "what is left of an output is enough for a chat");
const _: () = assert!(OTHER_OUTPUT_BYTES < OTHER_BYTES);
const _: () = assert!(MAX_REASON_CHARACTERS < DISCORD_CHARACTERS / 2, "a reason leaves room for the rest");

/// The priority that ntfy calls high: it makes a long sound.
const NTFY_HIGH: &str = "4";

/// A kind of service.
#[derive(Debug)]
pub struct Receiver {
    /// As a prefix and the key `kind` have it.
    pub name: &'static str,
    /// What the names of its hosts end with.
    pub hosts: &'static [&'static str],
    /// What it takes, in words.
    pub takes: &'static str,
    /// The most that it takes, in its unit.
    pub limit: usize,
    /// What the limit counts, in words.
    pub unit: &'static str,
    /// How much of the output it gets at most, in bytes.
    pub output_bytes: usize,
    /// Its document.
    pub source: &'static str,
    request: fn(&Message<'_>) -> ReceiverRequest,
}

/// What is sent to a receiver.
struct ReceiverRequest {
    headers: Vec<(&'static str, String)>,
    body: String,
    /// Its length, as the receiver counts.
    length: usize,
}

impl ReceiverRequest {
    fn of_json(document: &Value, length: Option<usize>) -> ReceiverRequest {
        let body = document.to_string();
        let length = length.unwrap_or(body.len());
        ReceiverRequest { headers: vec![("Content-Type", "application/json".to_owned())], body, length }
    }
}

/// The kinds. The last takes what no other does.
pub const RECEIVERS: &[Receiver] = &[
    Receiver {
        name: "slack",
        hosts: &["hooks.slack.com", "hooks.slack-gov.com"],
        takes: "a message of Slack, which Mattermost and Rocket.Chat take too",
        limit: SLACK_CHARACTERS,
        unit: "characters",
        output_bytes: CHAT_OUTPUT_BYTES,
        source: "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
        request: |message| {
            // The three characters that its markup gives a meaning.
            let text = fenced(message).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            ReceiverRequest::of_json(&json!({ "text": text }), Some(characters(&text)))
        },
    },
    Receiver {
        name: "discord",
        hosts: &["discord.com", "discordapp.com"],
        takes: "a message of Discord, in which nobody is mentioned",
        limit: DISCORD_CHARACTERS,
        unit: "characters",
        output_bytes: CHAT_OUTPUT_BYTES,
        source: "https://discord.com/developers/docs/resources/webhook#execute-webhook",
        request: |message| {
            let text = fenced(message);
            let content = json!({ "content": text, "allowed_mentions": { "parse": [] } });
            ReceiverRequest::of_json(&content, Some(characters(&text)))
        },
    },
    Receiver {
        name: "teams",
        hosts: &["webhook.office.com", "logic.azure.com", "api.powerplatform.com"],
        takes: "an adaptive card of Microsoft Teams",
        limit: TEAMS_BYTES,
        unit: "bytes of the request",
        output_bytes: CHAT_OUTPUT_BYTES,
        source: "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook",
        request: |message| ReceiverRequest::of_json(&card(message), None),
    },
    Receiver {
        name: "google-chat",
        hosts: &["chat.googleapis.com"],
        takes: "a message of Google Chat",
        limit: GOOGLE_CHAT_BYTES,
        unit: "bytes of the request",
        output_bytes: CHAT_OUTPUT_BYTES,
        source: "https://developers.google.com/workspace/chat/quickstart/webhooks",
        request: |message| ReceiverRequest::of_json(&json!({ "text": fenced(message) }), None),
    },
    Receiver {
        name: "ntfy",
        hosts: &["ntfy.sh"],
        takes: "a message of ntfy with the link behind it, and with a high priority unless a job has recovered",
        limit: NTFY_BYTES,
        unit: "bytes of the message",
        output_bytes: CHAT_OUTPUT_BYTES,
        source: "https://docs.ntfy.sh/publish/",
        request: ntfy,
    },
    Receiver {
        name: "json",
        hosts: &[],
        takes: "all facts as a JSON object; a URL that is of no other kind gets this",
        limit: OTHER_BYTES,
        unit: "bytes of the request",
        output_bytes: OTHER_OUTPUT_BYTES,
        source: "",
        request: |message| ReceiverRequest::of_json(&Value::Object(message.object()), None),
    },
];

const _: () = assert!(RECEIVERS[RECEIVERS.len() - 1].hosts.is_empty(), "the last is any other");

impl Receiver {
    /// The kind of that name.
    pub fn of_name(name: &str) -> Option<&'static Receiver> {
        RECEIVERS.iter().find(|receiver| receiver.name == name)
    }

    /// The kind whose host a URL has.
    pub fn of_host(url: &str) -> Option<&'static Receiver> {
        let host = host(url)?;
        RECEIVERS.iter().find(|receiver| receiver.hosts.iter().any(|known| is_of(&host, known)))
    }

    /// The kind of a target: the one that it says, that of its host, or else the last.
    fn of(target: &WebhookTarget) -> &'static Receiver {
        let named = target.kind.as_deref().and_then(Receiver::of_name);
        let other = RECEIVERS.last().expect("the table has rows");
        named.or_else(|| Receiver::of_host(&target.webhook.url)).unwrap_or(other)
    }

    /// The message with the last lines of the output that fit.
    fn fitting(&self, facts: &NotificationFacts, output: &str) -> ReceiverRequest {
        let mut output = last(output, self.output_bytes);
        loop {
            let request = (self.request)(&Message { facts, output });
            let excess = request.length.saturating_sub(self.limit);
            if excess == 0 || output.is_empty() {
                return request;
            }
            // As much of the output as of the whole is too much, and at least a byte.
            let before = output.len();
            output = last(output, before.saturating_sub(excess * before / request.length + 1));
            debug_assert!(output.len() < before, "each try is shorter");
        }
    }
}

/// The request that brings a notification to its receiver: a webhook in which only secrets are still to be
/// filled in.
///
/// # Errors
///
/// When a word between braces is no fact and no secret.
pub fn request(
    target: &WebhookTarget,
    facts: &NotificationFacts,
    output: &str,
) -> Result<WebhookBody, TemplateError> {
    // A line feed and a tab are all that chats show of control characters, and some refuse the others.
    let output = output.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}");
    let names: Vec<&str> = target.webhook.secrets.iter().map(|secret| secret.name.as_str()).collect();
    let template = |text: &str| Template::parse_with(&fact_names(), text, &names);
    let message = Message { facts, output: last(&output, OTHER_OUTPUT_BYTES) };
    let mut webhook = target.webhook.clone();
    webhook.url = template(&webhook.url)?.bind(|name| percent(&message.text(name)));
    for (_, value) in &mut webhook.headers {
        *value = template(value)?.bind(|name| message.text(name).replace(|c: char| c.is_control(), " "));
    }
    if !has_body(webhook.method.as_deref().unwrap_or("POST")) {
        return Ok(webhook);
    }
    if webhook.body.is_empty() {
        let ReceiverRequest { headers, body, .. } = Receiver::of(target).fitting(facts, &output);
        let is_new =
            |name: &str| !target.webhook.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let headers = headers.into_iter().filter(|(name, _)| is_new(name));
        webhook.headers.extend(headers.map(|(name, value)| (name.to_owned(), escaped(&value))));
        webhook.body = escaped(&body);
    } else {
        let body = template(&webhook.body)?;
        webhook.body = match body.begins_as_json() {
            true => body.bind(|name| in_json(&message.text(name))),
            false => body.bind(|name| message.text(name)),
        };
    }
    Ok(webhook)
}

/// The message with the output between the marks that chats show in a fixed width.
fn fenced(message: &Message<'_>) -> String {
    // Three of these in the output would end it early.
    let output = message.output.replace("```", "'''");
    Message { output: &output, ..*message }.framed("```\n", "\n```")
}

fn ntfy(message: &Message<'_>) -> ReceiverRequest {
    let facts = message.facts;
    let mut headers = vec![("Title", facts.title.clone())];
    if message.is_urgent() {
        headers.push(("Priority", NTFY_HIGH.to_owned()));
    }
    if !facts.url.is_empty() {
        headers.push(("Click", facts.url.clone()));
    }
    headers.push(("Content-Type", "text/plain; charset=utf-8".to_owned()));
    let parts = [message.lines(), message.output.trim_end().to_owned()];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    // An empty text would be replaced by one of the service's own.
    let body = if text.is_empty() { facts.title.clone() } else { text };
    ReceiverRequest { headers, length: body.len(), body }
}

/// A card of Teams. A run of text, unlike a block of it, has no markup: the output is shown as it is.
fn card(message: &Message<'_>) -> Value {
    let line = |text: &str, weight: &str| json!({ "type": "TextBlock", "text": text, "wrap": true, "weight": weight });
    let run = |text: &str| {
        let run = json!({ "type": "TextRun", "text": text, "fontType": "Monospace" });
        json!({ "type": "RichTextBlock", "inlines": [run], "spacing": "None" })
    };
    let mut body = vec![line(&message.facts.title, "Bolder")];
    body.extend(message.lines().lines().map(|text| line(text, "Default")));
    body.extend(message.output.lines().map(run));
    let mut card = json!({ "type": "AdaptiveCard", "version": "1.4", "body": body });
    if !message.facts.url.is_empty() {
        card["actions"] =
            json!([{ "type": "Action.OpenUrl", "title": "Open the run", "url": message.facts.url }]);
    }
    let attachment = json!({ "contentType": "application/vnd.microsoft.card.adaptive", "content": card });
    json!({ "type": "message", "attachments": [attachment] })
}

/// How many characters a service counts at most: some count those outside of the basic plane twice.
fn characters(text: &str) -> usize {
    text.encode_utf16().count()
}

/// A text as it stands in a string of JSON.
fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    debug_assert!(2 <= quoted.len(), "a text stands between quotes");
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SecretBody;
    use crate::template::Values;

    fn facts() -> NotificationFacts {
        NotificationFacts {
            title: "backup has failed on a".into(),
            event: "failed".into(),
            reason: "exit code 3 <b> & {job}".into(),
            url: "https://cron.example/?page=job&job=backup".into(),
            ..NotificationFacts::default()
        }
    }

    fn target(kind: &str) -> WebhookTarget {
        let webhook = WebhookBody { url: "https://a/b".into(), ..WebhookBody::default() };
        WebhookTarget { kind: Some(kind.to_owned()).filter(|kind| !kind.is_empty()), webhook }
    }

    fn filled(target: &WebhookTarget, output: &str) -> (Vec<(String, String)>, String) {
        let body = request(target, &facts(), output).expect("its words are facts");
        let filled = Template::parse(&body.body, &[]).expect("it is a template").fill(&Values::default());
        (body.headers, filled)
    }

    fn json(kind: &str, output: &str) -> Value {
        serde_json::from_str(&filled(&target(kind), output).1).expect("it is JSON")
    }

    #[test]
    fn each_service_gets_what_its_documents_ask_for() {
        let text = "backup has failed on a\nexit code 3 <b> & {job}\nhttps://cron.example/?page=job&job=backup\n```\nlast {line}\n```";
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert_eq!(json("slack", "last {line}\n"), json!({ "text": escaped }));
        let discord = json!({ "content": text, "allowed_mentions": { "parse": [] } });
        assert_eq!(json("discord", "last {line}\n"), discord);
        assert_eq!(json("google-chat", "last {line}\n"), json!({ "text": text }));
        let teams = json("teams", "last {line}\n");
        let card = &teams["attachments"][0];
        assert_eq!(teams["type"], json!("message"));
        assert_eq!(card["contentType"], json!("application/vnd.microsoft.card.adaptive"));
        assert_eq!(card["content"]["body"][1]["text"], json!("exit code 3 <b> & {job}"));
        assert_eq!(card["content"]["body"][2]["inlines"][0]["text"], json!("last {line}"));
        assert_eq!(card["content"]["actions"][0]["url"], json!(facts().url));
        let (headers, body) = filled(&target("ntfy"), "last\n");
        assert_eq!(body, "exit code 3 <b> & {job}\n\nlast");
        let header = |name: &str| headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value);
        assert_eq!((header("Priority"), header("Click")), (Some("4"), Some(&*facts().url)));
        assert_eq!(json("", "last\n")["output"], json!("last"));
    }

    #[test]
    fn the_end_of_a_long_output_stays_and_the_whole_is_within_the_limit() {
        let lines = (0..2_000).map(|index| format!("line \"{index}\" <&>\n"));
        let odd = "\u{1f980}&\u{0}".repeat(20_000);
        for output in [lines.collect::<String>(), odd] {
            for receiver in RECEIVERS {
                let message = receiver.fitting(&facts(), &output);
                assert!(message.length <= receiver.limit, "{}: {}", receiver.name, message.length);
                assert!(message.body.contains("1999") || output.contains('\0'), "{}", receiver.name);
            }
        }
    }

    #[test]
    fn a_service_is_known_by_its_host_or_said_by_a_prefix() {
        let of_host = |url| Receiver::of_host(url).map(|receiver| receiver.name);
        assert_eq!(of_host("https://hooks.slack.com/services/T/B/x"), Some("slack"));
        assert_eq!(of_host("https://me:pw@prod-1.westeurope.logic.azure.com:443/workflows/x"), Some("teams"));
        assert_eq!(of_host("https://DISCORD.com/api/webhooks/1/x"), Some("discord"));
        for other in
            ["https://example.com/hooks.slack.com", "https://notntfy.sh/a", "https://ntfy.sh.example.com"]
        {
            assert_eq!(of_host(other), None, "{other}");
        }
    }

    #[test]
    fn a_body_of_ones_own_has_facts_between_its_braces_and_is_json_if_it_looks_so() {
        let mut own = target("");
        own.webhook.secrets = vec![SecretBody { name: "T".into(), path: "/t".into(), is_path: false }];
        own.webhook.url = "https://a/{reason}".into();
        own.webhook.headers = vec![("X-Output".into(), "{secret.T} {output}".into())];
        own.webhook.body = r#"{"said": "{output}", "of": "{{job}}"}"#.into();
        let body = request(&own, &facts(), "one \"\ntwo {job}").unwrap();
        assert_eq!(body.url, "https://a/exit%20code%203%20%3Cb%3E%20%26%20%7Bjob%7D");
        assert_eq!(body.headers[0].1, "{secret.T} one \" two {{job}}");
        let text = Template::parse(&body.body, &["T"]).unwrap().fill(&Values::default());
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, json!({ "said": "one \"\ntwo {job}", "of": "{job}" }));
        own.webhook.body = "{reason}: {output}".into();
        let text = request(&own, &facts(), "one \"").unwrap().body;
        assert_eq!(text, "exit code 3 <b> & {{job}}: one \"");
        own.webhook.body = "{rason}".into();
        assert_eq!(request(&own, &facts(), "").unwrap_err().message, "there is no variable `rason`");
    }
}
