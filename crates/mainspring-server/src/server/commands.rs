//! Executes the server's actions: processes, mails by way of a process, and webhooks.
//!
//! A process gets the variables MAINSPRING_JOB, MAINSPRING_RUN, MAINSPRING_NOMINAL, MAINSPRING_ATTEMPT,
//! MAINSPRING_KEY, which is the same for all attempts of a run, and MAINSPRING_FENCE, which grows with each
//! owner of the jobs. A webhook has all but the last as variables of its templates. A handler is a function
//! of a program, which the server has not: its runs wait for that program.
//!
//! Cost: a spawn, or a thread, per start; a turn is a few system calls for each process.
//!
//! Does not keep what they print: see `work`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mainspring_job::{Action, Start, WorkerId, WorkerLabel};

use super::execution::{AttemptKey, Execution, StartFailure, StartOutcome};
use mainspring_action::body::{Body, PROCESS};
use mainspring_action::needs;
use mainspring_action::notification::{Destination, Message, NotificationBody};
use mainspring_action::receiver;
use mainspring_action::template::Values;
use mainspring_exec::cgroup::Cgroups;
use mainspring_exec::clock::Moment;
use mainspring_exec::deliveries::{Deliveries, NotSent};
use mainspring_exec::end::{KillCause, Reports};
use mainspring_exec::executor::{Executor, StartRefusal};
use mainspring_exec::keeper::Keeper;
use mainspring_exec::orphans::Orphans;
use mainspring_exec::{descriptors, specs, webhook_specs};
use mainspring_host::accounts::users::Users;
use mainspring_host::net::{AsFd, BorrowedFd};

/// Processes and webhooks.
#[derive(Debug)]
pub struct Commands {
    capacity: usize,
    executor: Executor<AttemptKey>,
    deliveries: Deliveries<AttemptKey>,
    users: Users,
    /// What jobs leave behind, if it becomes a child of this process.
    orphans: Option<Orphans>,
    /// Where the cgroups of its processes are, if each has one; and why no keeper stands beside the server,
    /// if one should.
    notes: Vec<String>,
}

impl Commands {
    /// At most so many processes and as many webhooks at a time; fewer where the limit of open files, which
    /// is raised as far as it may be, has no room for them.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair.
    pub fn new(running_max: usize, users: Users) -> io::Result<Commands> {
        descriptors::raise();
        let capacity = descriptors::runs_at_once(descriptors::limit()).min(running_max.max(1));
        let cgroups = Cgroups::delegated();
        let note = |of: &Cgroups| format!("each run has a cgroup of its own, below {}", of.top().display());
        Ok(Commands {
            capacity,
            notes: cgroups.iter().map(note).collect(),
            executor: Executor::of_at_most(capacity).with_cgroups(cgroups),
            deliveries: Deliveries::of_at_most(capacity)?,
            users,
            orphans: Orphans::of_ours(),
        })
    }
}

impl Execution for Commands {
    fn note(&self) -> Option<String> {
        (!self.notes.is_empty()).then(|| self.notes.join("; "))
    }

    fn holds_until(&mut self, until: Duration) {
        self.executor.holds_until(until);
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn may_be_lost(&mut self) {
        match Keeper::start() {
            Ok(keeper) => self.executor.set_keeper(keeper),
            Err(error) => self.notes.push(format!("what runs may outlive this server: {error}")),
        }
    }

    fn labels(&self) -> Vec<(WorkerLabel, u32)> {
        vec![(needs::known(needs::SERVER), 0)]
    }

    fn make_room(&mut self, action: &Action, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        if action.kind() == PROCESS && self.executor.is_full() {
            self.executor.make_room(now, reports);
        }
    }

    fn start(
        &mut self,
        start: &Start,
        outputs: &dyn Fn(&str) -> String,
        now: Moment,
    ) -> Result<StartOutcome, StartFailure> {
        let attempted = (start.key.clone(), start.attempt);
        let policies = &start.work.policies;
        let values = values(start);
        let body = Body::decode(&start.work.action).map_err(StartFailure::ever)?;
        let output = body.output_of().map(outputs).unwrap_or_default();
        let (body, sequence) = match body {
            Body::Notification(body) => addressed(*body, &output)?,
            body => (body, None),
        };
        let spec = match body {
            Body::Process(body) => specs::process(body, &self.users, policies),
            Body::Mail(body) => {
                if body.needs_output && output.is_empty() || body.is_undeliverable() {
                    return Ok(StartOutcome::Nothing);
                }
                specs::mail(&body, &output, &self.users, policies)
            }
            Body::Webhook(body) => {
                let spec = Arc::new(webhook_specs::webhook(&body, policies).map_err(StartFailure::ever)?);
                let sent = self.deliveries.start(sequence, &spec, values, attempted, now);
                sent.map_err(|error| StartFailure::for_reason(&error, NotSent::is_shortage))?;
                return Ok(StartOutcome::As("webhook".to_owned()));
            }
            Body::Handler(body) => {
                return Err(StartFailure::ever(format!("the server has no handler {}", body.name)));
            }
            Body::Notification(_) => unreachable!("an addressed notification is a process or a webhook"),
        };
        let spec = spec.map_err(StartFailure::ever)?;
        let started =
            self.executor.start(&spec, &variables(&values, &start.fence.to_string()), attempted, now);
        let pid = started.map_err(|error| StartFailure::for_reason(&error, StartRefusal::is_shortage))?;
        Ok(StartOutcome::As(format!("pid {pid}")))
    }

    fn turn(&mut self, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        self.executor.turn(now, reports);
        self.deliveries.turn(now, reports);
        if self.orphans.as_ref().is_some_and(Orphans::is_behind) {
            self.reap();
        }
    }

    fn ask_to_end(&mut self, _worker: WorkerId, attempted: &AttemptKey, now: Moment) -> bool {
        self.executor.kill(attempted, KillCause::Requested, now)
    }

    fn give_up(&mut self, attempted: &AttemptKey, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        self.deliveries.kill(attempted, now, reports);
    }

    fn ask_all_to_end(&mut self, now: Moment) {
        self.executor.kill_all(KillCause::Requested, now);
    }

    /// A webhook is not asked, as ever: until the jobs are lost it may be answered.
    fn ask_all_to_end_before_loss(&mut self, now: Moment) {
        self.executor.kill_all_before_loss(now);
    }

    fn to_be_detached_count(&self) -> usize {
        self.executor.to_be_detached_count()
    }

    fn leave(&mut self, reports: &mut dyn Reports<AttemptKey>) -> Vec<AttemptKey> {
        self.executor.leave(reports)
    }

    fn kill_processes_at_once(&mut self, now: Moment) {
        self.executor.kill_all_at_once(now);
    }

    fn give_all_up(&mut self, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        self.deliveries.kill_all(now, reports);
    }

    fn close(&mut self, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        self.executor.close(now, reports);
    }

    fn reap(&mut self) {
        if let Some(orphans) = &mut self.orphans {
            orphans.reap(&self.executor.pids().collect::<Vec<_>>());
        }
    }

    fn running_count(&self) -> usize {
        self.executor.running_count() + self.deliveries.running_count()
    }

    fn process_count(&self) -> usize {
        self.executor.running_count()
    }

    fn wait(&self, now: Moment) -> Option<Duration> {
        self.executor.wait(now)
    }

    fn watch<'a>(&'a self, readable: &mut Vec<BorrowedFd<'a>>, writable: &mut Vec<BorrowedFd<'a>>) {
        readable.push(self.deliveries.as_fd());
        self.executor.watch(readable, writable);
    }
}

/// The process or the webhook that brings a notification to its receiver, and the sequence that it is in.
fn addressed(body: NotificationBody, output: &str) -> Result<(Body, Option<String>), StartFailure> {
    let NotificationBody { to, facts, sequence, .. } = body;
    let body = match to {
        Destination::Webhook(target) => {
            Body::Webhook(receiver::request(&target, &facts, output).map_err(StartFailure::ever)?)
        }
        Destination::Process(mut process) => {
            let output = output.replace('\0', "\u{fffd}");
            process.env.extend(Message { facts: &facts, output: &output }.variables());
            Body::Process(process)
        }
    };
    Ok((body, sequence))
}

fn values(start: &Start) -> Values {
    Values {
        job: start.key.job.to_string(),
        run: start.key.to_string(),
        nominal: start.key.nominal.to_string(),
        attempt: start.attempt.to_string(),
        key: start.key.to_string(),
        secrets: BTreeMap::new(),
    }
}

fn variables(values: &Values, fence: &str) -> Vec<(String, String)> {
    let pairs: [(&str, &str); 6] = [
        ("MAINSPRING_JOB", &values.job),
        ("MAINSPRING_RUN", &values.run),
        ("MAINSPRING_NOMINAL", &values.nominal),
        ("MAINSPRING_ATTEMPT", &values.attempt),
        ("MAINSPRING_KEY", &values.key),
        ("MAINSPRING_FENCE", fence),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}
