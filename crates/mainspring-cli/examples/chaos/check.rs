//! Gathers the acknowledgements, the rows of the database and the lines that the jobs wrote into one history.
//!
//! Cost: four questions to the database.
//!
//! Does not judge: [`history`](super::history) does.

use std::fs;

use super::history::{History, Verdict};
use super::pool::Pool;

/// Compares all.
pub(crate) fn check(pool: &Pool) -> Verdict {
    let rows = |sql: &str| -> Vec<String> { pool.ask(sql).lines().map(str::to_owned).collect() };
    let mut history = History {
        acknowledged: pool.acknowledged.clone(),
        ended: rows(
            "SELECT k.key FROM mainspring.once_key AS k
                JOIN mainspring.run AS r ON r.job = k.name AND r.nominal = k.due
                WHERE r.state NOT IN ('scheduled', 'queued', 'running')
            UNION ALL SELECT r.job FROM mainspring.run AS r
                WHERE r.cause = 'once' AND r.job LIKE 'once-%' AND r.state NOT IN ('scheduled', 'queued', 'running')",
        )
        .into_iter()
        .collect(),
        violations: rows("SELECT what FROM violation"),
        lines: fs::read_to_string(pool.folder.join("lines")).unwrap_or_default(),
        unheard: pool.unheard.clone(),
        gaps: rows(
            "SELECT job || ' after ' || last FROM (
                SELECT job, coalesce(span_last, nominal) AS last,
                    lead(nominal) OVER (PARTITION BY job ORDER BY nominal) AS next
                FROM mainspring.run WHERE cause <> 'once') AS r WHERE last + 1000000000 < next",
        ),
        ..History::default()
    };
    let sql =
        "SELECT a.job || '@' || a.nominal || '/' || a.series, a.number, a.nominal, a.outcome = 'returned'
        FROM mainspring.attempt AS a";
    for row in rows(sql) {
        if let [run, number, nominal, is_returned] = row.split('|').collect::<Vec<_>>().as_slice() {
            let attempt = ((*run).to_owned(), (*number).to_owned());
            if *is_returned == "t" {
                history.returned.insert(attempt.clone());
            }
            history.due.insert(attempt, nominal.parse().unwrap_or(i128::MAX));
        }
    }
    let (abandoned, by_planners) = (pool.abandoned(), pool.ended_by_planners);
    let Verdict { mut complaints, summary } = history.judge();
    if 0 < by_planners {
        complaints.push(format!("in {by_planners} rounds the fall of a planner ended a run"));
    }
    Verdict { complaints, summary: format!("{summary} abandoned {abandoned}, by planners {by_planners}") }
}
