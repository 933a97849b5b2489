//! The connections that are open: whose each is, and which one makes room for another.
//!
//! ```text
//! accepted ─▶ unproven: of an origin ── a request shows the caller ──▶ proven: of an identity
//! ```
//!
//! | limit | owner | a connection more |
//! |---|---|---|
//! | `MAX_UNPROVEN` | the origin that has the most of them | ends the oldest of that origin, whatever it waits for |
//! | `MAX_OF_IDENTITY` | an identity | ends the oldest idle one of that identity; else its request is refused |
//! | `MAX_PROVEN` | all identities | ends the oldest idle one of the identity with the most; else as before |
//!
//! A connection that has shown nothing thus delays no client that has, and a token at its limit costs the
//! other tokens nothing. The last `LOCAL_RESERVE` of the proven are for the local administrator.
//!
//! Cost: a scan of the table, some hundred entries, for a connection that is accepted or proven.
//!
//! Does not tell two users of this machine apart who connect over TCP: their origin is the same address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::lock::locked;
use crate::sessions::Identity;

/// The most connections without an identity: enough that one of a slow network shows its identity before a
/// flood of a thousand a second has ended it.
pub const MAX_UNPROVEN: usize = 128;

/// The most connections of one identity: three browsers with six each, and some programs.
pub const MAX_OF_IDENTITY: usize = 24;

/// The most connections of all identities: ten of them at their limit, and a descriptor for each.
pub const MAX_PROVEN: usize = 256;

/// How many of these only the local administrator gets.
const LOCAL_RESERVE: usize = 8;

const _: () =
    assert!(0 < LOCAL_RESERVE, "the local administrator gets in when all others are at their limit");
const _: () = assert!(10 * MAX_OF_IDENTITY <= MAX_PROVEN - LOCAL_RESERVE);

/// Where a connection comes from, before a request shows more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// An address of the network.
    Address(IpAddr),
    /// A user of this machine, by the socket in a folder.
    User(u32),
    /// The operating system did not say.
    Unknown,
}

/// All connections, by their numbers: the oldest has the smallest.
#[derive(Debug, Default)]
pub struct Connections {
    table: Mutex<Table>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Table {
    last_number: u64,
    entries: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    origin: Origin,
    identity: Option<Identity>,
    /// Whether a request is being answered.
    is_busy: bool,
    task: Option<AbortHandle>,
}

/// The place of one connection in the table, as its requests see it.
#[derive(Clone, Debug)]
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    origin: Origin,
}

/// Marks a connection as busy until it is dropped.
#[derive(Debug)]
pub struct Busy(ConnectionSlot);

/// Leaves the table when it is dropped.
#[derive(Debug)]
pub struct ConnectionGuard(ConnectionSlot);

impl Connections {
    /// A place for a connection that was accepted. Another may end for it: see the table above.
    pub fn enter(connections: &Arc<Connections>, origin: Origin) -> ConnectionSlot {
        let mut table = locked(&connections.table);
        if MAX_UNPROVEN <= table.entries.values().filter(|entry| entry.identity.is_none()).count() {
            let oldest = table.oldest_of_largest(|entry| entry.identity.is_none().then_some(&entry.origin));
            oldest.into_iter().for_each(|number| table.end(number));
        }
        table.last_number += 1;
        let number = table.last_number;
        table.entries.insert(number, Entry { origin, identity: None, is_busy: false, task: None });
        table.check();
        ConnectionSlot { connections: Arc::clone(connections), number, origin }
    }

    /// Ends the connections on which no request is being answered.
    pub fn end_idle(&self) {
        let mut table = locked(&self.table);
        let idle: Vec<u64> =
            table.entries.iter().filter(|(_, entry)| !entry.is_busy).map(|(number, _)| *number).collect();
        idle.into_iter().for_each(|number| table.end(number));
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        locked(&self.table).entries.len()
    }

    /// Waits until there is none.
    pub async fn wait_for_none(&self) {
        while 0 < self.count() {
            self.ended.notified().await;
        }
    }
}

impl Table {
    /// That no limit is exceeded; without debug assertions it does nothing.
    fn check(&self) {
        let count = |is_one: fn(&Entry) -> bool| self.entries.values().filter(|entry| is_one(entry)).count();
        debug_assert!(count(|entry| entry.identity.is_none()) <= MAX_UNPROVEN);
        debug_assert!(count(|entry| entry.identity.is_some()) <= MAX_PROVEN);
        debug_assert!(self.entries.last_key_value().is_none_or(|(number, _)| *number <= self.last_number));
    }

    fn end(&mut self, number: u64) {
        if let Some(task) = self.entries.remove(&number).and_then(|entry| entry.task) {
            task.abort();
        }
    }

    /// The oldest connection of the owner with the most of those that `owner` gives one.
    fn oldest_of_largest<'t, O: Ord + 't>(
        &'t self,
        owner: impl Fn(&'t Entry) -> Option<&'t O>,
    ) -> Option<u64> {
        let mut by_owner: BTreeMap<&O, (usize, u64)> = BTreeMap::new();
        for (number, entry) in &self.entries {
            if let Some(owner) = owner(entry) {
                by_owner.entry(owner).or_insert((0, *number)).0 += 1;
            }
        }
        by_owner.into_values().max_by_key(|(count, _)| *count).map(|(_, oldest)| oldest)
    }

    /// Makes room for one more connection of an identity. False: there is none.
    fn make_room(&mut self, identity: &Identity) -> bool {
        let proven = || self.entries.values().filter_map(|entry| entry.identity.as_ref());
        let reserve = if *identity == Identity::Local { 0 } else { LOCAL_RESERVE };
        let oldest = if MAX_OF_IDENTITY <= proven().filter(|found| *found == identity).count() {
            self.oldest_of_largest(|entry| entry.idle_identity().filter(|found| *found == identity))
        } else if MAX_PROVEN - reserve <= proven().count() {
            self.oldest_of_largest(Entry::idle_identity)
        } else {
            return true;
        };
        oldest.into_iter().for_each(|number| self.end(number));
        oldest.is_some()
    }
}

impl Entry {
    fn idle_identity(&self) -> Option<&Identity> {
        self.identity.as_ref().filter(|_| !self.is_busy)
    }
}

impl ConnectionSlot {
    /// The address that it comes from; `None` for a socket in a folder.
    pub fn address(&self) -> Option<IpAddr> {
        match self.origin {
            Origin::Address(address) => Some(address),
            Origin::User(_) | Origin::Unknown => None,
        }
    }

    /// The task that serves the connection: it is aborted when the connection ends for another.
    pub fn set_task(&self, task: AbortHandle) {
        match locked(&self.connections.table).entries.get_mut(&self.number) {
            Some(entry) => entry.task = Some(task),
            // It was ended before it had begun.
            None => task.abort(),
        }
    }

    /// Leaves the table with the value that it answers.
    pub fn occupy(&self) -> ConnectionGuard {
        ConnectionGuard(self.clone())
    }

    /// A request of the connection is being answered.
    pub fn begin_request(&self) -> Busy {
        self.set_busy(true);
        Busy(self.clone())
    }

    /// A request of the connection has shown the caller: the connection is theirs from here on. False: they
    /// have as many as they may.
    #[must_use]
    pub fn prove(&self, identity: &Identity) -> bool {
        let mut table = locked(&self.connections.table);
        let owner = table.entries.get(&self.number).map(|entry| entry.identity.as_ref() == Some(identity));
        match owner {
            Some(true) => true,
            Some(false) if table.make_room(identity) => {
                if let Some(entry) = table.entries.get_mut(&self.number) {
                    entry.identity = Some(identity.clone());
                }
                table.check();
                true
            }
            // `None`: it was ended for another, and its task does not know yet.
            Some(false) | None => false,
        }
    }

    fn set_busy(&self, is_busy: bool) {
        if let Some(entry) = locked(&self.connections.table).entries.get_mut(&self.number) {
            entry.is_busy = is_busy;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_busy(false);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        locked(&self.0.connections.table).entries.remove(&self.0.number);
        self.0.connections.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Origin = Origin::Address(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn proxied(name: &str) -> Identity {
        Identity::Proxy(name.to_owned())
    }

    fn is_open(place: &ConnectionSlot) -> bool {
        locked(&place.connections.table).entries.contains_key(&place.number)
    }

    #[test]
    fn a_crowd_without_an_identity_ends_its_own_oldest_whatever_it_waits_for() {
        let connections = Arc::new(Connections::default());
        let other = Connections::enter(&connections, Origin::User(65_534));
        let proven = Connections::enter(&connections, HERE);
        assert!(proven.prove(&proxied("mara")));
        let crowd: Vec<(ConnectionSlot, Busy)> = (0..10 * MAX_UNPROVEN)
            .map(|_| Connections::enter(&connections, HERE))
            .map(|place| (place.clone(), place.begin_request()))
            .collect();
        assert!(is_open(&other), "another origin pays nothing");
        assert!(is_open(&proven), "an identity pays nothing");
        assert_eq!(crowd.iter().filter(|(place, _)| is_open(place)).count(), MAX_UNPROVEN - 1);
        assert!(crowd.iter().rev().take(MAX_UNPROVEN - 1).all(|(place, _)| is_open(place)));
    }

    #[test]
    fn an_identity_at_its_limit_ends_its_own_oldest_idle_one_and_costs_others_nothing() {
        let connections = Arc::new(Connections::default());
        let of = |identity: &Identity| {
            let place = Connections::enter(&connections, HERE);
            place.prove(identity).then_some(place)
        };
        let other = of(&proxied("ada")).unwrap();
        let held: Vec<ConnectionSlot> = (0..MAX_OF_IDENTITY).map(|_| of(&proxied("mara")).unwrap()).collect();
        let busy: Vec<Busy> = held.iter().skip(1).map(ConnectionSlot::begin_request).collect();
        let newest = of(&proxied("mara")).unwrap();
        assert!(!is_open(&held[0]), "the only idle one made room");
        let _busy = newest.begin_request();
        assert!(of(&proxied("mara")).is_none(), "all are busy");
        assert!(is_open(&other) && of(&proxied("ada")).is_some());
        drop(busy);
        assert!(of(&proxied("mara")).is_some());
    }

    #[test]
    fn the_last_places_are_for_the_local_administrator() {
        let connections = Arc::new(Connections::default());
        let mut busy = Vec::new();
        for number in 0..MAX_PROVEN {
            let place = Connections::enter(&connections, HERE);
            if place.prove(&proxied(&format!("user-{}", number / MAX_OF_IDENTITY))) {
                busy.push(place.begin_request());
            }
        }
        assert_eq!(busy.len(), MAX_PROVEN - LOCAL_RESERVE);
        assert!(Connections::enter(&connections, HERE).prove(&Identity::Local));
    }

    #[test]
    fn a_connection_that_changes_hands_is_counted_once() {
        let connections = Arc::new(Connections::default());
        let place = Connections::enter(&connections, HERE);
        for number in 0..2 * MAX_PROVEN {
            assert!(place.prove(&proxied(&format!("user-{number}"))));
        }
        drop(place.occupy());
        assert!(!is_open(&place));
        assert!(!place.prove(&Identity::Local), "it has left");
    }
}
