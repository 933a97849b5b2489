//! A program without the feature `sqlite`: there is no outbox.
//!
//! Cost: none.
//!
//! Does not wake anything.

/// There is no thread to tell of a row.
#[derive(Clone, Debug)]
pub(crate) enum OutboxSignal {}

impl OutboxSignal {
    pub(crate) fn folder(&self) -> &str {
        match *self {}
    }

    pub(crate) fn expect_soon(&self) {
        match *self {}
    }
}
