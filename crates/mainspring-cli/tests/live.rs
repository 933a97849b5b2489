//! `mainspring serve --memory` under a shifted clock, through both changes of New York's clock in 2025.
//!
//! ```text
//! 9 March     01:59:59 EST -> 03:00:00 EDT     02:30 does not exist
//! 2 November  01:59:59 EDT -> 01:00:00 EST     01:30 comes twice
//! ```
//!
//! The library libfaketime, loaded before the program, makes its wall clock show another time. It cannot make
//! it run faster, because Rust's standard library waits with system calls that it does not replace; so each
//! moment of interest has a process of its own, which starts a few seconds before it and ends when what is
//! due at it has started. All run side by side. What is expected are rows P068 to P071 of the cron crate's
//! testdata/cron-next.csv, which say what Debian's cron did in the same hours, and the rule in cron(8) for
//! the rest.
//!
//! Never early is what decides, and what is due and what is not; how late a run starts is not measured.
//!
//! The test needs the Debian package `libfaketime`. Without it, it is skipped and says so, unless the
//! variable CI is set: there it fails.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread;

use jiff::Timestamp;

use crate::program::{Running, root};
use crate::test_server::{folder, skipped, write};

/// Each job has a name. The last tells the test what time it is: it is due in every second.
const CRONTAB: &str = "\
CRON_TZ=America/New_York
# mainspring: name=fixed-2:30
30 2 * * *    true
# mainspring: name=fixed-1:30
30 1 * * *    true
# mainspring: name=quarters
*/15 * * * *  true
# mainspring: name=hourly
@hourly       true
# mainspring: name=even-hours
0 */2 * * *   true
# mainspring: name=tick
@every 1s     true
";

/// A moment to live through: when the process starts, the moment, and who is due at it.
struct Passage {
    start: &'static str,
    moment: &'static str,
    due: &'static [&'static str],
}

const PASSAGES: &[Passage] = &[
    // The gap: 02:00 is lost for jobs with a wildcard, 02:30 runs at its end.
    Passage {
        start: "2025-03-09T01:59:56-05:00",
        moment: "2025-03-09T03:00:00-04:00",
        due: &["fixed-2:30", "quarters", "hourly"],
    },
    // It has run: not again half an hour later.
    Passage { start: "2025-03-09T03:29:56-04:00", moment: "2025-03-09T03:30:00-04:00", due: &["quarters"] },
    Passage {
        start: "2025-03-09T03:59:56-04:00",
        moment: "2025-03-09T04:00:00-04:00",
        due: &["quarters", "hourly", "even-hours"],
    },
    // The first pass of the overlap.
    Passage {
        start: "2025-11-02T00:59:56-04:00",
        moment: "2025-11-02T01:00:00-04:00",
        due: &["quarters", "hourly"],
    },
    Passage {
        start: "2025-11-02T01:29:56-04:00",
        moment: "2025-11-02T01:30:00-04:00",
        due: &["fixed-1:30", "quarters"],
    },
    // The clock is set back: wildcards follow it, the fixed time does not come again.
    Passage {
        start: "2025-11-02T01:59:56-04:00",
        moment: "2025-11-02T01:00:00-05:00",
        due: &["quarters", "hourly"],
    },
    Passage { start: "2025-11-02T01:29:56-05:00", moment: "2025-11-02T01:30:00-05:00", due: &["quarters"] },
    Passage {
        start: "2025-11-02T01:59:56-05:00",
        moment: "2025-11-02T02:00:00-05:00",
        due: &["quarters", "hourly", "even-hours"],
    },
    Passage {
        start: "2025-11-02T02:29:56-05:00",
        moment: "2025-11-02T02:30:00-05:00",
        due: &["fixed-2:30", "quarters"],
    },
];

#[test]
fn both_changes_of_new_york_are_lived_through_by_debians_rule() {
    let Some(library) = faketime_or_skip() else { return };
    thread::scope(|scope| {
        for passage in PASSAGES {
            let library = &library;
            thread::Builder::new()
                .name(passage.moment.to_owned())
                .spawn_scoped(scope, move || live_through(passage, library))
                .unwrap();
        }
    });
}

/// What Debian's cron did, and the names of the same jobs here.
const ROWS: [(&str, &str); 4] =
    [("P068", "quarters"), ("P069", "hourly"), ("P070", "fixed-2:30"), ("P071", "even-hours")];

#[test]
fn the_passages_expect_what_debians_cron_did() {
    let table =
        std::fs::read_to_string(root().join("crates/mainspring-cron/testdata/cron-next.csv")).unwrap();
    let mut compared_count = 0;
    for (id, name) in ROWS {
        let row = table.lines().find(|line| line.starts_with(&format!("{id},"))).unwrap();
        let columns: Vec<&str> = row.split(',').collect();
        let start: Timestamp = columns[8].parse().unwrap();
        let expected: Vec<Timestamp> = columns[10].split(';').map(|time| time.parse().unwrap()).collect();
        for passage in PASSAGES {
            let moment: Timestamp = passage.moment.parse().unwrap();
            if start < moment && moment <= *expected.last().unwrap() {
                assert_eq!(
                    passage.due.contains(&name),
                    expected.contains(&moment),
                    "{id} at {}",
                    passage.moment
                );
                compared_count += 1;
            }
        }
    }
    assert_eq!(compared_count, 2 + 5 + 1 + 3);
}

#[test]
fn a_clock_that_is_set_forward_is_told_before_what_it_passed_over() {
    let Some(library) = faketime_or_skip() else { return };
    let folder = folder("clock-set");
    let shift = folder.join("shift");
    std::fs::write(&shift, "+0").unwrap();
    let environment = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME_TIMESTAMP_FILE", shift.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let mut running =
        Running::start_with(&environment, &[], "# mainspring: name=tick misfire=none\n@every 1s true\n");
    running.wait_for(&[" tick@", " start "]);
    // Renamed, so that it is there as a whole.
    write(&shift, "+7200");
    let line = running.wait_for(&["note", "the clock was set forward by "]);
    assert!(line.contains("by 2 h 0 min") || line.contains("by 1 h 59 min"), "{line}");
    running.wait_for(&[" tick@", "missed: "]);
    let (status, lines, _) = running.stop();
    let missed: Vec<&String> = lines.iter().filter(|line| line.contains("missed: ")).collect();
    assert!(missed.iter().all(|line| line.contains("the clock was set forward")), "{missed:#?}");
    assert!(missed.iter().all(|line| !line.contains("the server was not running")), "{missed:#?}");
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// The library; without it the test says that it is skipped, and fails where all must run.
pub(crate) fn faketime_or_skip() -> Option<PathBuf> {
    let library = faketime();
    if library.is_none() {
        let message = "the test of a shifted clock needs the Debian package libfaketime";
        assert!(std::env::var_os("CI").is_none(), "{message}");
        skipped("shifted clocks", message);
    }
    library
}

/// Where Debian puts the library, for any architecture.
fn faketime() -> Option<PathBuf> {
    let architectures = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let places = architectures.map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"));
    places.into_iter().find(|path| path.exists())
}

/// How often a passage is begun again because the machine was so busy that the program missed the moment.
const MAX_TRIES: usize = 20;

fn live_through(passage: &Passage, library: &Path) {
    let moment: Timestamp = passage.moment.parse().unwrap();
    for _ in 0..MAX_TRIES {
        let (status, lines, errors) = lines_of(passage, moment, library);
        assert_eq!((status.code(), errors.as_str()), (Some(0), ""), "{}", passage.moment);
        let first = lines.iter().find(|line| line.contains(" start ")).expect("the loop saw one");
        if due(first) < moment {
            return check(passage, moment, &lines);
        }
    }
    panic!("the program never began before {} in {MAX_TRIES} tries", passage.moment);
}

/// The log from before the moment to a second after it, when everything that was due at it has been started.
fn lines_of(passage: &Passage, moment: Timestamp, library: &Path) -> (ExitStatus, Vec<String>, String) {
    let start: Timestamp = passage.start.parse().unwrap();
    // The library reads its text in the zone of TZ, which the tests set to UTC.
    let shift = start.strftime("@%Y-%m-%d %H:%M:%S").to_string();
    let environment = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME", &shift),
        // Waiting is measured by the clock that is never set.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let mut running = Running::start_with(&environment, &[], CRONTAB);
    let later = moment.checked_add(jiff::SignedDuration::from_secs(1)).unwrap();
    while due(&running.wait_for(&[" tick@", " start "])) < later {}
    running.stop()
}

/// The due time in a line that says that a run started.
fn due(line: &str) -> Timestamp {
    line.split("due ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
}

fn check(passage: &Passage, moment: Timestamp, lines: &[String]) {
    let mut ran = Vec::new();
    for line in lines.iter().filter(|line| line.contains(" start ")) {
        let logged: Timestamp = line.split(' ').next().unwrap().parse().unwrap();
        assert!(due(line) <= logged, "early: {line}");
        let name = line.split(' ').nth(1).unwrap().split('@').next().unwrap();
        if name != "tick" {
            assert_eq!(due(line), moment, "{line}");
            ran.push(name);
        }
    }
    ran.sort_unstable();
    let mut expected = passage.due.to_vec();
    expected.sort_unstable();
    assert_eq!(ran, expected, "at {}: {lines:#?}", passage.moment);
}
