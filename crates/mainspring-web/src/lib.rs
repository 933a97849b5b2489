//! The HTTP API, the page and the metrics of `mainspring serve --listen`: one thread beside the loop.
//!
//! ```text
//! browser, program, Prometheus ─HTTP/1.1▶ listen ─▶ gate: host, identity, scope, site, body ─▶ routes ─▶ api
//!                                                                                                      │
//! the loop ◀─ socket pairs, requests of protocol.rs ◀─ pool ◀─ catalogue, view: the documents of --json ┘
//! ```
//!
//! It asks the loop what the command line asks, so that both say the same.
//!
//! Cost: one thread, which sleeps while no client asks.
//!
//! Does not plan, start or write anything: the loop does. Has no encryption: a proxy has.

#![forbid(unsafe_code)]

pub mod api;
pub mod app;
pub mod assets;
pub mod body_stream;
pub mod bulk;
pub mod call;
pub mod catalogue;
pub mod computation;
pub mod connections;
pub mod event_stream;
pub mod guard;
pub mod header;
pub mod job_schedule;
pub mod listen;
pub mod lock;
pub mod memory_budget;
pub mod meter;
pub mod metric_rows;
pub mod metrics;
pub mod metrics_writer;
pub mod network;
pub mod object;
pub mod openapi;
pub mod pace;
pub mod pool;
pub mod private;
pub mod problem;
pub mod proxy_users;
pub mod repeats;
pub mod resources;
pub mod route;
pub mod router;
pub mod routes;
pub mod schema;
pub mod scope;
#[cfg(test)]
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
pub mod sending;
pub mod sessions;
pub mod settings;
pub mod shares;
pub mod tail;
pub mod tokens;
pub mod view;
pub mod write_timeout;
