//! The clients of the socket: their requests, the answers that they wait for, and the limits of their
//! changes.
//!
//! ```text
//! run --wait ─▶ admit ─▶ command ─▶ its reply ─▶ waiting ─▶ the run is not open any more ─▶ the store is asked ─▶ the end
//! wait ──────▶ admit ────────────────────────────▶ │             ▲────────── its end is not on disk yet ──┘
//! the connection ends ────────────────────────────▶ forgotten
//! ```
//!
//! Cost: a lookup for each run that a client waits for, in turns in which the planner was told a fact; and
//! the cost of [`peers`](super::peers).
//!
//! Does not know what a request means, except whether it waits. Does not end a run when its client has gone.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use mainspring_job::{Audit, RunKey, Ticket};

use super::feed::Feed;
use super::next_step::RequestId;
use super::peers::{MAX_WAITING, Peers};
use super::purpose::Purpose;
use super::rate::{Bucket, Rates};
use crate::protocol::{Answers, ErrorKind, ErrorWire, IdentifiedRequest, Response, Row};
use mainspring_exec::clock::Moment;
use mainspring_host::net::LocalListener;

/// How many requests may wait for the ends of runs: each costs memory and a lookup.
const MAX_WAITERS: usize = 10_000;

/// All clients.
#[derive(Debug)]
pub(super) struct Clients {
    /// The connections, beside what clients wait for.
    pub(super) peers: Peers,
    /// What becomes of the reply to each command that is under way.
    purposes: HashMap<Ticket, Purpose>,
    last_ticket: u64,
    /// Which clients wait for the end of which run.
    waiting: BTreeMap<RunKey, Vec<RequestId>>,
    /// Whether a run may have ended since these were looked through.
    may_be_over: bool,
    pub(super) rates: Rates,
    /// What clients may change now, all together.
    bucket: Bucket,
    /// How many requests were refused because there were too many.
    pub(super) refused_count: u64,
}

impl Clients {
    /// Makes the socket, unless it was handed over.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(super) fn listen(
        path: &Path,
        handed: Option<LocalListener>,
        rates: Rates,
        now: Moment,
    ) -> io::Result<Clients> {
        Ok(Clients {
            peers: Peers::listen(path, handed, rates.connection)?,
            purposes: HashMap::new(),
            last_ticket: 0,
            waiting: BTreeMap::new(),
            may_be_over: false,
            rates,
            bucket: Bucket::new(rates.total, now),
            refused_count: 0,
        })
    }

    /// Whether the server's own listener asks.
    pub(super) fn is_listener(&mut self, request_id: RequestId) -> bool {
        self.peers.get(request_id.client).is_some_and(|peer| peer.is_listener)
    }

    /// The next request, with the number of its connection, and the caller: for whom, if the server's own
    /// listener says so, and else whose process it is. A client that names somebody is not believed.
    pub(super) fn next_request(&mut self) -> Option<(RequestId, IdentifiedRequest)> {
        let (client, request) = self.peers.next_request()?;
        let Row { word, answers, .. } = request.request.row();
        let follows = answers == Answers::Lines { follows: true };
        let request_id = RequestId { client, id: request.id, follows, what: word };
        let peer = self.peers.get(client)?;
        let actor = if peer.is_listener { request.actor } else { Some(peer.owner()) };
        Some((request_id, IdentifiedRequest { actor, ..request }))
    }

    /// Keeps the caller until the request is a command.
    pub(super) fn begin_audit(&mut self, request_id: RequestId, audit: Option<Audit>) {
        if let Some(peer) = self.peers.get(request_id.client) {
            peer.audit = audit;
        }
    }

    /// The caller; once. A client has one request under way until it is a command.
    pub(super) fn take_audit(&mut self, request_id: RequestId) -> Option<Audit> {
        self.peers.get(request_id.client)?.audit.take()
    }

    /// Whether a client may wait now: for the end of a run, or for more output.
    pub(super) fn admit(&mut self, request_id: RequestId, answers: Answers) -> Result<(), ErrorWire> {
        let waits_for_run = answers == Answers::End;
        let too_many = |text: String| Err(ErrorWire::new(ErrorKind::Temporary, text));
        if waits_for_run && MAX_WAITERS <= self.peers.waited_count() {
            return too_many(format!("{MAX_WAITERS} requests wait already, which is the limit"));
        }
        let waits = self.peers.get(request_id.client).is_some_and(|peer| peer.is_waiting());
        if (waits_for_run || request_id.follows) && !waits && MAX_WAITING <= self.peers.waiting_count() {
            let message =
                format!("{MAX_WAITING} connections wait for runs or output already, which is the limit");
            return too_many(message);
        }
        Ok(())
    }

    /// Whether a client may ask for a change now.
    pub(super) fn weigh(&mut self, request_id: RequestId, now: Moment) -> Result<(), ErrorWire> {
        let Rates { connection, total } = self.rates;
        let is_listener = self.is_listener(request_id);
        let is_over = self.peers.get(request_id.client).is_some_and(|peer| !peer.bucket.take(now));
        let over = if is_over {
            format!("{connection} changes a second over one connection (serve --max-connection-changes)")
        } else if !is_listener && !self.bucket.take(now) {
            format!("{total} changes a second in all (serve --max-changes)")
        } else {
            return Ok(());
        };
        self.refused_count += 1;
        Err(ErrorWire::new(ErrorKind::Temporary, format!("too fast: the limit is {over}")))
    }

    /// A ticket for a command, and what is to become of the reply. A client that gets it is waited for.
    pub(super) fn ticket(&mut self, purpose: Purpose) -> Ticket {
        let request_id = purpose.request_id();
        if let Some(peer) = request_id.and_then(|request_id| self.peers.get(request_id.client)) {
            peer.awaited_count += 1;
            peer.waited_count += usize::from(matches!(purpose, Purpose::AnswerAndWait(_)));
        }
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        let replaced = self.purposes.insert(ticket, purpose);
        debug_assert!(replaced.is_none(), "a ticket names one command");
        ticket
    }

    /// What is to become of a reply; once.
    pub(super) fn take_purpose(&mut self, ticket: Ticket) -> Option<Purpose> {
        debug_assert!(ticket.0 <= self.last_ticket, "a reply is to a command that was given");
        self.purposes.remove(&ticket)
    }

    /// Queues an answer, unless its client has gone.
    pub(super) fn answer(&mut self, request_id: RequestId, response: Response) {
        if let Some(peer) = self.peers.get(request_id.client) {
            peer.answer(request_id.id, response);
        }
    }

    /// Gives a client an answer that it waits for.
    pub(super) fn answer_awaited(&mut self, request_id: RequestId, response: Response) {
        self.await_less(request_id);
        self.answer(request_id, response);
    }

    /// The same for a client that has waited for the end of a run.
    pub(super) fn answer_waited(&mut self, request_id: RequestId, response: Response) {
        self.end_wait(request_id);
        self.answer(request_id, response);
    }

    fn end_wait(&mut self, request_id: RequestId) {
        if let Some(peer) = self.peers.get(request_id.client) {
            debug_assert!(0 < peer.waited_count, "who gets the end of a run has waited for it");
            debug_assert!(peer.waited_count <= peer.awaited_count, "the end of a run is an answer");
            peer.awaited_count = peer.awaited_count.saturating_sub(1);
            peer.waited_count = peer.waited_count.saturating_sub(1);
        }
    }

    /// Another answer than the one that a client waits for comes first.
    pub(super) fn await_less(&mut self, request_id: RequestId) {
        if let Some(peer) = self.peers.get(request_id.client) {
            debug_assert!(
                peer.waited_count < peer.awaited_count,
                "an answer that waits for no run was awaited"
            );
            peer.awaited_count = peer.awaited_count.saturating_sub(1);
        }
    }

    /// The store is to be asked for a client. Returns whether the client is still there.
    pub(super) fn begin_question(&mut self, request_id: RequestId) -> bool {
        let Some(peer) = self.peers.get(request_id.client) else { return false };
        peer.asking_count += 1;
        peer.follow_count += usize::from(request_id.follows);
        true
    }

    /// The store has answered.
    pub(super) fn end_question(&mut self, request_id: RequestId) {
        if let Some(peer) = self.peers.get(request_id.client) {
            debug_assert!(0 < peer.asking_count, "a question ends that was begun");
            debug_assert!(peer.follow_count <= peer.asking_count, "who follows an output has asked for it");
            peer.asking_count = peer.asking_count.saturating_sub(1);
            peer.follow_count = peer.follow_count.saturating_sub(usize::from(request_id.follows));
        }
    }

    /// A client gets a file of output from now on, instead of any other.
    pub(super) fn feed(&mut self, request_id: RequestId, feed: Feed) {
        if let Some(peer) = self.peers.get(request_id.client) {
            peer.end_feed();
            peer.feed = Some(feed);
        }
    }

    /// A client that was counted as one that waits, when its command was given, waits for the end of this
    /// run.
    pub(super) fn wait_on(&mut self, request_id: RequestId, key: RunKey) {
        if let Some(peer) = self.peers.get(request_id.client) {
            debug_assert!(0 < peer.waited_count, "who waits is counted");
            self.waiting.entry(key).or_default().push(request_id);
            self.may_be_over = true;
        }
    }

    /// A client waits for the end of a run. If that may have come, [`look_for_ends`](Self::look_for_ends)
    /// follows.
    pub(super) fn wait_for_end(&mut self, request_id: RequestId, key: RunKey) {
        if let Some(peer) = self.peers.get(request_id.client) {
            peer.awaited_count += 1;
            peer.waited_count += 1;
            self.waiting.entry(key).or_default().push(request_id);
        }
    }

    /// A run may have ended, or an end may be on disk.
    pub(super) fn look_for_ends(&mut self) {
        self.may_be_over = true;
    }

    /// Takes the clients that wait for runs that are over, and forgets clients that have gone.
    pub(super) fn take_over(&mut self, is_over: impl Fn(&RunKey) -> bool) -> Vec<(RunKey, RequestId)> {
        if self.peers.take_lost() {
            let peers = &mut self.peers;
            self.waiting.retain(|_, askers| {
                askers.retain(|request_id| peers.get(request_id.client).is_some());
                !askers.is_empty()
            });
        }
        if !std::mem::take(&mut self.may_be_over) {
            return Vec::new();
        }
        let ended = self.waiting.extract_if(.., |key, _| is_over(key));
        let of_run = |(key, askers): (RunKey, Vec<RequestId>)| {
            askers.into_iter().map(move |request_id| (key.clone(), request_id))
        };
        let over: Vec<(RunKey, RequestId)> = ended.flat_map(of_run).collect();
        over.iter().for_each(|(_, request_id)| self.end_wait(*request_id));
        over
    }
}
