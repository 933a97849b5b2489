//! One `[jobs.name]` table to a job.
//!
//! Cost: one pass over the table.
//!
//! Does not know what the file around it is.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use mainspring_job::{Group, Job, JobName, Rate, Work, WorkerSelector};

use super::fields::{Faults, Fields, Name};
use super::{body, handler, labels, notify, policies, timetable, webhook, written};
use crate::definition::in_zone;
use crate::hook::JobHook;
use crate::problem::Fault;
use crate::spelling::nearest;
use mainspring_action::body::Body;
use mainspring_action::process;
use mainspring_action::template::VARIABLES;

/// What is done, of which there is one.
const ACTIONS: [&str; 4] = ["run", "shell", "webhook", "handler"];

/// To how many groups a name is compared that none has.
const MAX_COMPARED_GROUPS: usize = 100;

/// What a definition is read in.
pub(super) struct Context<'c> {
    pub(super) source: &'c str,
    pub(super) zone: &'c TimeZone,
    /// In the order of their names.
    pub(super) groups: &'c [GroupTable],
}

/// A group, and where the runs of those of its jobs start that do not say so themselves.
pub(super) struct GroupTable {
    pub(super) group: Group,
    pub(super) on: Option<WorkerSelector>,
}

impl GroupTable {
    pub(super) fn name(&self) -> &str {
        self.group.name.as_str()
    }
}

/// Reads a group. `None` and a fault if it has no name, or neither a limit nor a rate.
pub(super) fn group_table(
    name: &Name<'_>,
    fields: &Fields<'_, '_>,
    faults: &mut Faults<'_>,
) -> Option<GroupTable> {
    fields.check_known(&["limit", "on", "rate"], faults);
    let on = policies::read(fields, faults).on;
    let limit = fields.integer("limit", 1..=u32::MAX, faults);
    let rate = fields.text("rate", faults);
    let rate = rate.and_then(|text| faults.accept(text.span, text.value.parse::<Rate>()));
    let group_name = faults.accept(name.span(), JobName::new(name.get_ref()))?;
    let group = match (limit, rate) {
        (Some(limit), None) => Group::new(group_name, limit),
        (Some(limit), Some(rate)) => Group::new(group_name, limit).with_rate(rate),
        (None, Some(rate)) => Group::rated(group_name, rate),
        (None, None) => {
            if !fields.has("limit") && !fields.has("rate") {
                let fault = Fault::new(name.span(), "a group needs a limit or a rate");
                faults.push(fault.with_hint("for example: limit = 2, or rate = \"10/1s\""));
            }
            return None;
        }
    };
    Some(GroupTable { group, on: fields.has("on").then_some(on) })
}

/// Reads a job. `None` and a fault, or several, if anything in it cannot be understood.
pub(super) fn job(
    name: &Name<'_>,
    fields: &Fields<'_, '_>,
    context: &Context<'_>,
    faults: &mut Faults<'_>,
) -> Option<(Job, JobHook)> {
    let before_count = faults.count();
    let job_name = JobName::new(name.get_ref());
    if let Err(error) = &job_name {
        faults.push(Fault::new(name.span(), error.to_string()));
    }
    let key_count = faults.count();
    fields.check_known(&known_keys(), faults);
    if key_count == faults.count() {
        // What is missing was perhaps only mistyped.
        check_missing(name, fields, faults);
    }
    let (timetable, zone) = timetable::read(name, fields, context.zone, faults);
    let mut policies = policies::read(fields, faults);
    let group = group(fields, context.groups, faults);
    let on = group.and_then(|group| group.on.as_ref()).filter(|_| !fields.has_own("on"));
    if let Some(on) = on {
        policies.on = on.clone();
    }
    let group = group.map(|group| &group.group);
    let hook = notify::read(fields, faults);
    let priority = fields.integer("priority", i8::MIN..=i8::MAX, faults).unwrap_or(0);
    let labels = labels::read(fields, faults);
    let max_runs = fields.integer("max_runs", 1..=i64::MAX.unsigned_abs(), faults);
    let body = action(name, fields, faults);
    let action = body.map(|body| in_zone(body, &zone).encode());
    if let Some(Err(error)) = &action {
        faults.push(Fault::new(name.span(), error.to_string()));
    }
    if before_count < faults.count() {
        return None;
    }
    let name = job_name.ok()?;
    let mut work = Work::new(action?.ok()?).with_policies(policies);
    (work.group, work.priority) = (group.map(|group| group.name.clone()), priority);
    let text = written::job_table(&name, fields, context.zone, group, on);
    let mut job = Job::new(name, timetable?, work);
    (job.zone, job.max_runs, job.labels) = (zone, max_runs, labels);
    (job.source, job.text) = (context.source.to_owned(), text);
    Some((job, hook))
}

/// Reads `[defaults]` for its faults alone.
pub(super) fn check_defaults(fields: &Fields<'_, '_>, zone: &TimeZone, faults: &mut Faults<'_>) {
    fields.check_known(&known_keys(), faults);
    for (name, _) in fields.own() {
        let text = name.get_ref().as_ref();
        if ACTIONS[..2].contains(&text) || timetable::TRIGGERS.contains(&text) {
            let message = format!("`{text}` has no default: each job has its own");
            faults.push(Fault::new(name.span(), message));
        }
    }
    timetable::check_options(fields, zone, faults);
    policies::read(fields, faults);
    labels::read(fields, faults);
    body::read(process::KEYS, fields, faults);
    notify::read(fields, faults);
    if let Some(webhook) = fields.table("webhook", faults) {
        webhook::read_keys(&[], &webhook, faults);
    }
}

fn known_keys() -> Vec<&'static str> {
    let of_job = ["group", "priority", "max_runs", "labels"];
    let of_process = process::KEYS.iter().map(|key| key.name);
    let of_hook = notify::KEYS.iter().map(|key| key.name);
    let lists = [&ACTIONS[2..], timetable::TRIGGERS, timetable::OPTIONS, &of_job];
    let all = of_process.chain(policies::names()).chain(of_hook).chain(lists.concat()).collect::<Vec<_>>();
    debug_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "each key has one reader");
    all
}

/// The group that a job is in, which the same file has to define.
fn group<'g>(
    fields: &Fields<'_, '_>,
    groups: &'g [GroupTable],
    faults: &mut Faults<'_>,
) -> Option<&'g GroupTable> {
    let text = fields.text("group", faults)?;
    let place = groups.binary_search_by(|group| group.name().cmp(text.value));
    let found = place.ok().map(|index| &groups[index]);
    faults.expect(found, || {
        let fault = Fault::new(text.span.clone(), format!("there is no group `{}`", text.value));
        let names: Vec<&str> = groups.iter().map(GroupTable::name).take(MAX_COMPARED_GROUPS).collect();
        let hint = match nearest(text.value, &names) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("a table [groups.{}] gives it a limit or a rate", text.value),
        };
        fault.with_hint(hint)
    })
}

fn check_missing(name: &Name<'_>, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) {
    if !timetable::has_trigger(fields) {
        let message =
            "the job is never due: expected cron, oncalendar, every, at, at_boot, at_server_start or after";
        let fault = Fault::new(name.span(), message);
        faults.push(fault.with_hint("for example: cron = \"30 2 * * *\", or every = \"10m\""));
    }
    if !ACTIONS.iter().any(|action| fields.has_own(action)) {
        let fault = Fault::new(name.span(), "the job does nothing: expected run, shell or webhook");
        faults.push(fault.with_hint("for example: run = [\"/usr/local/bin/backup\", \"--all\"]"));
    }
}

fn action(name: &Name<'_>, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<Body> {
    let given: Vec<&str> = ACTIONS.into_iter().filter(|action| fields.has_own(action)).collect();
    match given.as_slice() {
        [] => None,
        ["webhook"] => {
            let webhook = fields.table("webhook", faults)?;
            webhook::read(name.span(), VARIABLES, &[], &webhook, faults).map(Body::Webhook)
        }
        ["handler"] => {
            let handler = fields.table("handler", faults)?;
            handler::read(name, &handler, faults).map(Body::Handler)
        }
        [_] => Some(Body::Process(body::read(process::KEYS, fields, faults))),
        [first, .., last] => {
            let message = format!("a job does one thing: it has both `{first}` and `{last}`");
            faults.push(Fault::new(fields.name_span(last), message));
            None
        }
    }
}
