//! The jobs of a crontab in the library's calendar: each occurrence becomes a due run.
//!
//! ```text
//! job ── schedule ──▶ Calendar ── timer thread, at the nominal time ──▶ callback ── Due ──▶ channel to the loop
//! ```
//!
//! Cost: one timer per job, one thread for all of them, and one that waits for the clock to be set. The callback only
//! sends, so that no job can make another late.
//!
//! Does not start anything, and leaves `@reboot` to the loop. What a changed clock means is for the calendar to say.
//!
//! Source: own.

use std::{fmt, io};

use mainspring::Engine;
use mainspring::front::Calendar;
use mainspring::front::Task;
use mainspring::front::calendar::Occurrence;

use crate::due::{Due, DueSender};
use crate::job::Job;

/// Keeps jobs scheduled as long as it lives.
pub struct Timetable {
    /// Before the engine, so that it is dropped first.
    calendar: Calendar,
    /// Its end waits for a callback that is running.
    _engine: Engine<Task>,
}

impl Timetable {
    /// Schedules all jobs from now on; each occurrence is sent to `sender` with the index of its job.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub fn start(jobs: &[Job], sender: &DueSender) -> io::Result<Timetable> {
        let engine = mainspring::preset::mainspring()?;
        let calendar = Calendar::start(engine.handle().clone())?;
        for (job_index, job) in jobs.iter().enumerate() {
            let sender = sender.clone();
            let send = move |occurrence: Occurrence| {
                let Occurrence { nominal, lateness, missed_count, .. } = occurrence;
                sender.send(Due { job_index, nominal, lateness, missed_count });
            };
            // The only refusals are those of a full or ended queue.
            calendar.schedule(job.schedule.clone(), send).map_err(io::Error::other)?;
        }
        Ok(Timetable { calendar, _engine: engine })
    }
}

impl fmt::Debug for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timetable").field(&self.calendar).finish()
    }
}
