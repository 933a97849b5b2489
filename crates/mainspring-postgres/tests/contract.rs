//! The store keeps the contract: over a session of its own, and through a pooler in transaction mode. The
//! scripts of the suite compare it with the store in memory.

use mainspring_job::contract;
use mainspring_postgres::{Identity, Location, PostgresStore};

use super::database::Database;
use super::relay::Relay;

/// All tables, as if nothing had ever been written.
const EMPTY: &str =
    "TRUNCATE mainspring.job, mainspring.pending, mainspring.once_key, mainspring.open_run, mainspring.history,
    mainspring.past_attempt, mainspring.audit, mainspring.inbox, mainspring.output, mainspring.worker_life, mainspring.report
    RESTART IDENTITY; DELETE FROM mainspring.planner; INSERT INTO mainspring.planner (version, floor) VALUES (1, 1)";

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
        self.database.ask(EMPTY);
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
    assert_eq!(contract::exercise(&mut Shared::new(&database, &database.url()), 40), Ok(()));
}

#[test]
fn the_store_keeps_the_contract_where_answers_are_lost() {
    let Some(database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let address = relay.url();
    let mut ground = Shared { relay: Some(relay), ..Shared::new(&database, &address) };
    assert_eq!(contract::exercise(&mut ground, 40), Ok(()));
}

#[test]
fn the_store_keeps_the_contract_through_a_pooler_in_transaction_mode() {
    let Some(mut database) = Database::start() else { return };
    let Some(url) = database.pooled() else { return };
    assert_eq!(contract::exercise(&mut Shared::new(&database, &url), 10), Ok(()));
}
