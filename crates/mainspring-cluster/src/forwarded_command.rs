//! Requests of a program to the owner of a shared database, and their replies, as text.
//!
//! ```text
//!  {"program": "submit", "key": "user-17", "due": "..", "kind": "handler", "body": "..", ..}   {"reply": "submitted", ..}
//! ```
//!
//! Cost: a JSON document.
//!
//! Does not know how it gets there: the program forwards it, and `planner_inbox` does it.

use std::sync::Arc;

use jiff::Timestamp;
use mainspring_job::{
    Action, Command, Holder, JobName, OnceId, PauseTerms, Policies, PolicyError, Refusal, Reply, RunKey,
    RunRequest, RunState, Scope, Submission, Work,
};
use mainspring_server::server::program_calls::{CallRefusal, CallResult};
use serde::{Deserialize, Serialize};

/// A command of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "program", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the commands and replies of the planner")]
pub enum ForwardedCommand {
    Submit {
        due: Timestamp,
        name: Option<JobName>,
        key: Option<String>,
        kind: String,
        body: String,
        policies: String,
        group: Option<JobName>,
        priority: i8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier: Option<OnceId>,
    },
    Run {
        job: JobName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    Pause {
        job: JobName,
    },
    Resume {
        job: JobName,
    },
    Forget {
        job: JobName,
    },
    Cancel {
        run: RunKey,
    },
    Withdraw {
        submitted: OnceId,
    },
}

/// What the owner answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the commands and replies of the planner")]
pub enum ForwardedReply {
    Done,
    Submitted { id: OnceId, name: JobName },
    Duplicate { holder: SubmissionHolder },
    Taken { holder: SubmissionHolder },
    Planned { run: RunKey },
    Refused { why: String },
    Temporary { why: String },
}

/// What has the key or the name of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmissionHolder {
    id: Option<OnceId>,
    name: JobName,
    key: Option<String>,
    due: Timestamp,
    state: Option<RunState>,
    why: String,
    work: Option<HolderWork>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HolderWork {
    kind: String,
    body: String,
    // Another version may have a policy more, and says which.
    policies: String,
    group: Option<JobName>,
    priority: i8,
}

impl HolderWork {
    fn of(work: &Work) -> HolderWork {
        HolderWork {
            kind: work.action.kind().to_owned(),
            body: work.action.body().to_owned(),
            policies: work.policies.to_string(),
            group: work.group.clone(),
            priority: work.priority,
        }
    }

    fn work(self) -> Result<Work, String> {
        let action = Action::new(self.kind, self.body).map_err(|error| error.to_string())?;
        let unknown = |error: PolicyError| format!("{}: {error}", self.policies);
        let mut work = Work::new(action).with_policies(self.policies.parse::<Policies>().map_err(unknown)?);
        (work.group, work.priority) = (self.group, self.priority);
        Ok(work)
    }
}

impl SubmissionHolder {
    fn of(holder: &Holder) -> SubmissionHolder {
        SubmissionHolder {
            id: holder.id,
            name: holder.name.clone(),
            key: holder.key.clone(),
            due: holder.due,
            state: holder.state,
            why: holder.why.clone(),
            work: holder.work.as_deref().map(HolderWork::of),
        }
    }

    fn holder(self) -> Result<Box<Holder>, String> {
        let mut holder = Holder::new(self.name, self.due);
        (holder.id, holder.key, holder.state, holder.why) = (self.id, self.key, self.state, self.why);
        holder.work = self.work.map(|worked| worked.work().map(Arc::new)).transpose()?;
        Ok(Box::new(holder))
    }
}

impl ForwardedCommand {
    /// `None` for what no program asks for.
    pub fn of(command: &Command) -> Option<ForwardedCommand> {
        let forwarded = match command {
            Command::Submit(Submission { due, name, key, work, earlier, .. }) => {
                let (due, name, key, earlier) = (*due, name.clone(), key.clone(), *earlier);
                let HolderWork { kind, body, policies, group, priority } = HolderWork::of(work);
                ForwardedCommand::Submit { due, name, key, kind, body, policies, group, priority, earlier }
            }
            Command::Trigger(RunRequest { job, due, key, .. }) => {
                ForwardedCommand::Run { job: job.clone(), due: *due, key: key.clone() }
            }
            Command::Pause(Scope::Job(job), _) => ForwardedCommand::Pause { job: job.clone() },
            Command::Resume(Scope::Job(job)) => ForwardedCommand::Resume { job: job.clone() },
            Command::Remove(job) => ForwardedCommand::Forget { job: job.clone() },
            Command::Cancel(run) => ForwardedCommand::Cancel { run: run.clone() },
            Command::Withdraw(id) => ForwardedCommand::Withdraw { submitted: *id },
            _ => return None,
        };
        debug_assert!(forwarded.clone().command().is_ok(), "the owner reads what is written");
        Some(forwarded)
    }

    /// Whether it may be done again: a second submission with the same key, or the same id, changes nothing.
    pub fn is_repeatable(&self) -> bool {
        matches!(
            self,
            ForwardedCommand::Submit { key: Some(_), .. }
                | ForwardedCommand::Submit { earlier: Some(_), .. }
                | ForwardedCommand::Run { key: Some(_), .. }
        )
    }

    /// # Errors
    /// What of it cannot be read.
    pub fn command(self) -> Result<Command, String> {
        Ok(match self {
            ForwardedCommand::Submit { due, name, key, kind, body, policies, group, priority, earlier } => {
                let work = HolderWork { kind, body, policies, group, priority }.work()?;
                let mut submission = Submission::new(due, work);
                (submission.name, submission.key, submission.earlier) = (name, key, earlier);
                Command::Submit(submission)
            }
            ForwardedCommand::Run { job, due, key } => {
                let mut request = RunRequest::new(job);
                (request.due, request.key) = (due, key);
                Command::Trigger(request)
            }
            ForwardedCommand::Pause { job } => Command::Pause(Scope::Job(job), PauseTerms::default()),
            ForwardedCommand::Resume { job } => Command::Resume(Scope::Job(job)),
            ForwardedCommand::Forget { job } => Command::Remove(job),
            ForwardedCommand::Cancel { run } => Command::Cancel(run),
            ForwardedCommand::Withdraw { submitted } => Command::Withdraw(submitted),
        })
    }
}

impl ForwardedReply {
    /// As the planner writes it.
    pub fn of(answered: &CallResult) -> ForwardedReply {
        match answered {
            Ok(Reply::Done) => ForwardedReply::Done,
            Ok(Reply::Submitted { id, name }) => ForwardedReply::Submitted { id: *id, name: name.clone() },
            Ok(Reply::Duplicate(holder)) => {
                ForwardedReply::Duplicate { holder: SubmissionHolder::of(holder) }
            }
            Ok(Reply::Planned { key }) => ForwardedReply::Planned { run: key.clone() },
            Ok(Reply::Refused(Refusal::Taken(holder))) => {
                ForwardedReply::Taken { holder: SubmissionHolder::of(holder) }
            }
            Ok(Reply::Refused(refusal)) => ForwardedReply::Refused { why: refusal.to_string() },
            Ok(other) => ForwardedReply::Temporary { why: format!("the planner answered {other:?}") },
            Err(refused) => ForwardedReply::Temporary { why: refused.to_string() },
        }
    }

    /// What the owner answered, as if it were this program.
    pub fn answered(self) -> CallResult {
        let read = || -> Result<Reply, String> {
            Ok(match self {
                ForwardedReply::Done => Reply::Done,
                ForwardedReply::Submitted { id, name } => Reply::Submitted { id, name },
                ForwardedReply::Duplicate { holder } => Reply::Duplicate(holder.holder()?),
                ForwardedReply::Taken { holder } => Reply::Refused(Refusal::Taken(holder.holder()?)),
                ForwardedReply::Planned { run } => Reply::Planned { key: run },
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
        let mut earlier = named.clone();
        (earlier.name, earlier.key, earlier.earlier) = (None, None, Some(OnceId { due, number: 78 }));
        assert!(ForwardedCommand::of(&Command::Submit(earlier.clone())).unwrap().is_repeatable());
        let commands = [
            Command::Submit(named),
            Command::Submit(earlier),
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
