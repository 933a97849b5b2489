//! Two steps of a saga: the first submits the second, which is tried again, and becomes a dead letter when it
//! is hopeless.

use std::error::Error;
use std::time::Duration;

use mainspring_embed::{HandlerError, Jobs, ManualClock, Options, Run, RunState};

fn main() -> Result<(), Box<dyn Error>> {
    // In a program: Jobs::open("data")?
    let clock = ManualClock::at("2026-01-01T00:00:00Z".parse()?);
    let jobs = Jobs::simulated(&clock)
        .handler("reserve", |run: &Run, order: u32| -> Result<(), HandlerError> {
            // The key of this run makes the next step one, however often this one is tried.
            run.jobs().once("charge").key(format!("charge of {}", run.key())).payload(&order).submit()?;
            Ok(())
        })
        .handler(
            Options::new("charge").retry(4).backoff(Duration::from_secs(30)).group("bank", 2),
            |run: &Run, order: u32| -> Result<(), HandlerError> {
                match (order, run.attempt()) {
                    (13, _) => Err(HandlerError::for_good("the card is stolen")),
                    (_, 1..3) => Err(HandlerError::because("the bank does not answer")),
                    _ => Ok(()),
                }
            },
        )
        .start()?;

    jobs.once("reserve").payload(&7).submit()?;
    jobs.once("reserve").payload(&13).submit()?;
    clock.advance(Duration::from_secs(3_600));

    let runs = jobs.runs(10)?;
    let dead: Vec<_> = runs.iter().filter(|run| run.state == RunState::Dead).collect();
    assert_eq!((runs.len(), dead.len()), (4, 1));
    println!("{}: {}", dead[0].key, dead[0].outcome.as_ref().expect("it has failed"));
    let charged = runs.iter().find(|run| run.attempt == 3).expect("it is tried until the bank answers");
    assert_eq!(charged.state, RunState::Succeeded);
    Ok(())
}

#[test]
fn a_step_is_tried_again_and_a_hopeless_one_is_a_dead_letter() {
    main().unwrap();
}
