//! The libraries from outside: the surface of each is the one that is kept.
#![allow(clippy::unwrap_used, reason = "these are tests, their helpers included")]

mod api;
