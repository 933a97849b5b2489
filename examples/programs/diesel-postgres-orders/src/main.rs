//! Orders with diesel on PostgreSQL, without an async runtime: an order and its receipt are one transaction.
//! It orders twice, one of which is rolled back, and waits for the receipt of the other.
//!
//! ```text
//! DATABASE_URL=postgres://app@localhost/app cargo run
//! ```

use std::sync::mpsc::channel;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl, sql_query};
use mainspring_embed::{Handler, Jobs, Run};

type Error = Box<dyn std::error::Error + Send + Sync>;

const RECEIPT: Handler<i64> = Handler::new("receipt");

/// The number of a row.
#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// Orders, and pays from the account. What the account has not fails, and there is neither order nor receipt.
fn order(connection: &mut PgConnection, jobs: &Jobs, item: &str, price: i64) -> Result<i64, Error> {
    connection.transaction(|transaction| {
        let insert = sql_query("INSERT INTO purchase (item) VALUES ($1) RETURNING id");
        let Row { id } = insert.bind::<Text, _>(item).get_result(transaction)?;
        let receipt = jobs.once(RECEIPT).key(id.to_string()).payload(&id);
        receipt.submit_in(|sql, text| sql_query(sql).bind::<Text, _>(text).execute(transaction))??;
        let pay = sql_query("UPDATE balance SET cents = cents - $1");
        pay.bind::<BigInt, _>(price).execute(transaction)?;
        Ok(id)
    })
}

fn main() -> Result<(), Error> {
    let url = std::env::var("DATABASE_URL")?;
    let mut connection = PgConnection::establish(&url)?;
    connection.batch_execute(
        "CREATE TABLE purchase (id bigint GENERATED ALWAYS AS IDENTITY, item text NOT NULL);
        CREATE TABLE balance AS SELECT 1000::bigint AS cents;
        ALTER TABLE balance ADD CHECK (0 <= cents)",
    )?;
    let (sender, receipts) = channel();
    let jobs = Jobs::connect(&url)?
        .handler(RECEIPT.with(|options| options.retry(5)), move |_: &Run, id: i64| sender.send(id))
        .start()?;

    let refused = order(&mut connection, &jobs, "a bicycle", 40_000);
    assert!(refused.is_err(), "it costs more than there is");
    let id = order(&mut connection, &jobs, "a bell", 900)?;
    let first = receipts.recv_timeout(Duration::from_secs(60))?;
    // What is under way ends; a receipt for the bicycle would be among it.
    jobs.shutdown(Duration::from_secs(30))?;
    let receipts: Vec<i64> = [first].into_iter().chain(receipts.try_iter()).collect();
    println!("receipts: {receipts:?}");
    assert_eq!(receipts, [id]);
    let left = sql_query("SELECT cents AS id FROM balance").get_result::<Row>(&mut connection)?;
    assert_eq!(left.id, 100);
    Ok(())
}
