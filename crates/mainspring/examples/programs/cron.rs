//! A closure that runs by a cron expression in a time zone.

use std::error::Error;

use mainspring::cron::Schedule;

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    // Begin.
    let calendar = mainspring::global()?.calendar()?;
    let backup = calendar.schedule(Schedule::parse("30 4 * * mon-fri", "Europe/Paris")?, |_run| ())?;
    println!("cron: the next backup is at {:?}", backup.next_run());
    // End.
    assert!(backup.next_run().is_some_and(|next| (next.hour(), next.minute()) == (4, 30)));
    Ok(())
}
