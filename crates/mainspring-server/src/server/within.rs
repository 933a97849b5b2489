//! What the listener of the server asks that clients of the socket may not, and what is said of it in the log.
//!
//! Cost: a comparison for each request.
//!
//! Does not believe an actor that a client names.

use super::Server;
use super::asking::{Asking, Next};
use crate::protocol::{Asked, DoorWire, ErrorKind, ErrorWire, Request, Response};
use mainspring_exec::clock::Moment;

impl Server {
    /// Answers what has to do with the listener; `None` if the request has not.
    pub(super) fn ask_inside(&mut self, peer: u64, asked: &Asked, now: Moment) -> Option<Asking> {
        let is_inside = self.peers.get(peer).is_some_and(|peer| peer.is_inside);
        let denied = || {
            let text = "only the listener of the server may ask that";
            Some(Err(ErrorWire::new(ErrorKind::Denied, text)))
        };
        match &asked.request {
            Request::Door => Some(self.inside.door.give(now).map(|door| Next::Answer(Response::Door(door)))),
            Request::Redeem { .. } | Request::Watch if !is_inside => denied(),
            Request::Redeem { code } => Some(match self.inside.door.redeem(code, now) {
                true => {
                    Ok(Next::Answer(Response::Door(DoorWire { code: String::new(), addresses: Vec::new() })))
                }
                false => Err(ErrorWire::new(ErrorKind::Denied, "the code is not known, or was used")),
            }),
            Request::Watch => {
                self.inside.changes.watch(peer, asked.id);
                Some(Ok(Next::Nothing))
            }
            _ => None,
        }
    }

    /// Says in the log who asked for a change over the listener.
    pub(super) fn say_actor(&mut self, peer: u64, asked: &Asked, now: Moment) {
        let is_inside = self.peers.get(peer).is_some_and(|peer| peer.is_inside);
        let Some(actor) = asked.actor.as_ref().filter(|_| is_inside) else { return };
        let document = serde_json::to_value(&asked.request).unwrap_or_default();
        let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        let of = ["job", "run", "of"].map(text).concat();
        let what = format!("{} {of}", text("command"));
        self.note(now.wall, &format!("{actor} asked over HTTP: {}", what.trim_end()));
    }

    /// Tells the listener what has changed, if it waits for that.
    pub(super) fn tell_changes(&mut self, now: Moment) {
        if let Some((peer, id, changes)) = self.inside.changes.take(now) {
            self.answer(peer, id, Response::Changes(changes));
        }
    }
}
