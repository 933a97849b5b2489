//! Job files, and the jobs and problems that are found in them. testdata/jobfiles shows how problems look.

use super::*;
use crate::replay;
use jiff::Timestamp;
use mainspring_action::body::Body;
use mainspring_action::key::{Form, Key};
use mainspring_action::{process, webhook};
use mainspring_cron::{Expression, Schedule};
use mainspring_job::Trigger;

use super::written::{JobTables, Table};

fn file(text: &str) -> JobFile {
    JobFile::parse(&Source::new("test", text), &TimeZone::UTC)
}

fn job(text: &str) -> Job {
    let file = file(&format!("[jobs.x]\n{text}\n"));
    assert!(file.problems.is_empty(), "{text}: {:?}", file.problems);
    file.jobs[0].job.clone()
}

fn process(text: &str) -> mainspring_action::body::ProcessBody {
    match Body::decode(&job(text).work.action).unwrap() {
        Body::Process(body) => body,
        _ => panic!("a process: {text}"),
    }
}

#[test]
fn triggers_of_every_kind_are_gathered() {
    let text = "cron = ['0 9 * * mon-fri', '@daily']\noncalendar = 'Sat 11:00'\nevery = '90s'\n\
                at = [2030-01-01T00:00:00Z, '2030-01-02T03:04:05']\nat_boot = true\nat_server_start = true\nshell = 'true'";
    let job = job(text);
    let texts: Vec<String> = job.timetable.triggers().iter().map(ToString::to_string).collect();
    let expected = [
        "0 9 * * mon-fri",
        "@daily",
        "Sat 11:00",
        "@every 90s",
        "@at 2030-01-01T00:00:00Z",
        "@at 2030-01-02T03:04:05Z",
        "@reboot",
        "server start",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn a_period_keeps_its_nanoseconds_and_one_that_is_none_is_refused() {
    for (text, period_ns) in [
        ("1.000000001s", 1_000_000_001),
        ("1s1ns", 1_000_000_001),
        ("1.5ms", 1_500_000),
        ("16.666667ms", 16_666_667),
        ("1h1ns", 3_600_000_000_001),
    ] {
        let job = job(&format!("every = '{text}'\nshell = 'true'"));
        let schedule = job.timetable.triggers().first().and_then(Trigger::schedule);
        let Some(Expression::Every(every)) = schedule.map(Schedule::expression) else { panic!("{text}") };
        assert_eq!(every.period().as_nanos(), period_ns, "{text}");
        let first = job.timetable.first_in(Timestamp::UNIX_EPOCH, Timestamp::MAX).unwrap();
        assert_eq!(u128::try_from(first.as_nanosecond()).unwrap(), period_ns, "{text}");
        // As the store keeps it.
        let read = file(&job.text).jobs.remove(0).job;
        assert_eq!(read.timetable, job.timetable, "{text}");
    }
    for text in ["0.5ns", "999us", "36526d"] {
        let file = file(&format!("[jobs.x]\nevery = '{text}'\nshell = 'true'\n"));
        assert!(file.jobs.is_empty() && !file.problems.is_empty(), "{text}");
    }
}

#[test]
fn policies_are_the_same_as_text_and_as_tables() {
    let tables = "misfire = { rule = 'all', cap = 7, window = '1h' }\noverlap = { rule = 'queue-all', cap = 3 }\n\
                  retry = { max = 5, backoff = '1s', on = ['failed', 'abandoned'] }\n\
                  timeout = { after = '1h', signal = 'INT', grace = '5s' }\nretention = { keep = 7, days = 1 }";
    let texts = "misfire = 'all,cap=7,window=1h'\noverlap = 'queue-all,cap=3'\n\
                 retry = '5,backoff=1s,on=failed+abandoned'\ntimeout = '1h,signal=INT,grace=5s'\nretention = 'keep=7,days=1'";
    let rest = "\njitter = '30s'\npause_after = 5\ndead_letters = 'always'\nevery = '1m'\nshell = 'true'";
    let (tables, texts) = (job(&format!("{tables}{rest}")), job(&format!("{texts}{rest}")));
    assert_eq!(tables.work.policies, texts.work.policies);
    assert_eq!(tables.work.policies.retry.max, 5);
    assert_eq!(job("retry = 3\nevery = '1m'\nshell = 'true'").work.policies.retry.max, 3);
}

#[test]
fn a_process_has_the_zone_of_its_job_whatever_the_job_is_due_at() {
    for trigger in
        ["cron = '@daily'", "every = '1h'", "at_boot = true", "at_server_start = true", "after = 'y'"]
    {
        let text = format!(
            "[jobs.y]\nevery = '1h'\nshell = 'true'\n[jobs.x]\nzone = 'Asia/Tokyo'\n{trigger}\nshell = 'true'\n"
        );
        let file = file(&text);
        let job = &file.jobs.iter().find(|placed| placed.job.name.as_str() == "x").unwrap().job;
        let Body::Process(body) = Body::decode(&job.work.action).unwrap() else { panic!("a process") };
        assert_eq!(body.env, [("TZ".to_owned(), "Asia/Tokyo".to_owned())], "{trigger}");
        assert_eq!(job.zone.iana_name(), Some("Asia/Tokyo"), "{trigger}");
    }
}

#[test]
fn defaults_hold_where_a_job_is_silent_and_tables_are_merged() {
    let text = "[defaults]\nzone = 'Asia/Tokyo'\nretry = 2\nenv = { A = '1', B = '2' }\nnice = 5\n\
                [jobs.x]\ncron = '@daily'\nshell = 'true'\nretry = 7\nenv = { B = '3' }\n";
    let file = file(text);
    assert!(file.problems.is_empty(), "{:?}", file.problems);
    let job = &file.jobs[0].job;
    assert_eq!(job.work.policies.retry.max, 7);
    assert_eq!(job.timetable.triggers()[0].schedule().unwrap().zone().iana_name(), Some("Asia/Tokyo"));
    let Body::Process(body) = Body::decode(&job.work.action).unwrap() else { panic!("a process") };
    assert_eq!(
        body.env,
        [("A".into(), "1".into()), ("B".into(), "3".into()), ("TZ".into(), "Asia/Tokyo".into())]
    );
    assert_eq!(body.nice, Some(5));
}

#[test]
fn the_written_table_is_the_same_job() {
    let text = "[defaults]\nzone = 'Asia/Tokyo'\nenv = { A = '1' }\nsecrets = { T = '/t' }\n\
                [groups.g]\nlimit = 1\nrate = '90/90s'\n[groups.h]\nrate = '10/s'\n\
                [jobs.'x:1']\ncron = 'H 3 * * *'\nshell = \"echo \\\"$A\\\"\\n\\tdone \\u0007\"\numask = '027'\ngroup = 'g'\n\
                retry = { max = 3, on = ['failed'] }\nexclude_dates = [2026-12-24]\nenv = { B = '2' }\n\
                limits = { open_files = 5 }\n\
                [jobs.y]\nat = 2030-01-01T00:00:00\ngroup = 'h'\n[jobs.y.webhook]\nurl = 'http://x/{job}'\n\
                headers = { A = '{key}' }\nsuccess = [404, '200-299']\n";
    let once = file(text);
    assert!(once.problems.is_empty(), "{:?}", once.problems);
    for placed in &once.jobs {
        let again = file(&placed.job.text);
        assert!(again.problems.is_empty(), "{}: {:?}", placed.job.text, again.problems);
        assert_eq!(again.jobs[0].job, placed.job);
        let own = once.groups.iter().filter(|group| placed.job.work.group.as_ref() == Some(&group.name));
        assert_eq!(again.groups, own.cloned().collect::<Vec<_>>());
    }
}

#[test]
fn a_group_that_two_files_define_stands_once_in_what_is_put_together() {
    let mut tables = JobTables::default();
    for (name, limit) in [("a", 3), ("b", 2), ("c", 5)] {
        tables.add(&format!(
            "[jobs.{name}]\nevery = \"1m\"\nrun = [\"true\"]\ngroup = \"g\"\n\n[groups.g]\nlimit = {limit}\n"
        ));
    }
    let whole = file(&tables.finish());
    assert!(whole.problems.is_empty(), "{:?}", whole.problems);
    assert_eq!((whole.jobs.len(), whole.groups.len(), whole.groups[0].limit), (3, 1, Some(2)));
}

#[test]
fn a_group_has_a_limit_a_rate_or_both() {
    let groups = |text: &str| {
        let file = file(text);
        assert!(file.problems.is_empty(), "{:?}", file.problems);
        file.groups.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let text = "[groups.a]\nlimit = 2\n[groups.b]\nrate = '10/1s'\n[groups.c]\nlimit = 1\nrate = '5/min'\n";
    assert_eq!(groups(text), ["the limit 2", "the rate 10/1s", "the limit 1 and the rate 5/1m"]);
    for (text, line_number, message) in [
        ("[groups.a]\non = 'eu'\n", 1, "a group needs a limit or a rate"),
        ("[groups.a]\nlimit = 0\nrate = '1/1s'\n", 2, "expected a number from 1 to 4294967295"),
        ("[groups.a]\nlimit = 1\nrate = 3\n", 3, "expected a string in quotes"),
        ("[groups.a]\nrate = '1/1y'\n", 2, "expected a duration such as 90s, 1h30m or 500ms"),
        ("[groups.a]\nrate = '10001/1s'\n", 2, "expected a number from 1 to 10000"),
        ("[groups.a]\nrate = '10/25h'\n", 2, "expected a duration from 1ms to 24h"),
    ] {
        let file = file(text);
        let [problem] = &file.problems[..] else { panic!("{text}: {:?}", file.problems) };
        assert_eq!(problem.line_number, line_number, "{text}");
        assert!(problem.fault.message.contains(message), "{text}: {}", problem.fault.message);
    }
}

#[test]
fn a_group_says_where_its_jobs_run_that_do_not_say_so_themselves() {
    let text = "[defaults]\non = 'eu'\n[groups.g]\nlimit = 9\non = ['gpu', 'all']\n[groups.h]\nlimit = 1\n\
                [jobs.a]\nevery = '1m'\nshell = 'x'\ngroup = 'g'\n\
                [jobs.b]\nevery = '1m'\nshell = 'x'\ngroup = 'g'\non = 'any'\n\
                [jobs.c]\nevery = '1m'\nshell = 'x'\ngroup = 'h'\n";
    let once = file(text);
    let on = |file: &JobFile| {
        let texts = file.jobs.iter().map(|placed| placed.job.work.policies.on.to_string());
        texts.collect::<Vec<_>>()
    };
    assert_eq!((on(&once), once.problems.len()), (vec!["all,gpu".into(), "any".into(), "eu".into()], 0));
    for placed in &once.jobs {
        assert_eq!(file(&placed.job.text).jobs[0].job, placed.job, "{}", placed.job.text);
    }
    let wrong = file("[groups.g]\nlimit = 1\non = 'a b'\nretry = 3\n").problems;
    let messages: Vec<&str> = wrong.iter().map(|problem| problem.fault.message.as_str()).collect();
    assert!(
        messages.len() == 2 && messages.iter().any(|it| it.contains("labels with commas")),
        "{messages:?}"
    );
}

#[test]
fn processes_are_read_with_all_their_options() {
    let body = process(
        "every = '1m'\nrun = ['a', 'b c']\nuser = 'root:staff'\ncwd = '/srv'\ninherit_env = true\numask = 0o22\n\
         nice = -5\nlimits = { open_files = 10, core_bytes = 'unlimited' }\nmemory_max = '512M'\ncpu_max = '150%'\n\
         stdin = 'in'\noutput_bytes = 100\non_server_death = 'kill'\non_lease_loss = 'leave'\nno_new_privileges = true\n\
         secrets = { A = '/a', B = { path = '/b' } }",
    );
    assert_eq!(body.run, ["a", "b c"]);
    assert_eq!((body.umask, body.nice, body.output_bytes), (Some(0o22), Some(-5), Some(100)));
    assert_eq!((body.memory_max, body.cpu_max), (Some(512 << 20), Some(150)));
    assert_eq!((body.on_server_death.as_deref(), body.no_new_privileges), (Some("kill"), true));
    assert_eq!(body.on_lease_loss.as_deref(), Some("leave"));
    assert_eq!(body.limits, [("core_bytes".to_owned(), u64::MAX), ("open_files".to_owned(), 10)]);
    assert_eq!(body.secrets.iter().map(|secret| secret.is_path).collect::<Vec<_>>(), [false, true]);
}

/// A value of each form, as a file has it.
fn sample<B>(form: &Form<B>) -> String {
    match form {
        Form::Words(_) | Form::Paths(_) => "['/a']".to_owned(),
        Form::Text(_) | Form::Input(_) | Form::Path(_) | Form::Template(_) => "'/a'".to_owned(),
        Form::Url(_) => "'http://a'".to_owned(),
        Form::Flag(_) => "true".to_owned(),
        Form::OneOf(_, words) => format!("'{}'", words[1]),
        Form::Variables(_) | Form::Headers(_) => "{ A = 'a' }".to_owned(),
        Form::Secrets(_) => "{ A = '/a' }".to_owned(),
        Form::Limits(_) => "{ open_files = 1 }".to_owned(),
        Form::Method(_) => "'PUT'".to_owned(),
        Form::Statuses(_) => "'200-204'".to_owned(),
        Form::Mask(_) => "'027'".to_owned(),
        Form::Percent(..) => "'7%'".to_owned(),
        Form::Memory(_, least) => least.to_string(),
        Form::Number(..) | Form::Bytes(..) => "7".to_owned(),
    }
}

/// Reads a job, and its action written and read again.
fn action_of(name: &str, text: &str) {
    let job = job(&format!("at_boot = true\n{text}"));
    let action = &job.work.action;
    let document: serde_json::Value = serde_json::from_str(action.body()).unwrap();
    assert!(document.get(name).is_some(), "{text}: {document}");
    let mut table = Table::new("x");
    table.raw("at_boot", "true");
    table.body(&Body::decode(action).unwrap());
    let written = table.finish();
    assert_eq!(file(&written).jobs[0].job.work.action, *action, "{written}");
}

#[test]
fn each_key_of_a_body_is_read_by_its_row_and_written_again() {
    for Key { name, form, .. } in process::KEYS {
        let rest = if ["run", "shell"].contains(name) { "" } else { "shell = 'true'\n" };
        action_of(name, &format!("{rest}{name} = {}", sample(form)));
    }
    for Key { name, form, .. } in webhook::KEYS {
        let rest = if *name == "url" { "" } else { "url = 'http://a'\n" };
        action_of(name, &format!("[jobs.x.webhook]\n{rest}{name} = {}", sample(form)));
    }
}

#[test]
fn what_becomes_of_a_process_without_its_server_is_one_of_two_words_and_is_written_again() {
    for (key, words) in [("on_server_death", ["leave", "kill"]), ("on_lease_loss", ["kill", "leave"])] {
        for word in words {
            let line = format!("{key} = \"{word}\"");
            let text = format!("[jobs.x]\nat_boot = true\nshell = 'true'\n{line}\n");
            let found = file(&text);
            assert!(found.problems.is_empty(), "{line}: {:?}", found.problems);
            assert!(found.jobs[0].job.text.contains(&line), "{line}: {}", found.jobs[0].job.text);
        }
        let text = format!("[jobs.x]\nat_boot = true\nshell = 'true'\n{key} = 'stay'\n");
        let problem = file(&text).problems[0].in_file("f");
        let (column, [first, last]) = (key.len() + 4, words);
        let expected = format!("f:4:{column}: expected \"{first}\" or \"{last}\", found \"stay\"");
        assert!(problem.starts_with(&expected), "{problem}");
    }
}

#[test]
fn a_share_of_the_machine_has_a_unit_and_a_least_amount() {
    let of = |line: &str| file(&format!("[jobs.x]\nat_boot = true\nshell = 'true'\n{line}\n"));
    for (line, expected) in [
        ("memory_max = 0x100000", Some(1 << 20)),
        ("memory_max = '2048K'", Some(2 << 20)),
        ("memory_max = '3G'", Some(3 << 30)),
        ("memory_max = '1023K'", None),
        ("memory_max = '64 M'", None),
        ("memory_max = '99999999T'", None),
        ("memory_max = ''", None),
    ] {
        let file = of(line);
        let found = file.jobs.first().and_then(|job| match Body::decode(&job.job.work.action) {
            Ok(Body::Process(body)) => body.memory_max,
            _ => None,
        });
        assert_eq!((found, file.problems.len()), (expected, usize::from(expected.is_none())), "{line}");
    }
    for line in ["cpu_max = 50", "cpu_max = '0%'", "cpu_max = '1.5'", "cpu_max = '%'"] {
        let problems = of(line).problems;
        assert!(problems[0].in_file("f").contains("cpu_max = \"150%\""), "{line}: {problems:?}");
    }
}

#[test]
fn a_table_that_is_there_twice_is_one_problem_with_both_places() {
    let text = "[jobs.x]\nevery = '1m'\nrun = ['a']\n\n[jobs.\"x\"] # again\nevery = '2m'\nrun = ['b']\n\
                [jobs.y]\nevery = '1m'\nevery = '2m'\nrun = ['c']\n";
    let problems: Vec<String> = file(text).problems.iter().map(|problem| problem.in_file("f")).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("f:5:") && problems[0].contains("[jobs.x] is there already: line 1"));
    assert!(problems[1].starts_with("f:10:") && problems[1].contains("duplicate key"), "{problems:?}");
}

#[test]
fn one_bad_job_stops_no_other() {
    let good = "[jobs.good]\nevery = '1m'\nshell = 'true'\n";
    for bad in [
        "[jobs.bad]\nevery = 1\n",
        "[jobs.bad]\nevery = \n",
        "[jobs.bad]\nevery = '1m\nshell = 'a'\n",
        "[jobs]\nx = 1\n",
    ] {
        for text in [format!("{good}{bad}"), format!("{bad}{good}")] {
            let file = file(&text);
            let names: Vec<&str> = file.jobs.iter().map(|job| job.job.name.as_str()).collect();
            assert!(!file.problems.is_empty(), "{text}");
            assert!(!names.contains(&"bad"), "{text}");
            if !bad.starts_with("[jobs]\n") {
                assert_eq!(names, ["good"], "{text}");
            }
        }
    }
}

#[test]
fn bad_defaults_leave_out_every_job() {
    let file = file(
        "[defaults]\nretry = 'x'\n[jobs.a]\nevery = '1m'\nshell = 'true'\n[jobs.b]\nevery = '1m'\nshell = 'b'\n",
    );
    assert_eq!((file.jobs.len(), file.problems.len()), (0, 1));
}

#[test]
fn faults_inside_of_strings_are_pointed_at() {
    let cases = [
        ("cron = '0 24 * * *'", 10..12),
        ("cron = \"0 24 * * *\"", 10..12),
        ("cron = \"0\\u002024 * * *\"", 7..24),
        ("every = 'soon'", 9..13),
        ("overlap = 'sikp'", 11..15),
        ("retry = { max = 3, backof = '1s' }", 19..25),
        ("retry = '3,on=faild'", 14..19),
    ];
    for (line, expected) in cases {
        let file = file(&format!("[jobs.x]\n{line}\nshell = 'true'\nat_boot = true\n"));
        assert_eq!(file.problems[0].fault.span, expected, "{line}: {:?}", file.problems);
    }
}

#[test]
fn a_job_file_is_known_by_its_name_or_its_first_line() {
    let is = |name: &str, text: &str| is_job_file(&Source::new(name, text));
    assert!(is("a.toml", "* * * * * x"));
    assert!(is("standard input", "# c\n\n[jobs.x]\n"));
    assert!(!is("crontab", "# c\n@daily x\n"));
    assert!(!is("crontab", "[ -x /a ] && b"));
}

#[test]
fn no_text_makes_the_reader_panic_and_every_span_lies_in_its_line() {
    let words = [
        "[jobs.a]",
        "[defaults]",
        "[groups.g]",
        "[jobs.a.webhook]",
        "cron",
        "every",
        "url",
        "env",
        "retry",
        "secrets",
        "=",
        "{",
        "}",
        "\"",
        "'",
        "'1m'",
        "\"{job}\"",
        "3",
        "2026-01-01",
        "[",
        "]",
        ",",
        "\n",
        "\n",
        "\n",
        "ä",
        "\"\"\"",
        "0x",
        ".",
    ];
    replay::each_seed(0..3_000, |seed| {
        let mut state = seed;
        let mut next = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        let text: String = (0..next(40))
            .map(|_| format!("{}{}", words[next(words.len())], [" ", "", "\n"][next(3)]))
            .collect();
        for problem in file(&text).problems {
            assert!(problem.fault.span.end <= problem.line.len(), "seed {seed}");
            assert!(problem.in_file("test").contains('^'), "seed {seed}");
        }
    });
}

#[test]
fn what_stands_behind_a_time_or_a_day_is_understood_or_refused() {
    let message = |line: &str| {
        let file = file(&format!("[jobs.x]\nzone = 'Europe/Berlin'\n{line}\nevery = '1h'\nshell = 'true'\n"));
        match file.problems.first() {
            Some(problem) => problem.fault.message.clone(),
            None => {
                let timetable = &file.jobs[0].job.timetable;
                let at =
                    timetable.triggers().iter().map(ToString::to_string).find(|text| text.starts_with("@at"));
                at.or(timetable.start().map(|start| start.to_string())).unwrap_or_default()
            }
        }
    };
    let cases = [
        ("at = '2027-01-05T09:00:00[America/New_York]'", "@at 2027-01-05T14:00:00Z"),
        ("at = '2027-01-05T09:00'", "@at 2027-01-05T08:00:00Z"),
        ("start = '2027-01-05T09:00-05:00[America/New_York]'", "2027-01-05T14:00:00Z"),
        ("at = '2027-01-05T09:00:00Z[Nowhere/Zone]'", "unknown time zone `Nowhere/Zone`"),
        ("end = '2027-01-05T09:00+01:00[America/New_York]'", "is not that of America/New_York"),
        ("start = '2027-01-05T09:00 UTC'", "is no time"),
        ("exclude_dates = '2026-12-24T10:00'", "expected a day"),
        ("exclude_dates = '2026-12-24[UTC]'", "expected a day"),
        ("exclude_dates = 2026-12-24T10:00:00", "expected a day"),
    ];
    for (line, expected) in cases {
        assert!(message(line).contains(expected), "{line}: {}", message(line));
    }
}

#[test]
fn of_two_parts_with_one_value_the_wrong_one_is_pointed_at() {
    for (policy, starts) in [
        ("timeout = { after = '2h', grace = '2h' }", &[34][..]),
        ("timeout = '2h,grace=2h'", &[20]),
        ("retry = { max = 1001, factor = 1001 }", &[16, 31]),
        ("retry = '3,backoff=1m,backoff=2m'", &[22]),
    ] {
        let problems = file(&format!("[jobs.a]\nevery = '1m'\nshell = 'x'\n{policy}\n")).problems;
        let found: Vec<usize> = problems.iter().map(|problem| problem.fault.span.start).collect();
        assert_eq!(found, starts, "{policy}: {problems:?}");
    }
}

#[test]
fn a_target_is_also_a_table_by_itself_and_a_header_may_leave_the_usual_one_out() {
    let job = |keys: &str| format!("[jobs.a]\nevery = '1h'\nshell = 'true'\n{keys}\n");
    let read = |keys: &str| JobFile::parse(&Source::new("a.toml", job(keys)), &TimeZone::UTC);
    let file =
        read("notify = { url = 'https://a.example/hook', kind = 'slack' }\nmail_headers = ['Precedence:']");
    assert_eq!(file.problems, []);
    let hook = &file.jobs[0].hook;
    assert_eq!(hook.targets.as_ref().unwrap()[0].to_string(), "slack:https://a.example/hook");
    assert_eq!(hook.mail_headers, ["Precedence:"]);
    let long = format!("mail_headers = ['X-Long: {}']", "x".repeat(998));
    for keys in [
        "mail_headers = ['Precedence']",
        "mail_headers = ['X:y']",
        &long,
        "notify = 'slak:https://a.example'",
    ] {
        assert_eq!(read(keys).problems.len(), 1, "{keys}");
    }
}
