//! Findings about files that are imported: at which bytes of which file, how bad, and what to do.
//!
//! ```text
//! Findings { (file 1, bytes 40..47, warning, "`AccuracySec` has no equal here", "nothing has to be done") .. }
//!      └─▶ placed on their lines: the problems of each file, as `check` shows them
//! ```
//!
//! Cost: one entry per finding, up to `MAX_KEPT_FINDINGS`; those beyond are counted. A line is copied for
//! each finding that is shown, up to `MAX_KEPT_LINE_BYTES` of a file.
//!
//! Does not show them.

use std::ops::Range;

use mainspring_file::problem::{Fault, MAX_SHOWN_PROBLEMS, Problem, Severity};
use mainspring_file::source::Source;

/// The most findings of one import that are kept: far more than a person reads.
pub(crate) const MAX_KEPT_FINDINGS: usize = 10_000;

/// How many bytes of lines are kept of a file, beside its first finding: lines may be long.
const MAX_KEPT_LINE_BYTES: usize = 4 << 20;

const _: () = assert!(MAX_SHOWN_PROBLEMS <= MAX_KEPT_FINDINGS, "what is shown is kept");

/// Bytes of one of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The index of the file.
    pub(crate) file: usize,
    pub(crate) span: Range<usize>,
}

impl Place {
    /// A place in the same file.
    pub(crate) fn moved(&self, span: Range<usize>) -> Place {
        Place { file: self.file, span }
    }
}

/// A text, and where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlacedText {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// One thing that was found.
#[derive(Clone, Debug)]
struct Finding {
    place: Place,
    severity: Severity,
    message: String,
    todo: Option<String>,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    findings: Vec<Finding>,
    unkept_count: usize,
    has_problem: bool,
}

impl Findings {
    /// Something that cannot be read: nothing is written.
    pub(crate) fn problem(&mut self, place: &Place, message: impl Into<String>) {
        self.add(place, Severity::Problem, message.into(), None);
    }

    /// A fault of a part of the file that begins at `start`.
    pub(crate) fn fault(&mut self, place: &Place, fault: Fault) {
        let start = place.span.start + fault.span.start;
        let end = (place.span.start + fault.span.end).min(place.span.end.max(start));
        self.add(&place.moved(start..end), Severity::Problem, fault.message, fault.hint);
    }

    /// Something that is not as it was, and what to do.
    pub(crate) fn warn(&mut self, place: &Place, message: impl Into<String>, todo: impl Into<String>) {
        self.add(place, Severity::Warning, message.into(), Some(todo.into()));
    }

    /// Something worth knowing.
    pub(crate) fn remark(&mut self, place: &Place, message: impl Into<String>) {
        self.add(place, Severity::Remark, message.into(), None);
    }

    fn add(&mut self, place: &Place, severity: Severity, message: String, todo: Option<String>) {
        debug_assert!(place.span.start <= place.span.end);
        let is_problem = severity == Severity::Problem;
        // No problem goes unseen for a warning.
        if MAX_KEPT_FINDINGS <= self.findings.len() && (!is_problem || self.has_problem) {
            self.unkept_count += 1;
        } else {
            self.findings.push(Finding { place: place.clone(), severity, message, todo });
        }
        self.has_problem |= is_problem;
    }

    /// Adds what was found elsewhere.
    pub(crate) fn append(&mut self, other: Findings) {
        for Finding { place, severity, message, todo } in other.findings {
            self.add(&place, severity, message, todo);
        }
        self.unkept_count += other.unkept_count;
        self.has_problem |= other.has_problem;
    }

    /// Whether something could not be read.
    pub(crate) fn has_problem(&self) -> bool {
        self.has_problem
    }

    /// The findings of each file on their lines, in the order of the lines, and how many were not kept.
    pub(crate) fn placed(mut self, sources: &[Source]) -> Vec<(Vec<Problem>, usize)> {
        let is_kept = self.findings.iter().any(|finding| finding.severity == Severity::Problem);
        debug_assert_eq!(self.has_problem, is_kept, "no problem goes unseen");
        let rank = |finding: &Finding| finding.severity != Severity::Problem;
        self.findings.sort_by_key(|finding| (finding.place.file, rank(finding), finding.place.span.start));
        let mut rest = self.findings.into_iter().peekable();
        let mut all = Vec::new();
        for (file, source) in sources.iter().enumerate() {
            let (mut problems, mut bytes, mut unkept_count) = (Vec::new(), 0, 0);
            while let Some(finding) = rest.next_if(|finding| finding.place.file == file) {
                debug_assert!(finding.place.span.start <= source.bytes().len(), "a place lies in its file");
                bytes += source.line_at(finding.place.span.start).0.bytes.len();
                let is_full = MAX_SHOWN_PROBLEMS <= problems.len() || MAX_KEPT_LINE_BYTES < bytes;
                if is_full && !problems.is_empty() {
                    unkept_count += 1;
                    continue;
                }
                let Finding { place, severity, message, todo } = finding;
                let fault = Fault { span: place.span, message, hint: todo };
                problems.push(Problem { severity, ..Problem::at(source, fault) });
            }
            debug_assert!(problems.len() <= MAX_SHOWN_PROBLEMS);
            problems.sort_by_key(|problem| problem.line_number);
            all.push((problems, unkept_count));
        }
        debug_assert!(rest.next().is_none(), "each is of one of the files");
        if let Some((_, unkept_count)) = all.first_mut() {
            *unkept_count += self.unkept_count;
        }
        all
    }
}

/// The text of a file, unless it is too long, no UTF-8, or has a NUL: then that is a problem.
pub(crate) fn text_of<'s>(source: &'s Source, file: usize, findings: &mut Findings) -> Option<&'s str> {
    let bytes = source.bytes();
    if let Some(problem) = Problem::of_length(source) {
        findings.problem(&Place { file, span: 0..0 }, problem.fault.message);
        return None;
    }
    let at = |span| Place { file, span };
    if let Some(offset) = bytes.iter().position(|&byte| byte == 0) {
        findings.problem(&at(offset..offset + 1), "a NUL byte has no place in a text");
        return None;
    }
    let text = mainspring_file::problem::text_of(bytes);
    text.map_err(|fault| findings.problem(&at(fault.span), fault.message)).ok()
}
