//! A month of jobs in a test, in milliseconds: the program's own definitions on a clock that the test moves.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mainspring_embed::jiff::tz::TimeZone;
use mainspring_embed::{Builder, Cron, Jobs, ManualClock, Options, Run, RunState};

/// The program's jobs: `define(Jobs::open("data")?)` in production.
fn define(builder: Builder, bills: Arc<AtomicU32>) -> Result<Builder, Box<dyn Error>> {
    let nightly = Cron::parse("0 3 * * mon-fri")?.zone("Europe/Berlin")?;
    Ok(builder.job(Options::new("invoices").retry(2), nightly, move |run: &Run| {
        bills.fetch_add(1, Ordering::Relaxed);
        // The bank is away each Monday morning, for one attempt.
        let is_monday = run.nominal().to_zoned(TimeZone::UTC).weekday().to_monday_zero_offset() == 0;
        if is_monday && run.attempt() == 1 { Err("no answer") } else { Ok(()) }
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = ManualClock::at("2026-01-01T00:00:00Z".parse()?);
    let calls = Arc::new(AtomicU32::new(0));
    let jobs = define(Jobs::simulated(&clock), Arc::clone(&calls))?.start()?;
    clock.advance(Duration::from_secs(31 * 86_400));

    let runs = jobs.runs_of("invoices", 100)?;
    assert_eq!(runs.len(), 22, "the working days of January 2026");
    assert!(runs.iter().all(|run| run.state == RunState::Succeeded));
    assert_eq!(calls.load(Ordering::Relaxed), 26, "four Mondays were tried twice");
    println!("{} nights, {} calls", runs.len(), calls.load(Ordering::Relaxed));
    Ok(())
}

#[test]
fn a_month_has_a_bill_for_each_working_day() {
    main().unwrap();
}
