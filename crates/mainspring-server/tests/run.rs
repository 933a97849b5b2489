//! `mainspring serve --memory`.

use nix::sys::signal::Signal;

use crate::program::{Running, mainspring, mainspring_with_input};

/// The third and later columns of those lines that are about `subject`.
fn of<'a>(lines: &'a [String], subject: &str) -> Vec<&'a str> {
    let column = |line: &'a str| line.split_once(' ').map(|(_, rest)| rest);
    let wanted = lines.iter().filter_map(|line| column(line)?.strip_prefix(subject));
    wanted.filter(|rest| rest.starts_with(' ')).map(str::trim_start).collect()
}

#[test]
fn a_job_runs_again_and_again_until_the_program_is_stopped() {
    let mut running = Running::start(&[], "@every 1s echo hello\n");
    for number in 1..=3 {
        running.wait_for(&[&format!("2:echo#{number}"), "stdout hello"]);
    }
    let (status, lines, errors) = running.stop();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
    let run = of(&lines, "2:echo#2");
    assert!(run[0].starts_with("start  pid ") && run[0].ends_with(" ms late"), "{run:?}");
    assert_eq!(run[1], "stdout hello");
    assert!(run[2].starts_with("end    exit status 0 after "), "{run:?}");
    assert!(lines.last().unwrap().ends_with("note   stopped"), "{lines:#?}");
}

#[test]
fn a_run_never_starts_before_its_time() {
    let mut running = Running::start(&[], "@every 1s true\n");
    for number in 1..=3 {
        let line = running.wait_for(&[&format!("2:true#{number}"), "start "]);
        let logged: jiff::Timestamp = line.split(' ').next().unwrap().parse().unwrap();
        let due = line.split("due ").nth(1).unwrap().split(',').next().unwrap();
        assert!(due.parse::<jiff::Timestamp>().unwrap() <= logged, "{line}");
    }
}

#[test]
fn reboot_runs_once_at_the_start_before_anything_else() {
    let mut running = Running::start(&[], "@every 1s echo tick\n@reboot echo boot\n");
    running.wait_for(&["3:echo#1", "stdout boot"]);
    running.wait_for(&["2:echo#2", "stdout tick"]);
    let (_, lines, _) = running.stop();
    assert!(of(&lines, "3:echo#2").is_empty());
}

#[test]
fn text_after_a_percent_sign_is_standard_input() {
    let running = Running::start(&[], "@reboot sed 's/^/[\\%]/'%one%two\\%\n@reboot cat; echo eof\n");
    let (_, lines, _) = stop_when_ended(running, 2);
    assert_eq!(of(&lines, "2:sed#1")[1..3], ["stdout [%]one", "stdout [%]two%"]);
    assert_eq!(of(&lines, "3:cat#1")[1], "stdout eof");
}

#[test]
fn the_environment_is_that_of_the_crontab_and_nothing_else() {
    let crontab =
        "GREETING = \"a  b\"\nHOME=/\nLOGNAME=somebody-else\n@reboot env | sort; pwd; echo \"$0\"\n";
    let mut running = Running::start(&[], crontab);
    running.wait_for(&["end "]);
    let (_, lines, _) = running.stop();
    let run = of(&lines, "5:env#1");
    let names: Vec<&str> = run
        .iter()
        .filter_map(|line| line.strip_prefix("stdout ")?.split_once('='))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["GREETING", "HOME", "LOGNAME", "PATH", "PWD", "SHELL", "USER"]);
    for line in ["stdout GREETING=a  b", "stdout HOME=/", "stdout PATH=/usr/bin:/bin", "stdout SHELL=/bin/sh"]
    {
        assert!(run.contains(&line), "{line} in {run:#?}");
    }
    assert!(!run.contains(&"stdout LOGNAME=somebody-else"));
    assert_eq!(run[run.len() - 3..run.len() - 1], ["stdout /", "stdout /bin/sh"]);
}

#[test]
fn errors_are_marked_and_exit_statuses_shown() {
    let crontab = "@reboot echo out; echo err >&2; exit 3\n@reboot kill -9 $$\n@reboot no-such-program\n";
    let running = Running::start(&[], crontab);
    let (_, lines, _) = stop_when_ended(running, 3);
    let first = of(&lines, "2:echo#1");
    assert!(first.contains(&"stdout out") && first.contains(&"stderr err"), "{first:?}");
    assert!(first.last().unwrap().starts_with("end    exit status 3 after"), "{first:?}");
    assert!(of(&lines, "3:kill#1")[1].starts_with("end    killed by SIGKILL after"), "{lines:#?}");
    assert!(of(&lines, "4:no-such-program#1")[2].starts_with("end    exit status 127 after"), "{lines:#?}");
}

/// Waits for the ends of `count` runs in any order, then stops.
fn stop_when_ended(mut running: Running, count: usize) -> (std::process::ExitStatus, Vec<String>, String) {
    for _ in 0..count {
        running.wait_for(&[" end "]);
    }
    running.stop()
}

#[test]
fn an_unterminated_last_line_and_broken_bytes_are_shown() {
    let mut running = Running::start(&[], "@reboot printf 'caf\\351 one\\ntwo'\n");
    running.wait_for(&["end "]);
    let (_, lines, _) = running.stop();
    assert_eq!(of(&lines, "2:printf#1")[1..3], ["stdout caf\u{FFFD} one", "stdout two"]);
}

#[test]
fn what_cannot_start_is_refused_and_the_others_run() {
    let crontab = "HOME=/no/such/home\n@reboot true\nHOME=/\nSHELL=/no/such/shell\n@reboot true\nSHELL=/bin/sh\n@reboot echo ok\n";
    let mut running = Running::start(&[], crontab);
    running.wait_for(&["8:echo#1", "stdout ok"]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert!(
        of(&lines, "3:true#1")[0].contains("cannot enter the directory /no/such/home: No such file"),
        "{lines:#?}"
    );
    assert!(
        of(&lines, "6:true#1")[0].contains("cannot execute the shell /no/such/shell: No such file"),
        "{lines:#?}"
    );
}

#[test]
fn runs_beyond_the_limit_wait_and_are_not_lost_silently() {
    let limit = mainspring_server::executor::MAX_RUNNING;
    let mut running = Running::start(&[], &"@reboot echo ready; exec sleep 1000\n".repeat(limit + 1));
    for _ in 0..limit {
        running.wait_for(&["stdout ready"]);
    }
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert_eq!(lines.iter().filter(|line| line.contains(" end    killed by SIGTERM")).count(), limit);
    let refused = of(&lines, &format!("{}:echo#1", limit + 2));
    assert!(
        refused[0].starts_with("refuse due ") && refused[0].ends_with(": the scheduler is stopping"),
        "{refused:?}"
    );
}

#[test]
fn more_short_runs_than_the_limit_at_one_time_all_run() {
    let count = 2 * mainspring_server::executor::MAX_RUNNING + 10;
    let running = Running::start(&[], &"@reboot true\n".repeat(count));
    let (_, lines, _) = stop_when_ended(running, count);
    assert_eq!(lines.iter().filter(|line| line.contains(" end    exit status 0")).count(), count);
}

#[test]
fn sigterm_reaches_the_whole_group() {
    let crontab = "@reboot (trap 'echo inner; exit' TERM; echo ready; while :; do sleep 0.1; done) & wait; echo outer\n";
    let mut running = Running::start(&[], crontab);
    running.wait_for(&["stdout ready"]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert!(lines.iter().any(|line| line.ends_with("stdout inner")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("end    killed by SIGTERM")), "{lines:#?}");
}

const STUBBORN: &str = "@reboot trap '' TERM; echo ready; while :; do sleep 1; done\n";

#[test]
fn a_command_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let mut running = Running::start(&["--grace", "200ms"], STUBBORN);
    running.wait_for(&["stdout ready"]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert!(lines.iter().any(|line| line.contains("the grace period is over: SIGKILL")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("end    killed by SIGKILL")), "{lines:#?}");
}

#[test]
fn a_second_signal_kills_at_once() {
    let mut running = Running::start(&["--grace", "1h"], STUBBORN);
    running.wait_for(&["stdout ready"]);
    running.signal(Signal::SIGINT);
    running.wait_for(&["stopping: 1 command gets SIGTERM and 1 h 0 min to end"]);
    running.signal(Signal::SIGINT);
    let (status, lines, _) = running.end();
    assert_eq!(status.code(), Some(0));
    assert!(lines.iter().any(|line| line.contains("a second signal came: SIGKILL")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("end    killed by SIGKILL")), "{lines:#?}");
}

#[test]
fn a_suspended_command_ends_too() {
    let mut running = Running::start(&["--grace", "1h"], "@reboot echo ready; kill -STOP $$; echo never\n");
    running.wait_for(&["stdout ready"]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}

#[test]
fn a_process_in_the_background_that_holds_the_output_hangs_nothing() {
    let mut running = Running::start(&[], "@reboot sleep 1000 & printf ready\n@every 1s echo tick\n");
    running.wait_for(&["2:sleep#1", "stdout ready"]);
    running.wait_for(&["2:sleep#1", "end    exit status 0", "holds its output open"]);
    running.wait_for(&["3:echo#", "stdout tick"]);
    let (status, _, _) = running.stop();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_process_that_left_the_group_hangs_the_end_no_longer_than_the_grace_period() {
    let mut running = Running::start(&["--grace", "200ms"], "@reboot setsid sleep 20 & echo ready\n");
    running.wait_for(&["stdout ready"]);
    let (status, _, _) = running.stop();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_last_lines_of_a_stopped_command_are_not_lost() {
    let crontab = "@reboot trap 'seq 20000; exit 0' TERM; echo ready; while :; do sleep 0.1; done\n";
    let mut running = Running::start(&["--grace", "1m"], crontab);
    running.wait_for(&["stdout ready"]);
    let (_, lines, _) = running.stop();
    let numbers: Vec<&str> =
        of(&lines, "2:trap#1").iter().filter_map(|line| line.strip_prefix("stdout ")).collect();
    assert_eq!((numbers.len(), numbers.last().copied()), (20_001, Some("20000")));
}

#[test]
fn lines_of_many_runs_do_not_interleave() {
    let job = "@reboot i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo \"$i $i $i $i\"; done\n";
    let running = Running::start(&[], &job.repeat(20));
    let (_, lines, _) = stop_when_ended(running, 20);
    for number in 2..=21 {
        let run = of(&lines, &format!("{number}:i0#1"));
        let run = if run.is_empty() { of(&lines, &format!("{number}:while#1")) } else { run };
        let expected: Vec<String> = (1..=200).map(|i| format!("stdout {i} {i} {i} {i}")).collect();
        assert_eq!(run[1..201], expected, "run {number}");
    }
}

#[test]
fn problems_are_shown_and_the_good_lines_run() {
    let mut running = Running::start(&[], "@reboot echo ok\n0 24 * * * true\n");
    running.wait_for(&["2:echo#1", "stdout ok"]);
    let (status, _, errors) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert!(errors.starts_with("standard input:3:3: "), "{errors}");
    assert!(errors.contains("\n  3 | 0 24 * * * true\n    |   ^^\n"), "{errors}");
}

#[test]
fn a_file_without_a_usable_entry_is_invalid() {
    for text in ["", "# nothing\n", "61 * * * * true\n", "A=1\n"] {
        let ended = mainspring_with_input(&["serve", "--memory", "-"], text.as_bytes());
        assert_eq!((ended.code, ended.stdout.as_str()), (6, ""), "{text}");
        assert!(ended.stderr.ends_with("standard input has no entry that can run\n"), "{}", ended.stderr);
    }
}

#[test]
fn a_file_that_cannot_be_read_fails() {
    let ended = mainspring(&["serve", "--memory", "no/such/file"]);
    assert_eq!(ended.code, 1);
    assert_eq!(
        ended.stderr,
        "mainspring: cannot read no/such/file: No such file or directory (os error 2)\n"
    );
}

#[test]
fn zones_come_from_the_option_and_the_crontab() {
    let mut running = Running::start(&["--tz", "Asia/Tokyo"], "@daily a\nCRON_TZ=Asia/Kolkata\n@daily b\n");
    let title = running.wait_for(&["note "]);
    assert!(title.contains("2 jobs of standard input, time zone Asia/Tokyo"), "{title}");
    assert!(running.wait_for(&["2:a", "next "]).ends_with("T00:00:00+09:00"));
    assert!(running.wait_for(&["4:b", "next "]).ends_with("T00:00:00+05:30"));
    assert_eq!(running.stop().0.code(), Some(0));
}

#[test]
fn a_system_crontab_runs_commands_as_the_user_it_names() {
    let ourselves = mainspring_server::accounts::Account::ourselves().unwrap();
    let crontab = format!(
        "@reboot {} echo \"$LOGNAME\"\n@reboot root id -un\n@daily no-such-user true\n",
        ourselves.name
    );
    let mut running = Running::start(&["--system"], &crontab);
    running.wait_for(&["2:echo#1", &format!("stdout {}", ourselves.name)]);
    let (status, _, errors) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert!(errors.contains("standard input:4:8: there is no user `no-such-user`"), "{errors}");
    // Who runs the tests decides which of two things is to be seen.
    let may_become_root = ourselves.name == "root";
    assert_eq!(errors.contains("cannot run as user `root`"), !may_become_root, "{errors}");
}

#[test]
fn the_program_ends_although_nobody_reads_its_log() {
    let running = Running::start(&["--grace", "100ms"], "@reboot trap '' TERM; yes\n");
    let (status, errors) = running.stop_without_reading();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
}

#[test]
fn a_log_whose_reader_went_away_ends_the_program_and_its_commands() {
    let running = Running::start(&[], "@reboot trap 'exit 0' TERM; while :; do echo tick; sleep 0.1; done\n");
    let (status, errors) = running.end_after_closing_the_log();
    assert_eq!(status.code(), Some(1));
    assert!(errors.starts_with("mainspring: cannot write to standard output: Broken pipe"), "{errors}");
}

#[test]
fn only_root_runs_commands_as_another_user() {
    let ourselves = mainspring_server::accounts::Account::ourselves().unwrap().name;
    let other = if ourselves == "root" { "nobody" } else { "root" };
    let crontab = format!("HOME=/\n@reboot {ourselves} echo ok\n@reboot {other} id -un; id -Gn; pwd\n");
    let running = Running::start(&["--system"], &crontab);
    if ourselves != "root" {
        let (_, _, errors) = stop_when_ended(running, 1);
        return assert!(errors.contains("cannot run as user `root`"), "{errors}");
    }
    let (_, lines, _) = stop_when_ended(running, 2);
    let run = of(&lines, "4:id#1");
    assert_eq!((run[1], run[3]), ("stdout nobody", "stdout /"), "{run:?}");
    assert!(!run[2].contains("root"), "{run:?}");
}
