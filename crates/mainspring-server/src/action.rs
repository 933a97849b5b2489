//! What a job's action is on the wire and on disk, and what it is to the executors.
//!
//! ```text
//! job file, crontab, command line ──▶ Body ── encode ──▶ Action { kind, body: JSON } ──▶ planner, store
//!                                                                                           │ start
//!                   ProcessSpec, WebhookSpec ◀── spec: looks up users, adds HOME.. ◀── decode ◀┘
//! ```
//!
//! Users are looked up and secrets are read when a run starts, so neither is on disk and a change needs no reload.
//!
//! Cost: one small JSON document per definition and start.
//!
//! Does not decide when anything runs.
//!
//! Source: own.

use std::fmt;
use std::path::PathBuf;

use mainspring_job::{Action, JobError, Policies, Signal as PolicySignal};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::accounts::{Account, Refusal};
use crate::executor::secret::{SecretForm, SecretVariable};
use crate::executor::spec::{
    Inheritance, KillSequence, KillStep, LIMIT_NAMES, Limit, OnServerDeath, ProcessSpec, Program,
};
use crate::executor::template::Template;
use crate::executor::webhook::{DEFAULT_TIMEOUT, MAX_TIMEOUT, WebhookSpec};
use crate::job::{DEFAULT_PATH, DEFAULT_SHELL};

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A process is started.
    Process(ProcessBody),
    /// A request is sent.
    Webhook(WebhookBody),
}

/// The kinds of actions as the store names them.
pub const KINDS: [&str; 2] = ["process", "webhook"];

/// A process, as in [`ProcessSpec`] but by names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys of the job file")]
pub struct ProcessBody {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inherit_env: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<(String, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_server_death: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_new_privileges: bool,
}

/// A secret: the variable, the file, and whether the variable gets the file's name instead of its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "see the type")]
pub struct SecretBody {
    pub name: String,
    pub path: PathBuf,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_path: bool,
}

/// A webhook, as in [`WebhookSpec`] but with its templates as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys of the job file")]
pub struct WebhookBody {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub success: Vec<(u16, u16)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

/// Why an action cannot be carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum ActionError {
    /// A newer version, or somebody's hand, wrote it.
    Unreadable(String),
    /// Its user cannot be become.
    User(String, Refusal),
}

impl fmt::Display for ActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActionError::Unreadable(why) => write!(f, "the action cannot be read: {why}"),
            ActionError::User(user, refusal) => write!(f, "cannot run as user {user}: {refusal}"),
        }
    }
}

impl std::error::Error for ActionError {}

impl Body {
    /// The action that a job carries.
    ///
    /// # Errors
    ///
    /// When it is too long.
    pub fn encode(&self) -> Result<Action, JobError> {
        let (kind, text) = match self {
            Body::Process(body) => (KINDS[0], serde_json::to_string(body)),
            Body::Webhook(body) => (KINDS[1], serde_json::to_string(body)),
        };
        Action::new(kind, text.expect("bodies have string keys and finite numbers"))
    }

    /// What an action says.
    ///
    /// # Errors
    ///
    /// When this program did not write it.
    pub fn decode(action: &Action) -> Result<Body, ActionError> {
        let unreadable = |error: serde_json::Error| ActionError::Unreadable(error.to_string());
        match action.kind() {
            "process" => serde_json::from_str(action.body()).map(Body::Process).map_err(unreadable),
            "webhook" => serde_json::from_str(action.body()).map(Body::Webhook).map_err(unreadable),
            kind => Err(ActionError::Unreadable(format!("there is no executor called {kind}"))),
        }
    }

    /// One line that says what is done, for tables.
    pub fn summary(&self) -> String {
        match self {
            Body::Process(ProcessBody { shell: Some(text), .. }) => text.clone(),
            Body::Process(body) => body.run.join(" "),
            Body::Webhook(body) => {
                format!("{} {}", body.method.as_deref().unwrap_or("POST"), body.url)
            }
        }
    }
}

impl ProcessBody {
    /// The process as the executor starts it, for a server that runs as `ourselves`.
    ///
    /// # Errors
    ///
    /// When the user cannot be become, or a limit is not known.
    pub fn spec(&self, ourselves: &Account, policies: &Policies) -> Result<ProcessSpec, ActionError> {
        let account = match &self.user {
            None => ourselves.clone(),
            Some(user) => {
                let refused = |refusal| ActionError::User(user.clone(), refusal);
                Account::chosen(user, ourselves).map_err(refused)?
            }
        };
        let shell = self.interpreter.as_deref().unwrap_or(DEFAULT_SHELL);
        let program = match &self.shell {
            Some(text) => Program::Shell { shell: shell.to_owned(), text: text.clone() },
            None => Program::Argv(self.run.clone()),
        };
        let usual = ProcessSpec::new(program, account);
        Ok(ProcessSpec {
            directory: self.cwd.clone().unwrap_or(usual.directory),
            inheritance: if self.inherit_env { Inheritance::Inherited } else { Inheritance::Clean },
            environment: self.environment(&usual.account, shell),
            secrets: self.secrets.iter().map(SecretBody::variable).collect(),
            umask: self.umask,
            nice: self.nice,
            limits: self.limits.iter().map(limit).collect::<Result<_, _>>()?,
            input: self.stdin.clone(),
            timeout: policies.timeout.after,
            kill: kill_sequence(policies),
            output_bytes_max: self.output_bytes.unwrap_or(usual.output_bytes_max),
            on_server_death: self
                .on_server_death
                .as_deref()
                .map_or(Ok(usual.on_server_death), on_server_death)?,
            no_new_privileges: self.no_new_privileges,
            ..ProcessSpec::new(usual.program, usual.account)
        })
    }

    /// What cron gives every command, and what the job adds.
    fn environment(&self, account: &Account, shell: &str) -> Vec<(String, String)> {
        let home = account.home.to_string_lossy().into_owned();
        let user = account.name.clone();
        let of_user = [("HOME", home), ("USER", user.clone()), ("LOGNAME", user)];
        let of_clean = [("SHELL", shell.to_owned()), ("PATH", DEFAULT_PATH.to_owned())];
        let usual = of_user.into_iter().chain(of_clean.into_iter().filter(|_| !self.inherit_env));
        let usual = usual.map(|(name, value)| (name.to_owned(), value));
        usual.chain(self.env.iter().cloned()).collect()
    }
}

fn limit((name, value): &(String, u64)) -> Result<Limit, ActionError> {
    let known = LIMIT_NAMES.iter().find(|(known, _)| known == name);
    let unknown = || ActionError::Unreadable(format!("there is no limit called {name}"));
    known.map(|&(_, resource)| Limit { resource, value: *value }).ok_or_else(unknown)
}

fn on_server_death(name: &str) -> Result<OnServerDeath, ActionError> {
    let unknown = || ActionError::Unreadable(format!("on_server_death is not {name}"));
    OnServerDeath::from_name(name).ok_or_else(unknown)
}

fn kill_sequence(policies: &Policies) -> KillSequence {
    let kill = policies.timeout.kill;
    let signal = match kill.signal {
        PolicySignal::Term => Signal::SIGTERM,
        PolicySignal::Int => Signal::SIGINT,
        PolicySignal::Hup => Signal::SIGHUP,
        PolicySignal::Quit => Signal::SIGQUIT,
        PolicySignal::Usr1 => Signal::SIGUSR1,
        PolicySignal::Usr2 => Signal::SIGUSR2,
        PolicySignal::Kill => Signal::SIGKILL,
    };
    KillSequence(vec![KillStep { signal, wait: kill.grace }])
}

impl SecretBody {
    fn variable(&self) -> SecretVariable {
        let form = if self.is_path { SecretForm::Path } else { SecretForm::Content };
        SecretVariable { name: self.name.clone(), path: self.path.clone(), form }
    }
}

impl WebhookBody {
    /// The webhook as the executor sends it.
    ///
    /// # Errors
    ///
    /// When a template or the method is none.
    pub fn spec(&self, policies: &Policies) -> Result<WebhookSpec, ActionError> {
        let names: Vec<&str> = self.secrets.iter().map(|secret| secret.name.as_str()).collect();
        let template = |text: &str| {
            Template::parse(text, &names).map_err(|fault| ActionError::Unreadable(fault.message))
        };
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            headers.push((name.clone(), template(value)?));
        }
        let usual = WebhookSpec::new(template(&self.url)?);
        let unreadable = |_| ActionError::Unreadable("the method is none".to_owned());
        Ok(WebhookSpec {
            method: self
                .method
                .as_deref()
                .map_or(Ok(usual.method.clone()), |name| name.parse().map_err(unreadable))?,
            headers,
            body: template(&self.body)?,
            timeout: policies.timeout.after.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT),
            success: if self.success.is_empty() { usual.success.clone() } else { self.success.clone() },
            secrets: self.secrets.iter().map(SecretBody::variable).collect(),
            signing: self.signing_secret.clone(),
            ca_file: self.ca_file.clone(),
            answer_bytes_max: self.output_bytes.unwrap_or(usual.answer_bytes_max),
            ..usual
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_back() {
        let process = ProcessBody { shell: Some("echo".into()), nice: Some(3), ..ProcessBody::default() };
        let webhook =
            WebhookBody { url: "http://x".into(), success: vec![(200, 204)], ..WebhookBody::default() };
        for body in [Body::Process(process), Body::Webhook(webhook)] {
            assert_eq!(Body::decode(&body.encode().unwrap()).unwrap(), body);
        }
        let strange = Action::new("process", r#"{"shel": "x"}"#).unwrap();
        assert!(matches!(Body::decode(&strange), Err(ActionError::Unreadable(_))));
    }

    #[test]
    fn a_clean_environment_is_that_of_cron() {
        let ourselves = Account { name: "alice".into(), home: "/home/alice".into(), identity: None };
        let body = ProcessBody {
            run: vec!["env".into()],
            env: vec![("A".into(), "1".into())],
            ..Default::default()
        };
        let spec = body.spec(&ourselves, &Policies::default()).unwrap();
        let names: Vec<&str> = spec.environment.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["HOME", "USER", "LOGNAME", "SHELL", "PATH", "A"]);
        assert_eq!(spec.directory, PathBuf::from("/home/alice"));
    }
}
