//! A worker's loop, without a database and without processes.

use mainspring_exec::end::{End, Outcome as ExecutorOutcome, Reports};
use mainspring_job::Action;

use super::super::execution::{StartFailure, StartOutcome};
use super::*;
use crate::scratch;

/// What is started here ends by SIGKILL at the next turn, as by the hand of the keeper.
#[derive(Debug, Default)]
struct BriefExecution(Vec<AttemptKey>);

impl Execution for BriefExecution {
    fn capacity(&self) -> usize {
        1
    }
    fn start(
        &mut self,
        start: &Start,
        _outputs: &dyn Fn(&str) -> String,
        _now: Moment,
    ) -> Result<StartOutcome, StartFailure> {
        self.0.push((start.key.clone(), start.attempt));
        Ok(StartOutcome::As("nothing".to_owned()))
    }
    fn turn(&mut self, _now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        let (outcome, cause, retry_at) = (Some(ExecutorOutcome::Killed(9)), None, None);
        let (is_success, is_output_held, dropped_bytes) = (false, false, 0);
        let end = End {
            outcome,
            is_success,
            after: Duration::ZERO,
            cause,
            dropped_bytes,
            is_output_held,
            retry_at,
        };
        self.0.drain(..).for_each(|attempted| reports.ended(&attempted, &end));
    }
    fn running_count(&self) -> usize {
        self.0.len()
    }
    fn watch<'a>(&'a self, _readable: &mut Vec<BorrowedFd<'a>>, _writable: &mut Vec<BorrowedFd<'a>>) {}
}

/// A loop whose lease is fresh, and the other end of its link.
fn worker() -> (WorkerLoop, MembershipLink) {
    let (of_loop, of_membership) = link(Duration::from_secs(3_600)).unwrap();
    of_membership.lease.begin(boot_time());
    let log = Log::new(File::open("/dev/null").unwrap());
    let folder = scratch::path("worker-loop");
    let (worker, _) =
        WorkerLoop::new(Box::<BriefExecution>::default(), folder, of_loop, log, Box::new(|| {})).unwrap();
    (worker, of_membership)
}

/// The loop begins an attempt, which has not ended for it yet.
fn begin(worker: &mut WorkerLoop) {
    let key: RunKey = "j@2026-11-21T03:01:00Z".parse().unwrap();
    let work = Arc::new(mainspring_job::Work::new(Action::new("process", "{}").unwrap()));
    worker.begin_if_allowed(Start::new(key, 1, WorkerId(7), work), Moment::now());
    assert_eq!(worker.work.running_count(), 1);
}

#[test]
fn what_the_keeper_ended_while_the_loop_stood_still_is_not_reported() {
    let (mut worker, membership) = worker();
    begin(&mut worker);
    worker.turn(Moment::now());
    assert!(matches!(membership.orders.try_recv(), Ok(WorkerOrder::Report(_))), "its lease is fresh");
    begin(&mut worker);
    // It stood still for as long as its lease lasts, and the keeper acted meanwhile.
    worker.link.lease = Arc::new(MemberLease::new(Duration::ZERO));
    worker.link.lease.begin(boot_time());
    let orders = |worker: &mut WorkerLoop| {
        worker.turn(Moment::now());
        membership.orders.try_iter().collect::<Vec<_>>()
    };
    assert!(orders(&mut worker).is_empty(), "it is another's");
    assert_eq!((worker.work.running_count(), worker.link.lease.age()), (0, None));
    assert!(orders(&mut worker).is_empty(), "the session may be there still");
    membership.tell(MembershipNews::Lost);
    assert!(matches!(orders(&mut worker)[..], [WorkerOrder::Empty(_)]), "the worker may join as another");
    assert!(orders(&mut worker).is_empty());
}
