//! The destination of a timer's firing: a channel of one place, made when it is first looked at.
//!
//! ```text
//!   unseen: at most one firing, in place  ──receiver()──▶  a channel that holds it  ──close──▶  the same, without a sender
//! ```
//!
//! A channel takes a kilobyte and six times the rest of a timer. A timer that calls a function never needs
//! one, and one that is stopped before a receiver waits for it needs none either. Which of the two it is
//! cannot be told from outside.
//!
//! Guard: the timer's lock.
//!
//! Cost: a channel, once it is looked at.
//!
//! It does not know when it fires.

use crossbeam_channel::{Receiver, Sender, bounded};

use super::super::task::Firing;

/// Holds one firing until it is received.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    /// What was sent before there was a channel.
    unseen: Option<Firing>,
    channel: Option<Channel>,
    is_closed: bool,
}

#[derive(Debug)]
struct Channel {
    /// `None` once it is closed.
    sender: Option<Sender<Firing>>,
    /// For taking back what was not received.
    receiver: Receiver<Firing>,
}

impl Outlet {
    /// Sends a firing; one that finds the last still there is dropped, and so is one that comes after the
    /// end.
    pub(super) fn send(&mut self, firing: Firing) {
        match &self.channel {
            Some(Channel { sender: Some(sender), .. }) => sender.try_send(firing).unwrap_or_default(),
            None if !self.is_closed => _ = self.unseen.get_or_insert(firing),
            _ => (),
        }
    }

    /// Takes back what was sent and not received; tells whether there was something.
    pub(super) fn take_back(&mut self) -> bool {
        match &self.channel {
            Some(channel) => channel.receiver.try_recv().is_ok(),
            None => self.unseen.take().is_some(),
        }
    }

    /// Nothing will be sent any more: a receiver that has taken what there is hears of the end then.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        if let Some(channel) = &mut self.channel {
            channel.sender = None;
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The channel, made now if there was none.
    pub(super) fn receiver(&mut self) -> Receiver<Firing> {
        let (unseen, is_closed) = (self.unseen.take(), self.is_closed);
        let channel = self.channel.get_or_insert_with(|| {
            let (sender, receiver) = bounded(1);
            unseen.into_iter().for_each(|firing| sender.try_send(firing).unwrap_or_default());
            Channel { sender: (!is_closed).then_some(sender), receiver }
        });
        channel.receiver.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::TryRecvError;
    use mainspring_queue::Tick;

    fn firing(tick: u64) -> Firing {
        Firing::new(Tick::new(tick), Tick::new(tick))
    }

    /// All that can be told of an outlet whose receiver is looked at before everything else, or after it.
    fn trial(steps: impl Fn(&mut Outlet)) -> [Result<Firing, TryRecvError>; 2] {
        let answers = [true, false].map(|is_early| {
            let mut outlet = Outlet::default();
            let early = is_early.then(|| outlet.receiver());
            steps(&mut outlet);
            let receiver = early.unwrap_or_else(|| outlet.receiver());
            [receiver.try_recv(), receiver.try_recv()]
        });
        assert_eq!(answers[0], answers[1], "when the channel was made cannot be told");
        let [early, _] = answers;
        early
    }

    #[test]
    fn it_cannot_be_told_when_the_channel_was_made() {
        let (empty, ended) = (Err(TryRecvError::Empty), Err(TryRecvError::Disconnected));
        assert_eq!(trial(|_| ()), [empty, empty]);
        assert_eq!(trial(|outlet| outlet.send(firing(1))), [Ok(firing(1)), empty]);
        let twice = |outlet: &mut Outlet| (1..3).for_each(|tick| outlet.send(firing(tick)));
        assert_eq!(trial(twice), [Ok(firing(1)), empty], "the second finds the first");
        let taken_back = |outlet: &mut Outlet| {
            assert!(!outlet.take_back());
            outlet.send(firing(1));
            assert!(outlet.take_back());
            outlet.send(firing(2));
        };
        assert_eq!(trial(taken_back), [Ok(firing(2)), empty]);
        let closed = |outlet: &mut Outlet| {
            outlet.send(firing(1));
            outlet.close();
            assert!(outlet.is_closed());
        };
        assert_eq!(trial(closed), [Ok(firing(1)), ended], "what was sent before the end is received");
        let late = |outlet: &mut Outlet| {
            outlet.close();
            outlet.send(firing(1));
        };
        assert_eq!(trial(late), [ended, ended]);
    }
}
