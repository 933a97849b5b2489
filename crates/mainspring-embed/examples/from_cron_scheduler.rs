//! A small program on tokio-cron-scheduler, ported: two jobs by cron, a repeated one, and one later.
//!
//! | there | here |
//! |---|---|
//! | `Job::new(cron, ..)`, `Job::new_async(cron, ..)` | `job`, `async_job` with `Cron::parse(cron)?` |
//! | `Job::new_repeated(Duration::from_secs(3), ..)` | `job` with `Every::seconds(3)` |
//! | `Job::new_one_shot(after, ..)` | `tokio::spawn` and a sleep, if it belongs to this start of the program; a `handler` and `jobs.once(..).key(..).after(after).submit()?`, if it is to be done once whatever happens to the program; without a key each start submits one more |
//! | `sched.shutdown().await` | `jobs.shutdown(..)`, in `spawn_blocking` as it waits for what runs; dropping the last clone of `jobs` ends them too |
//!
//! - A job has a name, on which its history hangs. Its code and its schedule may change.
//! - Five fields are minutes first; six are seconds first, as there. The zone is UTC until `.zone(..)` says
//!   another.
//! - A closure returns a `Result`. An error is recorded, and may be retried, instead of unwrapped or logged.
//! - A run that is due while the last one runs is skipped and recorded; `overlap(..)` says otherwise. There
//!   it starts beside it.
//! - What was due while the program was away is caught up once, within two minutes after the start
//!   (`misfire(..)`). There it is forgotten.
//! - `Job::new_repeated` counts from the start; `Every` is on the clock's grid.
//! - Jobs are not added or removed while the program runs: what varies is submitted with `once`.

use std::error::Error;
use std::time::Duration;

use mainspring_embed::{Cron, Every, Jobs, Run};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

type Log = UnboundedSender<&'static str>;

async fn backup(log: Log) -> Result<(), String> {
    log.send("backup").map_err(|error| error.to_string())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("from-cron-scheduler-{}", std::process::id()));
    let (log, mut said) = unbounded_channel();
    let [backup_log, often_log, repeated_log] = [log.clone(), log.clone(), log.clone()];
    let runtime = Handle::current();

    // let sched = JobScheduler::new().await?;
    let jobs = Jobs::open(&folder)?
        .spawner(move |future| drop(runtime.spawn(future)))
        // Job::new_async("1/2 * * * * *", |_, _| Box::pin(async { backup().await.unwrap() }))?
        .async_job("backup", Cron::parse("1/2 * * * * *")?, move |_: Run| backup(backup_log.clone()))
        // Job::new("1/5 * * * * *", |_, _| println!("often"))?
        .job("often", Cron::parse("1/5 * * * * *")?, move |_: &Run| often_log.send("often"))
        // Job::new_repeated(Duration::from_secs(3), |_, _| println!("repeated"))?
        .job("repeated", Every::seconds(3), move |_: &Run| repeated_log.send("repeated"))
        // Job::new_one_shot(Duration::from_millis(100), |_, _| println!("later"))?
        .handler("later", move |_: &Run, (): ()| log.send("later"))
        .start()?;
    jobs.once("later").after(Duration::from_millis(100)).submit_async().await?;

    let mut left = vec!["backup", "later", "often", "repeated"];
    while !left.is_empty() {
        let line = said.recv().await.ok_or("the jobs ended")?;
        println!("{line}");
        left.retain(|expected| *expected != line);
    }
    // Dropping the last clone ends the jobs as well, without patience for what runs.
    tokio::task::spawn_blocking(move || jobs.shutdown(Duration::from_secs(10))).await??;
    Ok(std::fs::remove_dir_all(folder)?)
}

#[test]
fn each_of_the_four_runs() {
    main().unwrap();
}
