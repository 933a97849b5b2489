//! Jobs that belong to another shard than they did, as their group is another.
//!
//! | the shard | does |
//! |---|---|
//! | to which a job belongs by a set | has the store make it its own, and then applies the set |
//! | that had it until then | goes on with it, and looks now and then whether another shard has it |
//!
//! So a set comes into force some milliseconds later than where there is one shard, and the sets of one shard
//! stay in their order.
//!
//! Cost: a transaction for each set that is applied, and a question each two seconds.
//!
//! Does not take jobs while the server reads its files for the first time: the job of a file that the store
//! never had in this shard counts from then on.

use std::time::Duration;

use mainspring_job::{Arrivals, Input, Job, JobRecord};

use super::Server;
use super::store_contents::{StoreContents, kept_job};
use mainspring_exec::clock::Moment;

/// How often it is looked which jobs other shards have taken. Until then a list shows such a job twice, and
/// its starts here are refused.
const DEPARTURES_INTERVAL: Duration = Duration::from_secs(2);

impl Server {
    /// Jobs of other shards are ours: the planner is told, and then of the set that they are in.
    pub(super) fn take_in_arrivals(&mut self, arrivals: Arrivals) {
        let zone = self.files.reader().zone.clone();
        let come: Vec<JobRecord> = {
            let planner = self.owner.planner();
            arrivals.jobs.iter().filter(|record| planner.job(&record.mark.job).is_none()).cloned().collect()
        };
        let former: Vec<Job> = come.iter().filter_map(|record| kept_job(record, &zone)).collect();
        for record in come.iter().filter(|record| record.source.is_some()) {
            if let Some(at) = record.last_success {
                self.listener.meters.succeeded(&record.mark.job, at);
            }
        }
        let heard =
            StoreContents::heard(&come).into_iter().map(|(job, at)| Input::Heard { job, at }).collect();
        self.owner.arrive(arrivals, former, heard);
    }

    /// Has the planner forget what other shards have.
    pub(super) fn look_for_departures(&mut self, now: Moment) {
        let is_due = self.holding.looked.is_none_or(|looked| DEPARTURES_INTERVAL <= now.since(looked));
        if self.files.shard_filter().is_part() && is_due {
            self.holding.looked = Some(now);
            self.owner.look_for_departures();
        }
    }
}
