//! The parsed definition of a job: its timetable, its zone and a sentence for each trigger.
//!
//! Cost: a definition is parsed once; its sentences are made when somebody asks for them.
//!
//! Does not keep definitions: see [`catalogue`](crate::catalogue).

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;
use mainspring_job::{After, Ending, Timetable, Trigger};

/// What the definition of a job says.
#[derive(Debug)]
pub struct JobSchedule {
    /// When it is due.
    pub timetable: Timetable,
    /// The zone of its first trigger.
    pub zone: TimeZone,
    sentences: OnceLock<Vec<String>>,
}

impl JobSchedule {
    /// What each trigger means, in words.
    pub fn sentences(&self, now: Timestamp) -> &[String] {
        self.sentences.get_or_init(|| {
            let of_triggers = self.timetable.triggers().iter().filter_map(|trigger| match trigger {
                Trigger::Schedule(schedule) => Some(schedule.explain(now).sentence),
                Trigger::ServerStart => Some("At each start of the server.".to_owned()),
                Trigger::After(after) => Some(after_text(after)),
                _ => None,
            });
            of_triggers.collect()
        })
    }
}

fn after_text(after: &After) -> String {
    let what = match after.ending {
        Ending::Succeeded => "has succeeded",
        Ending::Failed => "has failed for good",
        _ => "has ended for good",
    };
    format!("After {} {what}.", after.job)
}

/// The name in `[jobs.NAME]`, with which each definition begins.
pub fn name_of(text: &str) -> Option<String> {
    let name = text.trim_start().strip_prefix("[jobs.")?.split(']').next()?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// What a definition says; `None` if it cannot be read.
pub fn read(text: &str, zone: &TimeZone) -> Option<Arc<JobSchedule>> {
    let file = JobFile::parse(&Source::new("definition", text), zone);
    let job = file.jobs.into_iter().next()?.job;
    let first = job.timetable.triggers().first().and_then(Trigger::schedule);
    let zone = first.map_or_else(|| zone.clone(), |schedule| schedule.zone().clone());
    Some(Arc::new(JobSchedule { timetable: job.timetable, zone, sentences: OnceLock::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_a_name_a_zone_and_sentences() {
        let text = "[jobs.\"a.b\"]\ncron = \"30 2 * * *\"\nzone = \"Europe/Berlin\"\nrun = [\"/bin/true\"]\n";
        assert_eq!(name_of(text).as_deref(), Some("a.b"));
        assert_eq!(name_of("[jobs.a]\n").as_deref(), Some("a"));
        let plan = read(text, &TimeZone::UTC).unwrap();
        assert_eq!(plan.zone.iana_name(), Some("Europe/Berlin"));
        assert_eq!(plan.sentences(Timestamp::UNIX_EPOCH).len(), 1);
        assert!(read("[jobs.a]\nnonsense\n", &TimeZone::UTC).is_none());
    }
}
