//! The project's own chores: [`ci`] runs the gate, [`tidy`] checks what a machine can check of STYLE.md.
//!
//! ```text
//! cargo xtask ci      formatting, clippy, documentation, all tests
//! cargo xtask tidy    layers, budgets, headers, words, reasons for dependencies
//! ```

#![forbid(unsafe_code)]

pub mod ci;

pub mod tidy;
