//! The socket that stands where one is to be made.
//!
//! Cost: none.

/// What [`listen`](crate::socket::listen) does with what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleSocket {
    /// Removes it: the caller holds a lock, so that it was left behind.
    Ours,
    /// Removes a socket on which no process answers. Anything else makes the call fail.
    Unanswered,
}
