//! Actors with mailboxes, as in skynet: a timeout is one more message, and a session that is no longer waited
//! for is ignored.

use std::sync::mpsc::Receiver;
use std::thread;

use mainspring::front::Mailboxes;
use mainspring::front::mailbox::{Message, Service};
use mainspring::preset;

const ACTOR_COUNT: u64 = 20;
const TURN_COUNT: u64 = 5;

/// An actor that sets itself a timeout for each turn, and one that it does not wait for.
fn act(mailboxes: &Mailboxes, service: Service, mailbox: &Receiver<Message>) -> (u64, u64) {
    let (mut turns, mut ignored) = (0, 0);
    for session in 1..=TURN_COUNT {
        mailboxes.timeout_ticks(0, service, session + 1_000).expect("the service is registered");
        mailboxes.timeout_ticks(2, service, session).expect("the service is registered");
        loop {
            let message = mailbox.recv().expect("the service is registered");
            if message.session == session {
                turns += 1;
                break;
            }
            ignored += 1;
        }
    }
    (turns, ignored)
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let mailboxes = Mailboxes::new(engine.handle().clone());
    let results: Vec<(u64, u64)> = thread::scope(|scope| {
        let actors: Vec<_> = (0..ACTOR_COUNT)
            .map(|_| {
                let (service, mailbox) = mailboxes.register();
                let mailboxes = &mailboxes;
                scope.spawn(move || act(mailboxes, service, &mailbox))
            })
            .collect();
        actors.into_iter().map(|actor| actor.join().expect("no actor panics")).collect()
    });
    let (turns, ignored) =
        results.iter().fold((0, 0), |(turns, ignored), result| (turns + result.0, ignored + result.1));
    println!("{ACTOR_COUNT} actors took {turns} turns and ignored {ignored} old messages");
    assert_eq!((turns, ignored), (ACTOR_COUNT * TURN_COUNT, ACTOR_COUNT * TURN_COUNT));
    Ok(())
}
