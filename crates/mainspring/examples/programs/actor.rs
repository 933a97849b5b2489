//! An actor whose timeout is one more message in its mailbox.

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(5);

enum Message {
    Work(u32),
    Timeout,
}

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let (sender, mailbox) = channel();
    sender.send(Message::Work(1))?;
    sender.send(Message::Work(2))?;
    let mut sum = 0;
    // Begin.
    let timeout = mainspring::after(PATIENCE, move || sender.send(Message::Timeout).unwrap_or(()))?;
    for message in mailbox {
        match message {
            Message::Work(number) => sum += number,
            Message::Timeout => break,
        }
        timeout.reset(PATIENCE);
    }
    // End.
    println!("actor: {sum} when no more work came");
    assert_eq!(sum, 3);
    Ok(())
}
