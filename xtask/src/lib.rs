//! The project's own chores: [`ci`] runs the gate, [`tidy`] checks what a machine can check of STYLE.md, [`simulate`] looks for
//! histories of jobs that go wrong.
//!
//! ```text
//! cargo xtask ci      formatting, clippy, documentation, all tests
//! cargo xtask tidy    layers, budgets, headers, words, reasons for dependencies
//! cargo xtask simulate --histories N    more of them than the tests run
//! ```

#![forbid(unsafe_code)]

pub mod ci;

pub mod simulate;

pub mod tidy;
