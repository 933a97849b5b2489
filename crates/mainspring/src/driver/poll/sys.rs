//! A source that is registered with a poller for as long as it lives here: the only unsafe code of this
//! crate.
//!
//! ```text
//! new: add to the poller ──▶ modify, modify, .. ──▶ drop: delete from the poller, then let go of the source
//! ```
//!
//! `polling` wants a source deleted before it is closed. Here the registration owns a share of the source and
//! deletes it when it is dropped itself, so a caller cannot get that wrong. Safe bindings to epoll (`nix`,
//! `rustix`) would need no promise, but know one system and bring no wake-up from other threads.
//!
//! Cost: one system call to make, to modify and to drop.
//!
//! It does not know about keys and events: see [`Sources`](super::Sources).
//!
//! Source: the documentation of `polling::Poller::add`, heading Safety.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

use polling::{Event, PollMode, Poller};

/// A source in a poller. Dropping it takes the source out.
pub(super) struct Registration<S: ?Sized> {
    poller: Arc<Poller>,
    /// What `source` said its descriptor is when it was added. Open while `source` is held, and in `poller`.
    descriptor: RawFd,
    source: Arc<S>,
}

impl<S: AsFd + ?Sized> Registration<S> {
    /// Adds a source to a poller, with the key that `interest` carries.
    #[expect(unsafe_code, reason = "polling cannot check that a source outlives its registration")]
    pub(super) fn new(
        poller: &Arc<Poller>,
        source: Arc<S>,
        interest: Event,
        mode: PollMode,
    ) -> io::Result<Registration<S>> {
        let descriptor = source.as_fd().as_raw_fd();
        // SAFETY: the source must be deleted from the poller before it is dropped, that is, before
        // `descriptor` is closed. `as_fd` lends it for as long as `source` is borrowed, and a borrow may last
        // as long as this registration holds its share: an `Arc` hands out no `&mut` while it has other
        // owners, and this file hands out none at all. The share ends after `drop` below, which deletes; a
        // registration that is leaked never releases its share.
        unsafe { poller.add_with_mode(descriptor, interest, mode)? };
        Ok(Registration { poller: Arc::clone(poller), descriptor, source })
    }
}

impl<S: ?Sized> Registration<S> {
    /// Changes what the poller waits for.
    pub(super) fn modify(&self, interest: Event, mode: PollMode) -> io::Result<()> {
        self.poller.modify_with_mode(self.descriptor(), interest, mode)
    }

    /// The source, still registered.
    pub(super) fn source(&self) -> &Arc<S> {
        &self.source
    }

    #[expect(unsafe_code, reason = "the source might name another descriptor if it were asked again")]
    fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as `source` is held, as argued in `new`; the borrow ends
        // with `self`. It is not -1, which no `BorrowedFd` is.
        unsafe { BorrowedFd::borrow_raw(self.descriptor) }
    }
}

impl<S: ?Sized> Drop for Registration<S> {
    fn drop(&mut self) {
        // The descriptor is open and was added, so nothing can fail but what a caller closed by unsafe means
        // of its own; then the system has taken it out of the poller already.
        let _ = self.poller.delete(self.descriptor());
    }
}
