//! A job's table with its defaults filled in. `show` and `export` print it, and the store keeps it for jobs
//! that came by command. A one-shot job that waits is written in the same way.
//!
//! ```text
//! [jobs.backup]
//! cron = "30 2 * * *"
//! shell = "backup"
//! zone = "Europe/Berlin"         from [defaults], or the server's own: a definition means the same elsewhere
//! ```
//!
//! Cost: one pass.
//!
//! Does not keep comments and layout.
//!
//! Source: TOML 1.0, <https://toml.io/en/v1.0.0>.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use mainspring_cron::{Expression, Schedule};
use mainspring_job::{After, Exclusion, Group, JobName, Once, Policies, Timetable, Trigger, WorkerSelector};
use toml::de::DeValue;

use super::fields::Fields;
use mainspring_action::body::{Body, HandlerBody, SecretBody};
use mainspring_action::key::{Form, Key};
use mainspring_action::{process, webhook};

/// What an expression that names a period begins with.
const EVERY: &str = "@every ";

/// The table of a job, and that of its group. What the group says of its jobs stands in the former.
pub(super) fn job_table(
    name: &JobName,
    fields: &Fields<'_, '_>,
    zone: &TimeZone,
    group: Option<&Group>,
    on: Option<&WorkerSelector>,
) -> String {
    let mut table = Table::new(name.as_str());
    let written = fields.all().map(|(name, value)| {
        let text = match is_layered(name.get_ref()) {
            true => layered(fields, name.get_ref()),
            false => value_text(value.get_ref()),
        };
        (name.get_ref().as_ref(), text)
    });
    let mut written: BTreeMap<&str, String> = written.collect();
    written.extend(on.map(|on| ("on", quoted(&on.to_string()))));
    written.iter().for_each(|(name, text)| table.raw(name, text));
    if let (false, Some(zone)) = (fields.has("zone"), zone.iana_name()) {
        table.text("zone", zone);
    }
    match group {
        None => table.finish(),
        Some(group) => table.finish() + &group_table(group),
    }
}

/// Whether the table of this key is laid over that of the defaults.
fn is_layered(name: &str) -> bool {
    let is_of_process = || process::KEYS.iter().any(|key| key.name == name && key.form.is_layered());
    ["labels", "webhook", "handler"].contains(&name) || is_of_process()
}

/// The table of a job under another name.
pub fn renamed(text: &str, name: &JobName) -> String {
    debug_assert!(text.starts_with("[jobs."), "the first line of a definition is its name");
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    Table::new(name.as_str()).finish() + rest
}

/// The table of a group.
pub fn group_table(group: &Group) -> String {
    let limit = group.limit.map(|limit| format!("limit = {limit}\n")).unwrap_or_default();
    let rate = group.rate.map(|rate| format!("rate = \"{rate}\"\n")).unwrap_or_default();
    format!("\n[groups.{}]\n{limit}{rate}", key(group.name.as_str()))
}

/// Definitions of jobs, put together as one file.
#[derive(Debug, Default)]
pub struct JobTables {
    jobs: String,
    /// The keys of each group, by the rest of its head.
    groups: BTreeMap<String, String>,
}

impl JobTables {
    /// Adds the definition of a job. A group stands in the file once: of several definitions the one with the
    /// smallest limit, which is in force.
    pub fn add(&mut self, definition: &str) {
        let (job, group) = definition.split_once("\n[groups.").unwrap_or((definition, ""));
        self.jobs += &format!("{}\n\n", job.trim_end());
        if let Some((name, keys)) = group.trim_end().split_once('\n') {
            let smallest = self.groups.entry(name.to_owned()).or_insert_with(|| keys.to_owned());
            if limit_of(keys) < limit_of(smallest) {
                keys.clone_into(smallest);
            }
        }
    }

    /// The file: the jobs in their order, and the groups by their names.
    pub fn finish(self) -> String {
        let add = |file: String, (name, keys)| file + &format!("[groups.{name}\n{keys}\n\n");
        self.groups.into_iter().fold(self.jobs, add)
    }
}

/// The limit of a group, as its table says.
fn limit_of(keys: &str) -> u32 {
    let limit = keys.lines().find_map(|line| line.strip_prefix("limit = ")?.parse().ok());
    limit.unwrap_or(u32::MAX)
}

fn layered(fields: &Fields<'_, '_>, name: &str) -> String {
    let inner = fields.table(name, &mut super::Faults::new(""));
    inner.map_or_else(|| "{}".to_owned(), |inner| fields_text(&inner))
}

/// A table as one value. Each table in it is laid over that of the defaults too.
fn fields_text(fields: &Fields<'_, '_>) -> String {
    let parts = fields.all().map(|(name, value)| {
        let is_table = matches!(value.get_ref(), DeValue::Table(_));
        let text = if is_table { layered(fields, name.get_ref()) } else { value_text(value.get_ref()) };
        format!("{} = {text}", key(name.get_ref()))
    });
    table(&parts.collect::<Vec<_>>())
}

fn value_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(answer) => answer.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(values) => {
            list(&values.iter().map(|value| value_text(value.get_ref())).collect::<Vec<_>>())
        }
        DeValue::Table(table) => fields_text(&Fields::of(table)),
    }
}

/// A one-shot job as the table of a job that is due once.
pub fn once_table(once: &Once) -> String {
    let mut table = Table::new(once.name.as_str());
    table.text("at", &once.id.due.to_string());
    let work = &once.work;
    match Body::decode(&work.action) {
        // A notification, which its job's hook makes again elsewhere.
        Ok(body @ (Body::Mail(_) | Body::Notification(_))) => {
            return format!("# {}: {}\n", once.name, body.summary());
        }
        Ok(body) => table.body(&body),
        Err(error) => return format!("# {}: {error}\n", once.name),
    }
    table.policies(&work.policies);
    work.group.iter().for_each(|group| table.text("group", group.as_str()));
    if work.priority != 0 {
        table.raw("priority", &work.priority.to_string());
    }
    table.finish()
}

/// A table that is being written.
#[derive(Clone, Debug)]
pub struct Table {
    text: String,
}

impl Table {
    /// The table of the job called `name`.
    pub fn new(name: &str) -> Table {
        Table { text: format!("[jobs.{}]\n", key(name)) }
    }

    /// Adds a string.
    pub fn text(&mut self, name: &str, value: &str) {
        self.raw(name, &quoted(value));
    }

    /// Adds a string, or several as a list.
    pub fn texts(&mut self, name: &str, values: &[String]) {
        match values {
            [] => {}
            [value] => self.text(name, value),
            values => {
                self.raw(name, &list(&values.iter().map(|value| quoted(value)).collect::<Vec<_>>()));
            }
        }
    }

    /// Adds when a job is due. Its schedules and exclusions are in one zone. A rule of a program has no text.
    pub fn timetable(&mut self, timetable: &Timetable, hash: &str) {
        let schedules = || timetable.triggers().iter().filter_map(Trigger::schedule);
        let mut of_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for expression in schedules().map(Schedule::expression) {
            let text = expression.to_string();
            match expression {
                Expression::Reboot => {
                    of_key.insert("at_boot", Vec::new());
                }
                Expression::At(moment) => of_key.entry("at").or_default().push(moment.to_string()),
                Expression::Every(_) => {
                    of_key.entry("every").or_default().push(text.trim_start_matches(EVERY).to_owned());
                }
                Expression::OnCalendar(_) => of_key.entry("oncalendar").or_default().push(text),
                _ => of_key.entry("cron").or_default().push(text),
            }
        }
        if timetable.is_at_server_start() {
            of_key.insert("at_server_start", Vec::new());
        }
        for (key, texts) in &of_key {
            if texts.is_empty() { self.raw(key, "true") } else { self.texts(key, texts) }
        }
        let after = |after: &After| {
            let (job, ending) = (quoted(after.job.as_str()), after.ending.name());
            format!("{{ job = {job}, on = \"{ending}\" }}")
        };
        let follows: Vec<String> = timetable.follows().map(after).collect();
        if !follows.is_empty() {
            self.raw("after", &list(&follows));
        }
        if of_key.values().flatten().any(|text| text.contains(['H', '~'])) {
            self.text("hash", hash);
        }
        let zone_of = |exclusion: &Exclusion| match exclusion {
            Exclusion::Dates { zone, .. } => Some(zone.clone()),
            Exclusion::Times(schedule) => Some(schedule.zone().clone()),
            _ => None,
        };
        let zones = schedules().map(|schedule| schedule.zone().clone());
        let zone = zones.chain(timetable.exclusions().iter().filter_map(zone_of)).next();
        if let Some(zone) = zone.as_ref().and_then(TimeZone::iana_name) {
            self.text("zone", zone);
        }
        self.exclusions(timetable);
        timetable.start().iter().for_each(|start| self.text("start", &start.to_string()));
        timetable.end().iter().for_each(|end| self.text("end", &end.to_string()));
    }

    fn exclusions(&mut self, timetable: &Timetable) {
        let (mut times, mut dates) = (Vec::new(), Vec::new());
        for exclusion in timetable.exclusions() {
            match exclusion {
                Exclusion::Times(schedule) => times.push(schedule.expression().to_string()),
                Exclusion::Dates { first, last, .. } => dates.push(format!("{first}..{last}")),
                _ => {}
            }
        }
        self.texts("exclude", &times);
        self.texts("exclude_dates", &dates);
    }

    /// Adds words about a job.
    pub fn labels(&mut self, labels: &BTreeMap<String, String>) {
        if let Some(value) = filled(labels.iter().map(pair), table) {
            self.raw("labels", &value);
        }
    }

    /// Adds the policies that are not the usual ones.
    pub fn policies(&mut self, policies: &Policies) {
        for word in policies.to_string().split_whitespace() {
            let (name, value) = word.split_once('=').expect("a policy is written as name=value");
            let name = name.replace('-', "_");
            match value.parse::<u64>() {
                Ok(_) => self.raw(&name, value),
                Err(_) => self.text(&name, value),
            }
        }
    }

    /// Adds what a job does.
    pub fn body(&mut self, body: &Body) {
        match body {
            Body::Process(body) => {
                pairs(process::KEYS, body).for_each(|(name, value)| self.raw(name, &value));
            }
            Body::Webhook(body) => {
                let parts: Vec<String> =
                    pairs(webhook::KEYS, body).map(|(name, value)| format!("{name} = {value}")).collect();
                self.raw("webhook", &table(&parts));
            }
            // Only a hook makes one, and no job has it.
            Body::Mail(_) | Body::Notification(_) => {}
            Body::Handler(body) => self.handler(body),
        }
    }

    fn handler(&mut self, body: &HandlerBody) {
        let mut parts = vec![format!("name = {}", quoted(&body.name))];
        if 0 < body.version {
            parts.push(format!("version = {}", body.version));
        }
        if !body.payload.is_empty() {
            parts.push(format!("payload = {}", quoted(&body.payload)));
        }
        self.raw("handler", &table(&parts));
    }

    /// Adds a value that is written already.
    pub fn raw(&mut self, name: &str, value: &str) {
        debug_assert!(!value.contains('\n'), "a key and its value are one line");
        writeln!(self.text, "{} = {value}", key(name)).expect("a string can be written");
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// What a body says, by the rows of its keys.
fn pairs<'b, B>(keys: &'b [Key<B>], body: &'b B) -> impl Iterator<Item = (&'static str, String)> {
    keys.iter().filter_map(|key| Some((key.name, value_of(&key.form, body)?)))
}

/// What a body has in the field of this form, unless that is what it has by default.
fn value_of<B>(form: &Form<B>, body: &B) -> Option<String> {
    let path = |path: &PathBuf| quoted(&path.to_string_lossy());
    match form {
        Form::Words(field) => filled(field.of(body).iter().map(|word| quoted(word)), list),
        Form::Text(field) | Form::Input(field) | Form::OneOf(field, _) | Form::Method(field) => {
            field.of(body).as_deref().map(quoted)
        }
        Form::Url(field) => Some(quoted(field.of(body))),
        Form::Template(field) => {
            Some(field.of(body)).filter(|text| !text.is_empty()).map(|text| quoted(text))
        }
        Form::Statuses(field) => filled(field.of(body).iter().map(statuses), list),
        Form::Path(field) => field.of(body).as_ref().map(path),
        Form::Paths(field) => filled(field.of(body).iter().map(path), list),
        Form::Flag(field) => field.of(body).then(|| "true".to_owned()),
        Form::Variables(field) | Form::Headers(field) => {
            filled(field.of(body).iter().map(|(name, value)| pair((name, value))), table)
        }
        Form::Secrets(field) => filled(field.of(body).iter().map(secret), table),
        Form::Mask(field) => field.of(body).map(|mask| quoted(&format!("{mask:03o}"))),
        Form::Number(field, _) => field.of(body).map(|number| number.to_string()),
        Form::Limits(field) => filled(field.of(body).iter().map(limit), table),
        Form::Memory(field, _) | Form::Bytes(field, _) => field.of(body).map(|bytes| bytes.to_string()),
        Form::Percent(field, _) => field.of(body).map(|percent| quoted(&format!("{percent}%"))),
    }
}

/// These parts as one value, if there are any.
fn filled(parts: impl Iterator<Item = String>, join: fn(&[String]) -> String) -> Option<String> {
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| join(&parts))
}

fn list(values: &[String]) -> String {
    format!("[{}]", values.join(", "))
}

fn table(pairs: &[String]) -> String {
    format!("{{ {} }}", pairs.join(", "))
}

fn pair((name, value): (&String, &String)) -> String {
    format!("{} = {}", key(name), quoted(value))
}

fn statuses((first, last): &(u16, u16)) -> String {
    quoted(&format!("{first}-{last}"))
}

fn limit((name, value): &(String, u64)) -> String {
    match *value {
        u64::MAX => format!("{} = \"unlimited\"", key(name)),
        value => format!("{} = {value}", key(name)),
    }
}

fn secret(secret: &SecretBody) -> String {
    let path = quoted(&secret.path.to_string_lossy());
    let value = if secret.is_path { format!("{{ path = {path} }}") } else { path };
    format!("{} = {value}", key(&secret.name))
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).expect("a string can be written");
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
