//! The text below the options in the help of each command: its behaviour, examples, exit codes.
//!
//! Cost: none.
//!
//! Does not describe the options: their comments do, beside their types.
//!
//! Source: the conventions of <https://clig.dev>.

pub(super) const EXIT_CODES: &str = include_str!("../../help/exit-codes.txt").trim_ascii_end();
pub(super) const EXAMPLES: &str = include_str!("../../help/examples.txt").trim_ascii_end();
pub(super) const CHECK: &str = include_str!("../../help/check.txt").trim_ascii_end();
pub(super) const IMPORT: &str = include_str!("../../help/import.txt").trim_ascii_end();
pub(super) const CRONTAB: &str = include_str!("../../help/crontab.txt").trim_ascii_end();
pub(super) const NEXT: &str = include_str!("../../help/next.txt").trim_ascii_end();
pub(super) const EXPLAIN: &str = include_str!("../../help/explain.txt").trim_ascii_end();
pub(super) const TRANSLATE: &str = include_str!("../../help/translate.txt").trim_ascii_end();
pub(super) const SIMULATE: &str = include_str!("../../help/simulate.txt").trim_ascii_end();
