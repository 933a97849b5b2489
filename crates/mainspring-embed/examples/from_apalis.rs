//! A small program on apalis with SQLite, ported: a mail now, one later, with retries and shared data.
//!
//! - A program that uses SQLite by sqlx 0.8 cannot have this beside it: Cargo links one version of
//!   `libsqlite3-sys`, 0.39 here and 0.30 there. Work off there what waits there, then move.
//! - There is no worker to name, no queue to poll and no `Monitor` to run.
//! - Middleware is a function around yours. `Data` is what the closure captures. `Attempt` is
//!   `run.attempt()`, from 1. `concurrency(2)` is `Options::new("mail").group("senders", 2)`, where the group
//!   may have any name.
//! - `storage.schedule(email, at)` is `once(..).at(at)` with a `Timestamp`: `SystemTime::try_into` makes one.
//!   `after(duration)` needs none.
//! - A program that submits the same at each start gives it a `key(..)`: a key is submitted once.
//! - Retries wait, are on disk, and end in a dead letter that `mainspring dead list` shows. There they
//!   follow at once.
//! - A run that a crash cut off is `abandoned`, and is not started again unless `retry_abandoned` says so.
//!   There it may be, after a time.
//! - A folder belongs to one program. Several instances share a PostgreSQL database (`Jobs::connect`), and
//!   one of them runs the handlers. Use apalis where all instances have to run handlers at once.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mainspring_embed::{HandlerError, Jobs, Options, Run};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[derive(Serialize, Deserialize)]
struct Email {
    to: String,
}

/// What was in `Data<Mailer>`.
struct Mailer(UnboundedSender<String>);

async fn send_email(run: Run, email: Email, mailer: Arc<Mailer>) -> Result<(), HandlerError> {
    if run.attempt() == 1 && email.to == "bob" {
        return Err(HandlerError::because("the mail server is busy"));
    }
    Ok(mailer.0.send(format!("{} in attempt {}", email.to, run.attempt()))?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("from-apalis-{}", std::process::id()));
    let (sender, mut sent) = unbounded_channel();
    let (runtime, mailer) = (Handle::current(), Arc::new(Mailer(sender)));

    // WorkerBuilder::new("mail").data(mailer).retry(RetryPolicy::retries(3)).concurrency(2)
    //     .backend(storage).build_fn(send_email)
    let options = Options::new("mail").retry(3).backoff(Duration::from_millis(20)).group("mail", 2);
    let jobs = Jobs::open(&folder)?
        .spawner(move |future| drop(runtime.spawn(future)))
        .async_handler(options, move |run: Run, email: Email| send_email(run, email, Arc::clone(&mailer)))
        .start()?;

    // storage.push(Email { .. }).await?;
    jobs.once("mail").payload(&Email { to: "ada".to_owned() }).submit_async().await?;
    // storage.schedule(Email { .. }, at).await?;
    let later = Duration::from_millis(200);
    jobs.once("mail").after(later).payload(&Email { to: "bob".to_owned() }).submit_async().await?;

    for expected in ["ada in attempt 1", "bob in attempt 2"] {
        assert_eq!(sent.recv().await.ok_or("the jobs ended")?, expected);
    }
    tokio::task::spawn_blocking(move || jobs.shutdown(Duration::from_secs(10))).await??;
    Ok(std::fs::remove_dir_all(folder)?)
}

#[test]
fn a_mail_is_sent_now_and_one_later_after_a_retry() {
    main().unwrap();
}
