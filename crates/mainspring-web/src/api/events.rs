//! Events of jobs and runs, told as they happen: server-sent events.
//!
//! Cost: a task and a place among the streams for each.
//!
//! Does not say what is now.

use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::body_stream::Sender;
use crate::call::{Call, Reply};
use crate::event_stream::{BEAT, EventStream, plain};

/// A stream of events.
///
/// # Errors
///
/// 429 while there are as many streams as may be.
pub async fn events(call: Call) -> Reply {
    let (sender, response) = call.stream()?;
    let now = call.now.wall.to_string();
    let hello = json!({ "version": env!("CARGO_PKG_VERSION"), "assets": call.app.assets.hash, "now": now });
    tokio::spawn(async move { tell(&call.app.feed, &hello, call.resume_point(), &sender, BEAT).await });
    Ok(response)
}

/// Tells what happens. After `beat` without anything it says that it is still there.
async fn tell(feed: &EventStream, hello: &Value, after: Option<&str>, sender: &Sender, beat: Duration) {
    let (mut position, is_gap) = feed.position(after);
    let mut text = format!("id: {}\n{}", EventStream::id(position), plain("hello", hello));
    if is_gap {
        text.push_str(&plain("reset", &json!({})));
    }
    loop {
        // The wait begins before the look, so that nothing falls between them.
        let mut news = pin!(feed.news());
        news.as_mut().enable();
        let (more, next) = feed.since(position);
        position = next;
        text.push_str(&more);
        let is_ending = feed.is_ending();
        if is_ending {
            text.push_str(&plain("server.ending", &json!({})));
        }
        if !text.is_empty() && !sender.send(std::mem::take(&mut text)).await {
            return;
        }
        if is_ending {
            return;
        }
        match sender.while_read(timeout(beat, news)).await {
            None => return,
            Some(Ok(())) => {}
            Some(Err(_)) => text.push_str(&plain("beat", &json!({}))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_stream::flow;
    use axum::body::Body;
    use mainspring_server::protocol::ChangesWire;
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::sync::Arc;

    /// The names of the next so many events, the lines of which are read as they come.
    async fn names(body: &mut Body, count: usize) -> Vec<String> {
        let mut text = String::new();
        while text.matches("\n\n").count() < count {
            let piece = poll_fn(|context| hyper::body::Body::poll_frame(Pin::new(&mut *body), context)).await;
            let bytes = piece.expect("the stream continues").unwrap().into_data().unwrap();
            text.push_str(str::from_utf8(&bytes).unwrap());
        }
        text.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
    }

    /// A stream of its own, and its feed.
    fn event_stream(beat: Duration) -> (Arc<EventStream>, Body) {
        let (sender, response) = flow(|| true);
        let feed = Arc::new(EventStream::default());
        let telling = Arc::clone(&feed);
        tokio::spawn(async move { tell(&telling, &json!({}), None, &sender, beat).await });
        (feed, response.into_body())
    }

    #[test]
    fn a_stream_on_which_nothing_happens_says_that_it_lives() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let change = ChangesWire { audit: true, ..ChangesWire::default() };
            let (feed, mut body) = event_stream(Duration::from_millis(1));
            assert_eq!(names(&mut body, 3).await, ["hello", "beat", "beat"]);
            feed.tell(&change);
            // A beat may have been sent before.
            while names(&mut body, 1).await != ["audit.added"] {}
            // Of a time that never passes: what happens is told, and nothing else.
            let (feed, mut body) = event_stream(Duration::MAX);
            assert_eq!(names(&mut body, 1).await, ["hello"]);
            feed.tell(&change);
            assert_eq!(names(&mut body, 1).await, ["audit.added"]);
            feed.end();
            assert_eq!(names(&mut body, 1).await, ["server.ending"]);
        });
    }
}
