//! The thread that keeps a worker in its pool, and carries what it is to do and what it has done.
//!
//! ```text
//!  join ─▶ renew, each sixth of the lease ─▶ .. ─▶ leave
//!    ▲      ├─ refused: lost ─▶ the loop ends all ─┤
//!    │      └─ too late: the loop has ended all ───┤
//!    └─────────────────────────────────────────────┘ as another session, with which the one before is over
//! ```
//!
//! A worker that leaves waits until the planner has recorded its reports, [`LEAVE_WAIT`] at most: then its
//! row stays, and the next planner reads them before it takes the worker for lost.
//!
//! It renews while the loop turns. A start that it cannot read is given back, and waits for [`UNREAD_WAIT`]:
//! it may be of a planner of a newer version, and another worker may know it.
//!
//! What is its own by the records is compared with what it knows at each renewal. So an assignment that it
//! was not told of is found, and a report is made again that a database has lost which went back in time.
//!
//! Cost: two sessions of the database; a question for each renewal, one each time that it is told of
//! assignments, and one for each batch of reports; behind a pooler one each second. What is its own is read
//! whole with each renewal.
//!
//! Does not run anything: the [`WorkerLoop`](mainspring_server::server::worker::WorkerLoop) does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use mainspring_action::body::Body;
use mainspring_exec::clock::{Moment, boot_time};
use mainspring_job::{
    Assignment, AttemptEnd, Cause, KeptOutput, LeaseDeadlines, MAX_KEPT_OUTPUT_BYTES, MAX_PAGE, Outcome,
    Reason, RunKey, RunPhase, StoreError,
};
use mainspring_postgres::{Location, Member, Members, Outputs, PostgresReader, Report, WorkerOrders};
use mainspring_server::server::execution::AttemptKey;
use mainspring_server::server::output::path;
use mainspring_server::server::remote_output::{OwnFile, bring};
use mainspring_server::server::worker::{MembershipLink, MembershipNews, WorkerOrder};

use super::document;
use super::lease_cache::LeaseCache;
use super::worker_session::Session;

/// How often a worker looks for what it is to do where a pooler lets it be told nothing, and how long it
/// waits before it joins again. Where it is told it looks with each renewal alone.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How often an output is kept again that grows and is read elsewhere: at most a quarter of a megabyte each.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// How many are kept each time: eight megabytes. Of more some come a second later, in no order, so that who
/// reads very many takes nothing away from others for long.
const MAX_READ: usize = 32;

const _: () = assert!(MAX_READ * MAX_KEPT_OUTPUT_BYTES <= 8 << 20);

/// How long it is waited before a database is asked again that does not answer.
const TRY_WAIT: Duration = Duration::from_millis(250);

const _: () = assert!(TRY_WAIT.as_millis() < LOOK_INTERVAL.as_millis());

/// How long a run waits that a worker could not read, before it is placed again. Long enough that a pool of
/// one old worker does nothing else, and short beside a rolling upgrade.
const UNREAD_WAIT: Duration = Duration::from_secs(10);

/// How long a worker that leaves waits for the planner to record what it reported.
pub(super) const LEAVE_WAIT: Duration = Duration::from_secs(5);

/// See the head of this file.
pub(super) struct Membership {
    members: Members,
    member: Member,
    link: MembershipLink,
    outputs: Outputs,
    /// For what was written elsewhere: by attempts before one of here, and by runs that notifications are of.
    /// Connects with the first.
    reader: PostgresReader,
    /// Where this worker keeps what runs write.
    folder: std::path::PathBuf,
    lease_cache: Arc<LeaseCache>,
    session: Option<Session>,
    /// The last session is over, and what it ran is not over yet.
    waits_for_end: bool,
    /// Outputs that are to be kept before the reports that follow are sent.
    unkept: Vec<KeptOutput>,
    /// Whose output somebody reads elsewhere, each with how much of it was kept.
    read: HashMap<(RunKey, u32), u64>,
    /// When these were looked at.
    looked: Moment,
    /// One waits for what it has not seen.
    has_new_reader: bool,
    /// The worker is another than the database was told.
    has_changed: bool,
    /// There may be orders that were not read.
    is_told: bool,
    /// When the worker was to leave.
    leaves: Option<Moment>,
    /// When the loop had ended for that, and what ran still.
    ended: Option<(Moment, Vec<AttemptKey>)>,
}

impl Membership {
    /// # Errors
    /// When the operating system gives no event queue.
    pub(super) fn new(
        location: &Location,
        member: Member,
        link: MembershipLink,
        folder: std::path::PathBuf,
        lease_cache: Arc<LeaseCache>,
    ) -> Result<Membership, StoreError> {
        Ok(Membership {
            members: Members::of_worker(location)?,
            member,
            link,
            outputs: Outputs::new(location)?,
            reader: PostgresReader::new(location)?,
            folder,
            lease_cache,
            session: None,
            waits_for_end: false,
            unkept: Vec::new(),
            read: HashMap::new(),
            looked: Moment::now(),
            has_new_reader: false,
            has_changed: false,
            is_told: true,
            leaves: None,
            ended: None,
        })
    }

    /// What has this thread look for orders.
    pub(super) fn waker(&self) -> Box<dyn Fn() + Send> {
        let notifier = self.members.notifier();
        Box::new(move || notifier.notify())
    }

    /// Works until the worker has left, or its loop has ended.
    pub(super) fn run(mut self) {
        loop {
            if !self.take_orders() {
                return;
            }
            match self.turn() {
                Ok(true) => return,
                Ok(false) => {
                    let wait = self.wait();
                    self.members.wait(wait);
                }
                Err(StoreError::Fenced) => self.lose(),
                // The lease says how long this may last.
                Err(_) => {
                    self.members.wait(TRY_WAIT);
                }
            }
        }
    }

    /// Whether the loop turns. One that stands still is woken: it may only be idle.
    fn is_attended(&self) -> bool {
        let is_attended = self.link.lease.is_attended();
        if !is_attended {
            self.link.notify();
        }
        is_attended
    }

    /// How long nothing is to be done.
    fn wait(&self) -> Duration {
        if self.session.is_none() {
            return LOOK_INTERVAL;
        }
        let renew = LeaseDeadlines::of(self.link.lease.lasts()).renew;
        let left = renew.saturating_sub(self.link.lease.age().unwrap_or(renew));
        let left = if self.link.lease.is_attended() { left } else { TRY_WAIT };
        let left = if self.read.is_empty() { left } else { left.min(READ_INTERVAL) };
        match (&self.leaves, self.members.is_pooled()) {
            (Some(_), _) => left.min(TRY_WAIT),
            (None, true) => left.min(LOOK_INTERVAL),
            (None, false) => left,
        }
    }

    /// What the loop orders. Returns whether it is there still.
    fn take_orders(&mut self) -> bool {
        loop {
            match self.link.orders.try_recv() {
                Ok(WorkerOrder::Report(ends)) => self.add(ends),
                Ok(WorkerOrder::Ahead(ahead)) => {
                    (self.member.state.ahead, self.has_changed) = (ahead, true);
                }
                // It goes with the next renewal.
                Ok(WorkerOrder::Progress(text)) => self.member.state.progress = text,
                Ok(WorkerOrder::Leave) => {
                    debug_assert!(self.leaves.is_none(), "a loop leaves once");
                    self.leaves = Some(Moment::now());
                    (self.member.state.is_leaving, self.has_changed) = (true, true);
                }
                Ok(WorkerOrder::Empty(running)) if self.leaves.is_some() => {
                    self.ended = Some((Moment::now(), running));
                }
                Ok(WorkerOrder::Empty(_)) => self.waits_for_end = false,
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return self.leaves.is_some() && self.session.is_some(),
            }
        }
    }

    fn add(&mut self, ends: Vec<AttemptEnd>) {
        // What a session has ended that is over is reported by none.
        let Some(session) = self.session.as_mut().filter(|_| !self.waits_for_end) else { return };
        let reason = if self.leaves.is_some() { Reason::ServerStopped } else { Reason::ServerCutOff };
        for mut end in ends {
            let attempted = (end.key.clone(), end.attempt);
            let is_asked = session.killed.remove(&attempted);
            if end.outcome == Outcome::Killed && !is_asked {
                end.outcome = Outcome::CutOff(reason.clone());
            }
            self.unkept.extend(session.files.remove(&attempted).and_then(|file| file.output()));
            session.report(end);
        }
    }

    /// Does what is due. Returns whether the worker has left.
    fn turn(&mut self) -> Result<bool, StoreError> {
        let lasts = self.link.lease.lasts();
        if self.session.is_none() {
            if self.waits_for_end || self.leaves.is_some() {
                return Ok(self.ended.is_some());
            }
            let sent = boot_time();
            let id = self.members.join(&self.member, lasts)?;
            self.has_changed = false;
            self.link.lease.begin(sent);
            self.session = Some(Session::new(id, sent));
            self.is_told = true;
            self.link.notify();
        }
        let is_over = self.link.lease.age().is_none();
        let is_due = self.session.as_ref().is_some_and(|session| session.is_old(lasts)) && self.is_attended();
        let Some(session) = &mut self.session else { return Ok(false) };
        if !is_over && (is_due || self.has_changed) {
            // What was told before is among the orders that it returns.
            self.members.was_told();
            // What is its own is read whole by the clock alone, however often the worker changes.
            let (sent, after) = (boot_time(), if is_due { 0 } else { session.last_assigned });
            let begun = self.lease_cache.begin();
            let (orders, plan) = self.members.renew(session.id, &self.member.state, lasts, after)?;
            self.lease_cache.see(begun, plan);
            self.has_changed = false;
            session.renewed = sent;
            self.link.lease.renewed_at(sent);
            self.link.notify();
            self.is_told |= self.carry_out(orders, after);
        }
        let Some(session) = &mut self.session else { return Ok(false) };
        if !self.unkept.is_empty() {
            // The files have them all the same.
            match self.outputs.keep(&self.unkept) {
                Err(error @ (StoreError::Busy(_) | StoreError::Unknown)) => return Err(error),
                Ok(()) | Err(_) => self.unkept.clear(),
            }
        }
        if let Some((_, running)) = self.ended.as_ref().filter(|_| !is_over) {
            session.give_back(running);
        }
        if !session.unsent.is_empty() {
            let now = Moment::now();
            let reports: Vec<Report> = session.unsent.iter().map(|own| own.sent(now)).collect();
            self.members.report(session.id, &reports)?;
            session.unsent.clear();
        }
        if is_over {
            // The loop has ended what ran, and reports nothing of that. What it had learnt before is told.
            return Err(StoreError::Fenced);
        }
        // What is reported while orders are read is read the next time.
        self.is_told |= self.members.was_told();
        while self.is_told {
            let Some(Session { id, last_assigned, .. }) = self.session else { return Ok(false) };
            let orders = self.members.orders(id, last_assigned, MAX_PAGE)?;
            self.is_told = self.carry_out(orders, last_assigned);
        }
        self.keep_read();
        self.leave()
    }

    /// Hands what was assigned over to the loop, and has it end what the planner wants to end. What it was
    /// assigned comes after that number: after 0 it is all that is its own, and is compared if there is no
    /// more. Returns whether there may be more.
    fn carry_out(&mut self, orders: WorkerOrders, after: u64) -> bool {
        let Some(session) = &mut self.session else { return false };
        let WorkerOrders { assignments: assigned, kills, read } = orders;
        debug_assert!(assigned.is_sorted_by_key(|each| each.number), "orders come in their order");
        let has_more = MAX_PAGE <= assigned.len();
        let is_all = after == 0 && !has_more;
        let mut own = HashSet::new();
        for each in assigned {
            let attempted = (each.assignment.key.clone(), each.assignment.attempt);
            session.last_assigned = session.last_assigned.max(each.number);
            own.insert(attempted.clone());
            if session.attempts.contains_key(&attempted) {
                continue;
            }
            session.attempts.insert(attempted.clone(), None);
            match document::read(&each.assignment) {
                Ok(start) => {
                    if let Ok(body) = Body::decode(&start.work.action)
                        && let Some(key) = body.output_of().and_then(|run| run.parse::<RunKey>().ok())
                    {
                        let file = path(&self.folder, &key, Cause::Trigger);
                        bring(&mut self.reader, &key, RunPhase::Over, &file);
                    }
                    let file = path(&self.folder, &start.key, start.cause);
                    let file = OwnFile::begin(&mut self.reader, start.key.clone(), start.attempt, file);
                    session.files.insert(attempted, file);
                    self.link.tell(MembershipNews::Start(Box::new(start)));
                }
                Err(why) => {
                    let Assignment { key, attempt, .. } = each.assignment;
                    let text = format!("{key} is given back: this version cannot read its start: {why}");
                    let mut end = AttemptEnd::new(key, attempt, Outcome::Returned);
                    end.retry_at = Some(Moment::now().after(UNREAD_WAIT).wall);
                    session.report(end);
                    self.link.tell(MembershipNews::Note(text));
                }
            }
        }
        if is_all {
            session.compare(&own);
        }
        self.pass_on(kills);
        let before = std::mem::take(&mut self.read);
        self.has_new_reader |= read.iter().any(|attempted| !before.contains_key(attempted));
        let previous_end = |attempted: &(RunKey, u32)| before.get(attempted).copied().unwrap_or_default();
        self.read = read.into_iter().map(|attempted| (attempted.clone(), previous_end(&attempted))).collect();
        has_more
    }

    /// Keeps what open runs have written that somebody reads at another server.
    fn keep_read(&mut self) {
        let now = Moment::now();
        if !self.has_new_reader && (self.read.is_empty() || now.since(self.looked) < READ_INTERVAL) {
            return;
        }
        (self.looked, self.has_new_reader) = (now, false);
        let grown = self.read.iter().filter_map(|(attempted, kept_end)| {
            self.session.as_ref()?.files.get(attempted)?.output().filter(|output| *kept_end < output.end())
        });
        let grown: Vec<KeptOutput> = grown.take(MAX_READ).collect();
        // What is not kept now comes with the next look, or with the end.
        if !grown.is_empty() && self.outputs.keep(&grown).is_ok() {
            let entry = |output: KeptOutput| ((output.key.clone(), output.attempt), output.end());
            self.read.extend(grown.into_iter().map(entry));
        }
    }

    fn pass_on(&mut self, kills: Vec<AttemptKey>) {
        let Some(session) = &mut self.session else { return };
        for attempted in kills {
            if session.killed.insert(attempted.clone()) {
                self.link.tell(MembershipNews::Kill(session.id, attempted));
            }
        }
    }

    /// Ends the membership once nothing runs here and the planner has recorded all. Returns whether it is
    /// over.
    fn leave(&mut self) -> Result<bool, StoreError> {
        let (Some(session), Some((since, _))) = (&self.session, &self.ended) else { return Ok(false) };
        if !session.unsent.is_empty() {
            return Ok(false);
        }
        if self.members.orders(session.id, 0, 1)?.assignments.is_empty() {
            self.members.leave(session.id)?;
            return Ok(true);
        }
        Ok(LEAVE_WAIT <= Moment::now().since(*since))
    }

    /// This session is over: what it ran is another's.
    fn lose(&mut self) {
        self.session = None;
        self.unkept.clear();
        self.waits_for_end = true;
        self.link.lease.end();
        self.link.tell(MembershipNews::Lost);
    }
}

#[cfg(test)]
mod tests {
    use mainspring_job::WorkerId;
    use mainspring_postgres::{MemberState, PlacedAssignment};
    use mainspring_server::server::worker::{WorkerLink, link};

    use super::*;

    /// That of a worker which has joined, where no database is.
    fn joined(lasts: Duration) -> (Membership, WorkerLink) {
        let (of_loop, of_membership) = link(lasts).unwrap();
        let text = || "w".to_owned();
        let state = MemberState::default();
        let (server, name, host, address, version) = (text(), text(), text(), text(), text());
        let member = Member { server, name, host, address, version, state };
        let location = Location::parse("postgres:///nothing?host=/nowhere").unwrap();
        let cache = Arc::default();
        let mut membership =
            Membership::new(&location, member, of_membership, "/nowhere".into(), cache).unwrap();
        (membership.session, membership.is_told) = (Some(Session::new(WorkerId(7), Duration::ZERO)), false);
        (membership, of_loop)
    }

    #[test]
    fn a_lease_is_not_renewed_while_the_loop_stands_still() {
        let (membership, _loop) = joined(Duration::from_nanos(1));
        assert!(membership.session.as_ref().unwrap().is_old(Duration::from_nanos(1)));
        assert!(!membership.is_attended(), "the loop has not turned within two renewals");
        let (membership, _loop) = joined(Duration::from_secs(3_600));
        assert!(membership.is_attended());
    }

    #[test]
    fn a_session_is_over_with_the_lease_that_its_loop_ended_and_not_before_its_last_report_is_told() {
        let (mut membership, of_loop) = joined(Duration::from_secs(3_600));
        membership.link.lease.begin(boot_time());
        membership.link.lease.end();
        // An answer that came too late.
        membership.link.lease.renewed_at(boot_time());
        membership.add(vec![AttemptEnd::new("j@2026-11-21T03:01:00Z".parse().unwrap(), 1, Outcome::Killed)]);
        assert!(matches!(membership.turn(), Err(StoreError::Busy(_))), "no database is there to tell");
        let session = membership.session.as_mut().unwrap();
        let outcome = session.unsent.pop().unwrap().report.end.outcome;
        assert_eq!(outcome, Outcome::CutOff(Reason::ServerCutOff), "no planner asked for it");
        assert!(matches!(membership.turn(), Err(StoreError::Fenced)));
        membership.lose();
        assert!(membership.waits_for_end && membership.session.is_none());
        drop(of_loop);
    }

    #[test]
    fn a_start_that_cannot_be_read_is_given_back_for_a_while() {
        let (mut membership, _loop) = joined(Duration::from_secs(3_600));
        let key: RunKey = "j@2026-11-21T03:01:00Z".parse().unwrap();
        let assignment = Assignment::new(WorkerId(7), key, 2, "{\"of\": \"a newer version\"}".to_owned());
        let assignments = vec![PlacedAssignment { number: 1, assignment }];
        let now = Moment::now();
        membership.carry_out(WorkerOrders { assignments, ..WorkerOrders::default() }, 1);
        let session = membership.session.unwrap();
        let [own] = &session.unsent[..] else { panic!("it is reported once: {:?}", session.unsent) };
        assert_eq!((own.report.end.attempt, &own.report.end.outcome), (2, &Outcome::Returned));
        assert!(now.after(UNREAD_WAIT).wall <= own.report.end.retry_at.unwrap());
    }
}
