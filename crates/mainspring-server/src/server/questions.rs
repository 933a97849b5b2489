//! Questions of the store on their way to a thread that may wait for it, and the answers on their way back.
//!
//! ```text
//! loop ── Question ──▶ channel ──▶ thread: reader ── NextResult ──▶ notified channel ──▶ loop: answers, or continues
//! ```
//!
//! The reader has a connection of its own: neither it nor a commit waits for the other. A store that has no
//! second connection, such as the one in memory, is asked by the thread that writes.
//!
//! The store is asked when all decisions before the question are on disk, so that a client that has seen a
//! line in the log finds its record. If the store is late, it is asked at once, and the answer is what is on
//! disk.
//!
//! Cost: two switches between threads for each question. Each client has one at a time: its next request is
//! taken after the answer.
//!
//! Does not know what is asked: see [`queries`](super::queries).

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use mainspring_job::Reader;

use super::next_step::{Question, QuestionAnswer};
use super::store_thread::Order;
use super::writer::Writer;
use mainspring_exec::clock::Moment;
use mainspring_exec::notified_channel::{NotifiedReceiver, notified_channel};

/// The loop's side of the thread that reads.
pub(super) struct Questions {
    /// `None` where the thread that writes is asked.
    sender: Option<Sender<Question>>,
    thread: Option<JoinHandle<()>>,
    /// Those that wait until so many batches are on disk.
    waiting: VecDeque<(u64, Question)>,
    /// What was found out.
    pub(super) answers: NotifiedReceiver<QuestionAnswer>,
}

impl Questions {
    /// Hands a reader over to a thread of its own.
    ///
    /// # Errors
    /// When the operating system gives no thread or no socket pair.
    pub(super) fn start(reader: Option<Box<dyn Reader + Send>>) -> io::Result<Questions> {
        let (back, answers) = notified_channel()?;
        let beside = |mut reader: Box<dyn Reader + Send>| {
            back.answer_beside("reader", move |question: Question| question.answer(&mut *reader))
        };
        let (sender, thread) = reader.map(beside).transpose()?.unzip();
        Ok(Questions { sender, thread, waiting: VecDeque::new(), answers })
    }

    pub(super) fn add(&mut self, writer: &Writer, question: Question) {
        self.waiting.push_back((writer.needed_count(), question));
    }

    /// Asks those whose time has come.
    pub(super) fn ask(&mut self, writer: &Writer, now: Moment) {
        let is_late = writer.is_full() || writer.late(now).is_some();
        let is_settled = writer.is_settled();
        let is_current = |needed_count: u64| is_settled || needed_count <= writer.committed_count;
        while let Some((_, question)) =
            self.waiting.pop_front_if(|(needed_count, _)| is_late || is_current(*needed_count))
        {
            match &self.sender {
                // It fails only after a panic of the thread, which is on standard error.
                Some(sender) => drop(sender.send(question)),
                None => writer.order(Order::Ask(question)),
            }
        }
    }
}

impl Drop for Questions {
    /// Waits for the answer that is being found, so that the connection ends before the one that writes.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is on standard error.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::is_readable;
    use mainspring_host::net::AsFd;

    #[test]
    fn the_loop_sleeps_where_no_thread_answers() {
        let questions = Questions::start(None).unwrap();
        assert!(
            !is_readable(questions.answers.as_fd()),
            "nothing is ever answered here: the loop would turn for ever"
        );
    }
}
