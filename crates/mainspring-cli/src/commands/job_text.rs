//! A job or a one-shot job, as `show` prints it: what it is, each reason why it does not run now, and what
//! waits of it.
//!
//! Cost: one string.
//!
//! Does not find out anything: the server does.

use jiff::Timestamp;
use mainspring_server::protocol::{FoundWire, HoldWire, JobWire, OnceWire, RunWire};

use super::value_text::{View, after, outcome_text, pairs, past, terms_text, when, when_past, why};

pub(super) fn job_text(job: &JobWire, view: &View) -> String {
    let last = job.last.as_ref().map_or_else(String::new, |run| {
        format!("{} {}", outcome_text(run), past(run.ended.or(Some(run.due)), view.now))
    });
    let armed = job.armed.filter(|_| job.armed != job.next);
    let labels: Vec<String> = job.labels.iter().map(|(name, text)| format!("{name}={text}")).collect();
    let mut lines = vec![("name", job.name.clone()), ("state", job.state.clone())];
    lines.extend(held(&job.holds));
    lines.extend([
        ("paused", job.pause_terms.as_ref().map_or_else(String::new, |terms| terms_text(terms, view))),
        ("next", job.next.map_or_else(|| after(job).unwrap_or_default(), |next| when(next, view))),
        // The server looks earlier where the next time is far away, and says nothing else then.
        ("armed", armed.map_or_else(String::new, |armed| when(armed, view))),
        ("last", last),
        ("waiting", waiting_text(job, view)),
        ("running", with_progress(&job.running.to_string(), job)),
        ("queued", job.queued.to_string()),
        ("runs", job.runs.to_string()),
        ("failures in a row", job.failures.to_string()),
        ("group", job.group.clone().unwrap_or_default()),
        ("labels", labels.join(" ")),
        ("policies", job.policies.clone()),
        ("from", job.source_line.map_or_else(|| job.source.clone(), |line| format!("{}:{line}", job.source))),
    ]);
    format!("{}\n{}", pairs(&lines), job.definition)
}

/// A one-shot job that is pending, as [`job_text`].
pub(super) fn once_text(once: &OnceWire, view: &View) -> String {
    let mut lines = vec![("name", once.name.clone()), ("state", "pending".to_owned())];
    lines.extend(held(&once.holds));
    lines.extend([
        ("due", when(once.due, view)),
        ("submitted", when_past(once.submitted, view)),
        ("key", once.key.clone().unwrap_or_default()),
        ("policies", once.policies.clone()),
        ("action", once.action.clone()),
    ]);
    format!("{}\n{}", pairs(&lines), once.definition)
}

/// The same of one that is pending no more: its run.
pub(super) fn found_text(found: &FoundWire, view: &View) -> String {
    let run = &found.run;
    let time = |at: Option<Timestamp>| at.map_or_else(String::new, |at| when_past(at, view));
    let mut lines = vec![("run", run.run.to_string()), ("state", run.state.to_string())];
    lines.extend(held(&found.holds));
    lines.extend([
        ("due", when(run.due, view)),
        ("attempt", if run.attempt == 0 { String::new() } else { run.attempt.to_string() }),
        ("started", time(run.started)),
        ("ended", time(run.ended)),
        ("why", why(run)),
        ("server", run.server_text()),
        ("action", run.action.clone().unwrap_or_default()),
    ]);
    pairs(&lines)
}

fn held(holds: &[HoldWire]) -> impl Iterator<Item = (&'static str, String)> {
    holds.iter().map(|hold| ("does not run", format!("{}; ends with {}", hold.why, hold.ends)))
}

/// A text about a job, and how far its run is, while it runs and tells it.
pub(super) fn with_progress(text: &str, job: &JobWire) -> String {
    job.progress.map_or_else(|| text.to_owned(), |progress| format!("{text}, {progress}"))
}

/// The runs that wait for their time, and how many are not named.
fn waiting_text(job: &JobWire, view: &View) -> String {
    let run = |run: &RunWire| format!("{}, due {}", run.run, when(run.due, view));
    let more = job.waiting_count.saturating_sub(job.waiting.len());
    let more = (0 < more).then(|| format!("{more} more"));
    job.waiting.iter().map(run).chain(more).collect::<Vec<_>>().join("; ")
}
