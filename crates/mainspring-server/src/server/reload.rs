//! Files that have changed: a good one comes into force, and for a bad one the definitions in force stay.
//!
//! ```text
//! changed files, and those with problems ─▶ names settled ─┬─ good ──▶ jobs that move change hands ─▶ apply
//!                                                          └─ bad ───▶ logged, once for each problem
//! ```
//!
//! Cost: the changed files are read, and the names of all jobs are compared.
//!
//! Does not watch files: see [`files`](super::files).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{Absence, ApplyReport, Command, Definitions, Job, JobName, Planner, Prune, Ticket};

use super::Server;
use super::boot::{definitions, holder};
use super::files::Due;
use super::phase::Phase;
use super::purpose::Purpose;
use super::served_file::Occasion;
use crate::exit::Exit;
use crate::log::Level;
use mainspring_exec::clock::Moment;
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::names::KnownJob;
use mainspring_file::job_source::JobSource;
use mainspring_file::loaded_file::LoadedFile;

/// How long people who ask are told that a file has lost most of its jobs.
const TOLD_FOR: SignedDuration = SignedDuration::from_hours(1);

impl Server {
    /// Whether files that have changed are read now.
    pub(super) fn takes_files(&self) -> bool {
        !self.owner.writer().is_full() && self.phase == Phase::Running
    }

    pub(super) fn take_files(&mut self, now: Moment) {
        self.files.look();
        if !self.takes_files() {
            return;
        }
        let has_other_zone =
            self.files.zones_have_changed(now) && self.take_zones(now) && !self.files.is_shared;
        let is_asked = self.signals.is_reload_asked() || has_other_zone;
        let reading = if is_asked { Occasion::Requested } else { Occasion::Rested };
        let Due { read: due, removed, reported } = self.files.due(reading, now);
        self.say_of_folders(now);
        for index in reported {
            let text = self.files.served[index].unrest_text();
            self.note(now.wall, &text);
        }
        removed.into_iter().for_each(|index| self.remove_gone(index, now));
        let are_names_free = std::mem::take(&mut self.files.are_names_free);
        if due.is_empty() && !are_names_free {
            return;
        }
        // A file may have a problem only because of another, as with a job that moves, or because of a job
        // that is removed now.
        let again: BTreeSet<usize> = due.iter().copied().chain(self.files.troubled()).collect();
        let indices: Vec<usize> = again.into_iter().collect();
        let before: Vec<String> =
            indices.iter().map(|index| self.files.served[*index].problems.clone()).collect();
        let jobs: Vec<&Job> = self.owner.planner().jobs().map(|(job, _)| job).collect();
        let vacated = self.files.vacated();
        let taken = {
            let known = known(self.owner.planner(), &jobs, &vacated);
            let in_force = in_force(self.owner.planner(), &jobs, &vacated, &known);
            self.files.take(&indices, &in_force, reading, now)
        };
        let notes = self.files.folders.notes();
        let owners: BTreeMap<JobName, String> =
            jobs.iter().map(|job| (job.name.clone(), job.source.clone())).collect();
        for (index, before) in indices.into_iter().zip(before) {
            let file = &self.files.served[index];
            if !file.problems.is_empty() && (due.contains(&index) || file.problems != before) {
                let outcome = match file.exit {
                    Exit::Ok => "the rest of it is in force",
                    _ => "what was read before stays in force",
                };
                let text = format!("{} has problems, and {outcome}", file.path);
                file.say_problems();
                self.note_at(now.wall, Level::Warning, &text);
            }
        }
        notes.iter().for_each(|text| self.note(now.wall, text));
        let is_judged = self.files.is_shared && reading == Occasion::Rested;
        let taken = if is_judged { self.changed_files(taken, now) } else { taken };
        self.take_over(taken, &owners);
    }

    /// What is to be told of the folders that are served.
    pub(super) fn say_of_folders(&mut self, now: Moment) {
        for note in self.files.folders.notes() {
            self.note(now.wall, &note);
        }
    }

    /// A file is gone for so long that its jobs go. Of a shared store another server may have it.
    fn remove_gone(&mut self, index: usize, now: Moment) {
        if self.files.is_shared {
            return;
        }
        let source = self.files.served[index].job_source.source();
        // Some may have gone before, by a command.
        let count = self.owner.planner().jobs().filter(|(job, _)| job.source == source).count();
        let told_until = match self.files.folders.has(Path::new(&self.files.served[index].path)) {
            true => told_until(now),
            false => Timestamp::MAX,
        };
        let Some(text) = self.files.served[index].remove(count, told_until) else { return };
        self.note(now.wall, &text);
        self.apply(Definitions::new(source, Vec::new()).with_prune(Prune::Remove));
    }

    /// A file was read again. It is told, for an hour to those who ask too, if it is empty or has lost most
    /// of its jobs: that may be a mistake.
    pub(super) fn was_read(&mut self, path: &str, applied: &ApplyReport, now: Moment) {
        let (added, changed, removed) = (applied.added.len(), applied.changed.len(), applied.removed.len());
        let text = format!("{path} was read again: {added} added, {changed} changed, {removed} removed");
        self.note(now.wall, &text);
        let before = applied.unchanged_count + changed + removed;
        let Some(file) = self.files.served.iter_mut().find(|file| file.path == path) else { return };
        file.notice = None;
        if removed * 2 <= before {
            return;
        }
        let is_empty = file.job_count == 0;
        let what = if is_empty { "has no jobs any more" } else { "has lost most of its jobs" };
        let (are, back) = match removed {
            1 => ("is", "is as it was if the file has it again"),
            _ => ("are", "are as they were if the file has them again"),
        };
        let text = format!("{path} {what}: {removed} of {before} {are} removed, and {back} within a day");
        file.notice = Some((text.clone(), told_until(now)));
        self.note_at(now.wall, Level::Warning, &text);
    }

    /// Puts files into force that may be.
    fn take_over(&mut self, taken: Vec<(usize, LoadedFile)>, owners: &BTreeMap<JobName, String>) {
        let mut sets = Vec::new();
        for (index, loaded) in taken {
            let file = &self.files.served[index];
            let (path, source) = (file.path.clone(), file.job_source.source());
            let is_moving = |name: &JobName| owners.get(name).is_some_and(|owner| *owner != source);
            let names = loaded.jobs.iter().map(|placed| placed.job.name.clone());
            let jobs: Vec<JobName> = names.filter(is_moving).collect();
            let set = definitions(loaded, &file.job_source, Prune::Remove);
            sets.push((path, set));
            if !jobs.is_empty() {
                self.owner.command(Ticket(0), Command::Adopt { jobs, source });
            }
        }
        for (path, set) in sets {
            self.command(Purpose::Reload { path }, Command::Apply(set));
        }
    }

    /// Says which names files that are applied may have.
    pub(super) fn settle_names(&self, claimants: &mut [Claimant]) {
        let jobs: Vec<&Job> = self.owner.planner().jobs().map(|(job, _)| job).collect();
        let vacated = BTreeSet::new();
        let known = known(self.owner.planner(), &jobs, &vacated);
        settle(claimants, &in_force(self.owner.planner(), &jobs, &vacated, &known));
    }
}

fn told_until(now: Moment) -> Timestamp {
    now.wall.saturating_add(TOLD_FOR).unwrap_or(Timestamp::MAX)
}

/// What is in force. A job whose source is `vacated` goes to the file that has its name.
fn in_force<'k>(
    planner: &Planner,
    jobs: &[&Job],
    vacated: &BTreeSet<String>,
    known: &'k dyn Fn(Option<&str>) -> Vec<KnownJob>,
) -> InForce<'k> {
    let (retired, staying): (Vec<&Job>, Vec<&Job>) =
        jobs.iter().partition(|job| vacated.contains(&job.source));
    let held = staying.iter().map(|job| (job.name.clone(), holder(&JobSource::of(&job.source)))).collect();
    let of = |job: &Job| job.timetable.follows().map(|after| after.job.clone()).collect::<Vec<_>>();
    let follows = jobs.iter().map(|job| (job.name.clone(), of(job))).filter(|(_, of)| !of.is_empty());
    let groups = planner.groups().filter(|(source, _)| !vacated.contains(*source));
    InForce {
        held,
        follows: follows.collect(),
        groups: groups.map(|(source, group)| (group.clone(), holder(&JobSource::of(source)))).collect(),
        retired: retired.into_iter().map(|job| job.name.clone()).collect(),
        absent: planner.absent().map(|(name, ..)| name.clone()).collect(),
        known,
    }
}

/// The jobs of a source, those that are absent among them, or the jobs whose source is `vacated`.
fn known<'j>(
    planner: &'j Planner,
    jobs: &'j [&Job],
    vacated: &'j BTreeSet<String>,
) -> impl Fn(Option<&str>) -> Vec<KnownJob> + 'j {
    move |job_source| {
        let is_wanted =
            |job: &&&Job| job_source.map_or(vacated.contains(&job.source), |source| source == job.source);
        let of_absent = |(_, absence, former): (_, &Absence, Option<&Job>)| {
            former.filter(|_| job_source == Some(absence.source.as_str())).and_then(KnownJob::of_absent)
        };
        let in_force = jobs.iter().filter(is_wanted).filter_map(|job| KnownJob::of(job));
        in_force.chain(planner.absent().filter_map(of_absent)).collect()
    }
}
