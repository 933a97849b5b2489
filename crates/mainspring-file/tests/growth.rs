//! Growth: twice the text makes a reader take at most 2.2 times the memory and the allocations, and no text
//! that may be sent takes more than a fixed amount of memory.
//!
//! Each reader of texts that others write has a row for each way in which its text may expand. A row gives a
//! text of a size, and what reads it. Memory and allocations are counted by an allocator, on the test's own
//! thread. Time decides nothing.

use allocation_counter::{AllocationInfo, measure};
use jiff::tz::TimeZone;
use mainspring_cron::{Dialect, Expression, ParseError, ParseOptions, Schedule, TimeText};
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::{Format, names};
use mainspring_file::loaded::Loaded;
use mainspring_file::source::{MAX_FILE_BYTES, Source};

/// What no text takes at a time: four times what the jobs of a file may take, for copies under way.
const MAX_PEAK_BYTES: u64 = 256 << 20;

/// What is too little to be compared: tables that a reader makes once, and the first steps of growth.
const LEAST: AllocationInfo = AllocationInfo {
    count_total: 2_000,
    count_current: 0,
    count_max: 0,
    bytes_total: 256 << 10,
    bytes_current: 0,
    bytes_max: 64 << 10,
};

/// A way in which a text may expand.
struct Row {
    name: &'static str,
    /// The greater of the two sizes that are compared.
    size: usize,
    text: fn(usize) -> String,
    read: fn(&str),
}

const ROWS: &[Row] = &[
    Row {
        name: "crontab: settings, each with an entry",
        size: 4_000,
        text: settings_and_entries,
        read: user,
    },
    Row {
        name: "crontab: settings that are too many for any entry",
        size: 30_000,
        text: |n| settings(n) + &"@daily a\n".repeat(n),
        read: user,
    },
    Row { name: "crontab: settings", size: 60_000, text: settings, read: user },
    Row {
        name: "crontab: one setting again and again",
        size: 60_000,
        text: |n| lines(n, |_| "A=1\n@daily a\n".into()),
        read: user,
    },
    Row {
        name: "crontab: entries",
        size: 60_000,
        text: |n| lines(n, |i| format!("* * * * * a{i}\n")),
        read: user,
    },
    Row {
        name: "crontab: entries of one word",
        size: 60_000,
        text: |n| lines(n, |_| "* * * * * a\n".into()),
        read: user,
    },
    Row {
        name: "crontab: zones",
        size: 20_000,
        text: |n| lines(n, |_| "CRON_TZ=Asia/Tokyo\n@daily a\n".into()),
        read: user,
    },
    Row {
        name: "crontab: mails",
        size: 20_000,
        text: |n| format!("MAILTO={}\n", "a@b,".repeat(2_000)) + &"@daily a\n".repeat(n),
        read: user,
    },
    Row {
        name: "crontab: notes",
        size: 20_000,
        text: |n| lines(n, |i| format!("# mainspring: name=n{i} retry=3\n@daily a\n")),
        read: user,
    },
    Row {
        name: "crontab: entries that are switched off",
        size: 20_000,
        text: |n| lines(n, |i| format!("# mainspring: name=n{i}\n#@daily a\n")),
        read: user,
    },
    Row { name: "crontab: problems", size: 60_000, text: |n| "@\n".repeat(n), read: user },
    Row { name: "crontab: a long line", size: 2 << 20, text: |n| "@ ".repeat(n / 2), read: user },
    Row {
        name: "crontab: characters that are escaped",
        size: 40,
        text: |n| lines(n, |_| format!("@daily {}\n", "\u{7f}\"".repeat(5_000))),
        read: user,
    },
    Row {
        name: "system crontab: entries",
        size: 40_000,
        text: |n| lines(n, |i| format!("* * * * * root a{i}\n")),
        read: system,
    },
    Row { name: "job file: jobs", size: 10_000, text: |n| jobs("", n), read: jobs_of },
    Row { name: "job file: too many jobs", size: 40_000, text: |n| jobs("", n), read: jobs_of },
    Row {
        name: "[defaults] exclude",
        size: 9_000,
        text: |n| jobs(&default_list("exclude", 512, "* * * * *"), n),
        read: jobs_of,
    },
    Row {
        name: "[defaults] exclude, in a zone of each job",
        size: 9_000,
        text: |n| {
            default_list("exclude", 512, "* * * * *")
                + &lines(n, |i| {
                    format!(
                        "[jobs.j{i}]\ncron=\"@daily\"\nzone=\"Etc/GMT+{}\"\nhash=\"{i}\"\nshell=\"a\"\n",
                        i % 12
                    )
                })
        },
        read: jobs_of,
    },
    Row {
        name: "exclude of each job",
        size: 3_000,
        text: |n| {
            lines(n, |i| {
                format!("[jobs.j{i}]\nevery=\"1m\"\nshell=\"a\"\nexclude=[{}]\n", "\"* * * * *\",".repeat(80))
            })
        },
        read: jobs_of,
    },
    Row {
        name: "[defaults] exclude_dates",
        size: 9_000,
        text: |n| jobs(&default_list("exclude_dates", 512, "2026-12-24"), n),
        read: jobs_of,
    },
    Row {
        name: "[defaults] notify",
        size: 1_500,
        text: |n| jobs(&format!("[defaults]\nnotify=\"http://a/{}\"\n", "x".repeat(1 << 20)), n),
        read: jobs_of,
    },
    Row {
        name: "[defaults] env",
        size: 9_000,
        text: |n| {
            jobs(
                &format!("[defaults.env]\n{}", lines(1_000, |i| format!("A{i}=\"{}\"\n", "x".repeat(60)))),
                n,
            )
        },
        read: jobs_of,
    },
    Row {
        name: "[defaults] env that is too much for any job",
        size: 20_000,
        text: |n| jobs(&format!("[defaults.env]\n{}", settings_in_quotes(n)), n / 2),
        read: jobs_of,
    },
    Row { name: "[defaults] labels and webhook", size: 9_000, text: webhooks, read: jobs_of },
    Row {
        name: "[defaults] with a fault",
        size: 9_000,
        text: |n| jobs(&default_list("exclude", 512, "* * * * x"), n),
        read: jobs_of,
    },
    Row {
        name: "job file: groups",
        size: 40_000,
        text: |n| lines(n, |i| format!("[groups.g{i}]\nlimit=1\n")),
        read: jobs_of,
    },
    Row {
        name: "job file: groups that are missing",
        size: 4_000,
        text: |n| {
            lines(n, |i| {
                format!("[groups.g{i}]\nlimit=1\n[jobs.j{i}]\nevery=\"1m\"\nshell=\"a\"\ngroup=\"x{i}\"\n")
            })
        },
        read: jobs_of,
    },
    Row {
        name: "job file: unknown keys",
        size: 40_000,
        text: |n| "[jobs.a]\n".to_owned() + &lines(n, |i| format!("k{i}=1\n")),
        read: jobs_of,
    },
    Row {
        name: "job file: unknown keys on one line",
        size: 20_000,
        text: |n| format!("jobs={{{}}}", lines(n, |i| format!("j{i}={{x=1}},"))),
        read: jobs_of,
    },
    Row {
        name: "job file: lines that are no TOML",
        size: 40_000,
        text: |n| "[jobs.a]\n".to_owned() + &"x\n".repeat(n),
        read: jobs_of,
    },
    Row {
        name: "job file: one line that is no TOML",
        size: 40_000,
        text: |n| "[jobs.a]\n".to_owned() + &"x=".repeat(n),
        read: jobs_of,
    },
    Row {
        name: "job file: tables that are doubled",
        size: 20_000,
        text: |n| lines(n, |_| "[jobs.a]\nshell=\"a\"\n".into()),
        read: jobs_of,
    },
    Row {
        name: "job file: deep lists",
        size: 200_000,
        text: |n| format!("[jobs.a]\nrun={}", "[".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: deep tables",
        size: 200_000,
        text: |n| format!("[jobs.a]\nenv={}", "{a=".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: dotted keys",
        size: 200_000,
        text: |n| format!("[jobs]\n{}a=1", "a.".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: dotted headers",
        size: 200_000,
        text: |n| format!("[jobs.{}a]\na=1", "a.".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: many dotted keys",
        size: 20_000,
        text: |n| "[jobs.a]\n".to_owned() + &lines(n, |i| format!("env.a{i}.b.c.d=\"1\"\n")),
        read: jobs_of,
    },
    Row {
        name: "job file: a long key",
        size: 1 << 20,
        text: |n| format!("[jobs.a]\n{}=1", "k".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: a long name of a job",
        size: 1 << 20,
        text: |n| format!("[jobs.{}]\nshell=1", "k".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: escapes",
        size: 100_000,
        text: |n| format!("[jobs.a]\nevery=\"1m\"\nshell=\"{}\"", "\\u0001".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: a list of jobs that are followed",
        size: 20_000,
        text: |n| format!("[jobs.a]\nshell=\"a\"\nafter=[{}]", lines(n, |i| format!("\"j{i}\","))),
        read: jobs_of,
    },
    Row {
        name: "job file: a circle",
        size: 8_000,
        text: |n| lines(n, |i| format!("[jobs.j{i}]\nshell=\"a\"\nafter=\"j{}\"\n", (i + 1) % n)),
        read: jobs_of,
    },
    Row {
        name: "cron: a list of values",
        size: 40_000,
        text: |n| format!("{} * * * *", list(n, "1")),
        read: cron,
    },
    Row {
        name: "cron: a list of ranges",
        size: 40_000,
        text: |n| format!("{} * * * *", list(n, "0-59/2")),
        read: cron,
    },
    Row { name: "cron: fields", size: 40_000, text: |n| "* ".repeat(n), read: cron },
    Row { name: "cron: a number", size: 400_000, text: |n| "1".repeat(n), read: cron },
    Row {
        name: "cron: days",
        size: 40_000,
        text: |n| format!("0 0 {} * {}", list(n, "15W"), list(n, "mon#2")),
        read: cron,
    },
    Row {
        name: "cron: hashes",
        size: 40_000,
        text: |n| format!("{} * * * *", list(n, "H(0-9)")),
        read: cron,
    },
    Row { name: "every", size: 40_000, text: |n| format!("@every {}", "1h1s".repeat(n)), read: cron },
    Row {
        name: "OnCalendar: a list",
        size: 40_000,
        text: |n| format!("*-*-* {}:00", list(n, "1..2/1")),
        read: oncalendar,
    },
    Row {
        name: "OnCalendar: days of the week",
        size: 40_000,
        text: |n| format!("{} 00:00", list(n, "Mon..Fri")),
        read: oncalendar,
    },
    Row {
        name: "OnCalendar: years",
        size: 40_000,
        text: |n| format!("{}-1-1", list(n, "2000..2099")),
        read: oncalendar,
    },
    Row {
        name: "time",
        size: 400_000,
        text: |n| format!("2026-01-01T00:00:00.{}Z", "0".repeat(n)),
        read: time,
    },
    Row {
        name: "time in a zone",
        size: 400_000,
        text: |n| format!("2026-01-01T00:00:00[{}]", "a/".repeat(n)),
        read: time,
    },
];

#[test]
fn twice_the_text_takes_at_most_little_more_than_twice() {
    let only = std::env::var("ROW").unwrap_or_default();
    let mut found = Vec::new();
    for row in ROWS.iter().filter(|row| row.name.contains(&only)) {
        let taken = [row.size / 2, row.size].map(|size| {
            let text = (row.text)(size);
            assert!(text.len() as u64 <= MAX_FILE_BYTES, "{} is as long as may be sent", row.name);
            measure(|| (row.read)(&text))
        });
        let [one, two] = taken;
        if std::env::var("ROW").is_ok() {
            eprintln!(
                "{}: peak {} -> {}, total {} -> {}, calls {} -> {}",
                row.name,
                one.bytes_max,
                two.bytes_max,
                one.bytes_total,
                two.bytes_total,
                one.count_total,
                two.count_total
            );
        }
        let grows = |of: fn(&AllocationInfo) -> u64| of(&one).max(of(&LEAST)) * 22 < of(&two) * 10;
        let is_over = MAX_PEAK_BYTES < two.bytes_max;
        if is_over || grows(|it| it.bytes_max) || grows(|it| it.bytes_total) || grows(|it| it.count_total) {
            found.push(format!("{}: {one:?}, and of twice the text {two:?}", row.name));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn list(count: usize, item: &str) -> String {
    vec![item; count].join(",")
}

fn settings(count: usize) -> String {
    lines(count, |index| format!("A{index}={}\n", "x".repeat(20)))
}

fn settings_in_quotes(count: usize) -> String {
    lines(count, |index| format!("A{index}=\"{}\"\n", "x".repeat(60)))
}

fn settings_and_entries(count: usize) -> String {
    lines(count, |index| format!("A{index}={}\n* * * * * a\n", "x".repeat(60)))
}

fn default_list(key: &str, count: usize, item: &str) -> String {
    format!("[defaults]\n{key}=[{}]\n", list(count, &format!("\"{item}\"")))
}

fn jobs(before: &str, count: usize) -> String {
    before.to_owned() + &lines(count, |index| format!("[jobs.j{index}]\nevery=\"1m\"\nshell=\"a\"\n"))
}

fn webhooks(count: usize) -> String {
    let headers = lines(200, |index| format!("X-{index}=\"{}\"\n", "x".repeat(60)));
    let labels = lines(16, |index| format!("l{index}=\"{}\"\n", "x".repeat(60)));
    let job = |index| format!("[jobs.j{index}]\nevery=\"1m\"\nwebhook={{url=\"http://a\"}}\n");
    format!("[defaults.labels]\n{labels}[defaults.webhook.headers]\n{headers}") + &lines(count, job)
}

fn user(text: &str) {
    judged("crontab", text, Format::User);
}

fn system(text: &str) {
    judged("crontab", text, Format::System);
}

fn jobs_of(text: &str) {
    judged("jobs.toml", text, Format::User);
}

/// A file as `check` and `apply` read it: with the names of its entries, and with its problems as text.
fn judged(name: &str, text: &str, format: Format) {
    let mut loaded = Loaded::parse(&Source::new(name, text), format, &TimeZone::UTC);
    names::by_content(&mut loaded.jobs, name);
    let mut files = [Claimant { origin: name.to_owned(), loaded }];
    settle(&mut files, &InForce::nothing());
    std::hint::black_box(files[0].loaded.problems_text());
}

fn cron(text: &str) {
    for dialect in [Dialect::Unix, Dialect::Quartz] {
        told(Expression::parse_with(text, &ParseOptions::new().with_dialect(dialect)));
    }
}

fn oncalendar(text: &str) {
    told(Expression::parse_oncalendar(text));
}

fn time(text: &str) {
    drop(std::hint::black_box(TimeText::parse(text).map_err(|error| error.to_string())));
}

/// An expression with all that is said of it, or what is wrong with it.
fn told(parsed: Result<Expression, ParseError>) {
    match parsed {
        Ok(expression) => {
            std::hint::black_box(expression.to_string());
            let schedule = Schedule::new(expression, TimeZone::UTC);
            std::hint::black_box(schedule.explain(jiff::Timestamp::UNIX_EPOCH));
        }
        Err(error) => drop(std::hint::black_box((error.to_string(), error.hint().map(str::to_owned)))),
    }
}
