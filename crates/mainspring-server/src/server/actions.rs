//! The planner's outputs, performed.
//!
//! | output | becomes |
//! |---|---|
//! | `Start` | before its time: nothing, until it comes |
//! | | with a lease that is old: nothing, until it is renewed |
//! | | a process or a webhook; if it cannot start, an end at once: `not started: ..`; if it cannot start now, it waits |
//! | `Kill` | the kill sequence of its process group; a webhook is given up |
//! | `Reply` | an answer on a connection |
//! | `Load` | a page of pending one-shot jobs from the store |
//! | `Note` | a line of the log |
//!
//! Cost: that of each: see [`work`](super::work) and [`writer`](super::writer).
//!
//! Does not decide anything.

use mainspring_job::{Output, Start};

use super::Server;
use super::store_thread::{Order, check_batch, load, load_ids};
use mainspring_exec::clock::Moment;

impl Server {
    pub(super) fn perform(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            // Read again for each: a start takes a millisecond, and hundreds may be due at once.
            let now = Moment::now();
            match output {
                Output::Start(start) => {
                    if let Some(start) = self.work.hold_early(start, now) {
                        self.begin(start, now);
                    }
                }
                // How is in the spec that it was started with.
                Output::Kill { key, attempt, worker, .. } => {
                    self.owner.tell_all(self.work.kill(worker, (key, attempt), now, &mut self.log));
                }
                Output::Reply { ticket, reply } => self.reply(ticket, reply, now),
                Output::Load { up_to, limit } => self.owner.writer().order(Order::Load(load(up_to, limit))),
                Output::LoadIds { after, up_to, limit } => {
                    self.owner.writer().order(Order::Load(load_ids(after, up_to, limit)));
                }
                Output::CheckBatch { batch } => self.owner.writer().order(Order::Load(check_batch(batch))),
                Output::Note(note) => self.note_of_planner(now.wall, &note),
            }
        }
    }

    /// Carries out the starts that were held until now.
    pub(super) fn begin_due(&mut self, now: Moment) {
        for start in self.work.take_due(now) {
            self.begin(start, Moment::now());
        }
    }

    /// Carries out a start whose record is on disk.
    fn begin(&mut self, start: Start, now: Moment) {
        let planner = self.owner.planner();
        self.listener.meters.start(&start, |name| planner.job(name).is_some(), now.wall);
        self.owner.tell_all(self.work.start(start, now, now, &mut self.log));
    }
}
