//! The files of jobs: those that are served, and what is wrong with one that somebody has.
//!
//! Cost: a file that is checked is read once, on a thread beside that of the listener. See `file_reports`.
//!
//! Does not apply anything: that would let a page run any command as the server's user.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_file::budget::Budget;
use mainspring_file::crontab::Format;
use mainspring_file::crontab::names::{self, KnownJob, Likeness};
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::{JobFile, PlacedJob};
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::Source;
use mainspring_job::JobName;
use mainspring_server::protocol::MAX_APPLIED_FILES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file_reports::{SentFile, Telling};
use crate::call::{Call, Reply, document, ok, text, written};
use crate::catalogue::CachedJob;
use crate::object::list as objects;
use crate::problem::{Code, Fault, Problem};
use crate::view::{FileState, List};

/// Files to check.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckParams")]
pub(crate) struct CheckBody {
    #[serde(deserialize_with = "objects")]
    #[schemars(extend("maxItems" = MAX_APPLIED_FILES))]
    files: Vec<SentFile>,
}

/// What is wrong with files, and what is in them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Checked")]
pub struct CheckedFiles {
    files: Vec<CheckedFile>,
}

/// What is wrong with a file, and what is in it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct CheckedFile {
    path: String,
    /// Of all files of a request the first thousand, in four megabytes at most.
    faults: Vec<Fault>,
    /// How many more there are.
    faults_left_out: usize,
    /// Each job as a table of a job file: a crontab becomes TOML here. Of all files of a request those in
    /// twelve megabytes.
    jobs: Vec<CheckedJob>,
    /// How many more there are.
    jobs_left_out: usize,
}

/// A job in a file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct CheckedJob {
    name: String,
    sentence: String,
    definition: String,
}

/// The files that are served.
///
/// # Errors
///
/// What the loop says.
pub async fn list(call: Call) -> Reply {
    let status = call.app.pool.status().await?;
    let items: Vec<_> = status.files.into_iter().map(|wire| FileState::new(wire, &call.app.zone)).collect();
    ok(&List { total: Some(items.len()), items, next: None })
}

/// What is wrong with files of jobs. All that is in proportion to them is done on a thread beside that of the
/// listener, from the body to the text of the answer.
///
/// # Errors
///
/// 422 for more files than are checked at once.
pub async fn check(call: Call) -> Reply {
    let (body, zone, now) = (call.body.clone(), call.app.zone.clone(), call.now.wall);
    let check = move || written(&all_checked(document::<CheckBody>(&body)?.files, &zone, now)?);
    let json = call.app.computations.run(&call.who()?.identity, check).await??;
    Ok(text("application/json", json))
}

/// All files. Their jobs have one budget, and what is reported of them has one length.
fn all_checked(files: Vec<SentFile>, zone: &TimeZone, now: Timestamp) -> Result<CheckedFiles, Problem> {
    let mut telling = Telling::default();
    let checked_files = loaded(files, zone, &[])?.into_iter().map(|read| checked(read, now, &mut telling));
    Ok(CheckedFiles { files: checked_files.collect() })
}

/// Reads files, whose jobs have one budget. An entry of a crontab has the name that it gets when the files
/// are applied: that of the job of this file in `before` that is like it, or one that no other job has.
///
/// # Errors
///
/// 422 for more files than are read at once.
pub(super) fn loaded(
    files: Vec<SentFile>,
    zone: &TimeZone,
    before: &[Arc<CachedJob>],
) -> Result<Vec<LoadedFile>, Problem> {
    if MAX_APPLIED_FILES < files.len() {
        return Err(Problem::new(Code::INVALID, format!("at most {MAX_APPLIED_FILES} files at once")));
    }
    let mut budget = Budget::default();
    let read = |SentFile { path, text }| {
        let format = Format::User.of(Path::new(&path));
        LoadedFile::parse_within(&Source::new(path, text), &format.into(), zone, &mut budget)
    };
    let mut loaded: Vec<LoadedFile> = files.into_iter().map(read).collect();
    let is_of = |known: &CachedJob, file: &LoadedFile| {
        let path = file.source.name().to_owned();
        [JobSource::Applied(path.clone()).to_string(), path].contains(&known.wire.source)
    };
    let others = before.iter().filter(|known| !loaded.iter().any(|file| is_of(known, file)));
    let mut taken: BTreeSet<JobName> =
        others.filter_map(|known| JobName::new(&known.wire.name).ok()).collect();
    for file in &mut loaded {
        if file.lacks_names() {
            let of_definition = |known: &Arc<CachedJob>| {
                let file = JobFile::parse(&Source::new("definition", &*known.definition), zone);
                KnownJob::of(&file.jobs.first()?.job)
            };
            let mut own =
                before.iter().filter(|known| is_of(known, file)).filter_map(of_definition).collect();
            names::recall(file, &mut own, Likeness::InWord);
        }
        let named = file.jobs.iter().filter(|placed| placed.is_named);
        taken.extend(named.map(|placed| placed.job.name.clone()).chain(file.switched_off.iter().cloned()));
    }
    for LoadedFile { source, jobs, .. } in &mut loaded {
        names::choose(jobs, source.name(), &mut taken);
    }
    Ok(loaded)
}

/// One file: its problems, what is worth knowing of it, and the jobs that it defines.
fn checked(read: LoadedFile, now: Timestamp, telling: &mut Telling) -> CheckedFile {
    let (faults, faults_left_out) = telling.faults(&read);
    let sentence = |job: &mainspring_job::Job| {
        let triggers = job.timetable.triggers().iter();
        let sentences = triggers.filter_map(|trigger| Some(trigger.schedule()?.explain(now).sentence));
        sentences.collect::<Vec<_>>().join(" ")
    };
    let document = |PlacedJob { job, .. }| CheckedJob {
        name: job.name.to_string(),
        sentence: sentence(&job),
        definition: job.text,
    };
    let (jobs, jobs_left_out) = telling.jobs(read.jobs.into_iter().map(document));
    CheckedFile { path: read.source.name().to_owned(), faults, faults_left_out, jobs, jobs_left_out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::file_reports::MAX_FAULTS;
    use mainspring_server::protocol::MAX_REQUEST_BYTES;
    use serde_json::{Value, json};

    fn all(files: impl IntoIterator<Item = String>) -> (usize, Value) {
        // What begins with a comment is a crontab.
        let kind = |text: &String| if text.starts_with('#') { "crontab" } else { "toml" };
        let sent = |(index, text)| SentFile { path: format!("{index}.{}", kind(&text)), text };
        let files = files.into_iter().enumerate().map(sent).collect();
        let text = written(&all_checked(files, &TimeZone::UTC, Timestamp::UNIX_EPOCH).unwrap()).unwrap();
        (text.len(), serde_json::from_slice(&text).unwrap())
    }

    #[test]
    fn the_answer_about_files_is_no_longer_than_the_longest_request_and_says_what_is_left_out() {
        let defaults = format!("[defaults]\nstdin = '{}'\n", "x".repeat(50_000));
        let jobs = (0..200).map(|index| format!("[jobs.j{index}]\nevery = '1m'\nshell = 'a'\n"));
        let text = defaults + &jobs.collect::<String>();
        let (length, found) = all(vec![text; 8]);
        assert!(MAX_REQUEST_BYTES / 2 < length && length <= MAX_REQUEST_BYTES, "{length}");
        let counts = |name: &str| -> Vec<u64> {
            found["files"].as_array().unwrap().iter().map(|file| file[name].as_u64().unwrap()).collect()
        };
        let job_count = |index: usize| found["files"][index]["jobs"].as_array().unwrap().len() as u64;
        assert_eq!((job_count(0), counts("jobs_left_out")[0]), (200, 0));
        assert!(0 < counts("jobs_left_out")[1] && job_count(1) + counts("jobs_left_out")[1] == 200);
        // The jobs of all are more than those of one file may be: the last file has none, and says so.
        let faults = found["files"][7]["faults"].as_array().unwrap();
        assert_eq!((job_count(7), faults.len(), counts("faults_left_out")[7]), (0, 1, 0));
        assert!(faults[0]["message"].as_str().unwrap().contains("more than 64 MiB"), "{}", faults[0]);
    }

    #[test]
    fn entries_of_a_crontab_have_the_names_that_they_get() {
        let text = "#\n30 2 * * * /usr/local/bin/backup --all\n*/5 * * * * echo hi\n@daily echo ho\n";
        let (_, found) = all([text.to_owned(), "[jobs.backup]\nevery = '1h'\nshell = 'a'\n".to_owned()]);
        let jobs = found["files"][0]["jobs"].as_array().unwrap();
        let names: Vec<_> = jobs.iter().map(|job| job["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["0-backup", "echo", "echo-2"]);
        let whole: String = jobs.iter().map(|job| job["definition"].as_str().unwrap()).collect();
        assert!(names.iter().all(|name| whole.contains(&format!("[jobs.{name}]\n"))), "{whole}");
        assert!(JobFile::parse(&Source::new("whole.toml", &*whole), &TimeZone::UTC).problems.is_empty());
    }

    #[test]
    fn a_crontab_of_the_system_has_a_column_of_users() {
        for path in ["/etc/crontab", "/etc/cron.d/php"] {
            let sent = SentFile { path: path.into(), text: "17 * * * * root cd / && run\n".into() };
            let found = all_checked(vec![sent], &TimeZone::UTC, Timestamp::UNIX_EPOCH).unwrap();
            let definition = &found.files[0].jobs[0].definition;
            assert!(
                definition.contains("user = \"root\"") && !definition.contains("root cd"),
                "{definition}"
            );
        }
    }

    #[test]
    fn a_thousand_problems_are_told_and_how_many_more_there_are() {
        let faulty =
            "[jobs.a]\n".to_owned() + &(0..700).map(|index| format!("k{index} = 1\n")).collect::<String>();
        let (_, found) = all([faulty.clone(), faulty]);
        let count = |file: &Value| {
            (file["faults"].as_array().unwrap().len(), file["faults_left_out"].as_u64().unwrap())
        };
        let [(first, none), (second, rest)] = [&found["files"][0], &found["files"][1]].map(count);
        assert_eq!((first + second, none), (MAX_FAULTS, 0));
        assert_eq!(second as u64 + rest, first as u64, "each file has as many");
    }

    #[test]
    fn what_is_worth_knowing_of_a_crontab_is_told_beside_its_problems() {
        let text = "# mainspring: name=backup\n#30 2 * * * backup\n30 25 * * * report\n".to_owned();
        let (_, found) = all([text]);
        let faults = found["files"][0]["faults"].as_array().unwrap();
        let lines: Vec<_> = faults.iter().map(|fault| (&fault["line"], &fault["severity"])).collect();
        assert_eq!(lines, [(&json!(1), &json!("note")), (&json!(3), &json!("problem"))]);
        assert!(faults[0]["message"].as_str().unwrap().contains("`backup` is switched off"), "{}", faults[0]);
    }

    #[test]
    fn a_long_line_is_not_told_with_each_problem_in_it() {
        let line = format!(
            "jobs = {{ {} }}\n",
            (0..700).map(|index| format!("j{index} = {{ x = 1 }}, ")).collect::<String>()
        );
        let (length, found) = all([line]);
        let faults = found["files"][0]["faults"].as_array().unwrap();
        assert!(100 < faults.len() && length < 1 << 20, "{} faults in {length} bytes", faults.len());
        assert_eq!((&faults[0]["excerpt"], &faults[0]["line"]), (&Value::Null, &json!(1)));
        assert!(0 < faults[0]["column"].as_u64().unwrap());
    }
}
