//! Cron expressions of Quartz, in tables of names or in its XML: each is a job.
//!
//! ```text
//! job.cleanup.cron = 0 0 3 * * ?                 a properties file, as Spring and others have it
//! <cron><name>..</name> <job-name>..</job-name> <cron-expression>0 0 3 * * ?</cron-expression></cron>
//! ```
//!
//! An expression is written as cron has it where that is exact, and else as it is, with `dialect`. What runs
//! is a class in a program in Java: the job is a comment unless `--run` says how it is called.
//!
//! Cost: one pass over the text.
//!
//! Does not read simple triggers and calendars of XML: each is told.
//!
//! Source: job_scheduling_data_2_0.xsd of Quartz, and
//! [its triggers](https://www.quartz-scheduler.org/documentation/quartz-2.3.0/tutorials/crontrigger.html).

mod due;
mod properties;
mod xml;

use mainspring_file::source::Source;

use crate::facts::JobFacts;
use crate::finding::{Findings, text_of};

/// The jobs of a file.
pub(crate) fn read(source: &Source, file: usize, findings: &mut Findings) -> Vec<JobFacts> {
    let Some(text) = text_of(source, file, findings) else { return Vec::new() };
    match text.trim_start().starts_with('<') {
        true => xml::read(text, file, findings),
        false => properties::read(text, file, findings),
    }
}
