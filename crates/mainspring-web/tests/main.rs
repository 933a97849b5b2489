//! Resources that readers of texts which others write take from the machine, measured from outside.
#![allow(clippy::unwrap_used, reason = "these are tests, their helpers included")]

mod growth;
