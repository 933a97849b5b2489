//! Every workload by every timer queue, Mainspring's and those of other libraries, in one run that anyone can
//! repeat.
//!
//! ```text
//!   cargo run --release -p mainspring-lab -- quick
//!
//!   run: for each case, round, subject --> a fresh process, pinned --> subject does workload, is checked --> figures
//!                                                                  results.csv, machine.json --> report, goals
//! ```
//!
//! A *workload* is a series of calls ([`explain`] describes each). A *subject* is the queue or library that
//! runs it ([`subjects`] has the table). A *case* is a workload at a size. The answers of every subject are
//! checked in the run that measures it.

#![forbid(unsafe_code)]

pub mod cli;

pub mod commands;

pub mod explain;

pub mod random;

pub mod stopwatch;

pub mod case;

pub mod api;

pub mod recorder;

pub mod subject;

pub mod subjects;

pub mod workload;

pub mod process;

pub mod coverage;

pub mod estimate;

pub mod plan;

pub mod progress;

pub mod statistics;

pub mod results;

pub mod machine;

pub mod table;

pub mod goal;

pub mod goals;

pub mod report;

pub mod advise;

pub mod soak;
