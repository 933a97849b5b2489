//! Submission in a transaction of the program: one statement, which the program runs with its own driver.
//!
//! ```text
//!  Once ─ checked ─▶ document ─▶ execute(SQL, document) ─┬─ PostgreSQL: mainspring.submit(..) ─▶ inbox
//!                                                        └─ SQLite: INSERT INTO mainspring_outbox ─▶ outbox
//! ```
//!
//! A statement has one parameter, a text, and gives nothing that the program needs. So a driver of any
//! version can run it, and no driver is a dependency here.
//!
//! Cost: a JSON document, and what the statement costs in the program's transaction.
//!
//! Does not see the transaction, and knows neither whether it commits nor when.
//!
//! Source: [Transactional outbox](https://microservices.io/patterns/data/transactional-outbox.html).

use std::time::Duration;

use jiff::Timestamp;

use crate::document::{Document, check};
use crate::error::Error;
use crate::submission::Once;

/// The statement for a shared database. What is due after a delay counts by the database's clock, as all
/// times of a shared database do.
const INTO_POSTGRES: &str = "SELECT mainspring.submit(d - '{name,key,due,after}'::text[], \
     due => coalesce((d ->> 'due')::timestamptz, clock_timestamp() + (d ->> 'after')::interval), \
     name => d ->> 'name', key => d ->> 'key') FROM (SELECT $1::text::jsonb) AS s (d)";

/// The statement for a file of the program.
const INTO_SQLITE: &str =
    "INSERT INTO mainspring_outbox (folder, submission) VALUES (json_extract(?1, '$.folder'), ?1)";

impl<P> Once<'_, P> {
    /// Submits it as a part of a transaction of the program: it is done once if that commits, and never
    /// otherwise.
    ///
    /// `execute` gets a statement and its one parameter, a text. It runs the statement in the transaction, by
    /// any driver, and may return a future, which the caller awaits. What it returns is returned. The
    /// transaction is one of the database of [`Jobs::connect`](crate::Jobs), or one of the SQLite file that
    /// [`outbox`](crate::Builder::outbox) names.
    ///
    /// It is taken within a second after the commit. What cannot be done then, such as other
    /// work under a known [`key`](Self::key), stays in `mainspring.inbox` or `mainspring_outbox`, with the
    /// reason in the column `refusal`, and the log says so. A shared database counts [`after`](Self::after)
    /// by its own clock, from the statement on.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), but for a key or a name that another submission has. `execute` is not
    /// called then. [`Error::NoTransaction`] where there is no database for it.
    ///
    /// # Example
    /// ```no_run
    /// # use mainspring_embed::{Handler, Jobs};
    /// # const WELCOME: Handler<String> = Handler::new("welcome");
    /// # fn sign_up(jobs: &Jobs, rusqlite: &rusqlite::Connection) -> Result<(), Box<dyn std::error::Error>> {
    /// let transaction = rusqlite.unchecked_transaction()?;
    /// transaction.execute("INSERT INTO user (name) VALUES ('ada')", [])?;
    /// jobs.once(WELCOME)
    ///     .payload(&"ada".to_owned())
    ///     .submit_in(|sql, document| transaction.execute(sql, [document]))??;
    /// transaction.commit()?;
    /// # Ok(()) }
    /// ```
    pub fn submit_in<R>(self, execute: impl FnOnce(&'static str, String) -> R) -> Result<R, Error> {
        let (client, delay) = (self.client, self.delay());
        let folder = client.target.outbox_folder().map_err(Error::NoTransaction)?;
        let is_shared = folder.is_none();
        let sql = if is_shared { INTO_POSTGRES } else { INTO_SQLITE };
        let key = self.own_key()?;
        let submission = self.submission()?;
        check(&submission, key.as_deref())?;
        if is_shared && key.as_ref().is_some_and(|key| key.contains('\0')) {
            return Err(Error::definition("key", "a key in PostgreSQL has no character NUL"));
        }
        let mut document = Document { key, folder, ..Document::of(&submission) };
        match delay {
            Some(delay) if is_shared => (document.due, document.after) = (None, Some(interval(delay))),
            None if is_shared => document.due = Some(whole_microseconds(submission.due).to_string()),
            _ => {}
        }
        let document = serde_json::to_string(&document).map_err(Error::Payload)?;
        let returned = execute(sql, document);
        client.target.expect_submission();
        Ok(returned)
    }
}

/// The delay for PostgreSQL, whose intervals count microseconds: nothing starts early.
fn interval(delay: Duration) -> String {
    format!("{} microseconds", delay.as_nanos().div_ceil(1_000))
}

/// The time as PostgreSQL keeps it.
fn whole_microseconds(due: Timestamp) -> Timestamp {
    let whole =
        due.as_nanosecond().div_euclid(1_000) + i128::from(due.as_nanosecond().rem_euclid(1_000) != 0);
    let whole = Timestamp::from_nanosecond(whole * 1_000);
    let whole = whole.expect("the planner's range is within that of a timestamp");
    debug_assert!(due <= whole, "nothing starts early");
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_microseconds_is_never_earlier() {
        let cases = [(0, 0), (1, 1_000), (1_000, 1_000), (1_001, 2_000), (-1, 0), (-1_001, -1_000)];
        for (due, expected) in cases {
            let due = Timestamp::from_nanosecond(due).unwrap();
            assert_eq!(whole_microseconds(due).as_nanosecond(), expected);
        }
        assert_eq!(interval(Duration::from_nanos(1)), "1 microseconds");
        assert_eq!(interval(Duration::ZERO), "0 microseconds");
    }
}
