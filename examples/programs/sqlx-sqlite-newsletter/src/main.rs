//! A newsletter with sqlx on SQLite: who subscribes gets one letter, by an async handler that asks the same
//! database, is told to come again, and fails in between. It subscribes three people, and ends when all have
//! their letter.

use std::time::Duration;

use mainspring_embed::{Handler, HandlerError, Jobs, Run, RunState};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

type Error = Box<dyn std::error::Error + Send + Sync>;

const LETTER: Handler<i64> = Handler::new("letter");

/// Sends a letter. What was sent is noted by the run's key, so that it is sent once, however often it runs.
async fn send(pool: SqlitePool, run: Run, id: i64) -> Result<(), HandlerError> {
    let sql = "SELECT address FROM subscriber WHERE id = ?";
    let address: String =
        sqlx::query_scalar(sql).bind(id).fetch_one(&pool).await.map_err(HandlerError::because)?;
    match (address.as_str(), run.attempt()) {
        ("ada", 1) => return Err(HandlerError::because("the mail server is away")),
        // The mailer takes no letter to her yet. That is no failure, and counts against no retry.
        ("grace", 1) => return Err(HandlerError::again_in(Duration::from_secs(1))),
        ("nobody", _) => return Err(HandlerError::for_good("there is no such address")),
        _ => {}
    }
    let sql = "INSERT INTO sent (key, address) VALUES (?, ?) ON CONFLICT DO NOTHING";
    let noted = sqlx::query(sql).bind(run.key().to_string()).bind(&address).execute(&pool).await;
    noted.map(|_| run.say(format!("a letter to {address}"))).map_err(HandlerError::because)
}

/// Subscribes, in one transaction with the letter.
async fn subscribe(pool: &SqlitePool, jobs: &Jobs, address: &str) -> Result<(), Error> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    let sql = "INSERT INTO subscriber (address) VALUES (?)";
    let id = sqlx::query(sql).bind(address).execute(&mut *transaction).await?.last_insert_rowid();
    let letter = jobs.once(LETTER).key(id.to_string()).payload(&id);
    letter.submit_in(|sql, text| sqlx::query(sql).bind(text).execute(&mut *transaction))?.await?;
    Ok(transaction.commit().await?)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).ok_or("the name of a folder is missing")?;
    std::fs::create_dir_all(&folder)?;
    let file = format!("{folder}/newsletter.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let pool = SqlitePool::connect_with(options.busy_timeout(Duration::from_secs(5))).await?;
    sqlx::query("CREATE TABLE subscriber (id INTEGER PRIMARY KEY, address TEXT NOT NULL)")
        .execute(&pool)
        .await?;
    sqlx::query("CREATE TABLE sent (key TEXT PRIMARY KEY, address TEXT NOT NULL)").execute(&pool).await?;
    let (runtime, letters) = (tokio::runtime::Handle::current(), pool.clone());
    let builder = Jobs::open(format!("{folder}/jobs"))?
        .outbox(&file)
        .spawner(move |future| drop(runtime.spawn(future)));
    let rules = LETTER.with(|options| options.retry(3).backoff(Duration::from_millis(10)));
    let builder = builder.async_handler(rules, move |run, id| send(letters.clone(), run, id));
    let jobs = tokio::task::spawn_blocking(|| builder.start()).await??;
    for address in ["ada", "grace", "nobody"] {
        subscribe(&pool, &jobs, address).await?;
    }
    let (waiting, ended) = (jobs.clone(), |run: &mainspring_embed::mainspring_job::Run| !run.state.is_open());
    let runs = tokio::task::spawn_blocking(move || {
        loop {
            let runs = waiting.runs(10)?;
            if runs.len() == 3 && runs.iter().all(ended) {
                break waiting.shutdown(Duration::from_secs(30)).map(|()| runs);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut ends: Vec<(RunState, u32)> = runs.await??.iter().map(|run| (run.state, run.attempt)).collect();
    ends.sort_unstable();
    assert_eq!(ends, [(RunState::Succeeded, 2), (RunState::Succeeded, 2), (RunState::Dead, 1)]);
    let sent: Vec<String> =
        sqlx::query_scalar("SELECT address FROM sent ORDER BY address").fetch_all(&pool).await?;
    println!("sent to {}", sent.join(" and "));
    assert_eq!(sent, ["ada", "grace"]);
    Ok(())
}
