//! XML of Quartz: `job-scheduling-data` with its jobs and cron triggers.
//!
//! ```text
//! <cron> <name>nightly</name> <job-name>report</job-name> <cron-expression>0 0 3 * * ?</cron-expression> </cron>
//!   └ elements with a text are keys; the elements `job`, `cron`, `simple` and `calendar-interval` open a table
//! ```
//!
//! Cost: one pass. Only the five entities of XML and numbers are put in, so no text grows.
//!
//! Does not check against the schema, and reads no document type.

use std::collections::HashMap;

use mainspring_job::{CatchUp, MAX_CATCH_UP_RUNS};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;

use super::due::due;
use crate::draft::Draft;
use crate::facts::{Call, JobFacts};
use crate::finding::{Findings, Place, PlacedText};
use crate::key::{Key, is, lost, read_key, unneeded};

/// How deep elements may be nested: the schema has six levels.
const MAX_DEPTH: usize = 64;

/// The group of what says none.
const USUAL_GROUP: &str = "DEFAULT";

/// The key of a job: jobs of two groups may have one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct JobKey {
    name: String,
    group: String,
}

impl JobKey {
    /// The key in the usual group if it says none.
    fn in_a_group(self) -> JobKey {
        let group = if self.group.is_empty() { USUAL_GROUP.to_owned() } else { self.group };
        JobKey { group, ..self }
    }
}

/// A trigger on its way, with the key of its job.
type Trigger = Draft<JobKey>;

/// Elements of a cron trigger.
const QUARTZ_KEYS: &[Key<JobKey, PlacedText>] = &[
    is("name", "jobs.NAME", |trigger, content| trigger.job.name.clone_from(&content.text), ""),
    is(
        "job-name",
        "a comment",
        |trigger, content| trigger.values.name.clone_from(&content.text),
        "`{call}` of --run is the job's class",
    ),
    is(
        "job-group",
        "a comment",
        |trigger, content| trigger.values.group.clone_from(&content.text),
        "jobs of two groups may have one name; without it DEFAULT, as there",
    ),
    is(
        "cron-expression",
        "cron, dialect, dst",
        expression,
        "as cron has it where that is exact, else with dialect = \"quartz\"; dst = \"skip+last\"",
    ),
    is("time-zone", "zone", |trigger, content| trigger.set_zone(&content.text, &content.place), ""),
    is(
        "misfire-instruction",
        "misfire",
        misfire,
        "FIRE_ONCE_NOW and SMART_POLICY, which is the default, are `latest` of any age, DO_NOTHING is `none`, IGNORE_MISFIRE_POLICY is `all`",
    ),
    is("start-time", "start", |trigger, content| trigger.job.start = Some(content.text.clone()), ""),
    is(
        "end-time",
        "end",
        |trigger, content| trigger.job.last = Some(content.text.clone()),
        "it may be due at it, so here `end` is a microsecond later",
    ),
    is("priority", "priority", priority, "5 is the usual one there, and 0 here"),
    is("description", "a comment", |trigger, content| trigger.job.comment(content.text.clone()), ""),
    unneeded("group", "of triggers with one name the second gets a number"),
    lost("calendar-name", "the calendar is not read: what it leaves out is due", "exclude, exclude_dates"),
    lost("entry key value", "data of a trigger is not carried over", "env, or arguments of the command"),
    lost("start-time-seconds-in-future", "a trigger starts when its file is in force", "start"),
];

fn expression(trigger: &mut Trigger, content: &PlacedText) {
    if let Err(error) = due(&mut trigger.job, &content.text) {
        trigger.findings.fault(&content.place, error.into());
    }
}

fn misfire(trigger: &mut Trigger, content: &PlacedText) {
    let misfire = &mut trigger.job.policies.misfire;
    // Quartz.NET writes `DoNothing`.
    let word = content.text.trim_start_matches("MISFIRE_INSTRUCTION_").replace('_', "").to_ascii_lowercase();
    match word.as_str() {
        "donothing" => misfire.catch_up = CatchUp::None,
        "ignoremisfirepolicy" => misfire.catch_up = CatchUp::All { cap: MAX_CATCH_UP_RUNS },
        "fireoncenow" | "smartpolicy" => {}
        _ => trigger
            .findings
            .problem(&content.place, format!("`{}` is no instruction of a cron trigger", content.text)),
    }
}

/// The priority of a trigger that says none.
const USUAL_PRIORITY: i64 = 5;

fn priority(trigger: &mut Trigger, content: &PlacedText) {
    match content.text.parse::<i64>() {
        Ok(priority) => {
            let above = priority.saturating_sub(USUAL_PRIORITY).clamp(i64::from(i8::MIN), i64::from(i8::MAX));
            trigger.job.priority = i8::try_from(above).expect("it was clamped");
        }
        Err(_) => trigger.findings.problem(&content.place, "expected a whole number"),
    }
}

/// An element that is open.
struct Open {
    name: String,
    place: Place,
    /// The texts of its elements that have nothing but text.
    contents: Vec<(String, PlacedText)>,
    text: String,
    text_start: usize,
}

/// Why a text is not read, and where.
type XmlFault = (Place, String);

/// The jobs of a text.
pub(super) fn read(text: &str, file: usize, findings: &mut Findings) -> Vec<JobFacts> {
    let mut scan = Scan { open: Vec::new(), triggers: Vec::new(), classes: HashMap::new(), findings };
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let offset = |position: u64| usize::try_from(position).map_or(text.len(), |at| at.min(text.len()));
    loop {
        let start = offset(reader.buffer_position());
        let event = reader.read_event();
        let place = Place { file, span: start..offset(reader.buffer_position()) };
        let taken = match event {
            Ok(Event::Eof) => break,
            Ok(event) => scan.take(&event, &place),
            Err(error) => {
                let at = offset(reader.error_position());
                Err((place.moved(at..at + 1), format!("this is not XML: {error}")))
            }
        };
        if let Err((place, message)) = taken {
            scan.findings.problem(&place, message);
            return Vec::new();
        }
    }
    if let Some(open) = scan.open.pop() {
        scan.findings.problem(&open.place, format!("the element `{}` is not closed", open.name));
        return Vec::new();
    }
    let Scan { triggers, classes, findings, .. } = scan;
    triggers.into_iter().map(|trigger| with_class(trigger, &classes, findings)).collect()
}

/// The job of a trigger, with the class of the job that it names.
fn with_class(
    (mut job, key): (JobFacts, JobKey),
    classes: &HashMap<JobKey, String>,
    findings: &mut Findings,
) -> JobFacts {
    if key.name.is_empty() {
        return job;
    }
    let class = classes.get(&key).unwrap_or_else(|| {
        let JobKey { name, group } = &key;
        let message = format!("the job `{name}` of the group `{group}` is not here: it stands for its class");
        findings.remark(&job.place, message);
        name
    });
    job.comment(format!("calls {class}"));
    job.call = Some(Call::Text(class.clone()));
    job
}

struct Scan<'f> {
    open: Vec<Open>,
    /// What each makes a job, and the key of the job that it names.
    triggers: Vec<(JobFacts, JobKey)>,
    classes: HashMap<JobKey, String>,
    findings: &'f mut Findings,
}

impl Scan<'_> {
    fn take(&mut self, event: &Event<'_>, place: &Place) -> Result<(), XmlFault> {
        let fault = |message: String| Err((place.clone(), message));
        match event {
            Event::Start(_) if self.open.len() == MAX_DEPTH => {
                return fault(format!("elements are nested more than {MAX_DEPTH} deep"));
            }
            Event::Start(tag) => self.open.push(Open {
                name: tag.local_name().into_inner().to_owned(),
                place: place.clone(),
                contents: Vec::new(),
                text: String::new(),
                text_start: place.span.end,
            }),
            Event::End(_) => self.close(),
            Event::Text(text) => self.text(&text.xml10_content(), place.span.start),
            Event::CData(text) => self.text(&text.xml10_content(), place.span.start + "<![CDATA[".len()),
            Event::GeneralRef(name) => match (name.resolve_char_ref(), resolve_xml_entity(name)) {
                (Ok(Some(c)), _) => self.text(c.encode_utf8(&mut [0; 4]), place.span.start),
                (Ok(None), Some(text)) => self.text(text, place.span.start),
                _ => return fault("the entity is not one of XML".to_owned()),
            },
            Event::DocType(_) => return fault("a document type is not read".to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str, start: usize) {
        if let Some(open) = self.open.last_mut() {
            if open.text.is_empty() {
                open.text_start = start;
            }
            open.text.push_str(text);
        }
    }

    /// Ends the innermost element.
    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        match open.name.as_str() {
            "cron" => self.cron(&open),
            "job" => self.job(&open),
            "simple" | "calendar-interval" => {
                let message = format!("a trigger of the kind `{}` is left out", open.name);
                self.findings.warn(&open.place, message, "every = \"..\" is a period, at = \"..\" once");
            }
            _ => {
                let lead = open.text.len() - open.text.trim_start().len();
                let start = open.text_start + lead;
                let place = open.place.moved(start..start + open.text.trim().len());
                let content = PlacedText { text: open.text.trim().to_owned(), place };
                if let Some(outer) = self.open.last_mut().filter(|_| open.contents.is_empty()) {
                    outer.contents.push((open.name, content));
                }
            }
        }
    }

    fn cron(&mut self, open: &Open) {
        let mut trigger = Trigger::new("", open.place.clone());
        for (name, content) in &open.contents {
            read_key(QUARTZ_KEYS, name, &content.place, &mut trigger, content);
        }
        if trigger.job.when.is_empty() && !trigger.findings.has_problem() {
            trigger.findings.problem(&open.place, "the trigger has no cron-expression");
        }
        self.findings.append(trigger.findings);
        self.triggers.push((trigger.job, trigger.values.in_a_group()));
    }

    fn job(&mut self, open: &Open) {
        let text_of = |names: &[&str]| {
            let found = open.contents.iter().find(|(name, _)| names.contains(&name.as_str()));
            found.map(|(_, content)| content.text.clone())
        };
        // Quartz.NET says a type.
        if let (Some(name), Some(class)) = (text_of(&["name"]), text_of(&["job-class", "job-type"])) {
            let key = JobKey { name, group: text_of(&["group"]).unwrap_or_default() };
            self.classes.insert(key.in_a_group(), class);
        }
    }
}
