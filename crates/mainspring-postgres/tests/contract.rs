//! The store keeps the contract: over a session of its own, and through a pooler in transaction mode. The
//! scripts of the suite compare it with the store in memory.

use mainspring_job::contract;
use mainspring_postgres::{FORMAT_VERSION, Identity, Location, PostgresStore};

use super::database::Database;
use super::relay::Relay;

/// All tables, as if nothing had ever been written. TRUNCATE makes forty files again each time.
const EMPTY: &str =
    "DELETE FROM mainspring.job; DELETE FROM mainspring.pending; DELETE FROM mainspring.once_key;
    DELETE FROM mainspring.open_run; DELETE FROM mainspring.history; DELETE FROM mainspring.past_attempt;
    DELETE FROM mainspring.audit; DELETE FROM mainspring.inbox; DELETE FROM mainspring.output;
    DELETE FROM mainspring.worker_life; DELETE FROM mainspring.report; DELETE FROM mainspring.planner;
    ALTER TABLE mainspring.audit ALTER number RESTART; ALTER TABLE mainspring.inbox ALTER id RESTART;";

pub(crate) struct Shared<'d> {
    database: &'d Database,
    location: Location,
    /// What is before the database, and can lose its answers.
    relay: Option<Relay>,
}

impl<'d> Shared<'d> {
    pub(crate) fn new(database: &'d Database, address: &str) -> Shared<'d> {
        Shared { database, location: Location::parse(address).unwrap(), relay: None }
    }

    fn open(&self) -> PostgresStore {
        PostgresStore::open(&self.location, Identity::default()).unwrap()
    }
}

impl contract::StoreFixture for Shared<'_> {
    type Store = PostgresStore;

    fn fresh(&mut self) -> PostgresStore {
        let store = self.open();
        let planner = "INSERT INTO mainspring.planner (version, floor) VALUES";
        self.database.ask(&format!("{EMPTY} {planner} ({FORMAT_VERSION}, 1)"));
        store
    }

    fn reopened(&mut self, store: PostgresStore) -> PostgresStore {
        drop(store);
        self.open()
    }

    fn beside(&mut self, _store: &PostgresStore) -> Option<PostgresStore> {
        Some(self.open())
    }

    fn lapse(&mut self, _store: &PostgresStore) {
        self.database.ask("UPDATE mainspring.planner SET until = '-infinity'");
    }

    fn lose_answer(&mut self, _store: &PostgresStore) -> bool {
        self.relay.as_ref().inspect(|relay| relay.swallow(1)).is_some()
    }
}

#[test]
fn the_store_keeps_the_contract() {
    let Some(database) = Database::start() else { return };
    assert_eq!(contract::exercise(&mut Shared::new(&database, &database.url()), 8), Ok(()));
}

#[test]
fn the_store_keeps_the_contract_where_answers_are_lost() {
    let Some(database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let address = relay.url();
    let mut ground = Shared { relay: Some(relay), ..Shared::new(&database, &address) };
    assert_eq!(contract::exercise(&mut ground, 8), Ok(()));
}

#[test]
fn the_store_keeps_the_contract_through_a_pooler_in_transaction_mode() {
    let Some(mut database) = Database::start() else { return };
    let Some(url) = database.pooled() else { return };
    assert_eq!(contract::exercise(&mut Shared::new(&database, &url), 3), Ok(()));
}
