//! A job, as `show` prints it: what it is, each reason why it does not run now, and what waits of it.
//!
//! Cost: one string.
//!
//! Does not find out anything: the server does.

use mainspring_server::protocol::{HoldWire, JobWire, RunWire};

use super::value_text::{View, after, near, outcome_text, pairs, terms_text, when};

pub(super) fn job_text(job: &JobWire, view: &View) -> String {
    let last = job.last.as_ref().map_or_else(String::new, |run| {
        format!("{} {}", outcome_text(run), near(run.ended.or(Some(run.due)), view))
    });
    let armed = job.armed.filter(|_| job.armed != job.next);
    let labels: Vec<String> = job.labels.iter().map(|(name, text)| format!("{name}={text}")).collect();
    let held = |hold: &HoldWire| ("does not run", format!("{}; ends with {}", hold.why, hold.ends));
    let mut lines = vec![("name", job.name.clone()), ("state", job.state.clone())];
    lines.extend(job.holds.iter().map(held));
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

/// A text about a job, and how far its run is that goes on and tells it.
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
