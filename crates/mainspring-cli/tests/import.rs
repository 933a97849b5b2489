//! `mainspring import`: `check` is content with the job file that is written, and what has no equal is said.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program::{mainspring, mainspring_with_input, root};
use crate::test_server::folder;

/// An example: names and texts of its files, and options of the command.
type Example = (Vec<(String, String)>, Vec<String>);

/// The examples of a kind.
fn examples(kind: &str) -> Vec<Example> {
    let text = fs::read_to_string(root().join(format!("testdata/import/{kind}.txt"))).unwrap();
    let mut all = Vec::new();
    for section in text.split("=== ").skip(1) {
        let (mut files, mut options) = (Vec::<(String, String)>::new(), Vec::new());
        for line in section.lines().skip(1) {
            match line.strip_prefix("--- ") {
                Some(header) => {
                    let (name, rest) = header.split_once(' ').unwrap_or((header, ""));
                    files.push((name.to_owned(), String::new()));
                    if rest.starts_with("--") {
                        options.push(rest.to_owned());
                    }
                }
                None => {
                    let file = &mut files.last_mut().unwrap().1;
                    file.push_str(line);
                    file.push('\n');
                }
            }
        }
        all.push((files, options));
    }
    all
}

#[test]
fn check_is_content_with_what_is_written_of_every_example() {
    for kind in ["crontab", "systemd", "kubernetes", "quartz", "sidekiq", "apscheduler"] {
        let folder = folder(&format!("import-{kind}"));
        let mut outputs = Vec::new();
        for (index, (files, options)) in examples(kind).iter().enumerate() {
            let own = folder.join(index.to_string());
            fs::create_dir_all(&own).unwrap();
            let output = own.join("jobs.toml").to_string_lossy().into_owned();
            let mut args = vec!["import".to_owned(), "-o".to_owned(), output.clone()];
            args.extend(options.iter().cloned());
            for (name, text) in files {
                fs::write(own.join(name), text).unwrap();
                // A service is found beside its timer.
                if !name.ends_with(".service") {
                    args.push(own.join(name).to_string_lossy().into_owned());
                }
            }
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let ended = mainspring(&args);
            assert_eq!(ended.code, 0, "{args:?}: {}", ended.stderr);
            assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o600);
            outputs.push(output);
        }
        for output in &outputs {
            let checked = mainspring(&["check", output]);
            assert_eq!(checked.code, 0, "{output}: {}", checked.stdout);
            assert!(checked.stdout.contains("no problems"), "{output}: {}", checked.stdout);
        }
    }
}

#[test]
fn a_timer_is_read_with_the_service_beside_it_and_each_loss_is_said() {
    let folder = folder("import-timer");
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    fs::write(path("tidy.timer"), "[Timer]\nOnCalendar=daily\nWakeSystem=yes\n").unwrap();
    fs::write(path("tidy.service"), "[Service]\nExecStart=/bin/tidy\nProtectHome=yes\n").unwrap();
    let ended = mainspring(&["import", &path("tidy.timer")]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("run = [\"/bin/tidy\"]"), "{}", ended.stdout);
    for line in [
        format!("{}:3:1: warning: `WakeSystem` has no equal here", path("tidy.timer")),
        format!("{}:3:1: warning: `ProtectHome` has no equal here", path("tidy.service")),
        "1 job written\n".to_owned(),
    ] {
        assert!(ended.stderr.contains(&line), "{line} in {}", ended.stderr);
    }
}

#[test]
fn a_problem_or_a_file_that_is_there_writes_nothing() {
    let bad = mainspring_with_input(&["import", "-"], b"61 * * * * a\n");
    assert_eq!((bad.code, bad.stdout.as_str()), (6, ""));
    assert!(bad.stderr.starts_with("standard input:1:1: 61 is outside"), "{}", bad.stderr);
    let missing = mainspring(&["import", "no/such/file"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    let unknown = mainspring(&["import", "--from", "at", "-"]);
    assert_eq!(unknown.code, 2);
    let folder = folder("import-there");
    let there = folder.join("jobs.toml").to_string_lossy().into_owned();
    fs::write(&there, "# mine\n").unwrap();
    let refused = mainspring_with_input(&["import", "-o", &there, "-"], b"* * * * * a\n");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&there).unwrap(), "# mine\n");
}

#[test]
fn a_service_is_read_once_however_it_is_given() {
    let folder = folder("import-once");
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let timer = "[Timer]\nOnCalendar=daily\n";
    let service = "[Service]\nType=oneshot\nExecStart=/usr/bin/one\n";
    fs::write(path("b.timer"), timer).unwrap();
    fs::write(path("b.service"), service).unwrap();
    let units = format!("# {}\n{timer}# {}\n{service}", path("b.timer"), path("b.service"));
    fs::write(path("units.txt"), &units).unwrap();
    for args in [
        vec![path("b.timer")],
        vec![path("b.timer"), path("./b.service")],
        vec![path("b.service"), path("./b.timer")],
        vec![path("units.txt")],
    ] {
        let args: Vec<&str> = ["import"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let ended = mainspring(&args);
        assert!(ended.stdout.contains("run = [\"/usr/bin/one\"]"), "{args:?}: {}", ended.stdout);
        assert_eq!(ended.stderr, "1 job written\n", "{args:?}");
    }
}
