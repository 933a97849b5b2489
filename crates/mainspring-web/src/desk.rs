//! What asks the loop: some connections to it, each with one question at a time.
//!
//! ```text
//! handlers ─▶ a free line of LINES ─▶ socket pair ─▶ the loop, as if a client of the socket asked
//! ```
//!
//! A question that a browser gives up is asked to its end all the same, so that no answer is taken for that
//! of the next.
//!
//! Cost: two documents on a socket pair for each question. While all lines are taken, who asks waits for one.
//!
//! Does not ask again.

use std::future::poll_fn;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use mainspring_server::protocol::{Answered, Asked, ErrorKind, ErrorWire, Request, Response};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::problem::Problem;

/// How many questions are asked at one time: as many heavy reads as there may be.
pub const LINES: usize = 8;

/// How long an answer is waited for: the loop answers within milliseconds unless the disk does not write.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connections to the loop.
#[derive(Debug)]
pub struct Desk {
    free: Semaphore,
    lines: Mutex<Vec<Line>>,
}

/// One connection to the loop.
#[derive(Debug)]
pub struct Line {
    stream: BufReader<tokio::net::UnixStream>,
    last_id: u64,
}

fn gone() -> ErrorWire {
    ErrorWire::new(ErrorKind::Temporary, "the server is stopping")
}

impl Line {
    /// Our end of a connection.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn new(stream: UnixStream) -> std::io::Result<Line> {
        stream.set_nonblocking(true)?;
        Ok(Line { stream: BufReader::new(tokio::net::UnixStream::from_std(stream)?), last_id: 0 })
    }

    /// Asks, and waits for the answer however long it takes. An error that the loop answers is one here.
    ///
    /// # Errors
    ///
    /// What the loop says, or that it has ended.
    pub async fn ask(&mut self, actor: Option<String>, request: Request) -> Result<Response, ErrorWire> {
        self.last_id += 1;
        let asked = Asked { id: self.last_id, actor, request };
        let mut text = serde_json::to_vec(&asked).expect("requests have string keys and finite numbers");
        text.push(b'\n');
        self.stream.write_all(&text).await.map_err(|_| gone())?;
        loop {
            let mut line = Vec::new();
            let count = self.stream.read_until(b'\n', &mut line).await.map_err(|_| gone())?;
            if count == 0 {
                return Err(gone());
            }
            let answered: Answered = serde_json::from_slice(&line)
                .map_err(|error| ErrorWire::new(ErrorKind::Failed, format!("a strange answer: {error}")))?;
            match answered.response {
                Response::Error(error) => return Err(error),
                response if answered.id == self.last_id => return Ok(response),
                _ => {}
            }
        }
    }
}

impl Line {
    /// Waits for something while nothing is asked; `None` if the loop ends before.
    pub async fn until_end<F: Future>(&mut self, waiting: F) -> Option<F::Output> {
        let (mut waiting, mut end) = (pin!(waiting), pin!(self.stream.fill_buf()));
        poll_fn(|context| match waiting.as_mut().poll(context) {
            Poll::Ready(found) => Poll::Ready(Some(found)),
            // Nothing is said that was not asked for: it is the end.
            Poll::Pending => end.as_mut().poll(context).map(|_| None),
        })
        .await
    }
}

impl Desk {
    /// Takes the lines.
    pub fn new(lines: Vec<Line>) -> Arc<Desk> {
        Arc::new(Desk { free: Semaphore::new(lines.len()), lines: Mutex::new(lines) })
    }

    /// Asks something that only looks.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn look(self: &Arc<Self>, request: Request) -> Result<Response, Problem> {
        self.ask(None, request).await.map_err(Problem::from)
    }

    /// Asks on a line of its own. `actor` is who changes something, for the log.
    ///
    /// # Errors
    ///
    /// What the loop says, or that it does not answer.
    pub async fn ask(
        self: &Arc<Self>,
        actor: Option<String>,
        request: Request,
    ) -> Result<Response, ErrorWire> {
        let desk = Arc::clone(self);
        // A task of its own: it ends with its answer even if nobody waits for it any more.
        let asking = tokio::spawn(async move {
            let _place = desk.free.acquire().await.map_err(|_| gone())?;
            let taken = desk.lines.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut line = taken.ok_or_else(gone)?;
            let answer = line.ask(actor, request).await;
            desk.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            answer
        });
        let late = || ErrorWire::new(ErrorKind::Temporary, "the server has not answered in time");
        timeout(PATIENCE, asking).await.map_err(|_| late())?.map_err(|_| gone())?
    }
}
