//! Waiting for what a database answers.

use crate::database::Database;

/// Asks until that is answered. Each question takes a few milliseconds.
pub(crate) fn until(database: &Database, sql: &str, answer: &str) {
    const MAX_TRIES: u32 = 3_000;
    let mut last = String::new();
    for _ in 0..MAX_TRIES {
        last = database.ask(sql);
        if last == answer {
            return;
        }
    }
    panic!("{sql}: {last}");
}
