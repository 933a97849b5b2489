//! The ways in which texts may expand, for [`growth`](super).
//!
//! Sizes are small: nothing is optimised in tests, and what grows does so from the first thousand.

use super::{Row, cron, jobs_of, oncalendar, system, time, user};

/// Ways in which what is taken grows with the text.
pub(super) const ROWS: &[Row] = &[
    Row { name: "crontab: settings", size: 1_000, text: settings, read: user },
    Row {
        name: "crontab: one setting again and again",
        size: 1_000,
        text: |n| lines(n, |_| "A=1\n@daily a\n".into()),
        read: user,
    },
    Row {
        name: "crontab: entries",
        size: 1_000,
        text: |n| lines(n, |i| format!("* * * * * a{i}\n")),
        read: user,
    },
    Row {
        name: "crontab: entries of one word",
        size: 1_000,
        text: |n| lines(n, |_| "* * * * * a\n".into()),
        read: user,
    },
    Row {
        name: "crontab: zones",
        size: 1_000,
        text: |n| lines(n, |_| "CRON_TZ=Asia/Tokyo\n@daily a\n".into()),
        read: user,
    },
    Row {
        name: "crontab: notes",
        size: 1_000,
        text: |n| lines(n, |i| format!("# mainspring: name=n{i} retry=3\n@daily a\n")),
        read: user,
    },
    Row {
        name: "crontab: entries that are switched off",
        size: 1_000,
        text: |n| lines(n, |i| format!("# mainspring: name=n{i}\n#@daily a\n")),
        read: user,
    },
    Row { name: "crontab: problems", size: 4_000, text: |n| "@\n".repeat(n), read: user },
    Row { name: "crontab: a long line", size: 1 << 20, text: |n| "@ ".repeat(n / 2), read: user },
    Row {
        name: "crontab: characters that are escaped",
        size: 20,
        text: |n| lines(n, |_| format!("@daily {}\n", "\u{7f}\"".repeat(5_000))),
        read: user,
    },
    Row {
        name: "system crontab: entries",
        size: 1_000,
        text: |n| lines(n, |i| format!("* * * * * root a{i}\n")),
        read: system,
    },
    Row { name: "job file: jobs", size: 1_000, text: |n| jobs("", n), read: jobs_of },
    Row {
        name: "exclude of each job",
        size: 60,
        text: |n| {
            lines(n, |i| {
                format!("[jobs.j{i}]\nevery=\"1m\"\nshell=\"a\"\nexclude=[{}]\n", "\"* * * * *\",".repeat(80))
            })
        },
        read: jobs_of,
    },
    Row {
        name: "job file: groups",
        size: 1_000,
        text: |n| lines(n, |i| format!("[groups.g{i}]\nlimit=1\n")),
        read: jobs_of,
    },
    Row {
        name: "job file: groups that are missing",
        size: 1_000,
        text: |n| {
            lines(n, |i| {
                format!("[groups.g{i}]\nlimit=1\n[jobs.j{i}]\nevery=\"1m\"\nshell=\"a\"\ngroup=\"x{i}\"\n")
            })
        },
        read: jobs_of,
    },
    Row {
        name: "job file: unknown keys",
        size: 1_000,
        text: |n| "[jobs.a]\n".to_owned() + &lines(n, |i| format!("k{i}=1\n")),
        read: jobs_of,
    },
    Row {
        name: "job file: unknown keys on one line",
        size: 1_000,
        text: |n| format!("jobs={{{}}}", lines(n, |i| format!("j{i}={{x=1}},"))),
        read: jobs_of,
    },
    Row {
        name: "job file: lines that are no TOML",
        size: 1_000,
        text: |n| "[jobs.a]\n".to_owned() + &"x\n".repeat(n),
        read: jobs_of,
    },
    Row {
        name: "job file: one line that is no TOML",
        size: 1_000,
        text: |n| "[jobs.a]\n".to_owned() + &"x=".repeat(n),
        read: jobs_of,
    },
    Row {
        name: "job file: tables that are doubled",
        size: 1_000,
        text: |n| lines(n, |_| "[jobs.a]\nshell=\"a\"\n".into()),
        read: jobs_of,
    },
    Row {
        name: "job file: deep lists",
        size: 40_000,
        text: |n| format!("[jobs.a]\nrun={}", "[".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: deep tables",
        size: 40_000,
        text: |n| format!("[jobs.a]\nenv={}", "{a=".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: dotted keys",
        size: 40_000,
        text: |n| format!("[jobs]\n{}a=1", "a.".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: dotted headers",
        size: 40_000,
        text: |n| format!("[jobs.{}a]\na=1", "a.".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: many dotted keys",
        size: 1_000,
        text: |n| "[jobs.a]\n".to_owned() + &lines(n, |i| format!("env.a{i}.b.c.d=\"1\"\n")),
        read: jobs_of,
    },
    Row {
        name: "job file: a long key",
        size: 256 << 10,
        text: |n| format!("[jobs.a]\n{}=1", "k".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: a long name of a job",
        size: 256 << 10,
        text: |n| format!("[jobs.{}]\nshell=1", "k".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: escapes",
        size: 40_000,
        text: |n| format!("[jobs.a]\nevery=\"1m\"\nshell=\"{}\"", "\\u0001".repeat(n)),
        read: jobs_of,
    },
    Row {
        name: "job file: a list of jobs that are followed",
        size: 1_000,
        text: |n| format!("[jobs.a]\nshell=\"a\"\nafter=[{}]", lines(n, |i| format!("\"j{i}\","))),
        read: jobs_of,
    },
    Row {
        name: "job file: a circle",
        size: 1_000,
        text: |n| lines(n, |i| format!("[jobs.j{i}]\nshell=\"a\"\nafter=\"j{}\"\n", (i + 1) % n)),
        read: jobs_of,
    },
    Row {
        name: "cron: a list of values",
        size: 8_000,
        text: |n| format!("{} * * * *", list(n, "1")),
        read: cron,
    },
    Row {
        name: "cron: a list of ranges",
        size: 8_000,
        text: |n| format!("{} * * * *", list(n, "0-59/2")),
        read: cron,
    },
    Row { name: "cron: fields", size: 8_000, text: |n| "* ".repeat(n), read: cron },
    Row { name: "cron: a number", size: 40_000, text: |n| "1".repeat(n), read: cron },
    Row {
        name: "cron: days",
        size: 8_000,
        text: |n| format!("0 0 {} * {}", list(n, "15W"), list(n, "mon#2")),
        read: cron,
    },
    Row { name: "cron: hashes", size: 8_000, text: |n| format!("{} * * * *", list(n, "H(0-9)")), read: cron },
    Row { name: "every", size: 8_000, text: |n| format!("@every {}", "1h1s".repeat(n)), read: cron },
    Row {
        name: "OnCalendar: a list",
        size: 8_000,
        text: |n| format!("*-*-* {}:00", list(n, "1..2/1")),
        read: oncalendar,
    },
    Row {
        name: "OnCalendar: days of the week",
        size: 8_000,
        text: |n| format!("{} 00:00", list(n, "Mon..Fri")),
        read: oncalendar,
    },
    Row {
        name: "OnCalendar: years",
        size: 8_000,
        text: |n| format!("{}-1-1", list(n, "2000..2099")),
        read: oncalendar,
    },
    Row {
        name: "time",
        size: 40_000,
        text: |n| format!("2026-01-01T00:00:00.{}Z", "0".repeat(n)),
        read: time,
    },
    Row {
        name: "time in a zone",
        size: 40_000,
        text: |n| format!("2026-01-01T00:00:00[{}]", "a/".repeat(n)),
        read: time,
    },
];

/// Ways in which one part of a text holds for many others: what is made of them is counted.
pub(super) const PRODUCTS: &[Row] = &[
    Row { name: "crontab: settings, each with an entry", size: 150, text: settings_and_entries, read: user },
    Row {
        name: "crontab: settings that are too many for any entry",
        size: 14_000,
        text: |n| settings(n) + &"@daily a\n".repeat(n / 5_000),
        read: user,
    },
    Row {
        name: "crontab: mails",
        size: 60,
        text: |n| format!("MAILTO={}\n", "a@b,".repeat(2_000)) + &"@daily a\n".repeat(n),
        read: user,
    },
    Row {
        name: "[defaults] exclude",
        size: 40,
        text: |n| jobs(&default_list("exclude", 512, "* * * * *"), n),
        read: jobs_of,
    },
    Row {
        name: "[defaults] exclude, in a zone of each job",
        size: 40,
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
        name: "[defaults] exclude_dates",
        size: 40,
        text: |n| jobs(&default_list("exclude_dates", 512, "2026-12-24"), n),
        read: jobs_of,
    },
    Row {
        name: "[defaults] notify",
        size: 16,
        text: |n| jobs(&format!("[defaults]\nnotify=\"a {}\"\n", "x".repeat(1 << 20)), n),
        read: jobs_of,
    },
    Row {
        name: "[defaults] env",
        size: 20,
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
        size: 6_000,
        text: |n| jobs(&format!("[defaults.env]\n{}", settings_in_quotes(n)), n / 2_000),
        read: jobs_of,
    },
    Row { name: "[defaults] labels and webhook", size: 40, text: webhooks, read: jobs_of },
    Row {
        name: "[defaults] with a fault",
        size: 16,
        text: |n| jobs(&default_list("exclude", 512, "* * * * x"), n),
        read: jobs_of,
    },
];

/// Texts that take the most for their length, at the greatest length at which they are read.
pub(super) const LIMITS: &[Row] = &[
    Row {
        name: "tables",
        size: 99_000,
        text: |n| format!("[jobs]\na=[{}]", list(n / 60, &format!("{{a{}=1}}", ".a".repeat(59)))),
        read: jobs_of,
    },
    Row {
        name: "lists",
        size: 99_000,
        text: |n| format!("a=[{}]", list(n / 10, "[[[[[[[[[[]]]]]]]]]]")),
        read: jobs_of,
    },
    Row { name: "numbers", size: 990_000, text: |n| format!("a=[{}]", "1,".repeat(n)), read: jobs_of },
    Row { name: "lines that are no TOML", size: 520_000, text: |n| "x\n".repeat(n), read: jobs_of },
    Row { name: "words of one character", size: 4 << 20, text: |n| "x ".repeat(n / 2), read: jobs_of },
];

pub(super) fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

pub(super) fn list(count: usize, item: &str) -> String {
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
