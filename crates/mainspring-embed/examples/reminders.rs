//! Reminders with a payload: each is on disk when `submit` returns, and is due once.

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{HandlerError, Jobs, Options, Run};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Reminder {
    to: String,
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("reminders-{}", std::process::id()));
    let (sent, outbox) = channel();
    let jobs = Jobs::open(&folder)?
        .handler(
            Options::new("remind").retry(3),
            move |run: &Run, reminder: Reminder| -> Result<(), HandlerError> {
                // The key is the same in each attempt: a mail server that keeps it sends one mail.
                sent.send(format!("{}: {} ({})", reminder.to, reminder.text, run.key()))?;
                Ok(())
            },
        )
        .start()?;

    let reminder = Reminder { to: "ada@example.com".to_owned(), text: "your invoice is due".to_owned() };
    let first = jobs.once("remind").key("invoice-17").after(Duration::from_millis(50)).payload(&reminder);
    assert!(first.submit()?.is_new);
    // A request that comes twice submits once.
    let again = jobs.once("remind").key("invoice-17").payload(&reminder).submit()?;
    assert!(!again.is_new);

    println!("{}", outbox.recv()?);
    jobs.shutdown(Duration::from_secs(10))?;
    drop(jobs);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

#[test]
fn a_reminder_is_sent_once() {
    main().unwrap();
}
