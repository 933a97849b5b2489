//! Tables of sidekiq-cron, and of sidekiq-scheduler, in YAML: each job is one.
//!
//! ```text
//! nightly_report:               name, or a list of tables that say it
//!   cron: "0 3 * * * Europe/Berlin"
//!   class: ReportJob
//!   args: [1, "eu"]
//! ```
//!
//! What runs is a class in a program in Ruby. How that program is called, the table does not say, so the job
//! is a comment unless `--run` says it: `--run 'cd /srv/app && bin/rails runner {call}'` puts it into its
//! queue.
//!
//! The table may stand in a section of its environment (`production:`), or under `:schedule:`, as in
//! `sidekiq.yml`.
//!
//! Cost: one pass over the tree.
//!
//! Does not evaluate ERB: a line of it is no YAML, and a problem.
//!
//! Source: [sidekiq-cron](https://github.com/sidekiq-cron/sidekiq-cron#readme),
//! [fugit](https://github.com/floraison/fugit#readme), the parser of its expressions.

mod fugit;

use mainspring_cron::{Every, Expression, ParseError};
use mainspring_file::source::Source;
use mainspring_job::CatchUp;

use crate::draft::Draft;
use crate::facts::{Call, JobFacts, When};
use crate::finding::{Findings, text_of};
use crate::key::{Key, is, lost, near, read_table, unneeded};
use crate::schedule::{is_or_beside_star, without_zone};
use crate::yaml::{Language, MAX_DEPTH, Node, Value, documents};

/// What a job says that is judged when all of it is known.
#[derive(Debug, Default)]
struct JobWords {
    class: Option<String>,
    args: Vec<String>,
    is_active_job: bool,
}

type Job = Draft<JobWords>;

/// Keys of a job.
const SIDEKIQ_KEYS: &[Key<JobWords, Node>] = &[
    unneeded("name", "it is the name of the job"),
    is(
        "cron",
        "cron, zone",
        cron,
        "fields and a zone, which without one is that of the server; ranges past midnight and days from the end are written as cron has them; of two restricted days either, by day_rule = \"or\" where that differs; `every day at noon`, `mon%2` and `5#-2` have no equal; missed times are left out, as there",
    ),
    near(
        "every",
        "every",
        every,
        "a period counts from 1970 here, and not from the start of sidekiq-scheduler",
    ),
    is("at in", "a comment", once, "of sidekiq-scheduler: the job is written as a comment"),
    is(
        "class klass",
        "shell",
        |reader, node| reader.values.class = reader.text(node).map(str::to_owned),
        "`{call}` of --run is `CLASS.perform_async(..)`: 'cd /srv/app && bin/rails runner {call}'",
    ),
    is("args", "shell", args, "arguments of the call"),
    is("active_job", "shell", active_job, "`perform_later` in place of `perform_async`"),
    is("description", "a comment", description, ""),
    is("status enabled", "a comment", status, "a job that is disabled is written as a comment"),
    lost(
        "queue queue_name_prefix queue_name_delimiter",
        "the class says its queue",
        "Class.set(queue: \"..\").perform_async in the command",
    ),
    lost(
        "date_as_argument",
        "the time of the run is no argument",
        "ENV[\"MAINSPRING_NOMINAL\"] is the time at which it was due",
    ),
    lost("symbolize_args retry", "options of the call are not carried over", "write them into the command"),
    near("namespace", "a comment", description, "a label says it better: labels = { namespace = \"..\" }"),
    unneeded("source date last_enqueue_time", "it is for sidekiq-cron itself"),
];

/// The jobs of a file.
pub(crate) fn read(source: &Source, file: usize, findings: &mut Findings) -> Vec<JobFacts> {
    let Some(text) = text_of(source, file, findings) else { return Vec::new() };
    let mut jobs = Vec::new();
    for document in documents(text, file, findings) {
        let before_count = jobs.len();
        table(&document, 0, &mut jobs, findings);
        if jobs.len() == before_count && !matches!(document.value, Value::Null) {
            findings.warn(&document.place, "there is no job in this", "a job is a table with cron and class");
        }
    }
    jobs
}

/// How deep sections are looked into: an environment, `:scheduler:`, `:schedule:`.
const MAX_SECTIONS: usize = 4;

const _: () = assert!(MAX_SECTIONS <= MAX_DEPTH, "so deep a file may be");

fn table(node: &Node, depth: usize, jobs: &mut Vec<JobFacts>, findings: &mut Findings) {
    for item in node.list().iter().filter(|item| is_job(item)) {
        let name = item.get("name").or_else(|| item.get(":name")).and_then(Node::text);
        jobs.push(job(name.unwrap_or_default(), item, findings));
    }
    for (name, place, value) in node.pairs() {
        let bare = name.trim_start_matches(':');
        match (is_job(value), value.is_table() || !value.list().is_empty()) {
            (true, _) => jobs.push(job(bare, value, findings)),
            // Others take them over by `<<`.
            (false, true) if matches!(bare, "default" | "defaults") => {
                findings.remark(
                    place,
                    format!("`{name}` is left out: its jobs are those of the sections that take them over"),
                );
            }
            (false, true) if depth < MAX_SECTIONS => table(value, depth + 1, jobs, findings),
            // Options of Sidekiq itself, such as `:concurrency:`.
            _ if depth == 0 => findings.remark(place, format!("`{name}` is no job, and is left out")),
            _ => {}
        }
    }
}

/// Whether a table is a job: it says a class and a time.
fn is_job(node: &Node) -> bool {
    let has =
        |names: &[&str]| node.pairs().iter().any(|(name, ..)| names.contains(&name.trim_start_matches(':')));
    has(&["cron", "every", "at", "in"])
}

fn job(name: &str, node: &Node, findings: &mut Findings) -> JobFacts {
    let mut reader = Job::new(name, node.place.clone());
    // What was missed by more than a minute, which is the grace here, is left out there.
    reader.job.policies.misfire.catch_up = CatchUp::None;
    read_table(SIDEKIQ_KEYS, &mut reader, node);
    let settings = std::mem::take(&mut reader.values);
    match &settings.class {
        Some(class) => {
            let method = if settings.is_active_job { "perform_later" } else { "perform_async" };
            let call = format!("{class}.{method}({})", settings.args.join(", "));
            reader.job.comment(format!("calls {call}"));
            reader.job.call = Some(Call::Text(call));
        }
        None => reader.findings.problem(&node.place, "the job has no class"),
    }
    if reader.job.when.is_empty() && reader.job.off.is_none() && !reader.findings.has_problem() {
        reader.findings.problem(&node.place, "the job says no time");
    }
    findings.append(reader.findings);
    reader.job
}

fn cron(reader: &mut Job, node: &Node) {
    if !node.list().is_empty() {
        // sidekiq-scheduler takes a list with options behind the expression.
        return cron(reader, &node.list()[0]);
    }
    let Some(text) = reader.text(node) else { return };
    let (fields, zone) = without_zone(text);
    match Expression::parse(fields) {
        Ok(Expression::Every(every)) => reader.job.due(When::every(&every)),
        Ok(_) => {
            reader.job.due(When::Cron(fields.to_owned()));
            reader.job.day_rule = is_or_beside_star(fields).then_some("or");
            reader.job.zone = zone;
        }
        Err(error) => of_fugit(reader, node, (fields, zone), &error),
    }
}

/// An expression that only fugit reads: as cron has it where that is exact.
fn of_fugit(reader: &mut Job, node: &Node, (fields, zone): (&str, Option<String>), error: &ParseError) {
    let made = fugit::as_cron(fields);
    if let Some(made) = made.as_ref().filter(|made| Expression::parse(made).is_ok()) {
        reader.job.comment(format!("due: {fields}"));
        reader.job.due(When::Cron(made.clone()));
        reader.job.zone = zone;
    } else if made.is_some() || fugit::is_its_own(fields) {
        let message = format!("`{fields}` is an expression of fugit, and not of cron");
        reader.findings.warn(&node.place, message, "write it as five fields: cron = \"0 12 * * *\"");
        reader.job.comment(format!("due: {fields}"));
        reader.job.switch_off_without_time(format!("its time is not known here: {fields}"));
    } else {
        reader.findings.problem(&node.place, format!("`{fields}`: {error}"));
    }
}

fn every(reader: &mut Job, node: &Node) {
    let node = node.list().first().unwrap_or(node);
    let Some(text) = reader.text(node) else { return };
    let Err(error) = Expression::parse(&format!("@every {text}")) else {
        return reader.job.due(When::Every(text.to_owned()));
    };
    match fugit::period(text).filter(|period| !period.is_zero()).map(Every::new) {
        Some(Some(every)) => reader.job.due(When::every(&every)),
        Some(None) => {
            let message = format!("`{text}`: a period is from 1 ms to 36525 days");
            reader.findings.warn(&node.place, message, "say when in the job file");
            reader.job.switch_off_without_time(format!("its period has no equal here: {text}"));
        }
        None => reader.findings.problem(&node.place, format!("`{text}`: {error}")),
    }
}

fn once(reader: &mut Job, node: &Node) {
    let message = "a job that is due once is no job of a file";
    reader.findings.warn(&node.place, message, "mainspring at TIME -- COMMAND");
    reader.job.switch_off_without_time("it is due once");
}

fn args(reader: &mut Job, node: &Node) {
    reader.values.args = match node.list() {
        [] if node.is_table() || node.text().is_some() => vec![node.literal(Language::Ruby)],
        list => list.iter().map(|node| node.literal(Language::Ruby)).collect(),
    };
}

fn active_job(reader: &mut Job, node: &Node) {
    reader.values.is_active_job = node.truth() == Some(true);
}

fn description(reader: &mut Job, node: &Node) {
    if let Some(text) = reader.text(node) {
        reader.job.comment(text);
    }
}

fn status(reader: &mut Job, node: &Node) {
    if node.text() == Some("disabled") || node.truth() == Some(false) {
        let message = "the job is disabled, so it is written as a comment";
        reader.findings.warn(&node.place, message, "take the # away, and pause it: mainspring pause JOB");
        reader.job.switch_off("it is disabled");
    }
}
