//! The power that each request needs. By it the loop counts changes, and the listener asks for a scope.
//!
//! Cost: a comparison.
//!
//! Does not decide which client has it: the socket's mode does, or the scope of a token.

use super::Request;

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It changes nothing.
    Looks,
    /// It runs, pauses or ends what is defined already.
    Operates,
    /// It says what is run as the server's user, or takes that away for good.
    Defines,
    /// It is for the machine of the server alone: signing in, and what the server's own listener asks.
    Local,
}

impl Request {
    /// What it may do. Each request has a row here, or this does not compile.
    pub const fn power(&self) -> Power {
        match self {
            Request::Status
            | Request::Health
            | Request::Recount
            | Request::List(_)
            | Request::Pending { .. }
            | Request::Show { .. }
            | Request::History(_)
            | Request::Audit(_)
            | Request::Stats { .. }
            | Request::Logs { .. }
            | Request::Wait { .. }
            | Request::Export { .. }
            | Request::Find { .. } => Power::Looks,
            Request::Run { .. }
            | Request::Pause(_)
            | Request::Resume { .. }
            | Request::Cancel { .. }
            | Request::Backfill { .. }
            | Request::Rewind { .. }
            | Request::DeadRetry { .. }
            | Request::DeadDrop { .. } => Power::Operates,
            Request::Submit(_)
            | Request::Every(_)
            | Request::Define { .. }
            | Request::Remove { .. }
            | Request::Apply { .. } => Power::Defines,
            Request::Metrics { .. } | Request::LoginCode | Request::Redeem { .. } | Request::Watch => {
                Power::Local
            }
        }
    }
}
