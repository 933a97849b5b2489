//! The start of the server: from files and the store to a planner that plans.
//!
//! ```text
//! lock ─▶ store, owned ─▶ Restore ─▶ Apply: served files, then what came by command ─▶ Begin ─▶ listen
//! ```
//!
//! Cost: reads the jobs, the open runs, and the files. Pending one-shot jobs stay on disk, except for the
//! near ones.
//!
//! Does not wait for the lock: the caller has it already.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::time::Duration;

use mainspring_job::{
    Command, Definitions, Input, Job, JobName, JobRecord, Lease, Limits, PauseTerms, Prune,
    Reader as StoreReader, Store, WorkerId,
};

use super::Server;
use super::clients::Clients;
use super::clock_steps::ClockSteps;
use super::disk_reserve::DiskReserve;
use super::execution::{Execution, LEAD};
use super::files::Files;
use super::host::{Host, HostKind, of_host};
use super::lease_state::LeaseState;
use super::listener::{Listener, ListenerState};
use super::owner::Owner;
use super::parser::Parser;
use super::phase::{Phase, Stopping};
use super::program::{check_own, leave_own_out};
use super::purpose::Purpose;
use super::rate::Rates;
use super::served_file::Occasion;
use super::store_contents::{StoreContents, kept_file, kept_job};
use super::work::Work;
use super::zone_watch::DefaultZone;
use crate::alarm::Alarm;
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::exit::Exit;
use crate::log::{Log, Style};
use crate::message::{agreeing, counted};
use crate::protocol::MAX_NAMED;
use crate::supervisor;
use mainspring_exec::clock::{self, Moment, Reading, boot_time};
use mainspring_exec::descriptors::{self, MAX_RUNNING};
use mainspring_file::claims::{Holder, InForce};
use mainspring_file::crontab::names::KnownJob;
use mainspring_file::hook;
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::PlacedJob;
use mainspring_file::loaded_file::{LoadedFile, Reader};
use mainspring_host::net::LocalListener;

/// The source of the groups of all notifications.
const NOTIFICATIONS: &str = "notifications";

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
    pub data: DataDirectory,
    /// The names of files of jobs.
    pub files: Vec<String>,
    /// How they are read.
    pub reader: Reader,
    /// How patient it is with running jobs when it is to stop.
    pub stopping: Stopping,
    /// How much clients may change.
    pub rates: Rates,
    /// What the store is.
    pub keeping: Keeping,
    /// What carries out what is due.
    pub execution: Box<dyn Execution>,
    /// Whose process this is.
    pub host: Host,
    /// What serves people over HTTP, if anything does.
    pub listener: Listener,
    /// The control socket, if the service manager made it.
    pub control: Option<LocalListener>,
    /// What its log has, and how.
    pub log: Style,
    /// With which pause of everything it begins, if with one.
    pub pause: Option<PauseTerms>,
    /// Where the zone of its reader comes from, if zones are watched.
    pub default_zone: Option<DefaultZone>,
}

/// What a server keeps its jobs and runs in.
pub struct Stores {
    /// For the loop: the connection that writes.
    pub store: Box<dyn Store + Send>,
    /// For people: a connection of its own. `None` if the store has one connection only.
    pub reader: Option<Box<dyn StoreReader + Send>>,
    /// The boot time before the lease was asked for: from then on it lasts.
    pub asked_at: Duration,
}

impl Server {
    /// Makes a server that has planned nothing yet, on a store that it owns.
    ///
    /// # Errors
    ///
    /// When a served file is not there, the store cannot be read, or the operating system refuses something.
    pub fn prepare(serving: Serving, mut stores: Stores, lease: Lease) -> Result<Server, Error> {
        let Serving { data, files, reader, stopping, rates, keeping, control, .. } = serving;
        let Serving { execution, host, listener, log, pause, default_zone, .. } = serving;
        follow_clock(lease, stores.asked_at);
        let stored = StoreContents::read(&mut *stores.store)?;
        if lease.lasts.is_some() {
            // That may have taken longer than the lease lasts.
            let asked_at = boot_time();
            stores.store.renew(lease)?;
            stores.asked_at = asked_at;
        }
        let began = Moment::now();
        let mut files = Files::new(&files, reader, default_zone);
        files.keeps_all = pause.is_some();
        let (signals, calls, own, output, host_kind) = of_host(host)?;
        let reserve = match keeping {
            Keeping::OnDisk => DiskReserve::new(data.directory()),
            Keeping::InMemory => DiskReserve::without(data.directory()),
        };
        let mut limits = Limits::default();
        limits.lead = LEAD;
        let execution_note = execution.note();
        let mut server = Server {
            owner: Owner::start(stores.store, stores.reader, lease, stores.asked_at, limits)?,
            reserve,
            socket_note: None,
            is_said_full: false,
            work: Work::new(execution, data.output()),
            clients: Clients::listen(&data.socket(), control, rates, began)
                .map_err(|source| Error::Data { path: data.socket(), source })?,
            parser: Parser::new(files.reader.clone()).map_err(Error::setup("a socket pair"))?,
            files,
            signals,
            alarm: Alarm::new().map_err(Error::setup("a timer"))?,
            log: Log::new(output).in_style(log),
            calls,
            host_kind,
            began,
            clock_steps: ClockSteps::new(began, boot_time()),
            looked: began,
            looked_count: 0,
            stopping,
            keeping,
            listener: ListenerState::new(listener.addresses, &listener.streams),
            phase: Phase::Running,
            holding: LeaseState::default(),
            machine_start: None,
            kept_status: None,
            data,
        };
        let adopted = server.clients.peers.adopt(listener.streams, began);
        adopted.map_err(Error::setup("connections of the listener"))?;
        let joined = server.work.join(WorkerId(lease.epoch));
        server.owner.tell_all(joined);
        server.owner.tell_all(server.work.facts());
        let pause = server.begin_paused(pause, stored.paused.clone());
        match server.restore(stored, own, began) {
            Ok(()) => {
                server.say_pause(pause, began);
                execution_note.iter().for_each(|text| server.note(began.wall, text));
                Ok(server)
            }
            Err(error) => {
                // It leaves in good order: nothing was started.
                server.clients.peers.remove_socket();
                let _ = server.release_store();
                Err(error)
            }
        }
    }

    fn restore(&mut self, stored: StoreContents, own: Option<Definitions>, now: Moment) -> Result<(), Error> {
        let StoreContents { mut records, paused, sources, pages, dead } = stored;
        self.work.outputs.know_dead(dead);
        self.files.is_shared = sources.is_some();
        self.files.known_sources = sources.unwrap_or_default();
        for record in &records {
            if let (Some(at), Some(_)) = (record.last_success, &record.source) {
                self.listener.meters.succeeded(&record.mark.job, at);
            }
        }
        self.know_as_served(&mut records);
        let is_first =
            self.files.known_sources.is_empty() && records.iter().all(|record| record.source.is_none());
        let taken = self.take_all(&records, now);
        let is_all_good = taken.len() == self.files.served.len();
        self.files.served.iter().for_each(super::served_file::ServedFile::say_problems);
        let is_each_alone = self.files.are_alone();
        if is_first && !is_all_good && !is_each_alone {
            return Err(self.refuse());
        }
        let taken = if self.files.is_shared { self.unknown_files(taken, &records, now) } else { taken };
        let good: Vec<JobSource> =
            taken.iter().map(|(index, _)| self.files.served[*index].job_source.clone()).collect();
        let sets: Vec<Definitions> = taken
            .into_iter()
            .zip(&good)
            .map(|((_, loaded), job_source)| definitions(loaded, job_source, Prune::Remove))
            .collect();
        self.hand_over(&mut records, &sets, now);
        check_own(&records, own.as_ref())?;
        let mut stored_sets = self.definitions_in_store(&records, &good, now);
        leave_own_out(&mut stored_sets, own.as_ref());
        let prune = if is_all_good || is_each_alone { Prune::Remove } else { Prune::Keep };
        let retired = self.retired(&records, prune, now);
        self.say_troubles(&stored_sets, now);
        let stored_sets = stored_sets.into_iter().filter(|set| !retired.contains(&set.source));
        let sets: Vec<Definitions> = stored_sets.chain(sets).chain(own).collect();
        let former = self.former(&records, &sets);
        self.owner.tell(Input::Restore { jobs: records, former, runs: Vec::new(), paused: paused.clone() });
        for runs in pages {
            let (jobs, former) = (Vec::new(), Vec::new());
            self.owner.tell(Input::Restore { jobs, former, runs, paused: paused.clone() });
        }
        self.apply(Definitions::new(NOTIFICATIONS, Vec::new()).with_groups(hook::groups()));
        let mut names = HashSet::new();
        for definitions in sets {
            names.extend(definitions.jobs.iter().map(|job| job.name.clone()));
            self.apply(definitions);
        }
        for source in retired {
            self.apply(Definitions::new(source, Vec::new()).with_prune(Prune::Remove));
        }
        // The first server of a database has all of them run, as that of a folder does.
        if let (false, Some(at)) = (is_first, clock::machine_start()) {
            self.owner.set_machine_start(at);
        }
        self.look_at_machine_start();
        self.owner.tell(Input::Begin { takeover: self.owner.lease().takeover });
        self.say_hello(names.len(), now);
        self.say_of_folders(now);
        self.say_if_store_is_lost(now);
        self.work.outputs.keeps = !self.reserve.is_short();
        if let Some(trouble) = self.reserve.trouble() {
            self.note(now.wall, trouble);
        }
        Ok(())
    }

    fn say_hello(&mut self, job_count: usize, now: Moment) {
        let (version, jobs) = (env!("CARGO_PKG_VERSION"), counted(job_count, "job"));
        let data = self.data.shown();
        let text = match self.keeping {
            Keeping::OnDisk => format!("mainspring {version}: {jobs}, data in {data}"),
            Keeping::InMemory => {
                format!(
                    "mainspring {version}: {jobs}, and nothing is kept; commands find it with --data {data}"
                )
            }
        };
        self.note(now.wall, &text);
        self.tell_supervisor(&format!("{}\nSTATUS={}", supervisor::READY, counted(job_count, "job")));
        let limit = descriptors::limit();
        let capacity = descriptors::runs_at_once(limit);
        if self.host_kind == HostKind::Process && capacity < MAX_RUNNING {
            let text = format!(
                "the limit of open files is {limit}, so at most {capacity} runs go on at a time (ulimit -Hn {} for {MAX_RUNNING})",
                descriptors::NEEDED
            );
            self.note(now.wall, &text);
        }
    }

    /// A store that no server had before, beside what earlier runs wrote, has lost what it knew.
    fn say_if_store_is_lost(&mut self, now: Moment) {
        let has_output =
            || fs::read_dir(self.data.output()).is_ok_and(|mut entries| entries.next().is_some());
        if self.keeping == Keeping::OnDisk && self.owner.lease().epoch == 1 && has_output() {
            let text = "the store is new, and there is output of earlier runs: what an earlier store knew is lost, \
                        and with it what was submitted by `at` and `every`; restore a copy if there is one";
            self.note(now.wall, text);
        }
    }

    /// The kept definitions of jobs whose timetable is another one now, or that are gone or absent.
    fn former(&self, records: &[JobRecord], sets: &[Definitions]) -> Vec<Job> {
        let jobs = sets.iter().flat_map(|set| &set.jobs);
        let timetables: HashMap<_, _> = jobs.map(|job| (&job.name, job.timetable.to_string())).collect();
        let has_changed = |record: &&JobRecord| {
            let is_other = timetables.get(&record.mark.job) != Some(&record.mark.timetable);
            record.absence.is_some() || record.source.is_some() && is_other
        };
        let zone = &self.files.reader.zone;
        records.iter().filter(has_changed).filter_map(|record| kept_job(record, zone)).collect()
    }

    /// A file that was applied and is served now is the same file; so is one that an older version knew by
    /// what the path led to.
    fn know_as_served(&self, records: &mut [JobRecord]) {
        for file in &self.files.served {
            let names = [Some(file.path.clone()), file.target()];
            let is_this = |source: &String| names.iter().flatten().any(|name| name == source);
            for record in records.iter_mut().filter(|record| record.source.as_ref().is_some_and(is_this)) {
                record.source = Some(file.job_source.source());
            }
        }
    }

    /// Reads all files, on top of what is known.
    fn take_all(&mut self, records: &[JobRecord], now: Moment) -> Vec<(usize, LoadedFile)> {
        let (mut held, mut retired) = (BTreeMap::new(), BTreeSet::new());
        let mut retired_sources = BTreeSet::new();
        let is_absent = |record: &&JobRecord| record.absence.is_some();
        let absent = records.iter().filter(is_absent).map(|record| record.mark.job.clone()).collect();
        for record in records {
            let Some(source) = &record.source else { continue };
            let (name, job_source) = (record.mark.job.clone(), JobSource::of(source));
            if self.files.are_retired(&job_source) {
                retired.insert(name);
                retired_sources.insert(source.clone());
            } else {
                held.insert(name, holder(&job_source));
            }
        }
        let zone = self.files.reader.zone.clone();
        let known = |job_source: Option<&str>| {
            let is_asked = |source: &String| match job_source {
                Some(job_source) => source == job_source,
                None => retired_sources.contains(source),
            };
            let of_record = |record: &JobRecord| match (&record.source, &record.absence) {
                (Some(source), _) if is_asked(source) => KnownJob::of(&kept_job(record, &zone)?),
                (None, Some(absence)) if is_asked(&absence.source) => {
                    KnownJob::of_absent(&kept_job(record, &zone)?)
                }
                _ => None,
            };
            records.iter().filter_map(of_record).collect()
        };
        let indices: Vec<usize> = (0..self.files.served.len()).collect();
        self.files.take(
            &indices,
            &InForce { held, retired, absent, known: &known, ..InForce::nothing() },
            Occasion::Requested,
            now,
        )
    }

    /// Nothing is in force that a file with problems could leave as it is.
    fn refuse(&self) -> Error {
        let bad = self.files.served.iter().filter(|file| file.exit != Exit::Ok);
        let (exits, names): (Vec<Exit>, Vec<String>) = bad.map(|file| (file.exit, file.path.clone())).unzip();
        let exit = exits.into_iter().fold(Exit::Ok, Exit::and);
        Error::Files { names, exit }
    }

    /// Jobs that a file says now, and that were another's, change hands.
    fn hand_over(&mut self, records: &mut [JobRecord], sets: &[Definitions], now: Moment) {
        let source_of: HashMap<&JobName, &String> =
            sets.iter().flat_map(|set| set.jobs.iter().map(|job| (&job.name, &set.source))).collect();
        let mut moves: BTreeMap<(String, String), usize> = BTreeMap::new();
        for record in records {
            let (Some(source), Some(to)) = (&mut record.source, source_of.get(&record.mark.job)) else {
                continue;
            };
            if source != *to {
                let from = std::mem::replace(source, (*to).clone());
                *moves.entry((from, (*to).clone())).or_default() += 1;
            }
        }
        for ((from, to), count) in moves {
            let (from, to) = (JobSource::of(&from), JobSource::of(&to));
            self.note(now.wall, &format!("{} of {from} come from {to} now", counted(count, "job")));
        }
    }

    /// The sources whose files are not given any more, if their jobs are to go.
    fn retired(&mut self, records: &[JobRecord], prune: Prune, now: Moment) -> Vec<String> {
        let mut names: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for record in records {
            let Some(source) = &record.source else { continue };
            let job_source = JobSource::of(source);
            if self.files.are_retired(&job_source) {
                names.entry(source.clone()).or_default().push(record.mark.job.as_str());
            }
        }
        let notes: Vec<String> =
            names.iter().map(|(source, names)| retired_text(source, names, prune)).collect();
        for note in notes {
            self.note(now.wall, &note);
        }
        if prune == Prune::Remove { names.into_keys().collect() } else { Vec::new() }
    }

    fn say_troubles(&mut self, sets: &[Definitions], now: Moment) {
        let troubled: Vec<usize> = self.files.troubled().collect();
        for index in troubled {
            let file = &mut self.files.served[index];
            let set = sets.iter().find(|set| set.source == file.job_source.source());
            file.job_count = set.map_or(0, |set| set.jobs.len());
            let text = match file.job_count {
                0 => format!("{} has problems, and nothing of it is in force", file.path),
                _ => format!("{} has problems, and what was read before stays in force", file.path),
            };
            self.note(now.wall, &text);
        }
    }

    pub(super) fn apply(&mut self, definitions: Definitions) {
        let purpose = Purpose::Restored { source: definitions.source.clone() };
        self.command(purpose, Command::Apply(definitions));
    }

    /// What the store keeps of jobs whose file is not read now, or has problems: a set for each source.
    fn definitions_in_store(
        &mut self,
        records: &[JobRecord],
        good: &[JobSource],
        now: Moment,
    ) -> Vec<Definitions> {
        let mut sets: BTreeMap<String, Definitions> = BTreeMap::new();
        for record in records.iter().filter(|record| !record.text.is_empty()) {
            // A job that was removed has none.
            let Some(source) = &record.source else { continue };
            if good.contains(&JobSource::of(source)) {
                continue;
            }
            let Some(file) = kept_file(record, &self.files.reader.zone) else { continue };
            if !file.problems.is_empty() {
                let text = format!("the kept definition of {} cannot be read and rests", record.mark.job);
                self.note(now.wall, &text);
            }
            let set =
                sets.entry(source.clone()).or_insert_with(|| Definitions::new(source.clone(), Vec::new()));
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

/// Has the loop follow the clock of its store, if that has one.
fn follow_clock(lease: Lease, asked_at: Duration) {
    match lease.now {
        Some(shown) => clock::follow(Reading { shown, asked_at, answered_at: boot_time() }),
        None => clock::follow_system(),
    }
}

/// What has a name, by where it comes from.
pub(super) fn holder(job_source: &JobSource) -> Holder {
    let place = match job_source {
        JobSource::Command => "a job that came by command (mainspring remove removes it)".to_owned(),
        job_source => job_source.to_string(),
    };
    Holder { job_source: job_source.source(), place }
}

/// What the log says of jobs whose file is not given any more.
fn retired_text(source: &str, names: &[&str], prune: Prune) -> String {
    let (job_source, count) = (JobSource::of(source), counted(names.len(), "job"));
    let shown = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if MAX_NAMED < names.len() { ", .." } else { "" };
    let fate = match prune {
        Prune::Remove => format!("{} removed", agreeing(names.len(), "is", "are")),
        _ => format!("{} when no given file has a problem", agreeing(names.len(), "goes", "go")),
    };
    format!("{job_source} is not given any more: its {count} {fate} ({shown}{more})")
}

/// What was read as a set for the planner. Jobs that are not in it stay where some could not be read.
pub(super) fn definitions(loaded: LoadedFile, job_source: &JobSource, prune: Prune) -> Definitions {
    debug_assert!(loaded.is_good(), "nothing of a file with problems comes into force");
    let source = job_source.source();
    let of_origin = |placed: PlacedJob| {
        let mut job = placed.job;
        job.source.clone_from(&source);
        job
    };
    let jobs = loaded.jobs.into_iter().map(of_origin).collect();
    Definitions::new(source, jobs).with_groups(loaded.groups).with_prune(prune)
}
