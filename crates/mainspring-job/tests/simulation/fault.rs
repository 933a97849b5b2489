//! Faults of the world, which a right planner survives, and flaws, which the checker must see.

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{JobRecord, Run, RunState};

/// What goes wrong at the next commit, or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Busy,
    UnknownApplied,
    UnknownLost,
    IoApplied,
    IoLost,
    CrashBeforeCommit,
    CrashAfterCommit,
    CrashAfterOneOutput,
    CrashAfterTwoOutputs,
}

impl Fault {
    pub(crate) const ALL: [Fault; 9] = [
        Fault::Busy,
        Fault::UnknownApplied,
        Fault::UnknownLost,
        Fault::IoApplied,
        Fault::IoLost,
        Fault::CrashBeforeCommit,
        Fault::CrashAfterCommit,
        Fault::CrashAfterOneOutput,
        Fault::CrashAfterTwoOutputs,
    ];
}

/// What is wrong on purpose, to see that the checker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Outputs are performed before their batch is on disk.
    EffectBeforeCommit,
    /// A restart plans from now on, and not from the watermark.
    WatermarkForgotten,
    /// A restart plans from before the watermark, and the store does not mind.
    WatermarkMovedBack,
    /// A restart draws jitter and spread again.
    JitterDrawnAgain,
    /// A restart takes runs that were running for queued ones.
    AbandonedStartsAgain,
    /// A restart forgets runs that wait.
    WaitingForgotten,
    /// The disk loses the last batch before a crash, though it said that it was there.
    FlushLies,
    /// A batch whose answer was lost is sent as a new one.
    RetriedUnderNewNumber,
    /// A page of pending jobs lacks its last row.
    ShortPage,
    /// The shell looks before it is time.
    ClockAhead,
    /// The group's limit is not known.
    GroupForgotten,
    /// The group's rate is not known.
    RateForgotten,
    /// The planner is not told that the server ends.
    StopForgotten,
    /// A start is told twice.
    StartsTwice,
    /// A restart does not know that the server died.
    CrashesOverlooked,
    /// A restart forgets how often the server died in a job before.
    CrashesForgotten,
    /// A restart forgets the attempts of a dead letter that were forgiven when it was tried again.
    ForgivenessForgotten,
    /// A restart does not know when runs last succeeded.
    SuccessForgotten,
    /// The executor does not wait for the time of a start that was recorded ahead of it.
    HeldTooShort,
    /// The caller of a run is told the name of another's.
    AnothersName,
    /// A restart does not know which jobs are absent.
    AbsenceForgotten,
}

impl Flaw {
    pub(crate) const ALL: [Flaw; 21] = [
        Flaw::EffectBeforeCommit,
        Flaw::WatermarkForgotten,
        Flaw::WatermarkMovedBack,
        Flaw::JitterDrawnAgain,
        Flaw::AbandonedStartsAgain,
        Flaw::WaitingForgotten,
        Flaw::FlushLies,
        Flaw::RetriedUnderNewNumber,
        Flaw::ShortPage,
        Flaw::ClockAhead,
        Flaw::GroupForgotten,
        Flaw::RateForgotten,
        Flaw::StopForgotten,
        Flaw::StartsTwice,
        Flaw::CrashesOverlooked,
        Flaw::CrashesForgotten,
        Flaw::ForgivenessForgotten,
        Flaw::SuccessForgotten,
        Flaw::HeldTooShort,
        Flaw::AnothersName,
        Flaw::AbsenceForgotten,
    ];

    /// What a broken server makes of what it reads.
    pub(crate) fn bend(
        self,
        now: Timestamp,
        mut jobs: Vec<JobRecord>,
        mut runs: Vec<Run>,
    ) -> (Vec<JobRecord>, Vec<Run>) {
        for record in &mut jobs {
            match self {
                Flaw::WatermarkForgotten => record.mark.watermark = now,
                Flaw::CrashesForgotten => record.mark.crashes = 0,
                Flaw::AbsenceForgotten => record.absence = None,
                Flaw::SuccessForgotten => record.last_success = None,
                Flaw::WatermarkMovedBack => record.mark.watermark -= SignedDuration::from_hours(1),
                _ => (),
            }
        }
        for run in &mut runs {
            match (self, run.state) {
                (Flaw::JitterDrawnAgain, RunState::Scheduled) if run.attempt == 0 => {
                    run.due += SignedDuration::from_secs(3);
                }
                (Flaw::ForgivenessForgotten, _) => run.forgiven = 0,
                (Flaw::AbandonedStartsAgain, RunState::Running) => run.state = RunState::Queued,
                _ => (),
            }
        }
        if self == Flaw::WaitingForgotten {
            runs.retain(|run| run.state == RunState::Running);
        }
        (jobs, runs)
    }
}
