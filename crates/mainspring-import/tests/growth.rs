//! Growth: twice the text makes a reader take at most 2.2 times the memory and the allocations, and no text
//! of a mebibyte takes more than a fixed amount of memory.
//!
//! Each kind has a row for each way in which its text may expand. Memory and allocations are counted by an
//! allocator, on the test's own thread; time decides nothing. Each row reads a text of a mebibyte too: a
//! reader that takes time by the square of it would not come to an end.

use allocation_counter::{AllocationInfo, measure};
use mainspring_file::crontab::Format;
use mainspring_file::source::Source;
use mainspring_import::{Kind, Options, import};

/// What no text of [`LONG`] bytes takes at a time.
const MAX_PEAK_BYTES: u64 = 160 << 20;

/// How long a text is that is read once.
const LONG: usize = 1 << 20;

/// A way in which a text may expand: what it begins with, and what stands behind that again and again, with
/// `#` for the number of the time.
struct Row {
    name: &'static str,
    kind: Kind,
    begin: &'static str,
    again: &'static str,
}

const fn row(name: &'static str, kind: Kind, begin: &'static str, again: &'static str) -> Row {
    Row { name, kind, begin, again }
}

const CONTAINER: &str = "kind: CronJob\nspec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {containers: [{command: [a], ";

const ROWS: &[Row] = &[
    row("crontab: entries", Kind::Crontab, "", "* * * * * a #\n"),
    row("crontab: settings", Kind::Crontab, "", "A#=b\n"),
    row("crontab: faults", Kind::Crontab, "", "61 * * * * a\n"),
    row("crontab: delays", Kind::Crontab, "", "RANDOM_DELAY=#\n* * * * * a\n"),
    row("systemd: times", Kind::Systemd, "[Timer]\n", "OnCalendar=daily\nOnUnitActiveSec=\n"),
    row(
        "systemd: variables",
        Kind::Systemd,
        "[Timer]\nOnCalendar=daily\nUnit=a\n# /a/a.service\n[Service]\nExecStart=a\n",
        "Environment=A#=b\n",
    ),
    row(
        "systemd: commands",
        Kind::Systemd,
        "[Timer]\nOnCalendar=daily\nUnit=a.service\n# /a/a.service\n[Service]\n",
        "ExecStart=-a $B\n",
    ),
    row(
        "systemd: dollars",
        Kind::Systemd,
        "[Timer]\nOnCalendar=daily\nUnit=a.service\n# /a/a.service\n[Service]\nExecStart=a ",
        "$A",
    ),
    row("systemd: lines that go on", Kind::Systemd, "[Timer]\nOnCalendar=daily \\\n", "a \\\n"),
    row("systemd: unknown keys", Kind::Systemd, "[Timer]\n", "A#=b\n"),
    row("systemd: descriptions", Kind::Systemd, "[Unit]\n", "Description=#\n"),
    row(
        "systemd: timers",
        Kind::Systemd,
        "",
        "# /a/a#.timer\n[Timer]\nOnCalendar=daily\n# /a/b#.service\n[Service]\nExecStart=a\n",
    ),
    row(
        "kubernetes: documents",
        Kind::Kubernetes,
        "",
        "---\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily'}\n",
    ),
    row("kubernetes: other kinds", Kind::Kubernetes, "", "---\nkind: A#\n"),
    row("kubernetes: keys", Kind::Kubernetes, "kind: CronJob\nspec:\n", "  a#: b\n"),
    row("kubernetes: one line", Kind::Kubernetes, "kind: CronJob\nspec: {a: [", "b, "),
    row("kubernetes: variables", Kind::Kubernetes, CONTAINER, "\n# #\n"),
    row("kubernetes: words that are not ASCII", Kind::Kubernetes, "kind: CronJob\nspec:\n  a:\n", "  - é\n"),
    row("quartz: properties", Kind::Quartz, "", "a#.cron = 0 0 1 * * ?\n"),
    row("quartz: faults", Kind::Quartz, "", "a#.cron = x\n"),
    row("quartz: elements", Kind::Quartz, "<a>", "<b>c</b>"),
    row(
        "quartz: triggers",
        Kind::Quartz,
        "<a>",
        "<cron><name>a</name><cron-expression>0 0 1 * * ?</cron-expression></cron>",
    ),
    row("quartz: tags that are not closed", Kind::Quartz, "", "<!-- "),
    row("quartz: entities", Kind::Quartz, "<a><cron><description>", "&amp;"),
    row("sidekiq: jobs", Kind::Sidekiq, "", "a#: {cron: '@daily', class: A}\n"),
    row("sidekiq: arguments", Kind::Sidekiq, "a:\n  cron: '@daily'\n  class: A\n  args:\n", "  - b\n"),
    row(
        "sidekiq: tables under tables",
        Kind::Sidekiq,
        "d: &d {cron: '@daily', class: A}\n",
        "a#: {<<: *d}\n",
    ),
    row("apscheduler: jobs", Kind::Apscheduler, "", "- {id: a, func: b, trigger: cron, hour: 1}\n"),
    row(
        "apscheduler: literals of Python",
        Kind::Apscheduler,
        "[{'func': 'a:b', 'trigger': 'cron', 'hour': 1, 'args': (",
        "(None, 'a\\n'), ",
    ),
    row("apscheduler: fields", Kind::Apscheduler, "- {id: a, func: b, trigger: cron, day_of_week: '", "0,"),
];

impl Row {
    fn text(&self, size: usize) -> String {
        let mut text = self.begin.to_owned();
        let mut number = 0;
        while text.len() < size {
            text.push_str(&self.again.replace('#', &number.to_string()));
            number += 1;
        }
        text
    }

    fn taken(&self, size: usize) -> AllocationInfo {
        let source = Source::new("text", self.text(size));
        let options = Options { kind: Some(self.kind), format: Format::User, run: None };
        let sources = [source];
        measure(|| drop(import(&sources, &options)))
    }
}

/// What is too little to be compared.
const LEAST: AllocationInfo = AllocationInfo {
    count_total: 20_000,
    count_current: 0,
    count_max: 0,
    bytes_total: 2 << 20,
    bytes_current: 0,
    bytes_max: 1 << 20,
};

#[test]
fn twice_the_text_takes_at_most_little_more_than_twice() {
    let mut found = Vec::new();
    for row in ROWS {
        let [one, two] = [64 << 10, 128 << 10].map(|size| row.taken(size));
        let grows = |of: fn(&AllocationInfo) -> u64| of(&one).max(of(&LEAST)) * 22 < of(&two) * 10;
        if grows(|it| it.bytes_max) || grows(|it| it.bytes_total) || grows(|it| it.count_total) {
            found.push(format!("{}: {one:?}, and of twice the text {two:?}", row.name));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_text_takes_more_than_a_fixed_amount() {
    let mut found = Vec::new();
    for row in ROWS {
        let info = row.taken(LONG);
        if std::env::var_os("ROW").is_some() {
            eprintln!("{}: {info:?}", row.name);
        }
        if MAX_PEAK_BYTES < info.bytes_max {
            found.push(format!("{}: {info:?}", row.name));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
