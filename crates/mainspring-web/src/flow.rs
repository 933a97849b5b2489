//! A body that is written while it is read: a stream of events.
//!
//! Cost: what was not read yet, at most `MAX_WAITING` pieces; who reads nothing for [`WRITE_TIMEOUT`] is
//! left.
//!
//! Does not hold anybody up but its own task.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::write_timeout::WRITE_TIMEOUT;

/// How many pieces may wait for their reader: with the largest pieces a mebibyte.
const MAX_WAITING: usize = 16;

/// The writing end.
#[derive(Debug)]
pub struct Sender(mpsc::Sender<Bytes>);

impl Sender {
    /// Sends a piece. Returns whether its reader is still there.
    pub async fn send(&self, text: String) -> bool {
        matches!(timeout(WRITE_TIMEOUT, self.0.send(Bytes::from(text))).await, Ok(Ok(())))
    }

    /// Waits for something, but no longer than the reader is there; `None` if it has gone.
    pub async fn while_read<F: Future>(&self, waiting: F) -> Option<F::Output> {
        let (mut waiting, mut left) = (pin!(waiting), pin!(self.0.closed()));
        poll_fn(|context| match waiting.as_mut().poll(context) {
            Poll::Ready(found) => Poll::Ready(Some(found)),
            Poll::Pending => left.as_mut().poll(context).map(|()| None),
        })
        .await
    }
}

struct Flow(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Flow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// An answer that is a stream of events, and what writes it.
pub fn flow() -> (Sender, Response<Body>) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    let mut response = Response::new(Body::new(Flow(receiver)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies such as nginx would gather the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    (Sender(sender), response)
}
