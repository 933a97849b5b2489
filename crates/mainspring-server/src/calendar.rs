//! The way of the jobs to the calendar: each occurrence becomes a due run.
//!
//! Cost: per job one timer.
//!
//! Does not run anything: it sends.
//!
//! Source: own.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use jiff::{Timestamp, Zoned};

use crate::clock::Moment;
use crate::due::{Due, DueSender};
use crate::job::Job;

/// Keeps the jobs scheduled as long as it lives.
#[derive(Debug)]
pub struct Calendar {
    /// Its end is the signal for the thread to end.
    _alive: Sender<()>,
}

/// Schedules all jobs but those of `@reboot`; each occurrence is sent to `sender`.
///
/// # Errors
///
/// When no thread can be started.
pub fn schedule_all(jobs: &[Job], sender: &DueSender) -> io::Result<Calendar> {
    let (alive, ended) = channel::<()>();
    let start = Moment::now().wall;
    let mut next: Vec<(Option<Zoned>, mainspring_cron::Schedule)> =
        jobs.iter().map(|job| (job.schedule.next_after(start), job.schedule.clone())).collect();
    let sender = sender.clone();
    thread::Builder::new().name("calendar".into()).spawn(move || {
        loop {
            let now = Moment::now().wall;
            for (job_index, (next, schedule)) in next.iter_mut().enumerate() {
                while let Some(nominal) = next.take_if(|next| next.timestamp() <= now) {
                    let lateness = lateness(now, nominal.timestamp());
                    *next = schedule.next_after(nominal.timestamp());
                    sender.send(Due { job_index, nominal, lateness });
                }
            }
            let earliest = next.iter().filter_map(|(next, _)| next.as_ref()).map(Zoned::timestamp).min();
            let wait = earliest.map_or(Duration::MAX, |earliest| lateness(earliest, Moment::now().wall));
            match ended.recv_timeout(wait.min(Duration::from_secs(60))) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    })?;
    Ok(Calendar { _alive: alive })
}

fn lateness(now: Timestamp, nominal: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(nominal)).unwrap_or_default()
}
