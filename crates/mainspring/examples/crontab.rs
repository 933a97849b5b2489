//! A crontab on a simulated week: each entry has one timer, and nothing polls.

use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;
use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::clock::wall::ManualWall;
use mainspring::driver::Single;
use mainspring::front::{Calendar, RunTasks, Task};
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

const ENTRIES: [(&str, &str); 3] =
    [("backup", "30 2 * * *"), ("report", "0 9 * * mon-fri"), ("rent", "0 0 1 * *")];
const WEEK_MS: u64 = 7 * 24 * 3_600_000;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Manual::leaping();
    let wall = ManualWall::new(clock.clone(), "2026-02-27T00:00:00Z".parse()?);
    let driver = Arc::new(Single::new(Chunked::<Task>::new(), Arc::new(clock.clone())));
    let calendar = Calendar::with_wall(Handle::new(driver.clone()), Arc::new(wall));
    let runs: Arc<Mutex<Vec<&str>>> = Arc::default();
    for (name, expression) in ENTRIES {
        let schedule = Schedule::new(Expression::parse(expression)?, TimeZone::UTC);
        let runs = Arc::clone(&runs);
        calendar.schedule(schedule, move |run| {
            println!("{name:<7} {}", run.nominal.strftime("%a %Y-%m-%d %H:%M"));
            runs.lock().expect("nothing panics").push(name);
        })?;
    }
    driver.run_until(Tick::new(WEEK_MS), &mut RunTasks);
    let runs = runs.lock().expect("nothing panics");
    let count = |name| runs.iter().filter(|&&run| run == name).count();
    assert_eq!([count("backup"), count("report"), count("rent")], [7, 5, 1]);
    println!("13 runs in a week, and the driver woke {} times", clock.wait_count());
    assert!(clock.wait_count() <= 14);
    Ok(())
}
