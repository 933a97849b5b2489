//! Pages of runs: each reads what it shows, and little more.

use mainspring_job::{Cause, Order, Query, Reader, RunState};

use super::database::Database;
use super::trouble::opened;

/// Rows of histories that sessions which are over have read.
fn read_count(database: &Database) -> i64 {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    // A session tells what it has read when it ends, before it leaves this list.
    while database.ask(others) != "0" {}
    let sql = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'history'";
    database.ask(sql).parse().unwrap()
}

#[test]
fn a_page_of_states_or_of_a_cause_that_few_runs_have_reads_few_runs() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    database.ask(
        "INSERT INTO mainspring.history
            (job, nominal, series, cause, state, attempt, due, planned, ended, reason, deaths, forgiven)
            SELECT 'many', g, 0,
                CASE WHEN g IN (6, 7) THEN 'backfill' WHEN g % 2 = 0 THEN 'once' ELSE 'trigger' END,
                CASE g WHEN 3 THEN 'missed' WHEN 4 THEN 'dead' WHEN 5 THEN 'failed' ELSE 'succeeded' END,
                1, g, g, g, '', 0, 0 FROM generate_series(1, 20000) AS g;
        ANALYZE mainspring.history",
    );
    let [mut of_one, mut of_two, mut of_cause] = [(); 3].map(|()| Query::new(20));
    of_one.states = vec![RunState::Missed];
    of_two.states = vec![RunState::Dead, RunState::Failed];
    of_cause.cause = Some(Cause::Backfill);
    for (mut query, found) in [(of_one, 1), (of_two, 2), (of_cause, 2)] {
        for order in [Order::Nominal, Order::Ended] {
            let before = read_count(&database);
            query.order = order;
            let mut store = opened(&database);
            assert_eq!(store.find(&query).unwrap().len(), found);
            drop(store);
            let count = read_count(&database) - before;
            assert!(count < 100, "{query:?}: {count} rows are read");
        }
    }
}
