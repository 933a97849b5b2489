//! A pool of connections to the loop, each with one question at a time.
//!
//! ```text
//! handlers ─▶ a place of the identity ─▶ an idle one of CONNECTIONS ─▶ socket pair ─▶ the loop, as if a client of the socket asked
//! ```
//!
//! An identity asks [`QUESTIONS_OF_IDENTITY`] questions at a time, and its others wait for these. So many of
//! one are before a question of another, and no more. Whose a question is is known of the task that answers a
//! request: it is asked in thirty places, some of them behind the catalogue.
//!
//! A question that a browser gives up is asked to its end all the same, so that no answer is taken for that
//! of the next.
//!
//! Cost: two documents on a socket pair for each question. A handler waits while no connection is idle.
//!
//! Does not ask again.

use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{Either, select};
use mainspring_server::protocol::{
    ErrorKind, ErrorWire, IdentifiedRequest, IdentifiedResponse, Request, Response, StatusWire,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::lock::locked;
use crate::problem::{Problem, strange};
use crate::sessions::Identity;
use crate::shares::Shares;

/// How many questions are asked at one time: as many heavy reads as there may be.
pub const CONNECTIONS: usize = 8;

/// How many of them are of one identity: half, so that another is asked for at once.
pub const QUESTIONS_OF_IDENTITY: usize = CONNECTIONS / 2;

const _: () = assert!(0 < QUESTIONS_OF_IDENTITY);
const _: () = assert!(QUESTIONS_OF_IDENTITY < CONNECTIONS, "another identity is asked for at once");

tokio::task_local! {
    /// Whose request is answered.
    static OWNER: Option<Identity>;
}

/// Answers a request of somebody: what is asked for it counts among theirs.
pub async fn asking_for<F: Future>(owner: Option<Identity>, answering: F) -> F::Output {
    OWNER.scope(owner, answering).await
}

/// How long an answer is waited for: the loop answers within milliseconds unless the disk does not write.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The caller of a change, and what is said about it: for the audit of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// The identity as it is shown; `None` for what only looks.
    pub name: Option<String>,
    /// What is said about the change.
    pub comment: Option<String>,
}

/// The connections to the loop.
#[derive(Debug)]
pub struct Pool {
    shares: Shares<QUESTIONS_OF_IDENTITY>,
    free: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

/// One connection to the loop.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<tokio::net::UnixStream>,
    last_id: u64,
}

fn line(request: &IdentifiedRequest) -> Vec<u8> {
    let mut text = serde_json::to_vec(request).expect("requests have string keys and finite numbers");
    debug_assert!(!text.contains(&b'\n'), "a request is one line");
    text.push(b'\n');
    text
}

fn gone() -> ErrorWire {
    ErrorWire::new(ErrorKind::Temporary, "the server is stopping")
}

impl Connection {
    /// Our end of a connection.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn new(stream: UnixStream) -> std::io::Result<Connection> {
        stream.set_nonblocking(true)?;
        Ok(Connection { stream: BufReader::new(tokio::net::UnixStream::from_std(stream)?), last_id: 0 })
    }

    /// Asks, and waits for the answer however long it takes. An error that the loop answers is one here.
    ///
    /// # Errors
    ///
    /// What the loop says, or that it has ended.
    pub async fn ask(&mut self, actor: Actor, request: Request) -> Result<Response, ErrorWire> {
        self.last_id += 1;
        let Actor { name, comment } = actor;
        let request = IdentifiedRequest { id: self.last_id, actor: name, comment, request };
        // Files are as long as the longest request: they are written on a thread beside that of the listener.
        let text = if matches!(request.request, Request::Apply { .. }) {
            spawn_blocking(move || line(&request)).await.map_err(|_| gone())?
        } else {
            line(&request)
        };
        self.stream.write_all(&text).await.map_err(|_| gone())?;
        self.next().await
    }

    /// Waits for the next answer to what was asked last.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub async fn next(&mut self) -> Result<Response, ErrorWire> {
        loop {
            let mut line = Vec::new();
            let count = self.stream.read_until(b'\n', &mut line).await.map_err(|_| gone())?;
            if count == 0 {
                return Err(gone());
            }
            let answered: IdentifiedResponse = serde_json::from_slice(&line)
                .map_err(|error| ErrorWire::new(ErrorKind::Failed, format!("a strange answer: {error}")))?;
            match answered.response {
                Response::Error(error) => return Err(error),
                response if answered.id == self.last_id => return Ok(response),
                _ => {}
            }
        }
    }

    /// Waits for something while nothing is asked; `None` if the loop ends before.
    pub async fn until_end<F: Future>(&mut self, waiting: F) -> Option<F::Output> {
        match select(pin!(waiting), pin!(self.stream.fill_buf())).await {
            Either::Left((found, _)) => Some(found),
            // Nothing is said that was not asked for: it is the end.
            Either::Right(_) => None,
        }
    }
}

impl Pool {
    /// Makes the pool of these connections.
    pub fn new(connections: Vec<Connection>) -> Arc<Pool> {
        let free = Semaphore::new(connections.len());
        Arc::new(Pool { shares: Shares::default(), free, idle: Mutex::new(connections) })
    }

    /// Asks something that only looks.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn look(self: &Arc<Self>, request: Request) -> Result<Response, Problem> {
        self.ask(Actor::default(), request).await
    }

    /// Asks how the server is.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn status(self: &Arc<Self>) -> Result<Box<StatusWire>, Problem> {
        let Response::Status(status) = self.look(Request::Status).await? else { return Err(strange()) };
        Ok(status)
    }

    /// Asks on an idle connection.
    ///
    /// # Errors
    ///
    /// What the loop says, or that it does not answer.
    pub async fn ask(self: &Arc<Self>, actor: Actor, request: Request) -> Result<Response, Problem> {
        let pool = Arc::clone(self);
        let owner = OWNER.try_with(Clone::clone).ok().flatten();
        // A task of its own: it ends with its answer even if no client waits for it any more.
        let asking = tokio::spawn(async move {
            let _share = pool.shares.enter(owner.as_ref()).await;
            let _place = pool.free.acquire().await.map_err(|_| gone())?;
            let mut connection = locked(&pool.idle).pop().ok_or_else(gone)?;
            let answer = connection.ask(actor, request).await;
            locked(&pool.idle).push(connection);
            answer
        });
        let late = || ErrorWire::new(ErrorKind::Temporary, "the server has not answered in time");
        Ok(timeout(ANSWER_TIMEOUT, asking).await.map_err(|_| late())?.map_err(|_| gone())??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// The loop's ends, and what was asked over each.
    struct Ends(Vec<(UnixStream, Vec<u8>)>);

    impl Ends {
        /// Over which something is asked, once all that can be is.
        async fn busy(&mut self) -> Vec<usize> {
            // More turns than there are tasks and steps of each.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            for (end, text) in &mut self.0 {
                let _would_block = end.read_to_end(text);
            }
            (0..self.0.len()).filter(|&index| !self.0[index].1.is_empty()).collect()
        }
    }

    #[test]
    fn an_identity_with_many_questions_delays_no_question_of_another() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs): (Vec<_>, Vec<_>) =
                (0..CONNECTIONS).map(|_| UnixStream::pair().unwrap()).unzip();
            theirs.iter().for_each(|end| end.set_nonblocking(true).unwrap());
            let mut ends = Ends(theirs.into_iter().map(|end| (end, Vec::new())).collect());
            let pool = Pool::new(ours.into_iter().map(|end| Connection::new(end).unwrap()).collect());
            let ask = |name: &str| {
                let (pool, owner) = (Arc::clone(&pool), Identity::Proxy(name.to_owned()));
                tokio::spawn(asking_for(Some(owner), async move { pool.look(Request::Status).await }))
            };
            // The loop answers none of them.
            let of_mara: Vec<_> = (0..3 * CONNECTIONS).map(|_| ask("mara")).collect();
            let first = ends.busy().await;
            assert_eq!(first.len(), QUESTIONS_OF_IDENTITY);
            let of_ada = ask("ada");
            let all = ends.busy().await;
            let adas = all.iter().find(|index| !first.contains(index)).expect("it is asked at once");
            let answer = IdentifiedResponse { id: 1, response: Response::Recounted(None) };
            writeln!(ends.0[*adas].0, "{}", serde_json::to_string(&answer).unwrap()).unwrap();
            assert_eq!(of_ada.await.unwrap(), Ok(Response::Recounted(None)));
            assert!(of_mara.iter().all(|asking| !asking.is_finished()));
        });
    }
}
