//! The readers of other schedulers' tables, as a program uses them.

mod examples;
mod growth;
mod hostile;
