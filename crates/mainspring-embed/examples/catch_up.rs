//! A job with a schedule, in a program that is away for a while: it catches up on what it missed.

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{CatchUp, Every, Jobs, Options, Run};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("catch-up-{}", std::process::id()));
    let (done, calls) = channel();
    let open = || {
        let done = done.clone();
        // Each second that passed while no program ran, in order, up to sixty of them; by default only the
        // latest.
        let options = Options::new("meter")
            .misfire(CatchUp::All { cap: 60 })
            .misfire_within(Duration::from_secs(3_600), Duration::ZERO)
            .retry(3)
            .retry_abandoned();
        Jobs::open(&folder)?
            .job(options, Every::seconds(1), move |run: &Run| done.send(run.nominal()))
            .start()
    };

    let jobs = open()?;
    let first = calls.recv()?;
    // The program ends without patience; after a kill it is the same.
    drop(jobs);
    let last = calls.try_iter().last().unwrap_or(first);

    let jobs = open()?;
    let next = calls.recv()?;
    assert!(last < next, "nothing runs a second time");
    println!("{last} was the last before, {next} the first after");
    jobs.shutdown(Duration::from_secs(10))?;
    drop(jobs);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

#[test]
fn nothing_is_repeated_and_the_schedule_goes_on() {
    main().unwrap();
}
