//! A text of jobs that a client sends, before it is parsed and after.
//!
//! ```text
//! apply, define ─▶ ClientText ─▶ a thread beside the loop: parse ─▶ ParsedText ─▶ the loop: what is in force
//! ```
//!
//! Cost: one pass over each file. The jobs of the files of one request have one budget together.
//!
//! Does not read a file: a client sends its text. Does not know what is in force.

use mainspring_job::{Group, Job};

use crate::protocol::{ErrorKind, ErrorWire, FileWire};
use mainspring_file::budget::Budget;
use mainspring_file::claims::Claimant;
use mainspring_file::crontab::Format;
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::JobFile;
use mainspring_file::loaded_file::{LoadedFile, Reader};
use mainspring_file::source::Source;

/// A text that is to be parsed, and what it is for.
pub(super) enum ClientText {
    /// Files to be applied, each with the source that its jobs get.
    Files { files: Vec<(JobSource, FileWire)>, prune: bool, is_preview: bool },
    /// One job, by command.
    Definition { text: String, replace: bool },
}

/// What a text says.
pub(super) enum ParsedText {
    Files { claimants: Vec<Claimant>, prune: bool, is_preview: bool },
    Definition { job: Box<Job>, groups: Vec<Group>, replace: bool },
}

impl ClientText {
    /// Parses it as files are read here.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the client.
    pub(super) fn parse(self, reader: &Reader) -> Result<ParsedText, ErrorWire> {
        match self {
            ClientText::Files { files, prune, is_preview } => {
                let mut budget = Budget::default();
                let parse = |(job_source, file)| claimant(&job_source, file, reader, &mut budget);
                let claimants = files.into_iter().map(parse).collect::<Result<_, _>>()?;
                Ok(ParsedText::Files { claimants, prune, is_preview })
            }
            ClientText::Definition { text, replace } => {
                let JobFile { jobs, groups, problems, .. } =
                    JobFile::parse(&Source::new("", text), &reader.zone);
                if let Some(problem) = problems.first() {
                    let text = problem.in_file("definition");
                    return Err(ErrorWire::new(ErrorKind::Invalid, text));
                }
                let mut jobs = jobs.into_iter().map(|placed| placed.job);
                let (Some(job), None) = (jobs.next(), jobs.next()) else {
                    return Err(ErrorWire::new(ErrorKind::Usage, "expected one job"));
                };
                Ok(ParsedText::Definition { job: Box::new(job), groups, replace })
            }
        }
    }
}

fn claimant(
    job_source: &JobSource,
    file: FileWire,
    reader: &Reader,
    budget: &mut Budget,
) -> Result<Claimant, ErrorWire> {
    let format = if file.system { Format::System } else { Format::User };
    let mut loaded =
        LoadedFile::parse_within(&Source::new(file.name, file.text), &format.into(), &reader.zone, budget);
    loaded.complete_hooks(reader);
    if !loaded.is_good() {
        return Err(ErrorWire::new(ErrorKind::Invalid, loaded.problems_text()));
    }
    Ok(Claimant { job_source: job_source.source(), loaded })
}
