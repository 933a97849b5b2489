//! Twenty examples of each kind and more, with what is written and said of each.
//!
//! `testdata/import/KIND.txt` has sections `=== TITLE` with files `--- NAME OPTIONS`. `KIND.expected` has
//! what becomes of them, and is written again with `UPDATE_EXPECTED=1`. The examples say what public files
//! say, in words of their own.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mainspring_file::crontab::Format;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::problem::render;
use mainspring_file::source::Source;
use mainspring_import::{Import, Kind, Options, import};
use mainspring_job::Next;

struct Example {
    title: String,
    sources: Vec<Source>,
    options: Options,
}

/// A file of an example: its name, its options, and its lines.
fn source(header: &str, lines: &[&str], options: &mut Options) -> Source {
    let (name, rest) = header.split_once(' ').unwrap_or((header, ""));
    let (words, run) = rest.split_once("--run=").map_or((rest, None), |(words, run)| (words, Some(run)));
    let has = |word: &str| words.split(' ').any(|own| own == word);
    if has("--system") {
        options.format = Format::System;
    }
    options.run = run.map(str::to_owned);
    let end = if has("crlf") { "\r\n" } else { "\n" };
    let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
    Source::new(name, if has("bom") { format!("\u{feff}{text}") } else { text })
}

fn examples(text: &str) -> Vec<Example> {
    let mut all = Vec::new();
    for section in text.split("=== ").skip(1) {
        let (title, rest) = section.split_once('\n').expect("a title is a line");
        let mut options = Options { kind: None, format: Format::User, run: None };
        let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in rest.lines() {
            // A document of YAML begins with the three dashes alone.
            match line.strip_prefix("--- ") {
                Some(header) => files.push((header, Vec::new())),
                None => files.last_mut().expect("a file has a header").1.push(line),
            }
        }
        let sources = files.iter().map(|(header, lines)| source(header, lines, &mut options)).collect();
        all.push(Example { title: title.to_owned(), sources, options });
    }
    all
}

/// The job file with every job in force: also those that are comments.
fn all_in_force(text: &str) -> String {
    let mut is_off = false;
    let mut out = String::new();
    for line in text.lines() {
        is_off = !line.is_empty() && (is_off || line.starts_with("# Not in force:"));
        out.push_str(if is_off { line.trim_start_matches("# ") } else { line });
        out.push('\n');
    }
    out.replace("Not in force:", "# Not in force:")
}

fn check(title: &str, text: &str) -> usize {
    let loaded = LoadedFile::parse(&Source::new("out.toml", text), Format::User, &TimeZone::UTC);
    assert!(loaded.is_good(), "{title}:\n{text}\n{}", loaded.problems_text());
    loaded.jobs.len()
}

fn told(sources: &[Source], imported: &Import) -> String {
    let of_file = sources.iter().zip(&imported.findings);
    of_file.map(|(source, (problems, more))| render(source.name(), problems, *more)).collect()
}

fn look(name: &str, kind: Kind) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/import");
    let text = fs::read_to_string(folder.join(format!("{name}.txt"))).expect("there are examples");
    let examples = examples(&text);
    assert!(20 <= examples.len(), "{name} has {} examples", examples.len());
    let mut out = String::new();
    for Example { title, sources, options } in &examples {
        for source in sources {
            assert_eq!(Kind::of(source), kind, "{title}: {}", source.name());
        }
        let imported = import(sources, options);
        let said = told(sources, &imported);
        assert!(!imported.has_problem, "{title}:\n{said}");
        assert_eq!(check(title, &imported.text), imported.job_count, "{title}");
        let all_count = imported.job_count + imported.off_count;
        assert_eq!(check(title, &all_in_force(&imported.text)), all_count, "{title}");
        assert!(0 < all_count, "{title}");
        write!(out, "=== {title}\n{}--- said\n{said}", imported.text).expect("a string can be written");
    }
    let path = folder.join(format!("{name}.expected"));
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, &out).expect("the file can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(out.lines()).find(|(kept, made)| kept != made);
    assert!(kept == out, "{name}: {differs:#?}: UPDATE_EXPECTED=1 writes it again");
}

#[test]
fn crontabs_become_job_files() {
    look("crontab", Kind::Crontab);
}

#[test]
fn a_crontab_in_a_folder_of_the_system_has_users_without_an_option() {
    let source = Source::new("/etc/cron.d/scrub", "30 3 * * 0 root /sbin/scrub --all\n");
    let imported = import(&[source], &Options { kind: None, format: Format::User, run: None });
    assert!(imported.text.contains("shell = \"/sbin/scrub --all\"\nuser = \"root\"\n"), "{}", imported.text);
}

#[test]
fn timers_of_systemd_become_job_files() {
    look("systemd", Kind::Systemd);
}

#[test]
fn cronjobs_of_kubernetes_become_job_files() {
    look("kubernetes", Kind::Kubernetes);
}

#[test]
fn expressions_of_quartz_become_job_files() {
    look("quartz", Kind::Quartz);
}

#[test]
fn a_time_that_is_the_last_in_another_scheduler_is_due_and_none_after_it() {
    let last: Timestamp = "2030-05-30T05:30:00Z".parse().unwrap();
    for (name, text) in [
        (
            "a.yaml",
            "- {id: a, func: 'a:b', trigger: cron, hour: 6, minute: 30, end_date: '2030-05-30 06:30', timezone: Africa/Lagos}",
        ),
        (
            "b.yaml",
            "- {id: b, func: 'a:b', trigger: interval, seconds: 0.5, end_date: '2030-05-30T05:30:00.000000+00:00'}",
        ),
        (
            "c.xml",
            "<schedule><trigger><cron><cron-expression>0 30 5 * * ?</cron-expression><time-zone>UTC</time-zone>\
                   <end-time>2030-05-30T07:30:00.000+02:00</end-time></cron></trigger></schedule>",
        ),
    ] {
        let options = Options { kind: None, format: Format::User, run: Some("true".to_owned()) };
        let text = import(&[Source::new(name, text)], &options).text;
        let file = LoadedFile::parse(&Source::new("made.toml", text.as_str()), Format::User, &TimeZone::UTC);
        let timetable = &file.jobs.first().unwrap_or_else(|| panic!("{name}: {text}")).job.timetable;
        let before = last - SignedDuration::from_nanos(1);
        assert_eq!(timetable.next_after(before), Next::At(last), "{name}: {text}");
        assert_eq!(timetable.next_after(last), Next::Never, "{name}: {text}");
    }
}

#[test]
fn tables_of_sidekiq_cron_become_job_files() {
    look("sidekiq", Kind::Sidekiq);
}

#[test]
fn tables_of_apscheduler_become_job_files() {
    look("apscheduler", Kind::Apscheduler);
}
