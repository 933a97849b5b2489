//! A body that is written while it is read: a stream of events.
//!
//! Cost: what was not read yet, at most `MAX_WAITING_BYTES` and one piece that is longer than that; who reads
//! nothing for [`WRITE_TIMEOUT`] while as much waits is left.
//!
//! Does not hold anybody up but its own task.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::response::IntoResponse;
use futures_util::future::{Either, select};
use futures_util::stream::poll_fn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::write_timeout::WRITE_TIMEOUT;

/// How much may wait for its reader. Pieces are counted by their bytes: one of a log is six times as long as
/// what it tells if all of that is control characters.
pub const MAX_WAITING_BYTES: u32 = 1 << 20;

const _: () = assert!(MAX_WAITING_BYTES as usize <= Semaphore::MAX_PERMITS);

/// How many pieces may wait, however short: each takes some memory of its own.
const MAX_WAITING: usize = 16;

/// A piece, and its part of what may wait, which is given back when the connection takes the piece.
type Waiting = (Bytes, OwnedSemaphorePermit);

/// The writing end.
pub struct Sender {
    /// Whether its reader may still be told something.
    is_allowed: Box<dyn Fn() -> bool + Send + Sync>,
    pieces: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
}

impl Sender {
    /// Sends a piece. Returns whether its reader is still there, and may still be told something.
    pub async fn send(&self, text: String) -> bool {
        (self.is_allowed)() && matches!(timeout(WRITE_TIMEOUT, self.put(text)).await, Ok(Some(())))
    }

    /// Waits until there is room for a piece. One that is too long for that waits until it is alone.
    async fn put(&self, text: String) -> Option<()> {
        let count = u32::try_from(text.len()).unwrap_or(u32::MAX).min(MAX_WAITING_BYTES);
        let room = Arc::clone(&self.room).acquire_many_owned(count).await.ok()?;
        self.pieces.send((Bytes::from(text), room)).await.ok()
    }

    /// Waits for something, but no longer than the reader is there; `None` if it has gone.
    pub async fn while_read<F: Future>(&self, waiting: F) -> Option<F::Output> {
        match select(pin!(waiting), pin!(self.pieces.closed())).await {
            Either::Left((found, _)) => Some(found),
            Either::Right(_) => None,
        }
    }
}

/// An answer that is a stream of events, and what writes it while its reader may be told something.
pub fn flow(is_allowed: impl Fn() -> bool + Send + Sync + 'static) -> (Sender, Response<Body>) {
    let (sender, mut receiver) = mpsc::channel::<Waiting>(MAX_WAITING);
    let pieces = poll_fn(move |context| {
        receiver.poll_recv(context).map(|piece| piece.map(|(piece, _)| Ok::<Bytes, Infallible>(piece)))
    });
    // Proxies such as nginx would gather the events.
    let headers = [("content-type", "text/event-stream"), ("x-accel-buffering", "no")];
    let room = Arc::new(Semaphore::new(MAX_WAITING_BYTES as usize));
    let sender = Sender { is_allowed: Box::new(is_allowed), pieces: sender, room };
    (sender, (headers, Body::from_stream(pieces)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use std::time::Duration;

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    /// How many pieces of a length are taken while the client does not read.
    async fn taken(sender: &Sender, length: usize) -> usize {
        let mut count = 0;
        // What is taken is taken at once.
        while let Ok(Some(())) = timeout(Duration::ZERO, sender.put("x".repeat(length))).await {
            count += 1;
        }
        count
    }

    #[test]
    fn a_mebibyte_waits_for_its_reader_and_no_more() {
        run(async {
            for (length, count) in [(1, MAX_WAITING), (100 << 10, 10), (384 << 10, 2), (5 << 20, 1)] {
                let (sender, response) = flow(|| true);
                assert_eq!(taken(&sender, length).await, count, "pieces of {length} bytes");
                // One that is read makes room for one more.
                let mut body = response.into_body();
                assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap().len(), length);
                assert_eq!(taken(&sender, length).await, 1, "pieces of {length} bytes");
            }
        });
    }

    #[test]
    fn nothing_is_sent_to_a_reader_that_may_be_told_nothing_any_more() {
        let (sender, _response) = flow(|| false);
        assert!(!run(sender.send("x".to_owned())));
    }

    #[test]
    fn nothing_is_sent_to_a_reader_that_has_gone() {
        run(async {
            let (sender, response) = flow(|| true);
            drop(response);
            assert!(!sender.send("x".to_owned()).await);
            assert_eq!(sender.while_read(std::future::pending::<()>()).await, None);
        });
    }
}
