//! Files of other schedulers to one job file, and to findings about each of them.
//!
//! Cost: that of the readers, and one pass over what is written.
//!
//! Does not read files: the caller has.

use std::path::Path;

use mainspring_file::crontab::Format;
use mainspring_file::problem::Problem;
use mainspring_file::source::Source;

use crate::finding::Findings;
use crate::kind::Kind;
use crate::writer::{JobFileText, write};
use crate::{apscheduler, crontab, kubernetes, quartz, sidekiq, systemd};

/// How files are read.
#[derive(Clone, Debug)]
pub struct Options {
    /// What all of them are; else each shows it: see [`Kind::of`].
    pub kind: Option<Kind>,
    /// Which kind of crontab a crontab is, where its place does not say it.
    pub format: Format,
    /// The line for a shell of a job that says no command, with `{name}`, `{call}` and `{image}`.
    pub run: Option<String>,
}

/// What became of files.
#[derive(Debug)]
pub struct Import {
    /// The job file; empty if there is a problem.
    pub text: String,
    /// How many jobs are in force in it.
    pub job_count: usize,
    /// How many are comments in it.
    pub off_count: usize,
    /// Of each file what was found, and how much more.
    pub findings: Vec<(Vec<Problem>, usize)>,
    /// Whether something could not be read.
    pub has_problem: bool,
}

/// Reads files, and writes their jobs.
///
/// # Example
///
/// ```
/// use mainspring_file::crontab::Format;
/// use mainspring_file::source::Source;
/// use mainspring_import::{Options, import};
///
/// let timer = Source::new("tidy.timer", "[Timer]\nOnCalendar=daily\nPersistent=true\n");
/// let service = Source::new("tidy.service", "[Service]\nType=oneshot\nExecStart=/usr/bin/tidy --all\n");
/// let imported = import(&[timer, service], &Options { kind: None, format: Format::User, run: None });
/// assert!(imported.text.contains("oncalendar = \"daily\""));
/// assert!(imported.text.contains("run = [\"/usr/bin/tidy\", \"--all\"]"));
/// ```
pub fn import(sources: &[Source], options: &Options) -> Import {
    let mut findings = Findings::default();
    let mut jobs = Vec::new();
    let kinds: Vec<Kind> =
        sources.iter().map(|source| options.kind.unwrap_or_else(|| Kind::of(source))).collect();
    // A timer and its service are two files and one job: their jobs stand where the first of them stands.
    let mut is_systemd_read = false;
    for (file, (source, kind)) in sources.iter().zip(&kinds).enumerate() {
        jobs.extend(match kind {
            Kind::Systemd if is_systemd_read => Vec::new(),
            Kind::Systemd => {
                is_systemd_read = true;
                let of_kind = |index: &usize| kinds[*index] == Kind::Systemd;
                let all: Vec<(usize, &Source)> =
                    (0..sources.len()).filter(of_kind).map(|index| (index, &sources[index])).collect();
                systemd::read(&all, &mut findings)
            }
            Kind::Crontab => {
                let format = options.format.of(Path::new(source.name()));
                crontab::read(source, file, format, &mut findings)
            }
            Kind::Kubernetes => kubernetes::read(source, file, &mut findings),
            Kind::Quartz => quartz::read(source, file, &mut findings),
            Kind::Sidekiq => sidekiq::read(source, file, &mut findings),
            Kind::Apscheduler => apscheduler::read(source, file, &mut findings),
        });
    }
    let names: Vec<&str> = sources.iter().map(Source::name).collect();
    let run = options.run.as_deref();
    let written = (!findings.has_problem()).then(|| write(jobs, &names, run, &mut findings));
    let has_problem = findings.has_problem();
    let JobFileText { text, job_count, off_count } = written.filter(|_| !has_problem).unwrap_or_default();
    debug_assert_eq!(has_problem, text.is_empty(), "with a problem nothing is written");
    let findings = findings.placed(sources);
    assert_eq!(findings.len(), sources.len(), "each file has its own");
    Import { text, job_count, off_count, findings, has_problem }
}
