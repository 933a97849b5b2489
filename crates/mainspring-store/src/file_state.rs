//! The state of the files under a store.
//!
//! Cost: none.

/// Where the files are. On Windows they are always in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(windows, expect(dead_code, reason = "one of them is found there"))]
pub(super) enum FileState {
    InPlace,
    LogGone,
    LockGone,
    StoreGone,
    StoreReplaced,
    StoreMoved,
}
