//! A writer of logs that waits for lines and for time at once: lines are written a hundred at a time, and
//! those that are fewer when they have waited for a while. It writes 250 lines, then hears nothing more, and
//! ends when all are there.

use std::time::Duration;

use mainspring::Channels;
use mainspring::crossbeam_channel::{Receiver, bounded, select};

type Error = Box<dyn std::error::Error + Send + Sync>;

const BATCH: usize = 100;
const WAIT: Duration = Duration::from_millis(50);

/// Hands on what comes in batches, until nothing can come any more.
fn batch(
    channels: &Channels,
    lines: &Receiver<String>,
    mut write: impl FnMut(Vec<String>),
) -> Result<(), Error> {
    let mut batch = Vec::new();
    // One timer for all batches: it is set with the first line of each.
    let timer = channels.timer(WAIT)?;
    timer.stop();
    loop {
        select! {
            recv(lines) -> line => {
                let Ok(line) = line else { break };
                if batch.is_empty() {
                    timer.reset(WAIT)?;
                }
                batch.push(line);
                if batch.len() < BATCH {
                    continue;
                }
            }
            recv(timer.receiver()) -> _ => {}
        }
        // What has fired and was not received is taken back.
        timer.stop();
        write(std::mem::take(&mut batch));
    }
    if !batch.is_empty() {
        write(batch);
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let channels = mainspring::global()?.channels();
    let (sender, lines) = bounded(BATCH);
    let (written, batches) = bounded(BATCH * 3);
    let writer = std::thread::spawn(move || batch(&channels, &lines, |batch| drop(written.send(batch))));
    for number in 0..250 {
        sender.send(format!("line {number}"))?;
    }
    let mut all = Vec::new();
    while all.len() < 250 {
        // The sender is open, so that only time ends the last batch.
        let batch = batches.recv_timeout(Duration::from_secs(60))?;
        println!("{} lines", batch.len());
        assert!(0 < batch.len() && batch.len() <= BATCH);
        all.extend(batch);
    }
    drop(sender);
    writer.join().expect("the writer does not panic")?;
    assert!(all.iter().enumerate().all(|(number, line)| *line == format!("line {number}")));
    assert!(batches.try_recv().is_err(), "nothing is written twice");
    Ok(())
}
