//! The zones of jobs follow the zone files on disk, as jobs follow their files.
//!
//! ```text
//! inotify, or a minute ─▶ ZoneFiles: changed, at rest ─▶ caches dropped ─▶ timetables read again ─▶ Apply ─▶ armed again
//!                                                  └─▶ the zone of jobs that name none ─▶ files read again
//! ```
//!
//! A job whose definition names its zone keeps its name and gets the new times of it. Jobs of served files
//! that name none follow a new `/etc/localtime`; others were defined with the name of the zone that the
//! system had. A zone that cannot be read any more keeps the times that it had.
//!
//! Cost: the definitions of all jobs are read when zone files have changed, some times a year.
//!
//! Does not watch for a program that has jobs of its own: it has the zones that it was started with.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use mainspring_job::{Definitions, Job, Prune};

use super::Server;
use super::zone_watch::DefaultZone;
use crate::log::Level;
use crate::message::counted;
use mainspring_exec::clock::Moment;
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;
use mainspring_file::system_zone::system_zone;

impl Server {
    /// Takes the zones on disk. Returns whether jobs that name none have another zone now.
    pub(super) fn take_zones(&mut self, now: Moment) -> bool {
        let Some(origin) = self.files.zones.as_ref().map(|zones| zones.origin) else { return false };
        jiff::tz::db().reset();
        jiff::tz::reset_system_time_zone_cache();
        let before = self.files.reader.zone.clone();
        let found = match (origin, before.iana_name()) {
            (DefaultZone::System, _) => system_zone(now.wall).ok(),
            (DefaultZone::Given, Some(name)) => TimeZone::get(name).ok(),
            (DefaultZone::Given, None) => Some(before.clone()),
        };
        let zone = found.clone().unwrap_or_else(|| before.clone());
        let is_other = zone.iana_name() != before.iana_name();
        if zone != before {
            self.files.reader.zone.clone_from(&zone);
            self.parser.read_as(self.files.reader.clone());
        }
        let (retimed, unread) = self.retimed(&zone);
        let count: usize = retimed.values().map(Vec::len).sum();
        for (source, jobs) in retimed {
            self.apply(Definitions::new(source, jobs).with_prune(Prune::Keep));
        }
        self.say_zones(&before, &zone, count, now);
        let is_unknown = found.is_none().then(|| "that of the system".to_owned());
        let unread: Vec<String> = unread.into_iter().chain(is_unknown).collect();
        let trouble = (!unread.is_empty()).then(|| {
            format!("time zones on disk cannot be read, and the times before hold: {}", unread.join(", "))
        });
        if let Some(trouble) = &trouble {
            self.note_at(now.wall, Level::Warning, trouble);
        }
        self.files.zones.iter_mut().for_each(|zones| zones.trouble.clone_from(&trouble));
        is_other
    }

    /// The jobs that have other times now, for each source; and the names of zones that cannot be read.
    fn retimed(&self, zone: &TimeZone) -> (BTreeMap<String, Vec<Job>>, BTreeSet<String>) {
        let (mut retimed, mut unread) = (BTreeMap::<String, Vec<Job>>::new(), BTreeSet::new());
        let has_text = |job: &&Job| JobSource::of(&job.source) != JobSource::Program;
        for job in self.owner.planner().jobs().map(|(job, _)| job).filter(has_text) {
            let file = JobFile::parse(&Source::new(job.source.clone(), job.text.clone()), zone);
            match file.jobs.into_iter().next() {
                Some(placed) if placed.job.timetable == job.timetable => {}
                Some(placed) => {
                    let mut job = job.clone();
                    job.timetable = placed.job.timetable;
                    retimed.entry(job.source.clone()).or_default().push(job);
                }
                None => {
                    let schedules = job.timetable.triggers().iter().filter_map(|trigger| trigger.schedule());
                    unread.extend(schedules.filter_map(|known| known.zone().iana_name()).map(str::to_owned));
                }
            }
        }
        (retimed, unread)
    }

    fn say_zones(&mut self, before: &TimeZone, zone: &TimeZone, count: usize, now: Moment) {
        let name = |zone: &TimeZone| zone.iana_name().unwrap_or("one without a name").to_owned();
        let (before, zone) = (name(before), name(zone));
        let system = match before == zone {
            true => String::new(),
            false => format!(", and the zone of jobs that name none is {zone}, which was {before}"),
        };
        let text = match count {
            0 => format!("the time zone files have changed, which changes no job's times{system}"),
            _ => format!(
                "the time zone files have changed: the times of {} are computed again{system}",
                counted(count, "job")
            ),
        };
        self.note(now.wall, &text);
    }
}
