//! The results of a run, as rows of a CSV file that any program reads.
//!
//! ```text
//!   results.csv   workload,size,threads,subject,round,metric,value
//!   skipped.csv   workload,size,threads,subject,reason              a check that failed begins "the check failed"
//!   machine.json  where and when: see `machine`
//! ```
//!
//! Names hold no comma; a reason, which is the last field, may.
//!
//! Cost: a line per figure. It does not keep sums: medians are worked out when they are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use crate::case::{Case, Failure, Figure, Workload};
use crate::statistics::Summary;

/// The name of the file of figures.
pub const RESULTS_FILE: &str = "results.csv";

/// The name of the file of what could not be measured.
pub const SKIPPED_FILE: &str = "skipped.csv";

const RESULTS_HEADER: &str = "workload,size,threads,subject,round,metric,value";
const SKIPPED_HEADER: &str = "workload,size,threads,subject,reason";

/// One figure of one subject in one round, which is the case's seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The name of the subject.
    pub subject: String,
    /// What was done.
    pub case: Case,
    /// What came out.
    pub figure: Figure,
}

/// A subject without figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedSubject {
    /// The name of the subject.
    pub subject: String,
    /// What was not done.
    pub case: Case,
    /// Why there is no figure.
    pub failure: Failure,
}

impl SkippedSubject {
    /// Whether its answers were wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self.failure, Failure::Wrong(_))
    }
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The figures.
    pub records: Vec<Record>,
    /// What has none.
    pub skipped: Vec<SkippedSubject>,
}

impl Results {
    /// Sums up the rounds of a subject at a case, of which the first round is meant.
    pub fn summary(&self, subject: &str, case: Case, metric: &str) -> Option<Summary> {
        let of_case = self.records.iter().filter(|record| first_round(record) == case);
        let of_subject = of_case.filter(|record| record.subject == subject && record.figure.metric == metric);
        Summary::of(of_subject.map(|record| record.figure.value))
    }

    /// The figures of each case, in order of the cases. A case is that of its first round.
    pub fn by_case(&self) -> BTreeMap<Case, Results> {
        let mut cases: BTreeMap<Case, Results> = BTreeMap::new();
        for record in &self.records {
            cases.entry(first_round(record)).or_default().records.push(record.clone());
        }
        cases
    }

    /// All subjects with figures, in the order in which they were first measured.
    pub fn subjects(&self) -> Vec<String> {
        distinct(self.records.iter().map(|record| &record.subject))
    }

    /// All metrics, in the order in which they were first noted.
    pub fn metrics(&self) -> Vec<String> {
        distinct(self.records.iter().map(|record| &record.figure.metric))
    }

    /// Who was not measured at a workload for which reason: most reasons are many subjects'.
    pub fn skipped_by_reason(&self) -> BTreeMap<(Workload, String), Vec<&str>> {
        let mut by_reason: BTreeMap<(Workload, String), Vec<&str>> = BTreeMap::new();
        for skipped in &self.skipped {
            let subjects = by_reason.entry((skipped.case.workload, skipped.failure.to_string())).or_default();
            if !subjects.contains(&skipped.subject.as_str()) {
                subjects.push(&skipped.subject);
            }
        }
        by_reason
    }

    /// Whether a subject's answers were wrong.
    pub fn has_wrong_answers(&self) -> bool {
        self.skipped.iter().any(SkippedSubject::is_wrong)
    }

    /// Writes both files into a folder.
    ///
    /// # Errors
    /// The folder or a file cannot be written.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut rows = String::from(RESULTS_HEADER) + "\n";
        for Record { subject, case, figure } in &self.records {
            let Case { workload, size, thread_count, seed } = case;
            let (metric, value) = (&figure.metric, figure.value);
            assert!(!subject.contains(','), "a row has seven fields");
            assert!(!metric.contains(','), "a row has seven fields");
            rows += &format!("{workload},{size},{thread_count},{subject},{seed},{metric},{value}\n");
        }
        fs::write(folder.join(RESULTS_FILE), rows)?;
        let mut rows = String::from(SKIPPED_HEADER) + "\n";
        for SkippedSubject { subject, case, failure } in &self.skipped {
            rows += &format!("{},{},{},{subject},{failure}\n", case.workload, case.size, case.thread_count);
        }
        fs::write(folder.join(SKIPPED_FILE), rows)
    }

    /// Reads both files of a folder; the second may be missing.
    ///
    /// # Errors
    /// A sentence that names the file and the line.
    pub fn load(folder: &Path) -> Result<Results, String> {
        let path = folder.join(RESULTS_FILE);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let records = rows(&path, &text, RESULTS_HEADER, parse_record)?;
        let path = folder.join(SKIPPED_FILE);
        let text = fs::read_to_string(&path).unwrap_or_else(|_| SKIPPED_HEADER.to_owned());
        Ok(Results { records, skipped: rows(&path, &text, SKIPPED_HEADER, parse_skipped)? })
    }
}

/// Words, each where it comes first.
fn distinct<'r>(words: impl Iterator<Item = &'r String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    words.filter(|word| seen.insert(*word)).cloned().collect()
}

fn first_round(record: &Record) -> Case {
    Case { seed: 0, ..record.case }
}

fn rows<T>(
    path: &Path,
    text: &str,
    header: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, String> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line) != Some(header) {
        return Err(format!("{}:1: the first line is not {header}", path.display()));
    }
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| {
            parse(line).ok_or_else(|| {
                format!("{}:{}: this is not a row of {header}: {line}", path.display(), index + 1)
            })
        })
        .collect()
}

fn parse_case(workload: &str, size: &str, threads: &str) -> Option<Case> {
    let (size, thread_count) = (size.parse().ok()?, threads.parse().ok()?);
    Some(Case { workload: Workload::named(workload)?, size, thread_count, seed: 0 })
}

fn parse_record(line: &str) -> Option<Record> {
    let fields: Vec<&str> = line.split(',').collect();
    let [workload, size, threads, subject, round, metric, value] = fields[..] else { return None };
    let case = Case { seed: round.parse().ok()?, ..parse_case(workload, size, threads)? };
    Some(Record { subject: subject.to_owned(), case, figure: Figure::new(metric, value.parse().ok()?) })
}

fn parse_skipped(line: &str) -> Option<SkippedSubject> {
    let fields: Vec<&str> = line.splitn(5, ',').collect();
    let [workload, size, threads, subject, reason] = fields[..] else { return None };
    let case = parse_case(workload, size, threads)?;
    let failure = match reason.strip_prefix(Failure::WRONG) {
        Some(reason) => Failure::Wrong(reason.to_owned()),
        None => Failure::Unable(reason.to_owned()),
    };
    Some(SkippedSubject { subject: subject.to_owned(), case, failure })
}
