//! The planner's thread for its pool: who is there, what they have reported, and whom to end.
//!
//! ```text
//!  list ─▶ new, changed, leaving ─────────────▶ facts ─▶ planner
//!       └▶ gone, or silent for too long         ▲  │
//!  reports ─▶ ends ─────────────────────────────┘  │ after their reports
//!       └▶ workers that are gone ──────────────────┘
//! ```
//!
//! What a worker has reported is a fact before it is gone: its reports are read after the list that lacks it.
//! A worker that is silent is declared lost first, so that no report of it comes afterwards.
//!
//! Cost: a session of the database; one question each second, and two more when a worker has reported and for
//! some seconds then. Behind a pooler it asks for reports each second.
//!
//! Does not decide what follows: the planner does.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use mainspring_exec::notifier::Notifier;
use mainspring_job::{Input, StoreError, Takeover, Worker, WorkerEvent, WorkerId};
use mainspring_postgres::{Fence, Kill, LostWorker, Members, PresentMember};

/// How often it is looked, whatever is told.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How many looks after the last report that was read find reports which may be dropped: what follows from
/// them is committed by then. What is left is dropped after the next.
const DROP_LOOKS: u32 = 10;

/// How many looks pass before it is asked for reports of which nothing was told: a notification is lost where
/// a worker loses its session between a report and that.
const UNTOLD_LOOKS: u32 = 5;

/// How long it is waited before a database is asked again that does not answer.
const TRY_WAIT: Duration = Duration::from_millis(250);

/// See the head of this file.
pub(super) struct PlannerLink {
    members: Members,
    fence: Fence,
    /// Those that the planner knows, and whether it knows that they leave.
    known: BTreeMap<WorkerId, (Worker, bool)>,
    /// The last report of each that was read.
    read_up_to: BTreeMap<WorkerId, u64>,
    facts: Sender<Input>,
    notifier: Notifier,
    kills: Receiver<(WorkerId, Kill)>,
    /// Those that were not passed on yet.
    unsent: Vec<(WorkerId, Kill)>,
    /// After how many looks it is asked for reports.
    looks_to_reports: u32,
    /// How many looks drop reports.
    looks_that_drop: u32,
}

impl PlannerLink {
    pub(super) fn new(
        members: Members,
        fence: Fence,
        facts: Sender<Input>,
        notifier: Notifier,
        kills: Receiver<(WorkerId, Kill)>,
    ) -> PlannerLink {
        let (known, read_up_to, unsent) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (looks_to_reports, looks_that_drop) = (0, DROP_LOOKS);
        PlannerLink {
            members,
            fence,
            known,
            read_up_to,
            facts,
            notifier,
            kills,
            unsent,
            looks_to_reports,
            looks_that_drop,
        }
    }

    /// The workers that are there when planning begins, as facts.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn first_facts(&mut self) -> Result<(), StoreError> {
        let present = self.members.list()?;
        present.iter().for_each(|member| self.welcome(member));
        Ok(())
    }

    /// Works until the planner has ended.
    pub(super) fn run(mut self) {
        loop {
            loop {
                match self.kills.try_recv() {
                    Ok(kill) => self.unsent.push(kill),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            let longest = match self.turn() {
                Ok(()) => LOOK_INTERVAL,
                // Another plans: the loop learns it from its next commit.
                Err(StoreError::Fenced) => return,
                Err(_) => {
                    // With its session a notification may be lost.
                    self.looks_to_reports = 0;
                    TRY_WAIT
                }
            };
            if self.members.wait(longest) || self.members.is_pooled() {
                self.looks_to_reports = 0;
            }
        }
    }

    fn tell(&self, fact: Input) {
        // It fails only after the planner has ended.
        let _ = self.facts.send(fact);
    }

    fn turn(&mut self) -> Result<(), StoreError> {
        while let Some((worker, kill)) = self.unsent.last() {
            self.members.kill(&self.fence, *worker, kill)?;
            self.unsent.pop();
        }
        let present = self.members.list()?;
        present.iter().for_each(|member| self.welcome(member));
        let is_present = |id: &WorkerId| present.iter().any(|member| member.worker.id == *id);
        let mut gone: Vec<(WorkerId, Takeover, Option<Duration>)> = Vec::new();
        gone.extend(self.known.keys().filter(|id| !is_present(id)).map(|id| (*id, Takeover::Clean, None)));
        for member in present.iter().filter(|member| member.is_lapsed) {
            let (id, silent) = (member.worker.id, Some(member.silent));
            match self.members.declare_lost(&self.fence, id)? {
                LostWorker::Lost => gone.push((id, Takeover::Unclean, silent)),
                LostWorker::Absent => gone.push((id, Takeover::Clean, None)),
                LostWorker::Present => {}
            }
        }
        // What one that is gone has reported is a fact before.
        if self.looks_to_reports == 0 || !gone.is_empty() {
            self.tell_reports()?;
            self.looks_to_reports = UNTOLD_LOOKS;
        }
        self.looks_to_reports -= 1;
        for (id, how, silent) in gone {
            self.known.remove(&id);
            self.tell(Input::Worker(WorkerEvent::Gone { id, how, silent }));
        }
        if 0 < self.looks_that_drop {
            self.looks_that_drop -= 1;
            self.members.forget_reports(&self.fence)?;
        }
        self.notifier.notify();
        Ok(())
    }

    /// A worker is there: what of it the planner does not know is a fact.
    fn welcome(&mut self, member: &PresentMember) {
        let (id, now) = (member.worker.id, (member.worker.clone(), member.is_leaving));
        let before = self.known.insert(id, now.clone());
        if before.as_ref().map(|(worker, _)| worker) != Some(&now.0) {
            self.tell(Input::Worker(WorkerEvent::Present(now.0)));
        }
        if now.1 && !before.is_some_and(|(_, is_leaving)| is_leaving) {
            self.tell(Input::Worker(WorkerEvent::Leaving(id)));
        }
    }

    fn tell_reports(&mut self) -> Result<(), StoreError> {
        loop {
            let read: Vec<(WorkerId, u64)> =
                self.read_up_to.iter().map(|(id, count)| (*id, *count)).collect();
            let reports = self.members.reports(&read)?;
            if reports.is_empty() {
                return Ok(());
            }
            self.looks_that_drop = DROP_LOOKS;
            for report in reports {
                self.read_up_to.insert(report.worker, report.number);
                let (key, attempt, outcome) = (report.key, report.attempt, report.outcome);
                if let Some(until) = report.retry_at {
                    self.tell(Input::Defer { key: key.clone(), until });
                }
                self.tell(Input::Ended { key, attempt, outcome });
            }
        }
    }
}
