//! Definitions over HTTP: jobs are made, replaced and removed, files are applied, all of them are exported.
//!
//! It needs the scope `define`, which is given only with `serve --define-over-http`: a definition is any
//! command, as the users of the server.
//!
//! Cost: one question of the loop each; a file is read once here as well, for what is wrong with it.
//!
//! Does not decide whose a name is: the loop does.

use std::collections::HashMap;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH, LOCATION};
use axum::response::IntoResponse;
use jiff::tz::TimeZone;
use mainspring_file::crontab::Format;
use mainspring_file::jobfile::written::JobTables;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::Source;
use mainspring_server::protocol::{
    AppliedWire, FileWire, JobState, JobWire, MAX_APPLIED_FILES, Request, Response as Answer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::file_reports::{Faults, MAX_FAULTS_BYTES, SentFile};
use super::files::loaded;
use super::overview::last_pause;
use crate::call::{Call, Reply, document, json as answer, nothing, text, written};
use crate::catalogue::CachedJob;
use crate::memory_budget::MAX_IDENTITY_BYTES;
use crate::object::list as objects;
use crate::problem::{Code, Fault, Problem, strange};
use crate::sending::TAG_CHARS;
use crate::tokens::hash;
use crate::view::{Job, JobDetail, PolicyWord, zone_of};

/// A job to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DefineParams {
    /// One job, as a table of a job file: `[jobs.NAME]` and what follows.
    toml: Option<String>,
    /// The name of a job that is given as `job`; in PUT that of the address, if it is left out.
    name: Option<String>,
    /// The keys of the job as a job file has them, instead of `toml`.
    job: Option<Map<String, Value>>,
}

impl DefineParams {
    /// The definition as text. `name` is the one in the address, if it has one.
    fn text(self, name: Option<&str>) -> Result<String, Problem> {
        let name = self.name.or_else(|| name.filter(|_| self.job.is_some()).map(str::to_owned));
        match (self.toml, name, self.job) {
            (Some(toml), None, None) => Ok(toml),
            (None, Some(name), Some(job)) => table_text(&name, &job),
            _ => Err(Problem::new(Code::INVALID, "expected `toml`, or `name` and `job`")),
        }
    }
}

/// Files to take over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplyParams {
    #[serde(deserialize_with = "objects")]
    #[schemars(extend("maxItems" = MAX_APPLIED_FILES))]
    files: Vec<SentFile>,
    /// Whether jobs of these files that are not in them any more are removed.
    #[serde(default)]
    prune: bool,
    /// Only tells what would change.
    #[serde(default)]
    preview: bool,
}

/// What a set of files changes, as `apply` has it and with what a page needs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Applied")]
pub struct AppliedFiles {
    /// As the command line has it.
    #[serde(flatten)]
    wire: AppliedWire,
    /// A unified diff of definitions; in a preview alone. Beyond four megabytes its last line says how many
    /// jobs are left out.
    diff: String,
    /// The first thousand, in four megabytes at most.
    faults: Vec<Fault>,
    /// How many more there are.
    faults_left_out: usize,
}

/// Files that were read, as a request to the loop, and what is reported of them.
struct ParsedFiles {
    request: Request,
    is_preview: bool,
    /// The definitions in them, by the names of their jobs.
    found: HashMap<String, String>,
    faults: Faults,
}

/// Reads a body as far as its definition is text.
///
/// # Errors
///
/// 422 for what is no definition.
pub(crate) fn read_definition(body: &[u8]) -> Result<(), Problem> {
    document::<DefineParams>(body)?.text(Some("job")).map(drop)
}

/// What tells one version of a job from the next: its definition, and its pause. A run does not
/// change it, so that an edit of a definition is not refused because of one.
pub fn tag(known: &CachedJob) -> String {
    let state = crate::view::state_code(known.wire.state_code);
    let pause = known.wire.pause_terms.as_ref().map(|terms| (terms.until, &terms.note));
    let tag = hash(format!("{state}\n{pause:?}\n{}", known.definition));
    format!("\"{}\"", &tag[..TAG_CHARS])
}

/// A job as an answer, with its tag.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn job_answer(call: &Call, status: StatusCode, name: &str) -> Reply {
    let mut shown = shown(call, name).await?;
    // What keeps it from running changes with the time, so that no list that was kept knows it.
    let (holds, waiting) = (std::mem::take(&mut shown.holds), std::mem::take(&mut shown.waiting));
    let waiting_count = NonZeroUsize::new(shown.waiting_count);
    let known = call.app.catalogue.known(shown);
    let recent = call.app.catalogue.recent(&known).await?;
    let mut job = Job::new(&call.app, &known, &recent, call.now.wall);
    if known.wire.state_code == JobState::Paused
        && let Some(audit) = last_pause(&call.app, name).await?
        && let Some(pause) = &mut job.pause
    {
        pause.add_actor(audit, zone_of(&call.app, Some(&known)));
    }
    let (definition, policies) = (&*known.definition, known.wire.policies.split_whitespace());
    let policy_words = policies.map(PolicyWord::new).collect();
    let detail = JobDetail { job, definition, holds, waiting, waiting_count, policy_words };
    Ok(([(ETAG, tag(&known))], answer(status, &detail)?).into_response())
}

/// What the loop says of a job at this moment: what changed since may not have been told yet.
async fn shown(call: &Call, name: &str) -> Result<JobWire, Problem> {
    match call.app.pool.look(Request::Show { job: name.to_owned() }).await? {
        Answer::Job(wire) => Ok(*wire),
        // A one-shot job of that name.
        _ => Err(Problem::new(Code::NOT_FOUND, format!("there is no job `{name}`"))),
    }
}

/// Refuses a change of a job that is another one than the client has seen.
async fn check_match(call: &Call, name: &str) -> Result<(), Problem> {
    let header = |name| call.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let (wanted, unwanted) = (header(IF_MATCH), header(IF_NONE_MATCH));
    if wanted.or(unwanted).is_none() {
        return Ok(());
    }
    let found = match shown(call, name).await {
        Ok(shown) => tag(&call.app.catalogue.known(shown)),
        Err(problem) if problem.code == Code::NOT_FOUND => String::new(),
        Err(problem) => return Err(problem),
    };
    let has = |tags: &str| {
        tags.split(',').any(|tag| tag.trim() == found || (tag.trim() == "*" && !found.is_empty()))
    };
    if wanted.is_none_or(has) && !unwanted.is_some_and(has) {
        return Ok(());
    }
    Err(Problem::new(Code::PRECONDITION, format!("`{name}` is another one now: look at it again")))
}

/// The one job in a body: its definition for the loop, and its name. `name` is the one in the address, if it
/// has one.
async fn one_job(call: &Call, name: Option<String>) -> Result<(String, String), Problem> {
    let (body, zone) = (call.body.clone(), call.app.zone.clone());
    let read = move || {
        let toml = document::<DefineParams>(&body)?.text(name.as_deref())?;
        let read = LoadedFile::parse(&Source::new("definition.toml", toml.as_str()), Format::User, &zone);
        if !read.is_good() {
            return Err(Faults::of_text(&read).refusal("the definition has problems"));
        }
        match &read.jobs[..] {
            [one] => Ok((toml, one.job.name.to_string())),
            jobs => Err(Problem::new(Code::INVALID, format!("expected one job, found {}", jobs.len()))),
        }
    };
    call.app.computations.run(&call.who()?.identity, read).await?
}

/// The table of a job file that has the same keys.
fn table_text(name: &str, job: &Map<String, Value>) -> Result<String, Problem> {
    let mut text = format!("[jobs.{}]\n", json!(name));
    for (key, value) in job {
        let _ = writeln!(text, "{} = {}", json!(key), toml_value(key, value)?);
    }
    Ok(text)
}

/// A value of JSON as TOML has it: the same but for tables and for null. A time is a text, which a job file
/// takes too.
fn toml_value(key: &str, value: &Value) -> Result<String, Problem> {
    Ok(match value {
        Value::Null => {
            return Err(Problem::new(Code::INVALID, format!("`{key}` is null: leave it out")));
        }
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| toml_value(key, item)).collect::<Result<_, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let of =
                |(key, value): (&String, &Value)| Ok(format!("{} = {}", json!(key), toml_value(key, value)?));
            let fields: Vec<String> = fields.iter().map(of).collect::<Result<_, Problem>>()?;
            format!("{{ {} }}", fields.join(", "))
        }
        // JSON escapes nothing that TOML does not, but leaves DEL as it is, which TOML takes only escaped.
        Value::String(text) => json!(text).to_string().replace('\u{7f}', "\\u007f"),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
    })
}

/// Makes a job.
///
/// # Errors
///
/// 409 if there is one of that name, 422 with what is wrong in it, and what the loop says.
pub async fn create(call: Call) -> Reply {
    let (toml, name) = one_job(&call, None).await?;
    call.app.change(call.who()?, None, Request::Define { text: toml, replace: false }).await?;
    let address = call.link(&format!("api/v1/jobs/{name}"));
    Ok(([(LOCATION, address)], job_answer(&call, StatusCode::CREATED, &name).await?).into_response())
}

/// Makes a job, or replaces one that came by command.
///
/// # Errors
///
/// As [`create`], 409 also for a job of a file, and 412 where it is another one than `If-Match` says.
pub async fn replace(call: Call) -> Reply {
    let (toml, name) = one_job(&call, Some(call.parameter("job").to_owned())).await?;
    if name != call.parameter("job") {
        let text = format!("the definition is of `{name}`, and the address of `{}`", call.parameter("job"));
        return Err(Problem::new(Code::INVALID, text));
    }
    let one = call.app.defining.lock().await;
    check_match(&call, &name).await?;
    let is_new = call.app.catalogue.job(&name).await.is_err();
    call.app.change(call.who()?, None, Request::Define { text: toml, replace: true }).await?;
    drop(one);
    job_answer(&call, if is_new { StatusCode::CREATED } else { StatusCode::OK }, &name).await
}

/// Removes a job that came by command. Its runs are kept, as long as runs are, or dropped with it.
///
/// # Errors
///
/// 400 for a history that is neither kept nor dropped, 404 if there is none, 409 for one of a file and for a
/// history with runs that are open or dead, 412 as [`replace`], and what the loop says.
pub async fn remove(call: Call) -> Reply {
    let params = &call.params;
    let drop_history = match params.get("history") {
        None | Some("keep") => false,
        Some("drop") => true,
        Some(_) => return Err(Problem::new(Code::USAGE, "`history` must be keep or drop")),
    };
    let name = call.parameter("job").to_owned();
    let _one = call.app.defining.lock().await;
    check_match(&call, &name).await?;
    call.app.change(call.who()?, None, Request::Remove { job: name, drop_history }).await?;
    Ok(nothing())
}

/// Takes over files of jobs, or tells what that would change. What is in proportion to them is done on a
/// thread beside that of the listener.
///
/// # Errors
///
/// 409 for a name that another source has, 422 with what is wrong in them, and what the loop says.
pub async fn apply(call: Call) -> Reply {
    let (body, zone, who) = (call.body.clone(), call.app.zone.clone(), call.who()?);
    let before = call.app.catalogue.jobs().await?;
    let known = Arc::clone(&before);
    let reading = move || read(document(&body)?, &zone, &known);
    let ParsedFiles { request, is_preview, found, faults } =
        call.app.computations.run(&who.identity, reading).await??;
    let response = match is_preview {
        true => call.app.pool.look(request).await?,
        false => {
            let _one = call.app.defining.lock().await;
            call.app.change(who, None, request).await?
        }
    };
    let Answer::Applied(applied) = response else { return Err(strange()) };
    let telling = move || {
        let diff = if is_preview { differences(&applied, &before, &found) } else { String::new() };
        let (faults, faults_left_out) = faults.list();
        written(&AppliedFiles { wire: applied, diff, faults, faults_left_out })
    };
    Ok(text("application/json", call.app.computations.run(&who.identity, telling).await??))
}

/// Reads files, whose jobs have one budget.
///
/// # Errors
///
/// 422 with what is wrong in them.
fn read(
    ApplyParams { files, prune, preview }: ApplyParams,
    zone: &TimeZone,
    before: &[Arc<CachedJob>],
) -> Result<ParsedFiles, Problem> {
    let (mut wires, mut found, mut faults, mut is_good) =
        (Vec::new(), HashMap::new(), Faults::default(), true);
    for read in loaded(files, zone, before)? {
        is_good &= read.is_good();
        faults.add(&read);
        found.extend(read.jobs.into_iter().map(|placed| (placed.job.name.to_string(), placed.job.text)));
        let (name, text) = read.source.into_text();
        let system = Format::User.of(Path::new(&name)) == Format::System;
        wires.push(FileWire { name, text, system });
    }
    if !is_good {
        return Err(faults.refusal("the files have problems: nothing was changed"));
    }
    let request = Request::Apply { files: wires, prune, preview };
    Ok(ParsedFiles { request, is_preview: preview, found, faults })
}

/// How long a difference may be: a person reads less.
const MAX_DIFF_BYTES: usize = 4 << 20;

const _: () = assert!(MAX_DIFF_BYTES + MAX_FAULTS_BYTES < MAX_IDENTITY_BYTES, "there is room for an answer");

/// What would become of the definitions, one after the other.
fn differences(applied: &AppliedWire, before: &[Arc<CachedJob>], found: &HashMap<String, String>) -> String {
    let old: HashMap<&str, &str> =
        before.iter().map(|known| (known.wire.name.as_str(), known.definition.as_str())).collect();
    let mut diff = String::new();
    let mut names = applied.added.iter().chain(&applied.changed).chain(&applied.removed);
    for name in names.by_ref() {
        let new = found.get(name).map_or("", String::as_str);
        write_diff(&mut diff, name, old.get(name.as_str()).copied().unwrap_or(""), new);
        if MAX_DIFF_BYTES < diff.len() {
            break;
        }
    }
    match names.count() {
        0 => {}
        left_out => {
            let _ = writeln!(diff, "@@ {left_out} more jobs are left out here @@");
        }
    }
    diff
}

/// What becomes of a definition, line by line: those that stay, go and come, in their order.
fn write_diff(into: &mut String, name: &str, old: &str, new: &str) {
    let mut write = |begin: &str, line: &str| into.push_str(&[begin, line, "\n"].concat());
    write("@@ ", &format!("{name} @@"));
    let new: Vec<&str> = new.lines().collect();
    let mut rest = &new[..];
    for line in old.lines() {
        // Definitions are written in one order of keys, so that a line which stays is found further on.
        match rest.iter().position(|other| *other == line) {
            Some(skipped) => {
                rest[..skipped].iter().for_each(|line| write("+", line));
                rest = &rest[skipped + 1..];
                write(" ", line);
            }
            None => write("-", line),
        }
    }
    rest.iter().for_each(|line| write("+", line));
}

/// All jobs as a job file.
///
/// # Errors
///
/// What the loop says.
pub async fn export(call: Call) -> Reply {
    let jobs = call.app.catalogue.jobs().await?;
    let all = call.app.computations.run(&call.who()?.identity, move || exported(&jobs)).await?;
    Ok(text("application/toml; charset=utf-8", all))
}

fn exported(jobs: &[Arc<CachedJob>]) -> String {
    let mut tables = JobTables::default();
    jobs.iter().for_each(|known| tables.add(&known.definition));
    tables.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_in_json_is_the_table_with_its_keys() {
        let job = json!({
            "every": "1h", "run": ["echo", "a \"b\" \\ \u{1}\u{7f}"], "retry": { "max": 3 }, "pause": true, "note": "ä"
        });
        let text = table_text("a.b", job.as_object().unwrap()).unwrap();
        let table: Vec<&str> = text.lines().collect();
        assert!(table.contains(&r#""run" = ["echo", "a \"b\" \\ \u0001\u007f"]"#), "{text}");
        assert!(table.contains(&r#""retry" = { "max" = 3 }"#) && table[0] == r#"[jobs."a.b"]"#, "{text}");
        assert!(table_text("a", json!({ "run": [null] }).as_object().unwrap()).is_err());
    }

    #[test]
    fn a_changed_line_of_a_crontab_is_a_changed_job_in_the_difference() {
        let job = |name: &str, source: &str, command: &str| {
            let definition = format!("[jobs.{name}]\ncron = \"0 1 * * *\"\nshell = \"{command}\"\n");
            let wire = JobWire { name: name.into(), source: source.into(), ..JobWire::default() };
            Arc::new(CachedJob { wire, definition, plan: None })
        };
        let before = [job("echo", "/b", "echo b"), job("echo-2", "/a (applied)", "echo hi")];
        let text = "0 1 * * * echo ho\n0 2 * * * /opt/backup\n".to_owned();
        let files = vec![SentFile { path: "/a".into(), text }];
        let params = ApplyParams { files, prune: false, preview: true };
        let found = read(params, &TimeZone::UTC, &before).unwrap().found;
        let applied = AppliedWire {
            added: vec!["backup".into()],
            changed: vec!["echo-2".into()],
            ..AppliedWire::default()
        };
        let diff = differences(&applied, &before, &found);
        let lines =
            ["+[jobs.backup]\n", " [jobs.echo-2]\n", "-shell = \"echo hi\"\n", "+shell = \"echo ho\"\n"];
        assert!(lines.iter().all(|line| diff.contains(line)), "{diff}");
    }

    #[test]
    fn each_problem_has_the_file_that_it_is_in() {
        let sent = |path: &str| SentFile { path: path.into(), text: "61 * * * * root true\n".into() };
        let files = vec![sent("/etc/crontab"), sent("/etc/cron.d/php")];
        let params = ApplyParams { files, prune: false, preview: false };
        let refused = read(params, &TimeZone::UTC, &[]).map(drop).unwrap_err();
        let paths: Vec<_> = refused.faults.iter().map(|fault| fault.path.as_deref()).collect();
        assert_eq!(paths, [Some("/etc/crontab"), Some("/etc/cron.d/php")]);
    }

    #[test]
    fn a_crontab_of_the_system_is_sent_to_the_loop_as_one() {
        let sent = |path: &str| SentFile { path: path.into(), text: "1 * * * * root true\n".into() };
        let files = vec![sent("/etc/crontab"), sent("/home/a/crontab")];
        let params = ApplyParams { files, prune: false, preview: false };
        let Request::Apply { files, .. } = read(params, &TimeZone::UTC, &[]).unwrap().request else {
            panic!()
        };
        assert_eq!(files.iter().map(|file| file.system).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_difference_says_which_lines_go_and_come() {
        let mut diff = String::new();
        write_diff(
            &mut diff,
            "a",
            "[jobs.a]\nevery = \"1h\"\nrun = [\"x\"]",
            "[jobs.a]\nevery = \"2h\"\nrun = [\"x\"]",
        );
        assert_eq!(diff, "@@ a @@\n [jobs.a]\n-every = \"1h\"\n+every = \"2h\"\n run = [\"x\"]\n");
        let mut new = String::new();
        write_diff(&mut new, "b", "", "[jobs.b]");
        assert_eq!(new, "@@ b @@\n+[jobs.b]\n");
    }
}
