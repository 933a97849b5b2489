//! Files that are broken or made to do harm: a problem with its line and column, and never a panic.

use mainspring_file::crontab::Format;
use mainspring_file::problem::Severity;
use mainspring_file::source::Source;
use mainspring_import::{Import, Kind, Options, import};

fn read(kind: Kind, bytes: impl Into<Vec<u8>>) -> Import {
    let options = Options { kind: Some(kind), format: Format::User, run: None };
    import(&[Source::new("hostile", bytes)], &options)
}

/// Line and column of the first problem, with its text.
fn problem(kind: Kind, bytes: impl Into<Vec<u8>>) -> (usize, usize, String) {
    let imported = read(kind, bytes);
    assert!(imported.has_problem);
    assert_eq!(imported.text, "", "nothing is written");
    let found = imported.findings[0].0.iter().find(|problem| problem.severity == Severity::Problem);
    let found = found.expect("the problem is shown");
    (found.line_number, found.column(), found.fault.message.clone())
}

#[test]
fn a_fault_has_its_line_and_column() {
    let cases: [(Kind, &str, usize, usize, &str); 17] = [
        (Kind::Crontab, "A=1\n0 25 * * * true\n", 2, 3, "25 is outside of the hour field"),
        (
            Kind::Systemd,
            "[Timer]\nOnCalendar=daily\nOnCalendar=Fry 09:00\n",
            3,
            12,
            "expected a day of the week",
        ),
        (Kind::Systemd, "OnCalendar=daily\n", 1, 1, "this stands in no section"),
        (Kind::Systemd, "[Timer]\nOnCalendar\n", 2, 1, "expected a section"),
        (Kind::Systemd, "[Timer\n", 1, 1, "a section is written [Name]"),
        (Kind::Systemd, "[Timer]\nOnBootSec=soon\n", 2, 11, "expected a length of time"),
        (Kind::Kubernetes, "kind: CronJob\nspec:\n  schedule: '61 * * * *'\n", 3, 13, "`61 * * * *`"),
        (Kind::Kubernetes, "kind: CronJob\nspec: [\n", 2, 0, "this is not YAML"),
        (Kind::Kubernetes, "kind: CronJob\nkind: Job\n", 2, 1, "the key `kind` is there already"),
        (Kind::Kubernetes, "kind: CronJob\nspec: {timeZone: Mars/Base}\n", 2, 18, "unknown time zone"),
        (Kind::Sidekiq, "a:\n  cron: '* * *'\n  class: A\n", 2, 9, "`* * *`"),
        (Kind::Apscheduler, "- func: 'a:b'\n  trigger: cron\n  hour: 99\n", 1, 3, "`0 99 * * *`"),
        (Kind::Apscheduler, "- func: 'a:b'\n  trigger: interval\n  hours: -1\n", 3, 10, "expected a number"),
        (Kind::Quartz, "a.cron = 0 0 25 * * ?\n", 1, 14, "25 is outside of the hour field"),
        (Kind::Quartz, "<a>\n<b>\n</a>\n", 3, 1, "this is not XML: ill-formed document: expected `</b>`"),
        (Kind::Quartz, "<a>&b;</a>\n", 1, 4, "the entity is not one of XML"),
        (Kind::Quartz, "<!DOCTYPE a [<!ENTITY b 'c'>]>\n<a>&b;</a>\n", 1, 1, "a document type is not read"),
    ];
    for (kind, text, line, column, message) in cases {
        let found = problem(kind, text);
        assert!(found.2.starts_with(message), "{kind}: {text:?}: {found:?}");
        assert_eq!(found.0, line, "{kind}: {text:?}: {found:?}");
        // The parser of YAML sees the end of the file where a bracket is missing.
        assert!(column == 0 || found.1 == column, "{kind}: {text:?}: {found:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_a_problem_at_their_place() {
    for (_, kind) in Kind::ALL {
        let (line, column, message) = problem(kind, b"* * * * * a\n* * * * * \0\n".to_vec());
        assert_eq!((line, column), (2, 11), "{kind}: {message}");
        let (line, column, message) = problem(kind, b"# a\n* * * * * caf\xE9\n".to_vec());
        assert_eq!((line, column), (2, 14), "{kind}: {message}");
    }
}

#[test]
fn a_file_that_is_too_long_is_a_problem() {
    for (_, kind) in Kind::ALL {
        let (line, _, message) = problem(kind, "# a\n".repeat(10 << 18));
        assert_eq!(line, 1, "{kind}");
        assert!(message.starts_with("this is longer than"), "{kind}: {message}");
    }
}

#[test]
fn yaml_that_stands_for_more_than_it_says_is_a_problem() {
    let deep = "- ".repeat(10_000) + "x";
    assert!(problem(Kind::Kubernetes, deep).2.contains("deep"));
    let deep = "[".repeat(10_000);
    assert_eq!(problem(Kind::Sidekiq, deep).0, 1);
    let mut laughs = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n".to_owned();
    for index in 1..10 {
        let inner = vec![format!("*a{}", index - 1); 9].join(", ");
        laughs.push_str(&format!("a{index}: &a{index} [{inner}]\n"));
    }
    let (line, column, message) = problem(Kind::Sidekiq, laughs);
    assert!(message.contains("with those of aliases"), "{message}");
    assert!(1 < line && 1 < column);
    let mut chain = "a0: &a0 [x]\n".to_owned();
    (1..5_000).for_each(|index| chain.push_str(&format!("a{index}: &a{index} [*a{}]\n", index - 1)));
    assert!(problem(Kind::Kubernetes, chain).2.contains("with those of aliases"));
    // An alias of what it stands in.
    assert!(read(Kind::Sidekiq, "a: &a [*a]\n").has_problem);
    assert!(read(Kind::Kubernetes, "kind: &a\n  <<: *a\n").has_problem);
}

#[test]
fn half_a_file_of_any_kind_is_read_or_refused_and_never_panics() {
    for (name, kind) in Kind::ALL {
        let path = format!("{}/../../testdata/import/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(path).expect("there are examples");
        for length in (0..text.len()).step_by(37) {
            // What begins in the middle is cut on both sides.
            let start = length / 2;
            read(kind, text[start..length].to_vec());
            let mut broken = text[start..length].to_vec();
            broken.iter_mut().step_by(11).for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
            read(kind, broken);
        }
    }
}

#[test]
fn no_file_writes_a_second_line_into_a_comment_or_a_value() {
    let texts = [
        (
            Kind::Kubernetes,
            "kind: CronJob\nmetadata: {name: \"a\\n[jobs.evil]\\nrun = ['x']\"}\nspec: {schedule: '@daily', suspend: true, jobTemplate: {spec: {template: {spec: {containers: [{image: \"i\\n[jobs.evil]\", command: [\"a\\n[jobs.evil]\"]}]}}}}}\n",
        ),
        (
            Kind::Sidekiq,
            "\"a\\n[jobs.evil]\":\n  cron: '@daily'\n  class: \"A\\n[jobs.evil]\"\n  description: \"\\r\\n[jobs.evil]\\u2028[jobs.evil]\"\n",
        ),
        (
            Kind::Quartz,
            "<c><cron><name>a&#10;[jobs.evil]</name><description>x\n[jobs.evil]</description><cron-expression>0 0 1 * * ?</cron-expression></cron></c>",
        ),
    ];
    for (kind, text) in texts {
        let imported = read(kind, text);
        assert!(!imported.has_problem, "{kind}: {:?}", imported.findings);
        assert!(imported.text.lines().all(|line| !line.starts_with("[jobs.evil]")), "{}", imported.text);
        assert_eq!(imported.job_count + imported.off_count, 1);
    }
}
