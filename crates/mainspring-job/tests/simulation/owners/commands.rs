//! Commands of clients to an owner, or to a server that believes it is one.

use jiff::SignedDuration;
use mainspring_job::{
    Action, Command, Definitions, Input, JobName, OnceId, PauseTerms, Policies, Prune, Query, Reader,
    RunState, Scope, Submission, Ticket, Work,
};

use super::world::Owners;
use crate::simulation::event::Event;
use crate::simulation::script::{Script, Step};
use crate::simulation::world::asked_for;

impl Owners<'_> {
    /// All jobs of the history, or none.
    pub(super) fn definitions(&self, is_all: bool) -> Command {
        let script = &self.plan.script;
        let jobs = (0..script.subjects.len()).filter(|_| is_all).map(|index| script.job(index, 0).clone());
        let groups = vec![script.group()];
        let definitions = Definitions::new("jobs.toml", jobs.collect());
        Command::Apply(definitions.with_groups(groups).with_prune(Prune::Remove))
    }

    /// A client asks an owner, or what thinks it is one.
    pub(super) fn ask(&mut self, number: usize, step: &Step) {
        let count = self.servers.len();
        let find = |index: &usize| self.servers[*index].owns().is_some() && !self.servers[*index].is_frozen;
        let Some(index) = (number..number + count).map(|at| at % count).find(find) else { return };
        if let Some(command) = self.command_of(index, step) {
            self.command(index, command);
        }
    }

    pub(super) fn command(&mut self, index: usize, command: Command) {
        let at = self.reading(index).wall;
        self.ticket_count += 1;
        let ticket = Ticket(self.ticket_count);
        let Some(owner) = self.servers[index].owner() else { return };
        owner.asked.insert(ticket, command.clone());
        owner.inputs.push_back(Input::Command { ticket, command: command.clone() });
        self.log.push(Event::Asked { at, ticket, command });
        self.turn(index);
    }

    fn command_of(&mut self, index: usize, step: &Step) -> Option<Command> {
        let wall = self.reading(index).wall;
        let scope = |index: &Option<usize>| index.map_or(Scope::All, |index| Scope::Job(Script::name(index)));
        Some(match step {
            Step::Submit { due_in, policies, key, name } => {
                let policies: Policies = policies.parse().unwrap();
                let work = Work::new(Action::new("process", "true").unwrap());
                let due = wall + SignedDuration::from_secs(*due_in);
                let mut submission = Submission::new(due, work.with_policies(policies));
                submission.name = name.map(|name| JobName::new(&format!("asked-{name}")).unwrap());
                submission.key = key.map(|key| format!("key-{key}"));
                Command::Submit(submission)
            }
            Step::Trigger { job, due_in, key } => asked_for(wall, *job, *due_in, *key),
            Step::Cancel(pick) => {
                Command::Cancel(self.servers[index].owns()?.planner.open_runs().nth(*pick)?.key.clone())
            }
            Step::Withdraw(pick) => {
                let id: OnceId = *self.submitted.get(*pick)?;
                Command::Withdraw(id)
            }
            Step::Pause(job, _) => Command::Pause(scope(job), PauseTerms::new("a note")),
            Step::Resume(job) => Command::Resume(scope(job)),
            Step::RetryDead(pick) => {
                let mut query = Query::new(10);
                query.states = vec![RunState::Dead];
                let dead = self.disk.find(&query).unwrap().into_iter().nth(*pick)?;
                Command::RetryDead(Box::new(dead))
            }
            other => unreachable!("no plan asks for {other:?}"),
        })
    }
}
