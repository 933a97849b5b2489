//! The project's own chores: [`ci`] runs the gate, [`instructions`] counts them, [`simulate`] looks for histories of jobs that
//! go wrong, [`tidy`] checks what a machine can check of STYLE.md.
//!
//! ```text
//! cargo xtask ci      formatting, clippy, documentation, all tests
//! cargo xtask tidy    layers, budgets, headers, words, reasons for dependencies
//! cargo xtask instructions [--accept]    instructions of the default queue against those that are stored
//! cargo xtask simulate --histories N     more of them than the tests run
//! ```

#![forbid(unsafe_code)]

pub mod ci;

pub mod instructions;

pub mod simulate;

pub mod tidy;
