//! Timers of systemd with their services: each timer is a job.
//!
//! ```text
//! backup.timer ─▶ [Timer]   ─▶ when, misfire, jitter ─┐
//! backup.service ─▶ [Service] ─▶ what, as whom, where ─┴▶ JobFacts
//! ```
//!
//! The files may come one by one, or together as `systemctl cat` writes them. A timer whose service is not
//! among them becomes a job that starts the unit: `systemctl start` waits for its end.
//!
//! Cost: one pass over the files.
//!
//! Does not read folders of drop-ins; `systemctl cat` shows what they say.

mod command;
mod service;
mod timer;
mod timespan;
mod unit_file;
mod unit_reader;
mod words;

use std::collections::{BTreeMap, HashSet};

use mainspring_file::source::Source;

use crate::facts::JobFacts;
use crate::finding::{Findings, text_of};
use crate::key::{is_lost, read_key};
use unit_file::Unit;
use unit_reader::UnitReader;
use words::{HasVariables, Specifiers, literal, split};

/// The names of the files of services that the timers of a file start and that are not in it: they stand
/// beside it.
pub fn services_of(source: &Source) -> Vec<String> {
    let mut findings = Findings::default();
    let Some(text) = text_of(source, 0, &mut findings) else { return Vec::new() };
    let units = merged(unit_file::units(text, source.name(), 0, &mut findings), &mut findings);
    let is_given =
        |names: &Vec<String>| units.iter().any(|unit| !unit.is_drop_in && names.contains(&unit.name));
    let timers = units.iter().filter(|unit| unit.has("Timer"));
    timers.map(|timer| file_names(service_of(timer))).filter(|names| !is_given(names)).flatten().collect()
}

/// The jobs of files.
pub(crate) fn read(sources: &[(usize, &Source)], findings: &mut Findings) -> Vec<JobFacts> {
    let mut all = Vec::new();
    for (file, source) in sources {
        if let Some(text) = text_of(source, *file, findings) {
            all.extend(unit_file::units(text, source.name(), *file, findings));
        }
    }
    let units = merged(all, findings);
    let by_name: BTreeMap<&str, &Unit> = units.iter().map(|unit| (unit.name.as_str(), unit)).collect();
    let mut used = HashSet::new();
    let mut jobs = Vec::new();
    for unit in units.iter().filter(|unit| unit.has("Timer")) {
        let names = file_names(service_of(unit));
        let mut service: Vec<&Unit> =
            names.iter().filter_map(|name| by_name.get(name.as_str()).copied()).collect();
        if service.first().is_some_and(|unit| !unit.is_drop_in) {
            // An instance with a file of its own has nothing of the template.
            service.truncate(1);
        }
        if service.is_empty() && unit.has("Service") {
            // A text without the names of its units.
            service.push(unit);
        }
        service.reverse();
        jobs.push(job(unit, &names[0], &service, findings));
        used.extend(names);
    }
    for unit in units.iter().filter(|unit| !unit.has("Timer") && !used.contains(&unit.name)) {
        let message = format!("no timer that was given starts `{}`: it is left out", unit.name);
        findings.warn(&unit.place, message, "give its timer beside it");
    }
    jobs
}

/// Units of one name as one: a drop-in adds to its unit, wherever it stands, and of several files the first
/// counts.
fn merged(mut all: Vec<Unit>, findings: &mut Findings) -> Vec<Unit> {
    all.sort_by_key(|unit| unit.is_drop_in);
    let mut index_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut units: Vec<Unit> = Vec::new();
    for unit in all {
        match index_of.get(&unit.name) {
            Some(index) if unit.is_drop_in => units[*index].entries.extend(unit.entries),
            Some(_) => {
                let message = format!("`{}` is there already, and this is left out", unit.name);
                findings.warn(&unit.place, message, "give each unit once, and its drop-ins as NAME.d/..conf");
            }
            None => {
                index_of.insert(unit.name.clone(), units.len());
                units.push(unit);
            }
        }
    }
    debug_assert_eq!(index_of.len(), units.len(), "the units of one name are one");
    units
}

/// A unit's name without its suffix.
fn stem(name: &str) -> &str {
    name.strip_suffix(".timer").or_else(|| name.strip_suffix(".service")).unwrap_or(name)
}

fn service_of(timer: &Unit) -> String {
    let specifiers = Specifiers { unit: &timer.name, user: None };
    let words = |text: &str| split(text, &specifiers, HasVariables::No).words;
    let named = timer.last("Timer", "Unit").and_then(|given| literal(words(&given.text).first()?));
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{}.service", stem(&timer.name)))
}

/// The names of the files of a unit: its own, and that of the template of which it is an instance.
fn file_names(unit: String) -> Vec<String> {
    let template = unit.split_once('@').and_then(|(prefix, rest)| {
        let (instance, suffix) = rest.rsplit_once('.')?;
        (!instance.is_empty()).then(|| format!("{prefix}@.{suffix}"))
    });
    [unit].into_iter().chain(template).collect()
}

fn job(timer: &Unit, name: &str, service: &[&Unit], findings: &mut Findings) -> JobFacts {
    let mut reader = UnitReader::new(stem(&timer.name), timer.place.clone());
    reader.values.unit.clone_from(&timer.name);
    if !service.is_empty() {
        reader.job.policies.timeout.kill.grace = service::DEFAULT_GRACE;
    }
    keys(timer, &mut reader);
    timer::finish(&mut reader);
    if reader.job.when.is_empty() && !reader.findings.has_problem() {
        reader.findings.warn(&timer.place, "the timer says no time", "give it one in the job file");
        reader.job.switch_off("its timer says no time");
    }
    if stem(&timer.name).ends_with('@') {
        let message = "the unit is a template without an instance, so the job is written as a comment";
        reader.findings.warn(&timer.place, message, "write the instance into it in place of the empty words");
        reader.job.switch_off("it is a template without an instance");
    }
    if service.is_empty() {
        if timer.name.ends_with(".timer") || timer.last("Timer", "Unit").is_some() {
            let message = format!("`{name}` was not given: the job starts it, with systemctl");
            let todo = "give its file as well, to have its command in the job";
            reader.findings.warn(&timer.place, message, todo);
        } else {
            let message = "the text names no unit and has no [Service]: the job is written as a comment";
            let todo = "give what systemctl cat writes of both, or the files by their names";
            reader.findings.warn(&timer.place, message, todo);
            reader.job.switch_off("its service is not known");
        }
        reader.job.body.run = ["systemctl", "start", name].map(str::to_owned).to_vec();
    } else {
        name.clone_into(&mut reader.values.unit);
        let others = service.iter().filter(|unit| unit.name != timer.name);
        others.for_each(|unit| keys(unit, &mut reader));
        service::finish(&mut reader);
    }
    findings.append(reader.findings);
    reader.job
}

/// Reads the keys of a unit by their rows.
fn keys(unit: &Unit, reader: &mut UnitReader) {
    for entry in &unit.entries {
        let rows = match entry.section.as_str() {
            "Timer" => timer::TIMER_KEYS,
            "Service" => service::SERVICE_KEYS,
            "Unit" => service::UNIT_KEYS,
            "Install" => service::INSTALL_KEYS,
            // Sections that begin so are for other programs.
            section if section.starts_with("X-") => continue,
            section => {
                let message = format!("the section [{section}] is not known here, and is left out");
                reader.findings.warn(&entry.key_place, message, "nothing, or say it in the job file");
                continue;
            }
        };
        // A restriction that is not in force is not lost.
        let is_no =
            matches!(entry.value.text.as_str(), "no" | "false" | "off" | "0") && is_lost(rows, &entry.key);
        if !entry.key.starts_with("X-") && !is_no {
            read_key(rows, &entry.key, &entry.key_place, reader, &entry.value);
        }
    }
}
