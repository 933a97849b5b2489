//! A driver with one timer an hour away, watched for ten seconds: it does not wake up.
//!
//! ```text
//! cargo run --release -p mainspring --example idle
//! ```

use std::fs;
use std::time::Duration;

use mainspring::clock::Notifier;

/// How long the driver is watched, in seconds; an argument overrides it.
const WATCHED_SECONDS: u64 = 10;

/// The voluntary context switches of every thread of the driver, from the kernel's own count.
fn voluntary_switches() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").expect("this example reads Linux's /proc");
    let of_driver = tasks.filter_map(|task| {
        let folder = task.ok()?.path();
        let name = fs::read_to_string(folder.join("comm")).ok()?;
        name.starts_with("mainspring").then(|| fs::read_to_string(folder.join("status")).ok())?
    });
    of_driver
        .filter_map(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        })
        .sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(WATCHED_SECONDS), |text| text.parse())?;
    let engine = mainspring::preset::mainspring()?;
    engine.callbacks().after(Duration::from_secs(3_600), |_| println!("an hour has passed"))?;
    let nobody_notifies = Notifier::new();
    // The driver takes note of the timer and goes to sleep.
    nobody_notifies.wait(Some(Duration::from_millis(100)));

    let (wakeups, switches) = (engine.counts().wakeups, voluntary_switches());
    nobody_notifies.wait(Some(Duration::from_secs(seconds)));
    let wakeups = engine.counts().wakeups - wakeups;
    let switches = voluntary_switches() - switches;
    println!(
        "in {seconds} s: {wakeups} wake-ups, {switches} voluntary context switches of the driver's thread"
    );
    assert_eq!((wakeups, switches), (0, 0));
    assert_eq!(engine.shutdown().len(), 1, "the timer is handed back");
    Ok(())
}
