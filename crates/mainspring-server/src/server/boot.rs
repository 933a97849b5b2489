//! The start of the server: from files and the store to a planner that plans.
//!
//! ```text
//! lock ─▶ store ─▶ acquire ─▶ Restore ─▶ Apply: served files, then what came by command ─▶ Begin ─▶ listen
//! ```
//!
//! Cost: reads the jobs, the open runs, and the files; pending one-shot jobs stay on disk but for the near ones.
//!
//! Does not wait for the lock: its owner does.
//!
//! Source: own.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use mainspring_job::{
    Command, Definitions, Input, Job, JobRecord, Limits, MAX_PAGE, Owner, Planner, Prune, Run, Shard, Store,
    Ticket,
};

use super::files::{Files, Reading};
use super::output::Outputs;
use super::peer::Peers;
use super::rate::{Bucket, Rates};
use super::{Phase, Server, log_to_stdout};
use crate::alarm::Alarm;
use crate::clock::Moment;
use crate::error::Error;
use crate::executor::deliveries::Deliveries;
use crate::executor::{Executor, MAX_RUNNING, orphans};
use crate::jobfile::JobFile;
use crate::loaded::{Loaded, Reader};
use crate::message::say;
use crate::place::Place;
use crate::signals::Signals;
use crate::source::Source;

/// The width of the log's second column.
const SUBJECT_WIDTH: usize = 16;

/// A number that the kernel draws when it starts: random(4).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Whether what happens outlives the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// In the store of the data directory.
    OnDisk,
    /// Nothing does.
    InMemory,
}

/// What a server serves, and how.
#[derive(Debug)]
pub struct Serving {
    /// Where its socket is, and the output of runs.
    pub place: Place,
    /// The names of files of jobs.
    pub files: Vec<String>,
    /// How they are read.
    pub reader: Reader,
    /// How long running jobs have to end by themselves when the server is to stop.
    pub grace: Duration,
    /// How much clients may change.
    pub rates: Rates,
    /// What the store is.
    pub keeping: Keeping,
}

impl Server {
    /// Makes a server that has planned nothing yet.
    ///
    /// # Errors
    ///
    /// When a served file is not there, the store cannot be read, or the operating system refuses something.
    pub fn prepare(serving: Serving, mut store: Box<dyn Store>) -> Result<Server, Error> {
        let Serving { place, files, reader, grace, rates, keeping } = serving;
        let setup = |what| move |source| Error::Setup { what, source };
        let began = Moment::now();
        let files = Files::new(&files, reader)?;
        // From here on a signal ends the loop and not the process, so nothing that was started is left behind.
        let signals = Signals::register().map_err(setup("signals"))?;
        let owner =
            Owner { machine_start: machine_start(), ..Owner::new(format!("process {}", std::process::id())) };
        let lease = store.acquire(Shard::WHOLE, &owner).map_err(Error::Store)?;
        let limits = Limits { max_running: MAX_RUNNING, ..Limits::default() };
        let mut server = Server {
            planner: Planner::new(lease.epoch, limits),
            store,
            lease,
            inputs: VecDeque::new(),
            executor: Executor::default(),
            deliveries: Deliveries::new().map_err(setup("a socket pair"))?,
            started: HashMap::new(),
            latest: HashMap::new(),
            outputs: Outputs::new(place.output()),
            peers: Peers::listen(&place.socket(), rates.connection)
                .map_err(|source| Error::Data { path: place.socket(), source })?,
            asked: HashMap::new(),
            last_ticket: 0,
            waiters: Vec::new(),
            ourselves: files.reader().ourselves.clone(),
            files,
            signals,
            alarm: Alarm::new().map_err(setup("a timer"))?,
            log: log_to_stdout(SUBJECT_WIDTH),
            began,
            grace,
            keeping,
            rates,
            bucket: Bucket::new(rates.total, began),
            refused_count: 0,
            phase: Phase::Running,
            reaps_orphans: orphans::fall_to_us(),
            place,
        };
        server.restore(began)?;
        Ok(server)
    }

    fn restore(&mut self, now: Moment) -> Result<(), Error> {
        let (records, is_paused) = self.store.jobs(self.shard()).map_err(Error::Store)?;
        // A file with problems keeps what was known of it: that comes first, and what can be read of the file on top.
        let files = self.read_files(now);
        let by_command = self.definitions_by_command(&records, now);
        let sets: Vec<Definitions> = by_command.into_iter().chain(files).collect();
        let former = self.former(&records, &sets);
        self.inputs.push_back(Input::Restore { jobs: records, former, runs: Vec::new(), is_paused });
        let mut after: Option<Run> = None;
        loop {
            let key = after.as_ref().map(|run| &run.key);
            let runs = self.store.open_runs(self.shard(), key, MAX_PAGE).map_err(Error::Store)?;
            let Some(last) = runs.last().cloned() else { break };
            after = Some(last);
            let (jobs, former) = (Vec::new(), Vec::new());
            self.inputs.push_back(Input::Restore { jobs, former, runs, is_paused });
        }
        let mut names = HashSet::new();
        for definitions in sets {
            names.extend(definitions.jobs.iter().map(|job| job.name.clone()));
            self.apply(definitions);
        }
        self.inputs.push_back(Input::Begin { takeover: self.lease.takeover });
        let (version, count) = (env!("CARGO_PKG_VERSION"), names.len());
        let data = self.place.directory().display();
        let text = match self.keeping {
            Keeping::OnDisk => format!("mainspring {version}: {count} jobs, data in {data}"),
            Keeping::InMemory => {
                format!(
                    "mainspring {version}: {count} jobs, and nothing is kept; commands find it with --data {data}"
                )
            }
        };
        self.note(now.wall, &text);
        Ok(())
    }

    /// The kept definitions of jobs whose timetable is another one now, or that are gone.
    fn former(&self, records: &[JobRecord], sets: &[Definitions]) -> Vec<Job> {
        let jobs = sets.iter().flat_map(|set| &set.jobs);
        let timetables: HashMap<_, _> = jobs.map(|job| (&job.name, job.timetable.to_string())).collect();
        let has_changed = |record: &&JobRecord| {
            record.source.is_some() && timetables.get(&record.mark.job) != Some(&record.mark.timetable)
        };
        let read = |record: &JobRecord| {
            let source = Source::new(record.source.clone()?, record.text.clone());
            let placed = JobFile::parse(&source, &self.files.reader().zone).jobs.into_iter().next()?;
            Some(placed.job).filter(|job| job.name == record.mark.job)
        };
        records.iter().filter(has_changed).filter_map(read).collect()
    }

    fn read_files(&mut self, now: Moment) -> Vec<Definitions> {
        let mut sets = Vec::new();
        for index in 0..self.files.served.len() {
            let path = self.files.served[index].path.clone();
            let read = self.files.read(index, true, now.wall);
            say(&self.files.served[index].problems);
            if let Reading::Loaded(loaded) = read {
                let is_good = loaded.is_good();
                sets.push(definitions(loaded, path, !is_good));
            }
        }
        sets
    }

    fn apply(&mut self, definitions: Definitions) {
        self.inputs.push_back(Input::Command { ticket: Ticket(0), command: Command::Apply(definitions) });
    }

    /// What the store keeps of jobs whose source is not served now, or has problems: a set for each source.
    fn definitions_by_command(&mut self, records: &[JobRecord], now: Moment) -> Vec<Definitions> {
        let mut sets: BTreeMap<String, Definitions> = BTreeMap::new();
        for record in records.iter().filter(|record| !record.text.is_empty()) {
            // A job that was removed has none.
            let Some(name) = &record.source else { continue };
            if self.files.served.iter().any(|file| file.path == *name && file.problems.is_empty()) {
                continue;
            }
            let source = Source::new(name.clone(), record.text.clone());
            let file = JobFile::parse(&source, &self.files.reader().zone);
            if !file.problems.is_empty() {
                let text = format!("the kept definition of {} cannot be read and rests", record.mark.job);
                self.note(now.wall, &text);
            }
            let set = sets.entry(name.clone()).or_insert_with(|| Definitions {
                source: name.clone(),
                jobs: Vec::new(),
                groups: Vec::new(),
                prune: Prune::Keep,
            });
            set.jobs.extend(file.jobs.into_iter().map(|placed| placed.job));
            for group in file.groups {
                if !set.groups.contains(&group) {
                    set.groups.push(group);
                }
            }
        }
        sets.into_values().collect()
    }
}

/// What tells one start of the machine from the next. In a container it is that of the host. Empty where it cannot be read.
fn machine_start() -> String {
    std::fs::read_to_string(BOOT_ID).map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// What was read as a set for the planner. `keeps` says that jobs which are not in it stay, because some could not be read.
pub(super) fn definitions(loaded: Loaded, source: String, keeps: bool) -> Definitions {
    Definitions {
        source,
        jobs: loaded.jobs.into_iter().map(|placed| placed.job).collect(),
        groups: loaded.groups,
        prune: if keeps { Prune::Keep } else { Prune::Remove },
    }
}
