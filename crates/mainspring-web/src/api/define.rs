//! Definitions over HTTP: jobs are made, replaced and removed, files are applied, all of them are exported.
//!
//! It needs the scope `define`, which is given only with `serve --define-over-http`: a definition is any
//! command, as the users of the server.
//!
//! Cost: one question of the loop each; a file is read once here as well, for what is wrong with it.
//!
//! Does not decide whose a name is: the loop does.

use std::fmt::Write;

use axum::body::Body;
use axum::http::header::{ETAG, IF_MATCH, LOCATION};
use axum::http::{HeaderValue, Response, StatusCode};
use mainspring_file::crontab::Format;
use mainspring_file::loaded::Loaded;
use mainspring_file::source::Source;
use mainspring_server::protocol::{
    FileWire, JobState, JobWire, MAX_APPLIED_FILES, Request, Response as Answer,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::files::fault;
use super::overview::last_pause;
use crate::call::{Call, Reply, json as answer, nothing, ok, text};
use crate::catalogue::{Known, strange};
use crate::problem::{Code, Problem};
use crate::tokens::hash;
use crate::view::{add_actor, detail, fields, zone_of};

/// How many characters of the hash of a definition are its tag: enough that no two are the same by chance.
const TAG_CHARS: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefineAsked {
    toml: Option<String>,
    name: Option<String>,
    job: Option<Map<String, Value>>,
}

impl DefineAsked {
    /// The definition as text. `name` is the one in the address, if it has one.
    fn text(self, name: Option<&str>) -> Result<String, Problem> {
        let name = self.name.or_else(|| name.filter(|_| self.job.is_some()).map(str::to_owned));
        match (self.toml, name, self.job) {
            (Some(toml), None, None) => Ok(toml),
            (None, Some(name), Some(job)) => table_text(&name, &job),
            _ => Err(Problem::new(Code::Invalid, "expected `toml`, or `name` and `job`")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplyAsked {
    files: Vec<Sent>,
    #[serde(default)]
    prune: bool,
    #[serde(default)]
    preview: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    path: String,
    text: String,
}

/// What tells one version of a job from the next: its definition, and whether it is paused. A run does not
/// change it, so that an edit of a definition is not refused because of one.
pub fn tag(known: &Known) -> String {
    let state = crate::view::state_code(known.wire.state_code);
    let mut tag = hash(format!("{state}\n{}", known.definition));
    tag.truncate(TAG_CHARS);
    format!("\"{tag}\"")
}

/// A job as an answer, with its tag.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn job_answer(call: &Call, status: StatusCode, name: &str) -> Reply {
    let shown = shown(call, name).await?;
    // What keeps it from running changes with the time, so that no list that was kept knows it.
    let now = json!({ "holds": shown.holds, "waiting": shown.waiting, "waiting_count": shown.waiting_count });
    let known = call.app.catalogue.known(shown);
    let recent = call.app.catalogue.recent(&call.app.pool, &known).await?;
    let mut document = detail(&call.app, &known, &recent, call.now.wall);
    if known.wire.state_code == JobState::Paused
        && let Some(audit) = last_pause(&call.app, name).await?
        && let Some(pause) = document.get_mut("pause")
    {
        add_actor(pause, &audit, zone_of(&call.app, Some(&known)));
    }
    let told = fields(&now).into_iter().filter(|(_, value)| *value != json!([]) && *value != json!(0));
    document.extend(told);
    let mut response = answer(status, &document)?;
    set(&mut response, ETAG, &tag(&known));
    Ok(response)
}

/// What the loop says of a job at this moment: what changed since may not have been told yet.
async fn shown(call: &Call, name: &str) -> Result<JobWire, Problem> {
    match call.app.pool.look(Request::Show { job: name.to_owned() }).await? {
        Answer::Job(wire) => Ok(*wire),
        // A one-shot job of that name.
        _ => Err(Problem::new(Code::NotFound, format!("there is no job `{name}`"))),
    }
}

fn set(response: &mut Response<Body>, name: axum::http::HeaderName, value: &str) {
    response.headers_mut().extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
}

/// Refuses a change of a job that is another one than the client has seen.
async fn check_match(call: &Call, name: &str) -> Result<(), Problem> {
    let Some(wanted) = call.headers.get(IF_MATCH) else { return Ok(()) };
    let wanted = wanted.to_str().unwrap_or_default();
    let found = match shown(call, name).await {
        Ok(shown) => tag(&call.app.catalogue.known(shown)),
        Err(problem) if problem.code == Code::NotFound => String::new(),
        Err(problem) => return Err(problem),
    };
    let is_met = wanted.split(',').any(|tag| tag.trim() == found || (tag.trim() == "*" && !found.is_empty()));
    if is_met {
        return Ok(());
    }
    Err(Problem::new(Code::Precondition, format!("`{name}` is another one now: look at it again")))
}

/// Reads files, given as path and text, on a thread beside that of the listener.
async fn parsed(call: &Call, files: Vec<(String, String)>) -> Result<Vec<Loaded>, Problem> {
    let zone = call.app.zone.clone();
    let parse = move || {
        let sources = files.into_iter().map(|(path, text)| Source::new(path, text));
        sources.map(|source| Loaded::parse(&source, Format::User, &zone)).collect()
    };
    call.app.computations.run(&call.who()?.identity, parse).await
}

/// The one job in a text, as a definition of the loop.
async fn one_job(call: &Call, toml: &str) -> Result<String, Problem> {
    let read = parsed(call, vec![("definition.toml".to_owned(), toml.to_owned())]).await?.remove(0);
    let faults: Vec<Value> = read.problems.iter().map(fault).collect();
    if !read.is_good() {
        let mut problem = Problem::new(Code::Invalid, "the definition has problems");
        problem.faults = faults;
        return Err(problem);
    }
    match &read.jobs[..] {
        [one] => Ok(one.job.name.to_string()),
        jobs => Err(Problem::new(Code::Invalid, format!("expected one job, found {}", jobs.len()))),
    }
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
            return Err(Problem::new(Code::Invalid, format!("`{key}` is null: leave it out")));
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
    call.asked()?;
    let toml = call.document::<DefineAsked>()?.text(None)?;
    let name = one_job(&call, &toml).await?;
    // The request has no name of its own: the audit has it as the note.
    call.app.change(call.who()?, Some(name.clone()), Request::Define { text: toml, replace: false }).await?;
    let mut response = job_answer(&call, StatusCode::CREATED, &name).await?;
    set(&mut response, LOCATION, &format!("api/v1/jobs/{name}"));
    Ok(response)
}

/// Makes a job, or replaces one that came by command.
///
/// # Errors
///
/// As [`create`], 409 also for a job of a file, and 412 where it is another one than `If-Match` says.
pub async fn replace(call: Call) -> Reply {
    call.asked()?;
    let toml = call.document::<DefineAsked>()?.text(Some(call.parameter("job")))?;
    let name = one_job(&call, &toml).await?;
    if name != call.parameter("job") {
        let text = format!("the definition is of `{name}`, and the address of `{}`", call.parameter("job"));
        return Err(Problem::new(Code::Invalid, text));
    }
    check_match(&call, &name).await?;
    let is_new = call.app.catalogue.job(&call.app.pool, &name).await.is_err();
    call.app.change(call.who()?, Some(name.clone()), Request::Define { text: toml, replace: true }).await?;
    job_answer(&call, if is_new { StatusCode::CREATED } else { StatusCode::OK }, &name).await
}

/// Removes a job that came by command. Its runs are kept, as long as runs are, or dropped with it.
///
/// # Errors
///
/// 400 for a history that is neither kept nor dropped, 404 if there is none, 409 for one of a file and for a
/// history with runs that are open or dead, 412 as [`replace`], and what the loop says.
pub async fn remove(call: Call) -> Reply {
    let asked = call.asked()?;
    let drop_history = match asked.get("history") {
        None | Some("keep") => false,
        Some("drop") => true,
        Some(_) => return Err(Problem::new(Code::Usage, "`history` must be keep or drop")),
    };
    let name = call.parameter("job").to_owned();
    check_match(&call, &name).await?;
    call.app.change(call.who()?, None, Request::Remove { job: name, drop_history }).await?;
    Ok(nothing())
}

/// Takes over files of jobs, or tells what that would change.
///
/// # Errors
///
/// 409 for a name that another source has, 422 with what is wrong in them, and what the loop says.
pub async fn apply(call: Call) -> Reply {
    call.asked()?;
    let asked: ApplyAsked = call.document()?;
    if MAX_APPLIED_FILES < asked.files.len() {
        return Err(Problem::new(Code::Invalid, format!("at most {MAX_APPLIED_FILES} files at once")));
    }
    let mut found = Vec::new();
    let mut faults = Vec::new();
    let files = asked.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    for read in parsed(&call, files).await? {
        faults.extend(read.problems.iter().map(fault));
        found.extend(read.jobs.into_iter().map(|placed| placed.job));
    }
    if faults.iter().any(|fault| fault["severity"] == "problem") {
        let mut problem = Problem::new(Code::Invalid, "the files have problems: nothing was changed");
        problem.faults = faults;
        return Err(problem);
    }
    let before = call.app.catalogue.jobs(&call.app.pool).await?;
    let wire = |file: Sent| FileWire { name: file.path, text: file.text, system: false };
    let files = asked.files.into_iter().map(wire).collect();
    let request = Request::Apply { files, prune: asked.prune, preview: asked.preview };
    let response = match asked.preview {
        true => call.app.pool.look(request).await?,
        false => call.app.change(call.who()?, None, request).await?,
    };
    let Answer::Applied(applied) = response else { return Err(strange()) };
    let old = |name: &str| {
        before.iter().find(|known| known.wire.name == name).map_or("", |known| known.definition.as_str())
    };
    let new =
        |name: &str| found.iter().find(|job| job.name.as_str() == name).map_or("", |job| job.text.as_str());
    let mut diff = String::new();
    if asked.preview {
        for name in applied.added.iter().chain(&applied.changed).chain(&applied.removed) {
            write_diff(&mut diff, name, old(name), new(name));
        }
    }
    let mut document = fields(&applied);
    document.insert("diff".to_owned(), json!(diff));
    document.insert("faults".to_owned(), json!(faults));
    ok(&document)
}

/// What becomes of a definition, line by line: those that stay, go and come, in their order.
fn write_diff(into: &mut String, name: &str, old: &str, new: &str) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let _ = writeln!(into, "@@ {name} @@");
    let mut rest = 0;
    for line in &old {
        // Definitions are written in one order of keys, so that a line which stays is found further on.
        match new[rest..].iter().position(|other| other == line) {
            Some(skipped) => {
                new[rest..rest + skipped].iter().for_each(|line| {
                    let _ = writeln!(into, "+{line}");
                });
                rest += skipped + 1;
                let _ = writeln!(into, " {line}");
            }
            None => {
                let _ = writeln!(into, "-{line}");
            }
        }
    }
    new[rest..].iter().for_each(|line| {
        let _ = writeln!(into, "+{line}");
    });
}

/// All jobs as a job file.
///
/// # Errors
///
/// What the loop says.
pub async fn export(call: Call) -> Reply {
    call.asked()?;
    let jobs = call.app.catalogue.jobs(&call.app.pool).await?;
    let mut groups: Vec<String> = Vec::new();
    let mut whole = String::new();
    for known in jobs.iter() {
        // Each table comes with that of its group, which stands in the file once.
        let (job, group) = known.definition.split_once("\n[groups.").unwrap_or((&known.definition, ""));
        let _ = write!(whole, "{}\n\n", job.trim_end());
        let group = format!("[groups.{}", group.trim_end());
        if group != "[groups." && !groups.contains(&group) {
            groups.push(group);
        }
    }
    for group in groups {
        let _ = write!(whole, "{group}\n\n");
    }
    Ok(text("application/toml; charset=utf-8", whole))
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
