//! Receivers of notifications at a URL: the request that each kind of service takes.
//!
//! ```text
//!  https://hooks.slack.com/services/..     known by its host
//!  slack:https://chat.example.com/hooks/1  said by a prefix, for a server of one's own
//!  https://example.com/hook                any other: a JSON object
//! ```
//!
//! A new kind is a row of [`RECEIVERS`].
//!
//! Cost: a small document for each notification.
//!
//! Does not send anything, and does not sign in: a URL with a secret in it is the service's own way.
//!
//! Sources: [Slack](https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks),
//! [Discord](https://discord.com/developers/docs/resources/webhook#execute-webhook),
//! [Teams](https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using),
//! [Google Chat](https://developers.google.com/workspace/chat/quickstart/webhooks),
//! [ntfy](https://docs.ntfy.sh/publish/).

use crate::body::WebhookBody;
use crate::template;
use serde_json::{Value, json};

/// How many characters Discord takes in a message.
const DISCORD_CHARACTERS: usize = 2_000;

/// The priority that ntfy calls high: it makes a long sound.
const NTFY_HIGH: &str = "4";

/// A message for people.
#[derive(Debug)]
pub struct Message<'a> {
    /// One line.
    pub title: &'a str,
    /// Further lines; none is allowed.
    pub text: &'a str,
    /// Whether somebody should act on it.
    pub is_urgent: bool,
}

impl Message<'_> {
    fn whole(&self) -> String {
        format!("{}\n{}", self.title, self.text).trim_end().to_owned()
    }
}

/// A kind of service.
#[derive(Debug)]
pub struct Receiver {
    /// As a prefix has it.
    pub name: &'static str,
    /// What the names of its hosts end with.
    pub hosts: &'static [&'static str],
    /// What it takes, in words.
    pub takes: &'static str,
    request: fn(&str, &Message<'_>) -> WebhookBody,
}

/// The kinds.
pub const RECEIVERS: &[Receiver] = &[
    Receiver {
        name: "slack",
        hosts: &["hooks.slack.com", "hooks.slack-gov.com"],
        takes: "a message of Slack, which Mattermost and Rocket.Chat take too",
        request: |url, message| {
            // The three characters that its markup gives a meaning.
            let text = message.whole().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            WebhookBody::of_json(url.to_owned(), &json!({ "text": text }))
        },
    },
    Receiver {
        name: "discord",
        hosts: &["discord.com", "discordapp.com"],
        takes: "a message of Discord, in which nobody is mentioned",
        request: |url, message| {
            let text: String = message.whole().chars().take(DISCORD_CHARACTERS).collect();
            let content = json!({ "content": text, "allowed_mentions": { "parse": [] } });
            WebhookBody::of_json(url.to_owned(), &content)
        },
    },
    Receiver {
        name: "teams",
        hosts: &["webhook.office.com", "logic.azure.com", "api.powerplatform.com"],
        takes: "an adaptive card of Microsoft Teams",
        request: |url, message| {
            let line = |text: &str, weight: &str| json!({ "type": "TextBlock", "text": text, "wrap": true, "weight": weight });
            let mut body = vec![line(message.title, "Bolder")];
            body.extend(message.text.lines().map(|text| line(text, "Default")));
            let card = json!({ "type": "AdaptiveCard", "version": "1.4", "body": body });
            let attachment =
                json!({ "contentType": "application/vnd.microsoft.card.adaptive", "content": card });
            WebhookBody::of_json(url.to_owned(), &json!({ "type": "message", "attachments": [attachment] }))
        },
    },
    Receiver {
        name: "google-chat",
        hosts: &["chat.googleapis.com"],
        takes: "a message of Google Chat",
        request: |url, message| WebhookBody::of_json(url.to_owned(), &json!({ "text": message.whole() })),
    },
    Receiver {
        name: "ntfy",
        hosts: &["ntfy.sh"],
        takes: "a message of ntfy, with a high priority unless a job has recovered",
        request: |url, message| {
            let mut headers = vec![("Title".to_owned(), template::escaped(message.title))];
            if message.is_urgent {
                headers.push(("Priority".to_owned(), NTFY_HIGH.to_owned()));
            }
            // An empty text would be replaced by one of the service's own.
            let text = if message.text.is_empty() { message.title } else { message.text };
            let body = template::escaped(text.trim_end());
            headers.push(("Content-Type".to_owned(), "text/plain; charset=utf-8".to_owned()));
            WebhookBody { url: url.to_owned(), headers, body, ..WebhookBody::default() }
        },
    },
];

impl Receiver {
    /// The kind that a prefix says, and the URL behind it.
    pub fn of_prefix(text: &str) -> Option<(&'static Receiver, &str)> {
        let (name, url) = text.split_once(':')?;
        let is_url = url.starts_with("http://") || url.starts_with("https://");
        RECEIVERS.iter().find(|receiver| is_url && receiver.name == name).map(|receiver| (receiver, url))
    }

    /// The kind whose host a URL has.
    pub fn of_host(url: &str) -> Option<&'static Receiver> {
        let (_, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
        let is_of = |known: &&str| {
            host.strip_suffix(*known).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        RECEIVERS.iter().find(|receiver| receiver.hosts.iter().any(&is_of))
    }

    /// The kind of a URL: that of the prefix it had, or that of its host.
    pub fn of(url: &str, prefix: Option<&str>) -> Option<&'static Receiver> {
        match prefix {
            Some(name) => RECEIVERS.iter().find(|receiver| receiver.name == name),
            None => Receiver::of_host(url),
        }
    }

    /// The request that brings a message.
    pub fn request(&self, url: &str, message: &Message<'_>) -> WebhookBody {
        (self.request)(url, message)
    }
}

/// Any other receiver: the facts as a JSON object, and the message as its `text`.
pub fn object(url: &str, message: &Message<'_>, mut facts: serde_json::Map<String, Value>) -> WebhookBody {
    facts.insert("text".to_owned(), message.whole().into());
    WebhookBody::of_json(url.to_owned(), &Value::Object(facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Template, Values};

    const MESSAGE: Message<'_> =
        Message { title: "backup has failed on a", text: "exit code 3 <b> & {job}", is_urgent: true };

    fn sent(name: &str) -> (Vec<(String, String)>, String) {
        let receiver = RECEIVERS.iter().find(|receiver| receiver.name == name).expect("it is in the table");
        let body = receiver.request("https://a/b", &MESSAGE);
        let filled = Template::parse(&body.body, &[]).expect("it is a template").fill(&Values::default());
        (body.headers, filled)
    }

    #[test]
    fn each_service_gets_what_its_documents_ask_for() {
        let json = |name: &str| serde_json::from_str::<Value>(&sent(name).1).expect("it is JSON");
        let text = "backup has failed on a\nexit code 3 <b> & {job}";
        assert_eq!(
            json("slack"),
            json!({ "text": "backup has failed on a\nexit code 3 &lt;b&gt; &amp; {job}" })
        );
        assert_eq!(json("discord"), json!({ "content": text, "allowed_mentions": { "parse": [] } }));
        assert_eq!(json("google-chat"), json!({ "text": text }));
        let teams = json("teams");
        let card = &teams["attachments"][0];
        assert_eq!(
            (&teams["type"], &card["contentType"]),
            (&json!("message"), &json!("application/vnd.microsoft.card.adaptive"))
        );
        assert_eq!(card["content"]["body"][1]["text"], json!("exit code 3 <b> & {job}"));
        let (headers, body) = sent("ntfy");
        assert_eq!(body, "exit code 3 <b> & {job}");
        assert_eq!(headers[0], ("Title".to_owned(), "backup has failed on a".to_owned()));
        assert_eq!(headers[1], ("Priority".to_owned(), "4".to_owned()));
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
        let of_prefix = |text| Receiver::of_prefix(text).map(|(receiver, url)| (receiver.name, url));
        assert_eq!(of_prefix("ntfy:http://push.lan/ops"), Some(("ntfy", "http://push.lan/ops")));
        for other in ["https://a/b", "slack: echo", "slack:/usr/bin/notify", "mailto:https://a"] {
            assert_eq!(of_prefix(other), None, "{other}");
        }
    }

    #[test]
    fn any_other_gets_the_facts_with_the_message() {
        let facts = serde_json::Map::from_iter([("job".to_owned(), json!("{job}{"))]);
        let body = object("https://a/b", &MESSAGE, facts);
        let filled = Template::parse(&body.body, &[]).expect("it is a template").fill(&Values::default());
        let value: Value = serde_json::from_str(&filled).expect("it is JSON");
        assert_eq!(value["job"], json!("{job}{"));
        assert_eq!(value["text"], json!("backup has failed on a\nexit code 3 <b> & {job}"));
    }
}
