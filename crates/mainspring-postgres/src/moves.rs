//! Jobs that come from other shards, as their definitions belong here.
//!
//! ```text
//!  take_1:  lock both shards ─ row of the job: shard = ours ─ its history, what waits ─ departure ─▶ done
//!                                                                                          │
//!  owner of the other shard:   commit ── refused ── ..                     departed ◀──────┘
//! ```
//!
//! The row of a job says whose it is, and nothing else does. Each commit locks the row of its own shard, and
//! looks at the rows of the jobs that it plans or begins. To take a job the rows of both shards are locked.
//! So a start by the old owner is on record before the job is taken, and its mark comes along; or it is
//! refused. No lease has to end for that, and it is the same where the old owner is dead.
//!
//! Cost: three round trips for `take`, and one for each hundred jobs that it moves; for each row of the
//! history that goes along some 20 microseconds, while both shards wait. So a longer history than 50,000 runs
//! stays in the old shard, where nothing prunes it until `mainspring store shards` spreads all anew. A round
//! trip for `departed`. Where there are several shards, a look at the row of the job for each run that is
//! planned.
//!
//! Does not change a definition: a job that was taken keeps the old one until its new owner writes another.

use mainspring_job::{Arrivals, JobName, Lease, StoreError};
use mainspring_rows::{JOB, RUN, number};

use super::read::rows_of;
use super::store::PostgresStore;
use super::value::Value;

/// How many jobs are taken at a time: with the history that a job has unless told, 100 runs, both shards wait
/// for a fifth of a second.
const MAX_TAKEN: usize = 100;

fn texts(jobs: &[JobName]) -> Value {
    Value::Texts(jobs.iter().map(ToString::to_string).collect())
}

impl PostgresStore {
    pub(super) fn take_jobs(&mut self, lease: Lease, jobs: &[JobName]) -> Result<Arrivals, StoreError> {
        let [shard, epoch, token] = self.fence(lease)?;
        let sql = "SELECT name FROM mainspring.job WHERE name = ANY ($1) AND shard <> $2 ORDER BY name";
        let elsewhere = self.connection.call("jobs elsewhere", sql, &[texts(jobs), shard.clone()])?;
        let elsewhere: Vec<String> = elsewhere.iter().map(|row| row.get(0)).collect();
        for some in elsewhere.chunks(MAX_TAKEN) {
            let sql = "SELECT status FROM mainspring.take_1($1, $2, $3, $4)";
            let values = [shard.clone(), epoch.clone(), token.clone(), Value::Texts(some.to_vec())];
            if self.ask("take jobs", sql, &values)?.get::<_, &str>(0) == "busy" {
                return Err(StoreError::Busy);
            }
        }
        // No other server writes them now.
        let of_them = [texts(jobs), shard];
        let sql =
            format!("SELECT {JOB} FROM mainspring.job WHERE name = ANY ($1) AND shard = $2 ORDER BY name");
        let records = rows_of(&mut self.connection, "jobs that came", &sql, &of_them, mainspring_rows::job)?;
        let sql = format!(
            "SELECT {RUN} FROM mainspring.open_run WHERE job = ANY ($1) AND shard = $2
                AND state <> 'running' AND cause <> 'once' ORDER BY job, nominal, series"
        );
        let runs = rows_of(&mut self.connection, "runs that came", &sql, &of_them, mainspring_rows::run)?;
        Ok(Arrivals::new(records, runs))
    }

    pub(super) fn departed_jobs(&mut self, lease: Lease) -> Result<Vec<JobName>, StoreError> {
        // Those of an owner before have another epoch.
        let last = self.departures.get(&(lease.shard, lease.epoch)).copied().unwrap_or(0);
        let sql =
            "SELECT d.number, d.job FROM mainspring.departure AS d JOIN mainspring.job AS j ON j.name = d.job
            WHERE d.shard = $1 AND d.epoch = $2 AND $3 < d.number AND j.shard <> $1 ORDER BY d.number";
        let shard = Value::Int(i64::from(lease.shard.0));
        let values = [shard, Value::Int(number(lease.epoch)), Value::Int(last)];
        let found = self.connection.call("jobs that left", sql, &values)?;
        if let Some(row) = found.last() {
            self.departures.insert((lease.shard, lease.epoch), row.get(0));
        }
        Ok(found.iter().filter_map(|row| JobName::new(row.get::<_, &str>(1)).ok()).collect())
    }
}
