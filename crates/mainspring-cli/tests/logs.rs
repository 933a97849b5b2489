//! `mainspring logs`: the output of runs as people read it.

use std::fs;

use crate::program::{Running, mainspring};
use crate::test_server::{TestServer, folder, write};

#[test]
fn a_line_that_is_longer_than_a_piece_comes_back_as_one() {
    let jobs = "[jobs.long]\nat_boot = true\ncwd = '/'\n\
                shell = 'head -c 20000 /dev/zero | tr \\\\0 y; echo; echo short; head -c 9000 /dev/zero | tr \\\\0 z'\n";
    let mut served = TestServer::start("long-line", jobs);
    served.running.wait_for(&["long", "end    exit status 0"]);
    let text = served.ask(&["logs", "long"]).stdout;
    assert_eq!(text, format!("{}\nshort\n{}\n", "y".repeat(20_000), "z".repeat(9_000)));
    let json = served.ask(&["logs", "long", "--json"]).stdout;
    let marks: Vec<bool> = json.lines().map(|line| line.contains("\"goes_on\":true")).collect();
    assert_eq!(marks, [true, true, false, false, true, false]);
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    assert_eq!(mainspring(&["logs", "long", "--data", &data]).stdout, text);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_last_lines_of_a_run_are_shown_alone_and_followed() {
    let jobs = "[jobs.long]\nat_boot = true\ncwd = '/'\n\
                shell = 'seq 50; head -c 20000 /dev/zero | tr \\\\0 y; echo; while [ ! -e go ]; do sleep 0.1; done; echo last'\n";
    let own = folder("last-lines");
    write(&own.join("jobs.toml"), &jobs.replace("cwd = '/'", &format!("cwd = '{}'", own.display())));
    let mut served = TestServer::start_in(own, &[]);
    served.running.wait_for(&["long", "stdout y"]);
    let long = "y".repeat(20_000);
    // However much of the last line is written, two lines are shown.
    loop {
        let shown = served.ask(&["logs", "-n", "2", "long"]).stdout;
        let last = shown.strip_prefix("50\n").unwrap();
        assert!(last.trim_end().bytes().all(|byte| byte == b'y'), "{last}");
        if last.trim_end() == long {
            break;
        }
    }
    assert_eq!(served.ask(&["logs", "-n", "2", "long"]).stdout, format!("50\n{long}\n"));
    assert_eq!(served.ask(&["logs", "-n", "0", "long"]).stdout, "");
    let data = served.data();
    let mut following = Running::any(&["logs", "--data", &data, "-f", "-n", "1", "long"]);
    following.wait_for(&[&long]);
    write(&served.folder.join("go"), "");
    following.wait_for(&["last"]);
    let (_, lines, _) = following.stop();
    assert_eq!(lines, [long.as_str(), "last"]);
    served.running.wait_for(&["long", "end    exit status 0"]);
    assert_eq!(served.ask(&["logs", "-n", "1", "long"]).stdout, "last\n");
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    assert_eq!(mainspring(&["logs", "--count", "1", "long", "--data", &data]).stdout, "last\n");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn of_a_long_output_both_ends_are_kept_and_the_middle_is_marked() {
    let jobs = "[jobs.long]\nat_boot = true\ncwd = '/'\noutput_bytes = 2000\nshell = 'echo BEGIN; seq 100000; echo END'\n";
    let mut served = TestServer::start("long-output", jobs);
    served.running.wait_for(&["long", "end    exit status 0"]);
    let lines = served.ask(&["logs", "long"]).stdout;
    assert!(lines.starts_with("BEGIN\n1\n2\n") && lines.ends_with("\n100000\nEND\n"), "{lines}");
    assert!(lines.len() < 2_100, "{}", lines.len());
    let mark = lines.lines().find(|line| line.starts_with("~ ")).unwrap();
    assert!(mark.ends_with("are left out here"), "{mark}");
    let json = served.ask(&["logs", "long", "--json"]).stdout;
    assert_eq!(json.matches("\"stream\":\"note\"").count(), 1);
    served.stop();
}

#[test]
fn bytes_that_are_no_text_are_marked_and_all_around_them_stays() {
    let jobs = "[jobs.latin]\nat_boot = true\ncwd = '/'\nshell = '''printf 'caf\\351 \\000 x\\r\\n\\377\\nend\\n' '''\n";
    let mut served = TestServer::start("latin", jobs);
    served.running.wait_for(&["latin", "end    exit status 0"]);
    let text = served.ask(&["logs", "latin"]).stdout;
    assert_eq!(text, "caf\u{FFFD} \0 x\r\n\u{FFFD}\nend\n");
    assert_eq!(served.ask(&["logs", "-n", "2", "latin"]).stdout, "\u{FFFD}\nend\n");
    let json = served.ask(&["logs", "latin", "--json"]).stdout;
    assert!(json.contains("\"text\":\"caf\u{FFFD} \\u0000 x\\r\""), "{json}");
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    assert_eq!(mainspring(&["logs", "latin", "--data", &data]).stdout, text);
    let _ = fs::remove_dir_all(&folder);
}
