//! Events of jobs and runs, told as they happen: server-sent events.
//!
//! Cost: a task and a place among the streams for each.
//!
//! Does not say what is now.

use std::pin::pin;

use axum::http::header::HeaderName;
use serde_json::json;
use tokio::time::timeout;

use super::log::too_many_streams;
use crate::call::{Call, Reply};
use crate::feed::{BEAT, Feed, plain};
use crate::flow::{Sender, flow};
use crate::problem::{Code, Problem};

/// A stream of events.
///
/// # Errors
///
/// 429 while there are as many streams as may be, and 503 at a server that stands by.
pub async fn events(call: Call) -> Reply {
    let asked = call.asked()?;
    if !call.app.tells {
        let text = "this server stands by, and does not know what happens at the owner of the jobs";
        return Err(Problem::new(Code::Temporary, text));
    }
    let last = call.headers.get(HeaderName::from_static("last-event-id")).and_then(|id| id.to_str().ok());
    let after = last.or(asked.get("after")).map(str::to_owned);
    let seat = Feed::seat(&call.app.feed).ok_or_else(too_many_streams)?;
    let (sender, response) = flow();
    tokio::spawn(async move {
        tell(&call, after.as_deref(), &sender).await;
        drop(seat);
    });
    Ok(response)
}

async fn tell(call: &Call, after: Option<&str>, sender: &Sender) {
    let feed = &call.app.feed;
    let (mut position, is_gap) = feed.position(after);
    let now = call.now.wall.to_string();
    let hello = json!({ "version": env!("CARGO_PKG_VERSION"), "assets": call.app.assets.hash, "now": now });
    let mut text = format!("id: {}\n{}", Feed::id(position), plain("hello", &hello));
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
        match sender.while_read(timeout(BEAT, news)).await {
            None => return,
            Some(Ok(())) => {}
            Some(Err(_)) => text.push_str(&plain("beat", &json!({}))),
        }
    }
}
