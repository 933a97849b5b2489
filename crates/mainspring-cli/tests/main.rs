//! Runs the real program as a person would: arguments in, output and exit code out.
//!
//! No test sleeps or measures: each waits for a line or for the end of the program, with a bound that only a
//! hang reaches.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(feature = "web")]
mod absent;
mod activation;
mod after;
mod alike;
#[cfg(feature = "web")]
mod apache_example;
mod asked;
mod bad_input;
mod burst;
#[cfg(feature = "web")]
mod caddy_example;
mod called;
mod cgroups;
#[path = "../examples/chaos/history.rs"]
mod chaos_history;
mod check;
mod checker;
mod cluster;
mod codes;
mod comments;
mod copy;
mod cron_places;
mod crontab;
#[cfg(feature = "web")]
mod cuts;
#[path = "../../mainspring-postgres/tests/database.rs"]
#[allow(dead_code, reason = "the tests of the store use the rest")]
mod database;
mod debian_cron;
mod doctor;
mod durable;
mod embedded;
#[cfg(feature = "web")]
mod equal;
mod fault;
mod folders;
mod golden;
mod habits;
#[cfg(feature = "web")]
mod hostile;
#[cfg(feature = "web")]
mod http;
mod import;
mod install;
mod json;
mod left;
mod listing;
mod live;
mod locked;
mod log;
mod logs;
mod meaning;
mod mixed;
#[cfg(feature = "web")]
mod nameless;
mod names;
#[cfg_attr(not(feature = "web"), expect(dead_code, reason = "without HTTP only cron is a neighbour"))]
mod neighbour;
mod next;
#[cfg(feature = "web")]
mod nginx_example;
mod notify;
#[cfg(feature = "web")]
mod one_shot;
mod parsing;
mod people;
mod program;
#[cfg(feature = "web")]
mod prometheus;
#[cfg(feature = "web")]
mod proxy;
#[cfg(feature = "web")]
mod purge;
mod reboots;
mod receivers;
#[cfg(feature = "web")]
mod remote;
#[path = "../../mainspring-queue/src/contract/replay.rs"]
mod replay;
#[cfg(feature = "web")]
mod routes;
mod run;
#[path = "../../mainspring-host/src/scratch.rs"]
mod scratch;
#[cfg(feature = "web")]
mod secrets;
mod serve;
#[cfg(feature = "web")]
mod shifted;
#[cfg(feature = "web")]
mod site;
mod sources;
#[cfg(feature = "web")]
mod standing;
mod start_pause;
mod test_server;
mod top;
mod typed;
mod usage;
mod versions;
mod zones;
