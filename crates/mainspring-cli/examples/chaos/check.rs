//! What was acknowledged, what the database has, and what the jobs wrote, compared.
//!
//! | asked | of |
//! |---|---|
//! | nothing is lost | each acknowledged key has one run, which has ended |
//! | one start record for each attempt | each line `start` has its record, and no attempt has two lines |
//! | no commit by an old owner | what the database noted of itself in each transaction |
//! | no run begins twice | the lines: no job here is retried, so that two attempts would be one too many |
//! | nothing early | no line `start` is before its run was due |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use mainspring_job::RunKey;

use super::pool::Pool;

/// What was found.
pub(crate) struct Verdict {
    pub(crate) complaints: Vec<String>,
    pub(crate) summary: String,
}

/// Compares all.
pub(crate) fn check(pool: &Pool) -> Verdict {
    let mut complaints: Vec<String> = Vec::new();
    let rows = |sql: &str| -> Vec<String> { pool.ask(sql).lines().map(str::to_owned).collect() };
    complaints
        .extend(rows("SELECT what FROM violation").into_iter().map(|what| format!("an old owner: {what}")));
    let ended: BTreeSet<String> = rows(
        "SELECT k.key FROM mainspring.once_key AS k JOIN mainspring.run AS r ON r.job = k.name AND r.nominal = k.due
            WHERE NOT mainspring.is_open(r.state)",
    )
    .into_iter()
    .collect();
    let lost: Vec<&String> = pool.acknowledged.difference(&ended).collect();
    complaints.extend(lost.iter().map(|key| format!("{key} was acknowledged and has no end")));
    // Each attempt that has a record: when its run was due.
    let mut due: BTreeMap<(String, String), i128> = BTreeMap::new();
    let sql = "SELECT a.job || '@' || a.nominal || '/' || a.series, a.number, a.nominal FROM mainspring.attempt AS a";
    for row in rows(sql) {
        if let [run, number, nominal] = row.split('|').collect::<Vec<_>>().as_slice() {
            due.insert(((*run).to_owned(), (*number).to_owned()), nominal.parse().unwrap_or(i128::MAX));
        }
    }
    let text = fs::read_to_string(pool.folder.join("lines")).unwrap_or_default();
    let mut starts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let (mut early_count, mut unknown_count) = (0, 0);
    for line in text.lines() {
        let ["start", run, attempt, at] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        let attempt = (run_key(run), attempt.to_owned());
        match due.get(&attempt) {
            None => {
                unknown_count += 1;
                complaints.push(format!("no record of the start of {run}, {}", attempt.1));
            }
            Some(due) if at.parse::<i128>().is_ok_and(|at| at < *due) => {
                early_count += 1;
                complaints.push(format!("{run} began early"));
            }
            Some(_) => {}
        }
        if attempt.1 != "1" {
            complaints.push(format!("{run} was tried again"));
        }
        *starts.entry(attempt).or_default() += 1;
    }
    let doubled: Vec<_> = starts.iter().filter(|(_, count)| 1 < **count).collect();
    complaints.extend(doubled.iter().map(|((run, attempt), _)| format!("{run}, {attempt} began twice")));
    let abandoned = pool.ask("SELECT count(*) FROM mainspring.attempt WHERE state = 'abandoned'");
    let summary = format!(
        "acknowledged {} lost {} starts {} doubled {} early {early_count} unrecorded {unknown_count} abandoned {abandoned}",
        pool.acknowledged.len(),
        lost.len(),
        starts.len(),
        doubled.len()
    );
    Verdict { complaints, summary }
}

/// The key of a run as the database has it, from the one that a job is told.
fn run_key(text: &str) -> String {
    text.parse::<RunKey>().map_or_else(
        |_| text.to_owned(),
        |key| format!("{}@{}/{}", key.job, key.nominal.as_nanosecond(), key.series),
    )
}
