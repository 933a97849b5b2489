//! Deliberate faults of an owner or of the store, to see that they are found.

/// A breach of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    None,
    /// The store takes what an owner sends whose lease is another's.
    TokenIgnored,
    /// The store gives the lease to another while its owner's lease lasts.
    GivenWhileHeld,
    /// A batch whose answer was lost is sent as a new one.
    AnotherNumber,
    /// What is to start is started before its record is on disk.
    EffectBeforeCommit,
    /// A takeover plans from now on, and not from the watermark.
    WatermarkForgotten,
    /// A takeover plans from before the watermark.
    WatermarkMovedBack,
    /// A takeover forgets runs that wait.
    WaitingForgotten,
    /// A takeover takes runs that ran for queued ones.
    AbandonedStartsAgain,
    /// The age of a lease is told by the wall clock.
    WallClock,
    /// The age of a lease is counted from the answer, and not from before the store was asked.
    AgeFromTheAnswer,
    /// What runs and does not end when it is asked to is not ended when the lease is over.
    NoDeadline,
    /// What is to start starts however old the lease is.
    StartsWithAnOldLease,
    /// Who takes over does not know when the owner before was last heard of.
    LeaseForgotten,
}

impl Breach {
    pub(crate) const ALL: [Breach; 13] = [
        Breach::TokenIgnored,
        Breach::GivenWhileHeld,
        Breach::AnotherNumber,
        Breach::EffectBeforeCommit,
        Breach::WatermarkForgotten,
        Breach::WatermarkMovedBack,
        Breach::WaitingForgotten,
        Breach::AbandonedStartsAgain,
        Breach::WallClock,
        Breach::AgeFromTheAnswer,
        Breach::NoDeadline,
        Breach::StartsWithAnOldLease,
        Breach::LeaseForgotten,
    ];

    /// The flaw of the single owner's history that bends what is read in the same way.
    pub(crate) fn flaw(self) -> crate::simulation::fault::Flaw {
        use crate::simulation::fault::Flaw;
        match self {
            Breach::WatermarkForgotten => Flaw::WatermarkForgotten,
            Breach::WatermarkMovedBack => Flaw::WatermarkMovedBack,
            Breach::WaitingForgotten => Flaw::WaitingForgotten,
            Breach::AbandonedStartsAgain => Flaw::AbandonedStartsAgain,
            _ => Flaw::None,
        }
    }
}
