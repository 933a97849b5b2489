//! Jobs in a shared database that a task makes, reads and ends: its thread waits meanwhile.

use std::fs;

use mainspring_embed::Jobs;

use super::database::Database;
use super::{LONG, folder, open};

pub(crate) fn jobs_are_made_read_and_ended_in_a_task(database: &Database) {
    let folder = folder("task");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for end in [|jobs: &Jobs| jobs.shutdown(LONG).unwrap(), |_: &Jobs| ()] {
            let jobs = open(&folder, "task", &database.url());
            assert!(jobs.runs_of("none", 1).unwrap().is_empty());
            assert!(jobs.check_payloads().unwrap().is_empty());
            jobs.waiting(1).unwrap();
            jobs.audit(1).unwrap();
            end(&jobs);
        }
    });
    let _ = fs::remove_dir_all(&folder);
}
