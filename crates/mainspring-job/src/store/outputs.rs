//! Output of runs for servers without its files: a shared store keeps the end of each.
//!
//! Cost: none of its own.
//!
//! Does not promise anything: an output is no part of what a batch acknowledges, and may be lost with the
//! server that has its file.

use crate::run::RunKey;
use crate::state::RunState;

/// How much of an output is kept at most, in bytes: some screens, and little for a table.
pub const MAX_KEPT_OUTPUT_BYTES: usize = 256 << 10;

/// How many attempts of a run are kept: those before are at their servers. So a run that is tried without end
/// fills no table.
pub const MAX_KEPT_ATTEMPTS: u32 = 16;

/// The end of what an attempt of a run wrote.
///
/// # Example
/// ```
/// use mainspring_job::KeptOutput;
///
/// let key = "backup@2026-11-21T03:00:00Z".parse()?;
/// let output = KeptOutput::new(key, 1, "2026-11-21T03:00:01.250Z 1 stdout 17 files\n".to_owned());
/// assert_eq!(output.left_out_bytes, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptOutput {
    /// The run that wrote it.
    pub key: RunKey,
    /// Which attempt of it, from 1.
    pub attempt: u32,
    /// How many bytes it wrote before these lines.
    pub left_out_bytes: u64,
    /// Whole lines as they are in the file, [`MAX_KEPT_OUTPUT_BYTES`] at most.
    pub lines: String,
}

impl KeptOutput {
    /// All that an attempt wrote.
    pub fn new(key: RunKey, attempt: u32, lines: String) -> KeptOutput {
        KeptOutput { key, attempt, left_out_bytes: 0, lines }
    }

    /// How many bytes it wrote up to the end of these lines.
    pub fn end(&self) -> u64 {
        self.left_out_bytes + self.lines.len() as u64
    }
}

/// How far a run is whose output is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a run is open or over")]
pub enum RunPhase {
    /// It may write more.
    Open,
    /// It writes nothing any more.
    Over,
}

impl RunPhase {
    /// That of a run in this state.
    pub fn of(state: RunState) -> RunPhase {
        if state.is_open() { RunPhase::Open } else { RunPhase::Over }
    }
}
