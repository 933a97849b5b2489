//! The line of the log for a note of the planner.
//!
//! Cost: a sentence for each.
//!
//! Does not know lines of attempts: see [`work`](super::work) and [`reports`](super::reports).

use jiff::Timestamp;
use mainspring_job::{MAX_CRASHES, MAX_ON_PROBATION, Note, PROBATION};

use crate::log::{Answer, Kind, Level, Line, Subject};

const FORGOTTEN: &str = "it was removed, and the last of its history has gone: it is forgotten";

const RETURNED: &str = "is back within a day: its pause, its marks and what waited are as they were";

/// The line that says it.
pub(super) fn of(note: &Note, now: Timestamp) -> Line<'_> {
    let of_subject =
        |subject, level, text: String| Line { level, ..Line::new(now, subject, Kind::Note, text) };
    let of_run = |key, level, text: String| of_subject(Subject::Run(key), level, text);
    let of_job = |job, level, text: &str| of_subject(Subject::Job(job), level, text.to_owned());
    match note {
        Note::Missed { key, count, reason } => {
            let text = match count {
                1 => format!("missed: due {}, {reason}", key.nominal),
                _ => format!("missed: {count} occurrences from {} on, {reason}", key.nominal),
            };
            let line = of_run(key, Level::Warning, text);
            Line { due: Some(key.nominal), reason: Some(reason), count: Some(*count), ..line }
        }
        Note::Skipped { key, reason } | Note::Abandoned { key, reason } => {
            let what = if matches!(note, Note::Skipped { .. }) { "skipped" } else { "abandoned" };
            let text = format!("{what}: due {}, {reason}", key.nominal);
            Line { due: Some(key.nominal), reason: Some(reason), ..of_run(key, Level::Warning, text) }
        }
        Note::Retrying { key, attempt, due } => {
            let text = format!("attempt {attempt} is due {due:.3}");
            let line = of_subject(Subject::Attempt(key, *attempt), Level::Notice, text);
            Line { due: Some(*due), ..line }
        }
        Note::Failed { key, attempt, outcome, is_dead } => {
            let what = if *is_dead { "the run is a dead letter" } else { "the run failed for good" };
            let text = match outcome {
                Some(outcome) => format!("{what}: {outcome}"),
                None => format!("{what}: the server ended while it ran"),
            };
            let line = of_subject(Subject::Attempt(key, *attempt), Level::Error, text);
            Line { outcome: outcome.as_ref(), answer: outcome.as_ref().and_then(Answer::of), ..line }
        }
        Note::Refused(key) => {
            of_run(key, Level::Error, "this run was known already and did not start again".to_owned())
        }
        Note::Quarantine { count } => {
            let seconds = PROBATION.as_secs();
            let text = format!(
                "in quarantine: {count}, because the server died while they ran; at most {MAX_ON_PROBATION} start at a time, \
                 the next when one has ended or has run for {seconds} s"
            );
            Line { level: Level::Warning, count: Some(*count as u64), ..Line::note(now, text) }
        }
        Note::QuarantineOver => Line::note(now, "quarantine is over"),
        Note::PausedAfterFailures(job) => of_job(job, Level::Error, "paused: it failed too often in a row"),
        Note::PausedAfterCrashes(job) => {
            of_job(job, Level::Error, &format!("paused: the server died in it {MAX_CRASHES} times in a row"))
        }
        Note::PauseOver(job) => of_job(job, Level::Notice, "continues: its pause is over"),
        Note::AllPauseOver => Line::note(now, "everything continues: the pause is over"),
        Note::BehindWatermark { job, watermark } => {
            let text = format!("rests until {watermark}: the clock stands before what is planned already");
            of_job(job, Level::Warning, &text)
        }
        Note::FollowsNothing { job, of } => {
            of_job(job, Level::Warning, &format!("follows `{of}`, and there is no job of that name"))
        }
        Note::LeftOut { key, event } => {
            of_run(key, Level::Warning, format!("no notification that it {event}: too many of its job wait"))
        }
        Note::Returned(job) => of_job(job, Level::Notice, RETURNED),
        Note::Purged(job) => of_job(job, Level::Notice, "runs of its history were dropped on request"),
        Note::Forgotten(job) => of_job(job, Level::Info, FORGOTTEN),
        other => Line::note(now, format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::{JobName, Outcome, Reason, RunKey};

    #[test]
    fn the_level_of_a_note_says_what_a_person_has_to_do() {
        let key: RunKey = "backup@2026-11-21T03:00:00Z".parse().unwrap();
        let (job, now): (JobName, _) = (key.job.clone(), Timestamp::UNIX_EPOCH);
        let (run, job_of) = (|| key.clone(), || job.clone());
        let failed = |outcome| Note::Failed { key: run(), attempt: 2, outcome, is_dead: false };
        let notes = [
            (Level::Warning, Note::Missed { key: run(), count: 3, reason: Reason::ServerDown }),
            (Level::Warning, Note::Skipped { key: run(), reason: Reason::Paused }),
            (Level::Warning, Note::Abandoned { key: run(), reason: Reason::ServerDied }),
            (Level::Warning, Note::Quarantine { count: 3 }),
            (Level::Warning, Note::BehindWatermark { job: job_of(), watermark: now }),
            (Level::Warning, Note::LeftOut { key: run(), event: "ended" }),
            (Level::Warning, Note::FollowsNothing { job: job_of(), of: job_of() }),
            (Level::Error, failed(Some(Outcome::from("exit 3")))),
            (Level::Error, failed(None)),
            (Level::Error, Note::Refused(run())),
            (Level::Error, Note::PausedAfterFailures(job_of())),
            (Level::Error, Note::PausedAfterCrashes(job_of())),
            (Level::Notice, Note::Retrying { key: run(), attempt: 2, due: now }),
            (Level::Notice, Note::PauseOver(job_of())),
            (Level::Notice, Note::AllPauseOver),
            (Level::Notice, Note::QuarantineOver),
            (Level::Notice, Note::Returned(job_of())),
            (Level::Notice, Note::Purged(job_of())),
            (Level::Info, Note::Forgotten(job_of())),
        ];
        for (level, note) in &notes {
            assert_eq!(of(note, now).level, *level, "{note:?}");
        }
        let missed = of(&notes[0].1, now);
        assert_eq!(
            (missed.count, missed.reason, missed.due),
            (Some(3), Some(&Reason::ServerDown), Some(key.nominal))
        );
        let failed = of(&notes[7].1, now);
        assert_eq!((failed.subject.to_string(), failed.answer), (format!("{key}/2"), Some(Answer::Exit(3))));
        assert_eq!(of(&notes[3].1, now).count, Some(3));
    }
}
