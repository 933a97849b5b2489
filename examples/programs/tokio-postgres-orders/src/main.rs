//! Orders with tokio-postgres: an order and its receipt are one transaction, which may fail. It orders twice,
//! waits for the receipt of the order that was paid for, and ends.
//!
//! ```text
//! DATABASE_URL=postgres://app@localhost/app cargo run
//! ```

use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{Handler, Jobs, Run};
use tokio_postgres::{Client, NoTls};

type Error = Box<dyn std::error::Error + Send + Sync>;

const RECEIPT: Handler<i64> = Handler::new("receipt");

/// Orders, and pays from the account. What the account has not fails, and there is neither order nor receipt.
async fn order(client: &mut Client, jobs: &Jobs, item: &str, price: i64) -> Result<i64, Error> {
    let transaction = client.transaction().await?;
    let sql = "INSERT INTO purchase (item) VALUES ($1) RETURNING id";
    let id: i64 = transaction.query_one(sql, &[&item]).await?.get(0);
    let receipt = jobs.once(RECEIPT).key(id.to_string()).payload(&id);
    receipt.submit_in(async |sql, text| transaction.execute(sql, &[&text]).await)?.await?;
    let sql = "UPDATE balance SET cents = cents - $1";
    transaction.execute(sql, &[&price]).await?;
    transaction.commit().await?;
    Ok(id)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::var("DATABASE_URL")?;
    let (mut client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    let tables = "CREATE TABLE purchase (id bigint GENERATED ALWAYS AS IDENTITY, item text NOT NULL);
        CREATE TABLE balance AS SELECT 1000::bigint AS cents;
        ALTER TABLE balance ADD CHECK (0 <= cents)";
    client.batch_execute(tables).await?;
    let (sender, receipts) = channel();
    let start = move || {
        let jobs = Jobs::connect(&url)?;
        jobs.handler(RECEIPT.with(|options| options.retry(5)), move |_: &Run, id: i64| sender.send(id))
            .start()
    };
    let jobs = tokio::task::spawn_blocking(start).await??;

    let refused = order(&mut client, &jobs, "a bicycle", 40_000).await;
    assert!(refused.is_err(), "it costs more than there is");
    let id = order(&mut client, &jobs, "a bell", 900).await?;
    let stopped = jobs.clone();
    let receipts = tokio::task::spawn_blocking(move || {
        let first = receipts.recv_timeout(Duration::from_secs(60));
        // What is under way ends; a receipt for the bicycle would be among it.
        stopped
            .shutdown(Duration::from_secs(30))
            .map(|()| first.into_iter().chain(receipts.try_iter()).collect::<Vec<_>>())
    });
    let receipts = receipts.await??;
    println!("receipts: {receipts:?}");
    assert_eq!(receipts, [id]);
    let sql = "SELECT (SELECT count(*) FROM purchase), (SELECT cents FROM balance)";
    let row = client.query_one(sql, &[]).await?;
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, 100));
    Ok(())
}
