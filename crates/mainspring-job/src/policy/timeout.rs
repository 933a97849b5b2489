//! Timeout: how long an attempt may take, and how it is killed, for any reason.
//!
//! ```text
//!  start ───────── after ─────────▶ signal ──── grace ────▶ KILL, to the whole process group
//! ```
//!
//! The planner hands this to the executor with the start, and the executor measures. A length of time needs a
//! clock that is never set, and the planner has only the wall clock. A webhook has no signals; its request is
//! dropped at once.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::text::{self, PolicyError};

/// The longest time between the signal and KILL: an hour. A job that needs longer needs another signal.
pub const MAX_KILL_GRACE: Duration = Duration::from_secs(3_600);

/// The longest timeout: about a century, as the longest period.
const MAX_TIMEOUT: Duration = Duration::from_secs(36_525 * 86_400);

/// Asks a process to end. The names are those of POSIX, without `SIG`.
///
/// # Example
/// ```
/// use mainspring_job::Signal;
///
/// assert_eq!(Signal::from_name("sigint"), Some(Signal::Int));
/// assert_eq!(Signal::Int.name(), "INT");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Signal {
    /// SIGTERM: the usual request to end.
    #[default]
    Term,
    /// SIGINT: what Ctrl-C sends.
    Int,
    /// SIGHUP: the terminal is gone.
    Hup,
    /// SIGQUIT: what Ctrl-\ sends; it writes a core dump.
    Quit,
    /// SIGUSR1: for what the program makes of it.
    Usr1,
    /// SIGUSR2: for what the program makes of it.
    Usr2,
    /// SIGKILL, at once.
    Kill,
}

impl Signal {
    /// All of them.
    pub const ALL: [Signal; 7] =
        [Signal::Term, Signal::Int, Signal::Hup, Signal::Quit, Signal::Usr1, Signal::Usr2, Signal::Kill];

    /// The name without `SIG`.
    pub const fn name(self) -> &'static str {
        match self {
            Signal::Term => "TERM",
            Signal::Int => "INT",
            Signal::Hup => "HUP",
            Signal::Quit => "QUIT",
            Signal::Usr1 => "USR1",
            Signal::Usr2 => "USR2",
            Signal::Kill => "KILL",
        }
    }

    /// The signal of that name, with or without `SIG`, in letters of either size.
    pub fn from_name(name: &str) -> Option<Signal> {
        let upper = name.to_ascii_uppercase();
        let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
        Signal::ALL.into_iter().find(|signal| signal.name() == bare)
    }
}

/// Says how an attempt is ended: a signal, then after a while KILL.
///
/// # Example
/// ```
/// use mainspring_job::{Kill, Signal, Timeout};
///
/// let timeout: Timeout = "1h,signal=INT,grace=5s".parse()?;
/// assert_eq!(timeout.kill.signal, Signal::Int);
/// assert_eq!(Kill::default().signal, Signal::Term);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kill {
    /// What comes first.
    pub signal: Signal,
    /// How long until KILL; at most [`MAX_KILL_GRACE`].
    pub grace: Duration,
}

impl Default for Kill {
    fn default() -> Kill {
        Kill { signal: Signal::Term, grace: Duration::from_secs(10) }
    }
}

/// Says how long an attempt may take.
///
/// # Example
/// ```
/// use mainspring_job::Timeout;
/// use std::time::Duration;
///
/// let timeout: Timeout = "1h30m".parse()?;
/// assert_eq!(timeout.after, Some(Duration::from_secs(5_400)));
/// assert_eq!(Timeout::default().after, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Timeout {
    /// Then it is killed. `None`: it may take as long as it likes.
    pub after: Option<Duration>,
    /// How. This also holds when it is cancelled, or killed by the overlap rule.
    pub kill: Kill,
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = self.after.map_or("none".to_owned(), text::duration_text);
        let grace = text::duration_text(self.kill.grace);
        write!(f, "{after},signal={},grace={grace}", self.kill.signal.name())
    }
}

impl FromStr for Timeout {
    type Err = PolicyError;

    fn from_str(value: &str) -> Result<Timeout, PolicyError> {
        let (head, parts) = text::split("timeout", value)?;
        let after = match head {
            "none" => None,
            after => Some(text::duration("timeout", after, MAX_TIMEOUT)?),
        };
        let mut kill = Kill::default();
        for (name, part) in parts {
            match name {
                "signal" => {
                    let unknown =
                        || PolicyError::new("signal", part, "TERM, INT, HUP, QUIT, USR1, USR2 or KILL");
                    kill.signal = Signal::from_name(part).ok_or_else(unknown)?;
                }
                "grace" => kill.grace = text::duration("grace of timeout", part, MAX_KILL_GRACE)?,
                _ => return Err(text::unknown_part("timeout", name, "signal or grace")),
            }
        }
        Ok(Timeout { after, kill })
    }
}
