//! Requests of a program to the owner of a shared database, and their replies, as text.
//!
//! ```text
//!  {"program": "submit", "key": "user-17", "due": "..", "kind": "handler", "body": "..", ..}   {"reply": "submitted", ..}
//! ```
//!
//! Cost: a JSON document.
//!
//! Does not know how it gets there: see [`forward`](crate::forward) and [`inbox`](crate::inbox).

use std::fmt::Display;
use std::sync::Arc;

use jiff::Timestamp;
use mainspring_job::{
    Action, Command, Holder, JobName, OnceId, PauseTerms, Policies, Refusal, Reply, RunKey, RunRequest,
    RunState, Scope, Submission, Work,
};
use mainspring_server::server::program_calls::{CallRefusal, CallResult};
use serde::{Deserialize, Serialize};

/// A command of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "program", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ForwardedCommand {
    Submit {
        due: String,
        name: Option<String>,
        key: Option<String>,
        kind: String,
        body: String,
        policies: String,
        group: Option<String>,
        priority: i8,
    },
    Run {
        job: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    Pause {
        job: String,
    },
    Resume {
        job: String,
    },
    Forget {
        job: String,
    },
    Cancel {
        run: String,
    },
    Withdraw {
        submitted: String,
    },
}

/// What the owner answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ForwardedReply {
    Done,
    Submitted { id: String, name: String },
    Duplicate { holder: SubmissionHolder },
    Taken { holder: SubmissionHolder },
    Planned { run: String },
    Refused { why: String },
    Temporary { why: String },
}

/// What has the key or the name of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmissionHolder {
    id: Option<String>,
    name: String,
    key: Option<String>,
    due: String,
    state: Option<String>,
    why: String,
    work: Option<HolderWork>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HolderWork {
    kind: String,
    body: String,
    policies: String,
    group: Option<String>,
    priority: i8,
}

impl SubmissionHolder {
    fn of(holder: &Holder) -> SubmissionHolder {
        let work = holder.work.as_ref().map(|work| HolderWork {
            kind: work.action.kind().to_owned(),
            body: work.action.body().to_owned(),
            policies: work.policies.to_string(),
            group: work.group.as_ref().map(ToString::to_string),
            priority: work.priority,
        });
        SubmissionHolder {
            id: holder.id.map(|id| id.to_string()),
            name: holder.name.to_string(),
            key: holder.key.clone(),
            due: holder.due.to_string(),
            state: holder.state.map(|state| state.name().to_owned()),
            why: holder.why.clone(),
            work,
        }
    }

    fn holder(self) -> Result<Box<Holder>, String> {
        let state = |name: String| RunState::from_name(&name).ok_or(format!("there is no state {name}"));
        let work = |worked: HolderWork| {
            let action = Action::new(worked.kind, worked.body).map_err(|error| error.to_string())?;
            let mut work = Work::new(action).with_policies(read::<Policies>(&worked.policies)?);
            work.group = worked.group.as_deref().map(read::<JobName>).transpose()?;
            work.priority = worked.priority;
            Ok::<_, String>(Arc::new(work))
        };
        let mut holder = Holder::new(read(&self.name)?, read(&self.due)?);
        holder.id = self.id.as_deref().map(read::<OnceId>).transpose()?;
        (holder.key, holder.why) = (self.key, self.why);
        holder.state = self.state.map(state).transpose()?;
        holder.work = self.work.map(work).transpose()?;
        Ok(Box::new(holder))
    }
}

fn read<T: std::str::FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

impl ForwardedCommand {
    /// `None` for what no program asks for.
    pub(crate) fn of(command: &Command) -> Option<ForwardedCommand> {
        Some(match command {
            Command::Submit(submission) => ForwardedCommand::Submit {
                due: submission.due.to_string(),
                name: submission.name.as_ref().map(ToString::to_string),
                key: submission.key.clone(),
                kind: submission.work.action.kind().to_owned(),
                body: submission.work.action.body().to_owned(),
                policies: submission.work.policies.to_string(),
                group: submission.work.group.as_ref().map(ToString::to_string),
                priority: submission.work.priority,
            },
            Command::Trigger(RunRequest { job, due, key, .. }) => ForwardedCommand::Run {
                job: job.to_string(),
                due: due.map(|due| due.to_string()),
                key: key.clone(),
            },
            Command::Pause(Scope::Job(job), _) => ForwardedCommand::Pause { job: job.to_string() },
            Command::Resume(Scope::Job(job)) => ForwardedCommand::Resume { job: job.to_string() },
            Command::Remove(job) => ForwardedCommand::Forget { job: job.to_string() },
            Command::Cancel(run) => ForwardedCommand::Cancel { run: run.to_string() },
            Command::Withdraw(id) => ForwardedCommand::Withdraw { submitted: id.to_string() },
            _ => return None,
        })
    }

    /// Whether it may be done again: a second submission with the same key changes nothing.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(
            self,
            ForwardedCommand::Submit { key: Some(_), .. } | ForwardedCommand::Run { key: Some(_), .. }
        )
    }

    /// # Errors
    /// What of it cannot be read.
    pub(crate) fn command(self) -> Result<Command, String> {
        Ok(match self {
            ForwardedCommand::Submit { due, name, key, kind, body, policies, group, priority } => {
                let action = Action::new(kind, body).map_err(|error| error.to_string())?;
                let mut work = Work::new(action).with_policies(read::<Policies>(&policies)?);
                work.group = group.as_deref().map(read::<JobName>).transpose()?;
                work.priority = priority;
                let mut submission = Submission::new(read(&due)?, work);
                submission.name = name.as_deref().map(read::<JobName>).transpose()?;
                submission.key = key;
                Command::Submit(submission)
            }
            ForwardedCommand::Run { job, due, key } => {
                let mut request = RunRequest::new(read(&job)?);
                request.due = due.as_deref().map(read::<Timestamp>).transpose()?;
                request.key = key;
                Command::Trigger(request)
            }
            ForwardedCommand::Pause { job } => Command::Pause(Scope::Job(read(&job)?), PauseTerms::default()),
            ForwardedCommand::Resume { job } => Command::Resume(Scope::Job(read(&job)?)),
            ForwardedCommand::Forget { job } => Command::Remove(read(&job)?),
            ForwardedCommand::Cancel { run } => Command::Cancel(read::<RunKey>(&run)?),
            ForwardedCommand::Withdraw { submitted } => Command::Withdraw(read::<OnceId>(&submitted)?),
        })
    }
}

impl ForwardedReply {
    pub(crate) fn of(answered: &CallResult) -> ForwardedReply {
        match answered {
            Ok(Reply::Done) => ForwardedReply::Done,
            Ok(Reply::Submitted { id, name }) => {
                ForwardedReply::Submitted { id: id.to_string(), name: name.to_string() }
            }
            Ok(Reply::Duplicate(holder)) => {
                ForwardedReply::Duplicate { holder: SubmissionHolder::of(holder) }
            }
            Ok(Reply::Planned { key }) => ForwardedReply::Planned { run: key.to_string() },
            Ok(Reply::Refused(Refusal::Taken(holder))) => {
                ForwardedReply::Taken { holder: SubmissionHolder::of(holder) }
            }
            Ok(Reply::Refused(refusal)) => ForwardedReply::Refused { why: refusal.to_string() },
            Ok(other) => ForwardedReply::Temporary { why: format!("the planner answered {other:?}") },
            Err(refused) => ForwardedReply::Temporary { why: refused.to_string() },
        }
    }

    /// What the owner answered, as if it were this program.
    pub(crate) fn answered(self) -> CallResult {
        let read = || -> Result<Reply, String> {
            Ok(match self {
                ForwardedReply::Done => Reply::Done,
                ForwardedReply::Submitted { id, name } => {
                    Reply::Submitted { id: read(&id)?, name: read(&name)? }
                }
                ForwardedReply::Duplicate { holder } => Reply::Duplicate(holder.holder()?),
                ForwardedReply::Taken { holder } => Reply::Refused(Refusal::Taken(holder.holder()?)),
                ForwardedReply::Planned { run } => Reply::Planned { key: read(&run)? },
                ForwardedReply::Refused { why } => {
                    let known = Refusal::PLAIN.into_iter().find(|refusal| refusal.to_string() == why);
                    Reply::Refused(known.ok_or(why)?)
                }
                ForwardedReply::Temporary { why } => return Err(why),
            })
        };
        read().map_err(CallRefusal::Now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(command: &Command) -> Command {
        let text = serde_json::to_string(&ForwardedCommand::of(command).unwrap()).unwrap();
        serde_json::from_str::<ForwardedCommand>(&text).unwrap().command().unwrap()
    }

    #[test]
    fn a_command_is_the_same_at_the_owner() {
        let mut work = Work::new(Action::new("handler", "{\"name\":\"remind\"}").unwrap())
            .with_policies("retry=3 overlap=queue-one".parse().unwrap());
        (work.group, work.priority) = (Some(JobName::new("bank").unwrap()), -3);
        let due = "2026-11-21T08:00:00.123456789Z".parse().unwrap();
        let named =
            Submission::new(due, work).with_name(JobName::new("mail").unwrap()).with_key("user \u{0}17");
        let job = || JobName::new("tick").unwrap();
        let commands = [
            Command::Submit(named),
            Command::Trigger(RunRequest::new(job())),
            Command::Trigger(RunRequest::new(job()).at(due).with_key("ticket 17")),
            Command::Pause(Scope::Job(job()), PauseTerms::default()),
            Command::Resume(Scope::Job(job())),
            Command::Remove(job()),
            Command::Cancel("tick@2026-11-21T08:00:00Z#2".parse().unwrap()),
            Command::Withdraw(OnceId { due, number: 77 }),
        ];
        for command in commands {
            assert_eq!(through(&command), command);
        }
        assert_eq!(ForwardedCommand::of(&Command::Pause(Scope::All, PauseTerms::default())), None);
    }

    #[test]
    fn a_reply_is_the_same_at_the_program_that_asked() {
        let id = OnceId { due: "2026-11-21T08:00:00Z".parse().unwrap(), number: 7 };
        let work = Work::new(Action::new("handler", "{}").unwrap()).with_policies("retry=2".parse().unwrap());
        let mut held = Holder::new(id.name(), id.due);
        (held.id, held.key, held.work) = (Some(id), Some("k".to_owned()), Some(Arc::new(work)));
        (held.state, held.why) = (Some(RunState::Cancelled), "it was withdrawn".to_owned());
        let mut answers = vec![
            Ok(Reply::Done),
            Ok(Reply::Duplicate(Box::new(Holder::new(id.name(), id.due)))),
            Ok(Reply::Submitted { id, name: id.name() }),
            Ok(Reply::Duplicate(Box::new(held.clone()))),
            Ok(Reply::Refused(Refusal::Taken(Box::new(held)))),
            Ok(Reply::Planned { key: "tick@2026-11-21T08:00:00Z#2".parse().unwrap() }),
            Err(CallRefusal::Now("the disk is full".to_owned())),
        ];
        answers.extend(Refusal::PLAIN.map(|refusal| Ok(Reply::Refused(refusal))));
        for answered in answers {
            let text = serde_json::to_string(&ForwardedReply::of(&answered)).unwrap();
            assert_eq!(serde_json::from_str::<ForwardedReply>(&text).unwrap().answered(), answered);
        }
    }
}
