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
//! A worker that is silent is declared lost first, so that no report of it comes afterwards. If its process
//! joins again, it had lost its lease and nothing else: that is a fact too.
//!
//! Cost: a session of the database; a question each time that a lease could have run out, each ten seconds at
//! least, and two each second for some seconds after a worker has reported; when it is told of something one
//! for reports, and one for the list unless that was read just now. Behind a pooler it asks for both each
//! second.
//!
//! Does not decide what follows: the planner does.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_exec::notifier::Notifier;
use mainspring_job::{Input, MAX_PAGE, StoreError, Takeover, Worker, WorkerEvent, WorkerId};
use mainspring_postgres::{Fence, Location, LostWorker, Members, PresentMember, vacuum};
use mainspring_server::protocol::ProgressWire;
use mainspring_server::server::execution::AttemptKey;
use mainspring_server::server::progress_table::ProgressTable;

/// How often it is looked, whatever is told. A worker tells that it comes, changes and leaves, and how many
/// may wait there changes as runs end; that one is silent shows when its lease has run out, which is looked
/// for then.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// A worker that has been silent for so long is given nothing more until it renews: it has missed two
/// renewals, and is cut off or dead.
pub(super) const QUIET: Duration = Duration::from_secs(6);

/// The same behind a pooler, which passes on nothing.
const POOLED_LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How often the list is read at most, however often it is told of something.
const LIST_INTERVAL: Duration = Duration::from_millis(50);

const _: () = assert!(LIST_INTERVAL.as_millis() < POOLED_LOOK_INTERVAL.as_millis());
const _: () = assert!(POOLED_LOOK_INTERVAL.as_millis() < LOOK_INTERVAL.as_millis());

/// How often reports are dropped after the last that was read: what follows from them is committed by then.
/// What is left is dropped after the next. Each time costs a look at all that are there.
const DROP_COUNT: u32 = 10;
const DROP_INTERVAL: Duration = Duration::from_secs(1);

const _: () = assert!(DROP_INTERVAL.as_millis() <= LOOK_INTERVAL.as_millis(), "a look drops what is due");

/// How many looks pass before it is asked for reports of which nothing was told: what tells it of them may be
/// broken, though its session seems to be there.
const UNTOLD_LOOKS: u32 = 3;

/// How many that were declared lost may come back. One is back with its next question to the database.
const MAX_LOST: usize = 256;

/// After how many ends the tables are vacuumed: some megabytes of rows that are gone. By itself PostgreSQL
/// looks once in a minute.
const VACUUM_COUNT: usize = 2_000;

/// How long it is waited before a database is asked again that does not answer.
const TRY_WAIT: Duration = Duration::from_millis(250);

/// See the head of this file.
pub(super) struct PlannerLink {
    members: Members,
    fence: Fence,
    /// Those that the planner knows, and whether it knows that they leave.
    known: BTreeMap<WorkerId, (Worker, bool)>,
    /// The processes of the last [`MAX_LOST`] that were declared lost.
    lost: BTreeMap<WorkerId, String>,
    /// The last report of each that was read; 0 of one of which none was.
    read_up_to: BTreeMap<WorkerId, u64>,
    facts: Sender<Input>,
    /// What is new of the progress that was told, and what was told before.
    progress: Sender<(AttemptKey, ProgressWire)>,
    last_progress: ProgressTable,
    notifier: Notifier,
    kills: Receiver<(WorkerId, AttemptKey)>,
    /// Those that were not passed on yet.
    unsent: Vec<(WorkerId, AttemptKey)>,
    /// It is to be asked whose reports are there: at the beginning, and after an error.
    looks_for_reporters: bool,
    /// After how many looks it is asked for reports.
    looks_to_reports: u32,
    /// When the list was read.
    listed: Option<Moment>,
    /// How often reports are still to be dropped, and when they were.
    drops_left: u32,
    dropped: Moment,
    location: Location,
    /// How many attempts have ended since the last vacuum, and the thread of that.
    ended_count: usize,
    vacuum: Option<JoinHandle<()>>,
}

impl PlannerLink {
    pub(super) fn new(
        location: &Location,
        members: Members,
        fence: Fence,
        facts: Sender<Input>,
        progress: Sender<(AttemptKey, ProgressWire)>,
        notifier: Notifier,
        kills: Receiver<(WorkerId, AttemptKey)>,
    ) -> PlannerLink {
        let (known, read_up_to, unsent) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (looks_to_reports, drops_left) = (0, DROP_COUNT);
        PlannerLink {
            members,
            fence,
            known,
            lost: BTreeMap::new(),
            read_up_to,
            facts,
            progress,
            last_progress: ProgressTable::default(),
            notifier,
            kills,
            unsent,
            looks_for_reporters: true,
            looks_to_reports,
            listed: None,
            drops_left,
            dropped: Moment::now(),
            location: location.clone(),
            ended_count: 0,
            vacuum: None,
        }
    }

    /// The workers that are there when planning begins, and what they have reported, as facts.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn first_facts(&mut self) -> Result<(), StoreError> {
        let present = self.members.list()?;
        present.iter().for_each(|member| self.welcome(member));
        self.tell_reports()
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
                Ok(longest) => longest,
                // Another plans: the loop learns it from its next commit.
                Err(StoreError::Fenced) => return,
                Err(_) => {
                    // With its session a notification may be lost.
                    (self.looks_for_reporters, self.looks_to_reports) = (true, 0);
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

    /// Does what is due. Returns how long nothing is, unless it is told.
    fn turn(&mut self) -> Result<Duration, StoreError> {
        while let Some((worker, kill)) = self.unsent.last() {
            self.members.kill(&self.fence, *worker, kill)?;
            self.unsent.pop();
        }
        let now = Moment::now();
        let rest =
            self.listed.map_or(Duration::ZERO, |listed| LIST_INTERVAL.saturating_sub(now.since(listed)));
        if self.looks_to_reports == 0 && !rest.is_zero() {
            self.tell_reports()?;
            self.notifier.notify();
            return Ok(rest);
        }
        self.listed = Some(now);
        let present = self.members.list()?;
        present.iter().for_each(|member| self.welcome(member));
        self.tell_progress(&present);
        let is_present = |id: &WorkerId| present.iter().any(|member| member.worker.id == *id);
        let absent: Vec<WorkerId> = self.known.keys().filter(|id| !is_present(id)).copied().collect();
        let left = if absent.is_empty() { Vec::new() } else { self.members.left(&absent)? };
        let event = |id: WorkerId| match left.contains(&id) {
            true => WorkerEvent::Left(id),
            false => WorkerEvent::Gone { id, how: Takeover::Clean, silent: None },
        };
        let mut gone: Vec<(WorkerId, WorkerEvent)> = absent.iter().map(|id| (*id, event(*id))).collect();
        for member in present.iter().filter(|member| member.lapses_in.is_zero()) {
            let (id, silent) = (member.worker.id, Some(member.silent));
            match self.members.declare_lost(&self.fence, id)? {
                LostWorker::Lost => {
                    self.lost.insert(id, member.server.clone());
                    if MAX_LOST < self.lost.len() {
                        self.lost.pop_first();
                    }
                    debug_assert!(self.lost.len() <= MAX_LOST);
                    gone.push((id, WorkerEvent::Gone { id, how: Takeover::Unclean, silent }));
                }
                // The next list says how one is gone that has gone meanwhile.
                LostWorker::Absent | LostWorker::Present => {}
            }
        }
        // What one that is gone has reported is a fact before.
        if self.looks_to_reports == 0 || !gone.is_empty() {
            self.tell_reports()?;
        }
        self.looks_to_reports = self.looks_to_reports.saturating_sub(1);
        for (id, event) in gone {
            self.known.remove(&id);
            self.tell(Input::Worker(event));
        }
        if 0 < self.drops_left && DROP_INTERVAL <= now.since(self.dropped) {
            (self.drops_left, self.dropped) = (self.drops_left - 1, now);
            self.members.forget_reports(&self.fence)?;
        }
        self.notifier.notify();
        // One that could not be declared lost just now is tried again.
        let lapse = present.iter().map(|member| match QUIET.saturating_sub(member.silent) {
            Duration::ZERO => member.lapses_in.max(LIST_INTERVAL),
            until_quiet => until_quiet.max(LIST_INTERVAL),
        });
        let lapse = lapse.min();
        let look = if self.members.is_pooled() { POOLED_LOOK_INTERVAL } else { LOOK_INTERVAL };
        let drop = if 0 < self.drops_left { DROP_INTERVAL } else { look };
        Ok(lapse.unwrap_or(look).min(look).min(drop))
    }

    /// A worker is there: what of it the planner does not know is a fact.
    fn welcome(&mut self, member: &PresentMember) {
        let mut worker = member.worker.clone();
        if QUIET <= member.silent {
            (worker.capacity, worker.ahead) = (0, 0);
        }
        let (id, now) = (worker.id, (worker, member.is_leaving));
        self.read_up_to.entry(id).or_default();
        let before = self.known.insert(id, now.clone());
        let lost = self.lost.iter().find(|(_, server)| **server == member.server).map(|(former, _)| *former);
        if let Some(former) = lost.filter(|former| before.is_none() && *former != id) {
            self.lost.remove(&former);
            self.tell(Input::Worker(WorkerEvent::Survived(former)));
        }
        if before.as_ref().map(|(worker, _)| worker) != Some(&now.0) {
            self.tell(Input::Worker(WorkerEvent::Present(now.0)));
        }
        if now.1 && !before.is_some_and(|(_, is_leaving)| is_leaving) {
            self.tell(Input::Worker(WorkerEvent::Leaving(id)));
        }
    }

    /// What the workers have told since the last list, for pages that are open here.
    fn tell_progress(&mut self, present: &[PresentMember]) {
        let mut table = ProgressTable::default();
        present.iter().for_each(|member| table.add(ProgressTable::read(&member.progress)));
        for new in table.clone().beyond(&self.last_progress) {
            // It fails only after the planner has ended.
            let _ = self.progress.send(new);
        }
        self.last_progress = table;
    }

    fn tell_reports(&mut self) -> Result<(), StoreError> {
        if self.looks_for_reporters {
            // Some may be gone, and have told what no planner has read.
            for id in self.members.reporters()? {
                self.read_up_to.entry(id).or_default();
            }
            self.looks_for_reporters = false;
        }
        loop {
            let read: Vec<(WorkerId, u64)> =
                self.read_up_to.iter().map(|(id, count)| (*id, *count)).collect();
            let reports = self.members.reports(&read)?;
            self.looks_to_reports = UNTOLD_LOOKS;
            let is_all = reports.len() < MAX_PAGE;
            if !reports.is_empty() {
                self.drops_left = DROP_COUNT;
            }
            self.ended_count += reports.len();
            for report in reports {
                let before = self.read_up_to.insert(report.worker, report.number);
                debug_assert!(before < Some(report.number), "each report is a fact once");
                self.tell(report.end.into());
            }
            if is_all {
                self.vacuum();
                return Ok(());
            }
        }
    }

    /// Has the room of what has ended used again, once that is much.
    fn vacuum(&mut self) {
        let is_under_way = self.vacuum.as_ref().is_some_and(|thread| !thread.is_finished());
        if self.ended_count < VACUUM_COUNT || is_under_way {
            return;
        }
        self.ended_count = 0;
        let location = self.location.clone();
        let work = move || {
            // What fails is done after the next so many, or by the database.
            let _ = vacuum(&location);
        };
        self.vacuum = thread::Builder::new().name("vacuum".to_owned()).spawn(work).ok();
    }
}
