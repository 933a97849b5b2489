//! An owner survives the move of its database, and a half-open connection to it.

use mainspring_job::{Answer, Batch, Owner, Reader, Store, StoreError};
use mainspring_postgres::{Identity, Location, PostgresReader, PostgresStore};

use super::database::Database;
use super::relay::{Relay, Way};
use super::trouble::{MAX_TRIES, acquired, cycle, opened, plan, tried};

#[test]
fn what_an_owner_said_over_a_half_open_connection_is_refused_when_it_arrives_late() {
    let Some(database) = Database::start() else { return };
    for (way, has_arrived) in [(Way::ToDatabase, false), (Way::FromDatabase, true)] {
        database.ask("DROP SCHEMA IF EXISTS mainspring CASCADE");
        let relay = Relay::before(&database);
        let location = Location::parse(&relay.url()).unwrap();
        let mut one = PostgresStore::open(&location, Identity::default()).unwrap();
        let lease = acquired(&mut one);
        relay.hold(way);
        // Neither end hears that the other is gone, and a new session gets no answer either.
        let unheard = one.commit(lease, &cycle(1));
        assert!(matches!(unheard, Err(StoreError::Unknown)), "{way:?}: {unheard:?}");
        assert!(matches!(one.renew(lease), Err(StoreError::Busy(_))), "{way:?}");
        database.ask("UPDATE mainspring.planner SET until = '-infinity'");
        let mut other = opened(&database);
        let new = other.acquire(&Owner::new("other")).unwrap();
        assert_eq!(other.counts().unwrap().runs, u64::from(has_arrived), "{way:?}");
        relay.mend();
        let is_fenced =
            (0..MAX_TRIES).any(|_| matches!(one.commit(lease, &cycle(1)), Err(StoreError::Fenced)));
        assert!(is_fenced, "{way:?}");
        // The session of before is over when what it said was done or refused.
        let open = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%mainspring.commit%'
            AND pid <> pg_backend_pid()";
        assert!((0..MAX_TRIES).any(|_| database.ask(open) == "0"), "{way:?}");
        assert_eq!(other.counts().unwrap().runs, u64::from(has_arrived), "{way:?}");
        // The new owner counts from one, and does what the old one has not.
        let Batch { operations, .. } = cycle(if has_arrived { 2 } else { 1 });
        assert_eq!(tried(&mut other, new, &Batch::new(1, operations)), [Answer::New; 3], "{way:?}");
    }
}

#[test]
fn a_synchronous_standby_that_was_promoted_has_what_was_acknowledged_and_the_owner_goes_on() {
    let Some(mut database) = Database::start() else { return };
    let [one, other] = [(); 2].map(|()| Relay::before(&database));
    let url = format!("host={},{} user=mainspring dbname=mainspring", one.host(), other.host());
    other.cut();
    let mut store = PostgresStore::open(&Location::parse(&url).unwrap(), Identity::default()).unwrap();
    let lease = acquired(&mut store);
    let standby = database.standby();
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
    other.lead_to(&standby);
    other.mend();
    database.kill();
    let lost = store.commit(lease, &plan(2));
    assert!(
        matches!(lost, Err(StoreError::Busy(_) | StoreError::Unknown)),
        "a standby takes no writes: {lost:?}"
    );
    standby.promote();
    assert_eq!(tried(&mut store, lease, &plan(2)), [Answer::New]);
    assert_eq!(store.counts().unwrap().runs, 2);
}

#[test]
fn a_database_that_takes_no_writes_is_looked_at_and_a_replica_is_not() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
    let follower = database.follower();
    database.ask("ALTER DATABASE mainspring SET default_transaction_read_only = on");
    for (server, why, runs) in [
        (&database, "takes no writes (transaction_read_only is on)", Some(1)),
        (&follower, "is a replica (pg_is_in_recovery is true)", None),
    ] {
        let location = Location::parse(&server.url()).unwrap();
        let refused = PostgresStore::open(&location, Identity::default()).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
        let counted = PostgresReader::new(&location).unwrap().counts();
        assert_eq!(counted.as_ref().ok().map(|counts| counts.runs), runs, "{counted:?}");
        assert!(counted.is_ok() || counted.unwrap_err().to_string().contains(why), "it says so");
    }
}

#[test]
fn a_role_that_may_only_look_is_told_what_a_server_needs() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    database.ask("CREATE ROLE looker LOGIN; GRANT USAGE ON SCHEMA mainspring TO looker");
    database.ask("GRANT SELECT ON ALL TABLES IN SCHEMA mainspring TO looker");
    let url = database.url().replace("user=mainspring", "user=looker");
    let mut store = PostgresStore::open(&Location::parse(&url).unwrap(), Identity::default()).unwrap();
    let refused = store.acquire(&Owner::new("looker")).unwrap_err().to_string();
    assert!(refused.contains("permission denied for table planner: the role of a server needs"), "{refused}");
}

#[test]
fn a_role_without_the_right_to_it_is_told_how_much_it_does_not_see() {
    let Some(database) = Database::start() else { return };
    database.ask("CREATE ROLE plain LOGIN");
    database.ask("ALTER DATABASE mainspring OWNER TO plain");
    let url = database.url().replace("user=mainspring", "user=plain");
    let mut store = PostgresStore::open(&Location::parse(&url).unwrap(), Identity::default()).unwrap();
    acquired(&mut store);
    let _standby = database.standby();
    let mut other = database.session("SELECT pg_advisory_lock(1)");
    let holds = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = 1";
    assert!((0..MAX_TRIES).any(|_| database.ask(holds) == "1"), "the other session is there");
    let mut counts = || {
        let text = store.cluster().unwrap().unwrap();
        let found = serde_json::from_str::<serde_json::Value>(&text).unwrap()["database"].clone();
        let numbers = ["standbys", "synchronous_standbys", "unseen_standbys"].map(|name| found[name].clone());
        assert_eq!(found["role"], "plain");
        (numbers.map(|number| number.as_u64().unwrap()), found["unseen_sessions"].as_u64().unwrap())
    };
    let (standbys, sessions) = counts();
    assert_eq!(standbys, [1, 0, 1]);
    assert!(0 < sessions);
    database.ask("GRANT pg_read_all_stats TO plain");
    assert_eq!(counts(), ([1, 1, 0], 0));
    other.kill().unwrap();
    other.wait().unwrap();
}

/// What the standby had not got is lost: it was acknowledged by the database alone. But its owner does not go
/// on from what it remembers.
#[test]
fn an_owner_is_fenced_out_by_a_standby_that_lacks_its_batches_and_reads_what_there_is() {
    let Some(mut database) = Database::start() else { return };
    let [one, other] = [(); 2].map(|()| Relay::before(&database));
    let url = format!("host={},{} user=mainspring dbname=mainspring", one.host(), other.host());
    other.cut();
    let mut store = PostgresStore::open(&Location::parse(&url).unwrap(), Identity::default()).unwrap();
    let lease = acquired(&mut store);
    let standby = database.follower();
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
    standby.stop_following(&database);
    assert_eq!(tried(&mut store, lease, &plan(2)), [Answer::New]);
    other.lead_to(&standby);
    other.mend();
    database.kill();
    one.cut();
    standby.promote();
    let answered = (0..MAX_TRIES).find_map(|_| match store.commit(lease, &plan(3)) {
        Err(StoreError::Busy(_) | StoreError::Unknown) => None,
        answered => Some(answered),
    });
    assert!(matches!(answered, Some(Err(StoreError::Fenced))), "{answered:?}");
    assert_eq!(store.counts().unwrap().runs, 1, "the third batch is not there without the second");
    // The lease that the standby knows is that of this process, which may have it again.
    let again = acquired(&mut store);
    assert!(lease.epoch < again.epoch);
    let Batch { operations, .. } = plan(3);
    assert_eq!(tried(&mut store, again, &Batch::new(1, operations)), [Answer::New]);
    assert_eq!(store.counts().unwrap().runs, 2);
}

#[test]
fn a_first_host_that_says_nothing_keeps_no_session_from_the_second() {
    let Some(database) = Database::start() else { return };
    let [silent, second] = [(); 2].map(|()| Relay::before(&database));
    // It takes sessions and answers none, as a database whose machine stands still.
    silent.hold(Way::FromDatabase);
    let url = format!("host={},{} user=mainspring dbname=mainspring", silent.host(), second.host());
    let mut store = PostgresStore::open(&Location::parse(&url).unwrap(), Identity::default()).unwrap();
    let lease = acquired(&mut store);
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
}
