//! Runs the real program as a person would: arguments in, output and exit code out.
//!
//! No test sleeps or measures: each waits for a line or for the end of the program, with a bound that only a
//! hang reaches.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod absent;
mod activation;
mod after;
mod alike;
mod apache_example;
mod api;
mod asked;
mod bad_input;
mod burst;
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
mod cuts;
#[path = "../../mainspring-postgres/tests/database.rs"]
#[allow(dead_code, reason = "the tests of the store use the rest")]
mod database;
mod debian_cron;
mod doctor;
mod durable;
mod embedded;
mod equal;
mod fault;
mod folders;
mod golden;
mod habits;
mod hostile;
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
mod nameless;
mod names;
mod neighbour;
mod next;
mod nginx_example;
mod notify;
mod one_shot;
mod parsing;
mod people;
mod program;
mod prometheus;
mod proxy;
mod purge;
mod reboots;
mod receivers;
mod remote;
#[path = "../../mainspring-queue/src/contract/replay.rs"]
mod replay;
mod routes;
mod run;
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
mod secrets;
mod serve;
mod shifted;
mod site;
mod sources;
mod standing;
mod start_pause;
mod test_server;
mod top;
mod typed;
mod usage;
mod versions;
mod zones;
