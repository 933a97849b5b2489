//! Measures the memory of a million near one-shot jobs: the growth of the process, for each.
//!
//! A planner is told a million submissions for the next minute, all of which are near. A store that keeps
//! nothing says that each is on disk, so that what grows is the planner.
//!
//! ```sh
//! cargo run --release -p mainspring-job --example lookahead_memory
//! ```
//!
//! Prints bytes for each job, and fails above 64. Linux alone, whose kernel tells what is resident.

use std::error::Error;
use std::fs;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Action, Answer, Command, Input, Limits, Output, Planner, Submission, Takeover, Ticket, Work,
};

const JOBS: u64 = 1_000_000;

/// What one may cost at most.
const MOST_BYTES: f64 = 64.0;

fn main() -> Result<(), Box<dyn Error>> {
    let now = Timestamp::from_second(1_800_000_000)?;
    let mut planner = Planner::new(1, Limits::default());
    tell(&mut planner, now, Input::Begin { takeover: Takeover::Clean });
    let work = Arc::new(Work::new(Action::new("process", "true")?));
    let submit = |planner: &mut Planner, number: u64| {
        // All within the minute of which everything is near, in no order.
        let offset_ms = i64::try_from(number * 7_919 % 60_000).unwrap_or(0);
        let due = now + SignedDuration::from_millis(offset_ms);
        let submission = Submission::new(due, Arc::clone(&work));
        let command = Command::Submit(submission);
        tell(planner, now, Input::Command { ticket: Ticket(number), command });
    };
    // The first ones take what the planner needs in any case.
    (0..1_000).for_each(|number| submit(&mut planner, number));
    let before = resident_bytes()?;
    (1_000..JOBS).for_each(|number| submit(&mut planner, number));
    let after = resident_bytes()?;
    assert_eq!(u64::try_from(planner.lookahead_count())?, JOBS, "all are near");
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let each = after.saturating_sub(before) as f64 / (JOBS - 1_000) as f64;
    println!("{JOBS} near one-shot jobs: {each:.1} bytes each");
    assert!(each <= MOST_BYTES, "a near one-shot job costs more than {MOST_BYTES} bytes");
    Ok(())
}

/// Tells a fact; what is to be written is new, and nothing is pending.
fn tell(planner: &mut Planner, now: Timestamp, input: Input) {
    let mut outputs = Vec::new();
    planner.handle(now, input, &mut outputs);
    while let Some(batch) = planner.take_batch() {
        let answers = vec![Answer::New; batch.operations.len()];
        planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
    }
    for output in outputs {
        if let Output::LoadIds { .. } = output {
            tell(planner, now, Input::LoadedIds { ids: Vec::new(), is_complete: true });
        }
    }
}

fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).ok_or("the kernel does not tell")?;
    let kibibytes: u64 = line.split_whitespace().next().ok_or("the kernel tells nothing")?.parse()?;
    Ok(kibibytes * 1_024)
}
