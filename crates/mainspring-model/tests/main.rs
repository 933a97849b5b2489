//! Models of which all states are looked at, within small bounds: of lease, commit and takeover, every order
//! in which two owners, their requests and a failover of the database can follow each other; and of a pool,
//! in which one server plans and all carry out: see `pool`.
//!
//! ```text
//!  owner 0, owner 1:  acquire ─ read ─ submit, begin, end, abandon: one batch after the other, sent again while unanswered
//!  network:           a request arrives late, after others, once more than it was answered, or never
//!  database:          fence, number, guards of operations; its lease runs out at any moment
//!  failover:          the database becomes what its standby had: everything since is gone, and numbers repeat
//! ```
//!
//! No step has a time, so an owner may be stopped for ever between any two, and leases run out too early and
//! too late. What holds here rests on the fence alone, and not on clocks.
//!
//! | law | without failover | with one to a standby that lags |
//! |---|---|---|
//! | one start record for each attempt | holds | holds |
//! | only the owner that took the lease last writes | holds | holds; by the epoch alone it does not |
//! | a batch is done once | holds | holds; without the order of numbers it does not |
//! | no batch is done whose predecessor is missing | holds | holds; where any higher number is taken it does not |
//! | what was acknowledged is there | holds | does not: `synchronous_commit` and a synchronous standby are asked for |
//!
//! Cost: a minute of one core: 2.5 million states for the failover, 3.9 for the pool. It is a crate of its
//! own so that it is optimised: it computes, while the tests of the store wait for their database.
//!
//! Does not model how long anything takes: `mainspring-job`'s histories of several owners do.

mod pool;
mod protocol;
