//! A crontab sleeps until the next job.

use super::*;
use jiff::tz::TimeZone;
use mainspring::clock::wall::ManualWall;
use mainspring::front::Calendar;
use mainspring_cron::{Expression, Schedule};

#[test]
fn it_sleeps_until_the_next_job_instead_of_polling() {
    let trial = Trial::of(|clock| preset::callbacks(mainspring_queue::RedBlackTree::new(), clock).unwrap());
    let start = "2026-03-02T12:00:00Z".parse().unwrap();
    let wall = Arc::new(ManualWall::new(trial.clock.clone(), start));
    let calendar = Calendar::with_wall(trial.engine.handle().clone(), wall);
    let schedule = Schedule::new(Expression::parse("0 3 * * *").unwrap(), TimeZone::UTC);
    let sender = trial.sender.clone();
    calendar.schedule(schedule, move |run| sender.send((1, run.lateness.as_secs())).unwrap()).unwrap();
    assert_eq!(trial.at(15 * 3_600_000, 1), [(1, 0)]);
    assert!(trial.engine.counts().wakeups <= 2, "once for the new timer, once for the job");
}
