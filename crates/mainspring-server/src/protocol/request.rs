//! The table of requests: a variant and a row for each.
//!
//! ```text
//!                        ┌─▶ the loop: limits, audit log, disk reserve     server/requests.rs
//! Request ── row ─▶ Row ─┼─▶ a store without a loop: what it answers       server/read_only_backend.rs, server/offline.rs
//!                        └─▶ HTTP: scope of a token, streams               api/requests.rs of mainspring-web
//! ```
//!
//! A new request is a variant and a row here, a line of `requests.txt`, and an arm of `Server::answer` in
//! `server/requests.rs`. Nothing else names all requests. The lines are for tests and for the page that
//! people read: what it is about, the routes of the HTTP API that are for it, without `/api/v1/`, and an
//! example, as a client sends it. All that [is remote](Power::is_remote) can be asked by `POST requests` as
//! well.
//!
//! Cost: a row is some words, made from the request without a copy.
//!
//! Does not answer a request, and does not check its arguments.

use serde::{Deserialize, Deserializer, Serialize};

use super::row::{Backend, Power, Row};
use super::{AuditAskWire, EveryWire, HistoryWire, ListWire, PauseWire, SubmitWire};

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the arguments of the commands of the same names")]
pub enum Request {
    /// How the server is.
    #[serde(deserialize_with = "nothing")]
    Status,
    /// What else could be in trouble.
    #[serde(deserialize_with = "nothing")]
    Health,
    /// Whether the numbers of the store are those of its rows, which are counted.
    #[serde(deserialize_with = "nothing")]
    Recount,
    /// Jobs after a name, in order.
    List(ListWire),
    /// One-shot jobs that wait, in the order in which they are due, after the id of one of them.
    Pending { after: Option<String>, limit: usize },
    /// One job, or one pending one-shot job.
    Show { job: String },
    /// Runs, the latest first.
    History(HistoryWire),
    /// What a job's latest run, or a certain run, wrote.
    Logs { of: String, follow: bool },
    /// Run a job, now or at a time.
    Run {
        job: String,
        wait: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Wait for the end of a run.
    Wait { run: String },
    /// Do something once.
    Submit(Box<SubmitWire>),
    /// Define one job that is due again and again.
    Every(Box<EveryWire>),
    /// Define one job, given as a table of a job file: over HTTP, where programs write definitions.
    Define { text: String, replace: bool },
    /// Remove one job that came by command; and drop its ended runs with their output, also those of a job
    /// that is gone already.
    Remove {
        job: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drop_history: bool,
    },
    /// Pause a job; without a job, everything.
    Pause(PauseWire),
    /// Go on.
    Resume { job: Option<String> },
    /// End a run, or withdraw a pending one-shot job.
    Cancel { of: String },
    /// Run the occurrences of a range, or only tell them.
    Backfill { job: String, from: String, to: String, preview: bool },
    /// Plan a job from now on that rests for a clock that was ahead, or only tell what would run.
    Rewind { job: String, preview: bool },
    /// Run a dead letter again.
    DeadRetry { run: String },
    /// Let go of a dead letter.
    DeadDrop { run: String },
    /// Take over files of jobs, or only tell what that would change.
    Apply { files: Vec<FileWire>, prune: bool, preview: bool },
    /// All definitions, after a name.
    Export { after: Option<String> },
    /// A run with its attempts.
    Find { run: String },
    /// Who asked for what, the newest first.
    Audit(AuditAskWire),
    /// What was counted and measured since the server began. The server's own listener alone may ask.
    Metrics { jobs_max: usize },
    /// A code with which a browser signs in.
    #[serde(deserialize_with = "nothing")]
    LoginCode,
    /// Whether a code is good, once. The server's own listener alone may ask.
    Redeem { code: String },
    /// What changed since the last such question, as soon as anything has. The server's own listener alone
    /// may ask.
    #[serde(deserialize_with = "nothing")]
    Watch,
}

impl Request {
    /// What holds for it. Each request has a row here, or this does not compile.
    pub fn row(&self) -> Row<'_> {
        use Backend::{Folder, Pool};
        use Request as R;
        match self {
            R::Status => Row::looks("status").by(Pool),
            R::Health => Row::looks("health").by(Pool),
            R::Recount => Row::looks("recount").by(Pool),
            R::List(_) => Row::looks("list").by(Folder),
            R::Pending { .. } => Row::looks("pending").by(Folder),
            R::Show { .. } => Row::looks("show").by(Folder),
            R::History(_) => Row::looks("history").by(Folder),
            R::Logs { follow, .. } => Row::looks("logs").by(Folder).lines(*follow),
            R::Run { job, wait, .. } => Row::operates("run", Some(job)).adds().ends(*wait),
            R::Wait { .. } => Row::looks("wait").ends(true),
            R::Submit(submit) => Row::defines("submit", submit.name.as_deref()).adds().unaudited(),
            R::Every(every) => Row::defines("every", Some(&every.name)).adds(),
            R::Define { .. } => Row::defines("define", None).adds(),
            R::Remove { job, drop_history: false } => Row::defines("remove", Some(job)),
            R::Remove { job, drop_history: true } => Row::defines("purge", Some(job)),
            R::Pause(pause) => Row::operates("pause", pause.job.as_deref()).noted(&pause.note),
            R::Resume { job } => Row::operates("resume", job.as_deref()),
            R::Cancel { of } => Row::operates("cancel", Some(of)),
            R::Backfill { job, preview, .. } => {
                Row::operates("backfill", Some(job)).adds().previews(*preview)
            }
            R::Rewind { job, preview } => Row::operates("rewind", Some(job)).adds().previews(*preview),
            R::DeadRetry { run } => Row::operates("dead_retry", Some(run)).adds(),
            R::DeadDrop { run } => Row::operates("dead_drop", Some(run)),
            R::Apply { preview, .. } => Row::defines("apply", None).adds().previews(*preview),
            R::Export { .. } => Row::looks("export").by(Folder),
            R::Find { .. } => Row::looks("find").by(Pool),
            R::Audit(_) => Row::looks("audit").by(Folder),
            R::Metrics { .. } => Row::of_listener("metrics"),
            R::LoginCode => Row::local("login_code"),
            R::Redeem { .. } => Row::of_listener("redeem"),
            R::Watch => Row::of_listener("watch"),
        }
    }

    /// Whether it changes nothing.
    pub fn looks(&self) -> bool {
        self.row().power == Power::Looks
    }
}

/// A request without arguments refuses any, as the others refuse those that they do not know.
fn nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(deserializer).map(|Nothing {}| ())
}

/// A file of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWire {
    /// Its whole path: the source of its jobs.
    pub name: String,
    /// Its content.
    pub text: String,
    /// Whether it is a crontab with a user column.
    pub system: bool,
}

#[cfg(test)]
mod tests {
    use super::super::{Answers, Effect};
    use super::*;

    /// The table for people, which is committed.
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/requests.md");

    /// In the place of routes.
    const NONE: &str = "-";

    /// Each request, what it is about, the routes of the HTTP API that are for it, and the example of it.
    fn all() -> Vec<(Request, [&'static str; 3])> {
        let read = |line: &'static str| {
            let cells = line.split(" | ").collect::<Vec<_>>().try_into();
            let cells: [&str; 3] = cells.expect("a line has three cells");
            (serde_json::from_str(cells[2]).expect("an example is a request"), cells)
        };
        include_str!("requests.txt").lines().map(read).collect()
    }

    /// A row of it.
    fn line((request, [about, routes, example]): &(Request, [&str; 3])) -> String {
        let Row { word, power, backend, is_audited, .. } = request.row();
        let scope = match power {
            Power::Looks => "look",
            Power::Operates => "operate",
            Power::Defines => "define",
            Power::Local => "none: at the machine of the server",
            Power::Listener => "none: the server's own listener",
        };
        let audited = if is_audited { "yes" } else { "" };
        let without = match backend {
            Backend::Folder => "of a folder and of a pool",
            Backend::Pool => "of a pool",
            Backend::Owner => "",
        };
        let routes = routes.split(", ").filter(|route| *route != NONE).map(|route| format!("`{route}`"));
        let routes = routes.collect::<Vec<_>>().join(", ");
        format!("| `{word}` | {scope} | {about} | {audited} | {without} | {routes} | `{example}` |\n")
    }

    #[test]
    fn the_page_of_requests_is_that_of_the_table() {
        let lines: String = all().iter().map(line).collect();
        let page = format!(
            "# Requests over the socket\n\
            Made from the code by `UPDATE_EXPECTED=1 cargo test -p mainspring-server page_of_requests`; changes here are lost.\n\n\
            Each is a line of JSON on the socket, and the body of `POST /api/v1/requests` unless its scope is none.\n\n\
            | request | scope | about | in the audit log | answered by a store without its owner | routes below `/api/v1/` | example |\n\
            |---|---|---|---|---|---|---|\n{lines}"
        );
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(PAGE, &page).unwrap();
        }
        let committed = std::fs::read_to_string(PAGE).unwrap_or_default();
        assert!(
            committed == page,
            "UPDATE_EXPECTED=1 cargo test -p mainspring-server page_of_requests accepts the change"
        );
    }

    #[test]
    fn each_request_has_an_example_and_its_word_is_that_of_its_command() {
        let known = serde_json::from_str::<Request>(r#"{"command":"?"}"#).unwrap_err().to_string();
        let known: Vec<&str> = known.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, all().iter().map(|(request, _)| request.row().word).collect::<Vec<&str>>());
        for (request, [.., example]) in all() {
            let command = serde_json::to_value(&request).unwrap()["command"].clone();
            assert_eq!(command, request.row().word, "{example}");
        }
    }

    #[test]
    fn what_looks_changes_nothing_and_what_a_store_answers_looks() {
        for (request, [_, routes, _]) in all() {
            let row = request.row();
            assert!(row.power.changes() || (row.effect == Effect::Tells && !row.is_audited), "{row:?}");
            assert!(row.backend == Backend::Owner || row.power == Power::Looks, "{row:?}");
            assert!(row.power.is_remote() || routes == NONE, "{row:?}");
        }
    }

    #[test]
    fn arguments_that_change_the_meaning_of_a_request_change_its_row() {
        let read = |text: &str| serde_json::from_str::<Request>(text).unwrap();
        let purge = read(r#"{"command":"remove","job":"j","drop_history":true}"#);
        assert_eq!((purge.row().word, purge.row().target), ("purge", Some("j")));
        let preview = read(r#"{"command":"rewind","job":"j","preview":true}"#);
        assert_eq!((preview.row().effect, preview.row().is_audited), (Effect::Tells, false));
        assert_eq!(preview.row().power, Power::Operates);
        let [waits, runs] = ["true", "false"]
            .map(|wait| read(&format!(r#"{{"command":"run","job":"j","wait":{wait}}}"#)).row().answers);
        assert_eq!((waits, runs), (Answers::End, Answers::One));
        let all = read(r#"{"command":"pause","note":"why"}"#);
        assert_eq!((all.row().target, all.row().note), (None, "why"));
    }
}
