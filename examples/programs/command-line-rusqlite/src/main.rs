//! A list of things to do for the command line, with rusqlite: what is added reminds of itself, also if the
//! program ends before.
//!
//! ```text
//! todo FOLDER add TEXT    adds, and ends at once
//! todo FOLDER run         reminds until nothing is left to remind of
//! ```

use std::time::Duration;

use mainspring_embed::{Handler, Jobs, Run};
use rusqlite::{Connection, TransactionBehavior};

type Error = Box<dyn std::error::Error>;

const REMIND: Handler<i64> = Handler::new("remind");

fn open(folder: &str) -> Result<(Connection, Jobs), Error> {
    std::fs::create_dir_all(folder)?;
    let file = format!("{folder}/todo.db");
    let connection = Connection::open(&file)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS todo (id INTEGER PRIMARY KEY, text TEXT NOT NULL, reminders INTEGER NOT NULL DEFAULT 0)",
    )?;
    let jobs =
        Jobs::open(format!("{folder}/jobs"))?.outbox(&file).handler(REMIND, move |_: &Run, id: i64| {
            let connection = Connection::open(&file)?;
            connection.busy_timeout(Duration::from_secs(5))?;
            let sql = "UPDATE todo SET reminders = reminders + 1 WHERE id = ?1 RETURNING text";
            let text: String = connection.query_row(sql, [id], |row| row.get(0))?;
            println!("remember: {text}");
            Ok::<(), rusqlite::Error>(())
        });
    Ok((connection, jobs.start()?))
}

fn add(connection: &mut Connection, jobs: &Jobs, text: &str) -> Result<(), Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("INSERT INTO todo (text) VALUES (?1)", [text])?;
    let id = transaction.last_insert_rowid();
    let remind = jobs.once(REMIND).payload(&id).after(Duration::from_millis(300));
    remind.submit_in(|sql, document| transaction.execute(sql, [document]))??;
    Ok(transaction.commit()?)
}

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let (mut connection, jobs) = open(words.first().ok_or("the name of a folder is missing")?)?;
    match words[1..] {
        ["add", text] => add(&mut connection, &jobs, text)?,
        ["run"] => {
            let sql = "SELECT count(*) FROM todo WHERE reminders = 0";
            while 0 < connection.query_row(sql, [], |row| row.get::<_, i64>(0))? {
                std::thread::sleep(Duration::from_millis(20));
            }
            let sql = "SELECT count(*) FROM todo WHERE reminders <> 1";
            assert_eq!(connection.query_row(sql, [], |row| row.get::<_, i64>(0)), Ok(0), "each once");
        }
        _ => return Err("expected: todo FOLDER add TEXT, or todo FOLDER run".into()),
    }
    Ok(jobs.shutdown(Duration::from_secs(30))?)
}
