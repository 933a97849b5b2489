//! Trials: each does what somebody would do who wants to harm a server of root's or the machine, and does no
//! harm.
//!
//! The somebody is called bob here, and is the user with the number 65534. To become bob takes root: as
//! another user the trials are skipped and say so, unless the variable CI is set; there they fail. `cargo
//! xtask trials` runs them alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../program.rs"]
#[allow(dead_code, reason = "it is shared with other tests")]
mod program;

#[path = "../../../mainspring-host/src/tests/scratch.rs"]
mod scratch;

#[path = "../test_server.rs"]
#[allow(dead_code, reason = "it is shared with other tests")]
mod served;

mod trial_fixture;

mod crontab;
mod crowd;
mod files;
mod inherited;
mod looking;
mod masks;
mod memory;
mod paths;
mod promises;
mod reading;
mod requests;
mod secrets;
mod shortage;
mod starting;
mod terminal;
