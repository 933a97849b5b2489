//! The notices to the hooks of jobs, and the one-shot jobs that the hooks ask for. These are submitted in the
//! unit of the event.
//!
//! Cost: nothing for a job without hooks; an entry in the schedule queue for a job with a limit of silence; a
//! look at those that wait, at most [`MAX_WAITING_CALLS`], for each call.
//!
//! Does not tell of runs of one-shot jobs, because notifications are such jobs.

use jiff::{SignedDuration, Timestamp};

use super::Planner;
use super::ledger::Subject;
use crate::hash::text_hash;
use crate::hook::{Call, Hooks, MAX_CALLS, MAX_WAITING_CALLS, Notice, NoticeKind};
use crate::name::{JobName, MAX_NAME_CHARS};
use crate::once::{Once, OnceId};
use crate::operation::Operation;
use crate::output::{Note, Output};
use crate::reason::Reason;
use crate::record::Pause;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::work::Work;

/// How long the names of the notifications of a kind are at most: some have a colon and a number behind it.
const KIND_CHARS: usize = MAX_NAME_CHARS - 17;

/// How long the notification waits that stands for those beyond the limit.
const MORE_WAIT: SignedDuration = SignedDuration::from_secs(60);

impl Planner {
    /// An attempt of a run starts at this time.
    pub(super) fn tell_of_start(&mut self, now: Timestamp, at: Timestamp, key: &RunKey) {
        let Some(run) = self.runs.get(key).map(|live| &live.run) else { return };
        if run.attempt != 1 || run.cause == Cause::Once {
            return;
        }
        let Some(hooks) = self.hooks(&key.job) else { return };
        let mut notice = Notice::new(key.job.clone(), NoticeKind::Started, at);
        (notice.run, notice.attempts) = (Some(key.clone()), 1);
        self.tell(now, at, &hooks, &notice);
    }

    /// A run has ended for good. `before` is how many had failed in a row until then.
    pub(super) fn tell_of_end(&mut self, now: Timestamp, run: &Run, state: RunState, before: u32) {
        let name = &run.key.job;
        if run.cause == Cause::Once {
            return;
        }
        let had_failed = self.jobs.note_result(name, state, run.ended.unwrap_or(now));
        let Some(hooks) = self.hooks(name) else { return };
        let mark = self.jobs.mark(name);
        let failures = mark.map_or(0, |mark| mark.failures);
        let pauses = before < failures && mark.is_some_and(|mark| mark.pause == Some(Pause::Failures));
        let has_succeeded = state == RunState::Succeeded;
        if has_succeeded {
            self.expect_silence(name);
        }
        let has_failed = matches!(state, RunState::Failed | RunState::TimedOut | RunState::Abandoned);
        // One that is not counted stands for itself.
        let is_told = failures == before || failures.is_power_of_two() || pauses;
        let kinds = [
            (NoticeKind::Ended, has_succeeded || has_failed),
            (NoticeKind::Failed, has_failed && is_told),
            (NoticeKind::Recovered, has_succeeded && (had_failed || 0 < before)),
        ];
        for (kind, _) in kinds.into_iter().filter(|(_, happens)| *happens) {
            let mut notice = Notice::new(name.clone(), kind, now);
            notice.run = Some(run.key.clone());
            (notice.attempts, notice.failures) = (run.attempt, failures);
            let outcome = run.outcome.as_ref().map(ToString::to_string);
            notice.outcome.clone_from(&run.outcome);
            notice.detail = outcome.unwrap_or_else(|| state.name().to_owned());
            if pauses {
                notice.detail += &format!("; the job is paused: mainspring resume {name}");
            }
            self.tell(now, now, &hooks, &notice);
        }
    }

    /// Occurrences were missed. A job that was removed while no server ran has only the hooks of its former
    /// definition.
    pub(super) fn tell_of_missed(
        &mut self,
        now: Timestamp,
        hooks: Option<Hooks>,
        key: &RunKey,
        count: u64,
        reason: &Reason,
    ) {
        let Some(hooks) = hooks else { return };
        let mut notice = Notice::new(key.job.clone(), NoticeKind::Missed, now);
        (notice.run, notice.count, notice.detail) = (Some(key.clone()), count, reason.to_string());
        self.tell(now, now, &hooks, &notice);
    }

    /// Runs have waited too long for what no worker has.
    pub(super) fn tell_of_unserved(&mut self, now: Timestamp) {
        for (key, needs) in self.runs.slots.overdue(now) {
            let is_once = self.runs.get(&key).is_some_and(|live| live.run.cause == Cause::Once);
            let Some(hooks) = self.hooks(&key.job).filter(|_| !is_once) else { continue };
            let mut notice = Notice::new(key.job.clone(), NoticeKind::Unserved, now);
            notice.detail = format!("no server has {needs}");
            notice.run = Some(key);
            self.tell(now, now, &hooks, &notice);
            self.ledger.end_unit();
        }
    }

    pub(super) fn hooks(&self, name: &JobName) -> Option<Hooks> {
        self.jobs.definition(name)?.hooks.clone()
    }

    /// Puts the moment in the schedule queue at which a job has been silent for too long.
    pub(super) fn expect_silence(&mut self, name: &JobName) {
        let most = self.hooks(name).and_then(|hooks| hooks.hook().silent_after());
        if self.activity.is_planning() {
            self.jobs.expect_silence(name, most, &mut self.schedule_queue);
        }
    }

    /// No run of a job has succeeded for too long.
    pub(super) fn silence_due(&mut self, now: Timestamp, name: &JobName) {
        self.jobs.end_silence(name);
        let (Some(hooks), Some(since)) = (self.hooks(name), self.jobs.silent_since(name)) else { return };
        let Some(silent_after) = hooks.hook().silent_after() else { return };
        let mut notice = Notice::new(name.clone(), NoticeKind::Silent, now);
        notice.failures = self.jobs.mark(name).map_or(0, |mark| mark.failures);
        notice.detail = format!("no run has succeeded since {since:.0}");
        // The same silence is told once, also by the next server: name and due time are those of the one that
        // told it.
        let due = since.checked_add(silent_after).unwrap_or(now);
        self.tell(now, due, &hooks, &notice);
    }

    /// Submits what a hook wants done about a notice, but for what would wait behind enough of its kind.
    fn tell(&mut self, now: Timestamp, due: Timestamp, hooks: &Hooks, notice: &Notice) {
        let calls = hooks.hook().calls(notice).into_iter().take(MAX_CALLS);
        for (index, Call { target, work }) in calls.enumerate() {
            let name = kind_name(notice, index + 1);
            let is_for_people = NoticeKind::FOR_PEOPLE.contains(&notice.kind);
            let most = if is_for_people || self.is_half_full() { 1 } else { MAX_WAITING_CALLS };
            let is_full =
                work.group.as_ref().is_some_and(|group| self.runs.slots.groups.room(group) == Some(0));
            if is_full || most <= self.runs.waiting_named(&name).take(most).count() {
                if let Some(key) = notice.run.clone().filter(|_| is_full || !is_for_people) {
                    self.ledger.perform(Output::Note(Note::LeftOut { key, event: notice.kind.name() }));
                }
                continue;
            }
            let id = self.numbers.new_id(due);
            let owner = work.group.clone();
            match target.filter(|target| self.notification_counts.is_too_often(now, owner.as_ref(), target)) {
                None if is_for_people => self.submit_call(now, id, &name, work),
                // Each stands for itself, also beside another that has not fired yet.
                None => self.submit_call(now, id, &format!("{name}:{:x}", id.number), work),
                Some(target) => {
                    if let Some(work) = hooks.hook().more(&target) {
                        let due = now.saturating_add(MORE_WAIT).unwrap_or(now);
                        let name = format!("notify:more:{:x}", text_hash(&format!("{owner:?} {target}")));
                        if self.runs.waiting_named(&name).next().is_none() {
                            self.submit_call(now, OnceId { due, ..id }, &name, work);
                        }
                    }
                }
            }
        }
    }

    /// While one of that name waits, it stands for this one too: the store takes no second.
    fn submit_call(&mut self, now: Timestamp, id: OnceId, name: &str, work: Work) {
        let name = JobName::new(name).expect("a name of a job and a few words are short enough");
        let once = Once { id, name, key: None, submitted: now, work: work.into() };
        self.ledger.record_for(Operation::Submit(once.clone()), Subject::Submitted(Box::new(once)));
    }
}

/// The name of the notifications of a kind. Of a name of a job that is too long it has the beginning and the
/// hash.
fn kind_name(notice: &Notice, number: usize) -> String {
    let (job, rest) = (notice.job.as_str(), format!(":{}:{number}", notice.kind.name()));
    let room = KIND_CHARS - "notify:".len() - rest.len();
    let hash = if job.len() <= room { String::new() } else { format!("~{:016x}", text_hash(job)) };
    format!("notify:{}{hash}{rest}", &job[..job.len().min(room - hash.len())])
}
