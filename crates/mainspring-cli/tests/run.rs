//! `mainspring serve --memory`: what crontabs do, on the loop that also serves what is kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::{Running, comes_true, mainspring};
use crate::test_server::{IDLE, folder, write};

/// The third and later columns of those lines that are about `subject`: a job with its runs, or a run.
fn of<'a>(lines: &'a [String], subject: &str) -> Vec<&'a str> {
    let column = |line: &'a str| line.split_once(' ').map(|(_, rest)| rest);
    let wanted = lines.iter().filter_map(|line| column(line)?.strip_prefix(subject));
    let of_run = |rest: &'a str| rest.starts_with('@').then(|| column(rest)).flatten();
    wanted.filter_map(|rest| rest.strip_prefix(' ').or_else(|| of_run(rest))).map(str::trim_start).collect()
}

/// The data directory that the first line of the log names.
fn data(running: &mut Running) -> String {
    let line = running.wait_for(&["nothing is kept"]);
    line.split("--data ").nth(1).unwrap().to_owned()
}

#[test]
fn a_job_runs_again_and_again_until_the_program_is_stopped() {
    let mut running = Running::start(&[], "@every 1s echo hello\n");
    for _ in 1..=3 {
        running.wait_for(&["echo", "stdout hello"]);
    }
    let (status, lines, errors) = running.stop();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
    let run = of(&lines, "echo");
    assert!(run[0].starts_with("start  pid ") && run[0].ends_with(" late"), "{run:?}");
    assert_eq!(run[1], "stdout hello");
    assert!(run[2].starts_with("end    exit status 0 after "), "{run:?}");
    assert!(lines.last().unwrap().ends_with("note   stopped"), "{lines:#?}");
}

#[test]
fn a_run_never_starts_before_its_time() {
    let mut running = Running::start(&[], "@every 1s true\n");
    for _ in 1..=3 {
        let line = running.wait_for(&["true", "start "]);
        let logged: jiff::Timestamp = line.split(' ').next().unwrap().parse().unwrap();
        let due = line.split("due ").nth(1).unwrap().split(',').next().unwrap();
        assert!(due.parse::<jiff::Timestamp>().unwrap() <= logged, "{line}");
    }
}

#[test]
fn reboot_runs_once_at_the_start() {
    let mut running = Running::start(&[], "@every 1s echo tick\n@reboot printf 'boot\\n'\n");
    running.wait_for_all(&[&["printf", "stdout boot"], &["echo", "stdout tick"]]);
    running.wait_for(&["echo", "stdout tick"]);
    let (_, lines, _) = running.stop();
    assert_eq!(of(&lines, "printf").iter().filter(|line| line.starts_with("start ")).count(), 1);
}

#[test]
fn everything_works_on_a_store_in_memory_and_nothing_is_left_of_it() {
    let folder = folder("memory");
    let file = folder.join("jobs.toml");
    write(&file, IDLE);
    let mut running = Running::any(&["serve", "--memory", file.to_str().unwrap()]);
    let data = data(&mut running);
    let says = |args: &[&str], code: i32, part: &str| {
        let ended = mainspring(&[&[args[0], "--data", &data], &args[1..]].concat());
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, code, "{args:?}: {text}");
        assert!(text.contains(part), "{args:?}: {part} in {text}");
    };
    says(&["run", "idle", "--wait"], 0, "succeeded");
    says(&["history", "idle"], 0, "succeeded");
    says(&["logs", "idle"], 0, "ran\n");
    says(&["at", "now", "--name", "soon", "--key", "k", "--", "echo", "tea"], 0, "soon is due");
    running.wait_for(&["soon", "stdout tea"]);
    says(&["at", "+1h", "--key", "k", "--", "echo", "tea"], 0, "soon is there already");
    says(&["at", "+1h", "--key", "k", "--", "true"], 5, "`soon` with the key `k` is");
    says(&["every", "1h", "--name", "hourly", "--", "true"], 0, "+ hourly");
    says(&["pause", "hourly"], 0, "");
    says(&["show", "hourly"], 0, "paused");
    says(&["status"], 0, ": nothing is kept");
    says(&["doctor"], 0, "ok       store       in memory");
    write(
        &file,
        &format!(
            "{IDLE}[jobs.second]\nat = 2100-01-01T00:00:00Z\nwebhook = {{ url = 'http://127.0.0.1:1/' }}\n"
        ),
    );
    running.wait_for(&["was read again: 1 added"]);
    says(&["run", "second", "--wait"], 1, "failed");
    let (status, _, errors) = running.stop();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
    assert!(!Path::new(&data).exists());
    assert!(!folder.join("data").exists());
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_folder_for_the_socket_may_be_named_and_holds_no_store() {
    let folder = folder("memory-data");
    let data = folder.join("data").to_str().unwrap().to_owned();
    let args = ["serve", "--memory", "--data", &data];
    let mut running = Running::any(&args);
    running.wait_for(&["nothing is kept"]);
    assert_eq!(mainspring(&args).code, 5);
    let ended = mainspring(&["at", "now", "--data", &data, "--name", "soon", "--", "echo", "tea"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    running.wait_for(&["soon", "end "]);
    let names =
        || fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names().filter(|name| name.starts_with("output-")).count(), 1);
    assert_eq!(running.stop().0.code(), Some(0));
    assert_eq!(names().collect::<Vec<_>>(), ["mainspring.lock"]);
    // A folder with a store is another server's, even if that does not run.
    let mut kept = Running::any(&["serve", "--data", &data]);
    kept.wait_for(&[", data in "]);
    kept.stop();
    let refused = mainspring(&args);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains("holds a store, which --memory would not use"), "{}", refused.stderr);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn text_after_a_percent_sign_is_standard_input() {
    let running = Running::start(&[], "@reboot sed 's/^/[\\%]/'%one%two\\%\n@reboot cat; echo eof\n");
    let (_, lines, _) = stop_when_ended(running, 2);
    assert_eq!(of(&lines, "sed")[1..3], ["stdout [%]one", "stdout [%]two%"]);
    assert_eq!(of(&lines, "cat")[1], "stdout eof");
}

#[test]
fn the_environment_is_that_of_the_crontab_and_nothing_else() {
    let crontab =
        "GREETING = \"a  b\"\nHOME=/\nLOGNAME=somebody-else\n@reboot env | sort; pwd; echo \"$0\"\n";
    let mut running = Running::start(&[], crontab);
    running.wait_for(&["end "]);
    let (_, lines, _) = running.stop();
    let run = of(&lines, "env");
    let names: Vec<&str> = run
        .iter()
        .filter_map(|line| line.strip_prefix("stdout ")?.split_once('='))
        .map(|(name, _)| name)
        .collect();
    let own = ["ATTEMPT", "FENCE", "JOB", "KEY", "NOMINAL", "RUN"].map(|name| format!("MAINSPRING_{name}"));
    let own = own.iter().map(String::as_str);
    let expected: Vec<&str> = ["GREETING", "HOME", "LOGNAME"].into_iter().chain(own).collect();
    assert_eq!(names, [&expected[..], &["PATH", "PWD", "SHELL", "TZ", "USER"]].concat());
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
    let first = of(&lines, "echo");
    assert!(first.contains(&"stdout out") && first.contains(&"stderr err"), "{first:?}");
    let [.., end, note] = &first[..] else { panic!("{first:?}") };
    assert!(end.starts_with("end    exit status 3 after"), "{first:?}");
    assert_eq!(*note, "note   the run failed for good: exit 3");
    assert!(of(&lines, "kill")[1].starts_with("end    killed by SIGKILL after"), "{lines:#?}");
    assert!(of(&lines, "no-such-program")[2].starts_with("end    exit status 127 after"), "{lines:#?}");
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
    assert_eq!(of(&lines, "printf")[1..3], ["stdout caf\u{FFFD} one", "stdout two"]);
}

#[test]
fn what_cannot_start_is_refused_and_the_others_run() {
    let crontab = "HOME=/no/such/home\n# mainspring: name=homeless\n@reboot true\nHOME=/\nSHELL=/no/such/shell\n\
                   # mainspring: name=shellless\n@reboot true\nSHELL=/bin/sh\n@reboot echo ok\n";
    let mut running = Running::start(&[], crontab);
    // A machine that is busy enough says it at the end of the run.
    let (homeless, shellless) = ("cannot enter the directory", "cannot execute the shell");
    running.wait_for_all(&[&["echo", "stdout ok"], &["homeless", homeless], &["shellless", shellless]]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    let said = |name: &str, what: &str| of(&lines, name).iter().any(|line| line.contains(what));
    assert!(said("homeless", "cannot enter the directory /no/such/home: No such file"), "{lines:#?}");
    assert!(said("shellless", "cannot execute the shell /no/such/shell: No such file"), "{lines:#?}");
}

#[test]
fn runs_beyond_the_limit_wait_for_a_place() {
    let limit = mainspring_exec::executor::MAX_RUNNING;
    let crontab = "@reboot echo ready; exec sleep 1000\n".repeat(limit + 1);
    let mut running = Running::start(&["--grace", "1h"], &crontab);
    for _ in 0..limit {
        running.wait_for(&["stdout ready"]);
    }
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert_eq!(lines.iter().filter(|line| line.contains(" end    killed by SIGTERM")).count(), limit);
    assert_eq!(lines.iter().filter(|line| line.contains(" start  pid ")).count(), limit);
}

#[test]
fn more_short_runs_than_the_limit_at_one_time_all_run() {
    let count = 2 * mainspring_exec::executor::MAX_RUNNING + 10;
    let running = Running::start(&[], &"@reboot true\n".repeat(count));
    let (_, lines, _) = stop_when_ended(running, count);
    assert_eq!(lines.iter().filter(|line| line.contains(" end    exit status 0")).count(), count);
}

#[test]
fn sigterm_reaches_the_whole_group() {
    let crontab = "@reboot (trap 'echo inner; exit' TERM; echo ready; while :; do sleep 0.1; done) & wait; echo outer\n";
    let mut running = Running::start(&["--grace", "1h"], crontab);
    running.wait_for(&["stdout ready"]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert!(lines.iter().any(|line| line.ends_with("stdout inner")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("end    killed by SIGTERM")), "{lines:#?}");
}

const STUBBORN: &str =
    "# mainspring: timeout=9h,grace=100ms\n@reboot trap '' TERM; echo ready; while :; do sleep 1; done\n";

#[test]
fn a_command_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let patient = STUBBORN.replace("grace=100ms", "grace=1h");
    let mut running = Running::start(&["--grace", "200ms"], &patient);
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
    running.wait_for(&["stopping: 1 run is asked to end, and has at most 1 h 0 min"]);
    running.signal(Signal::SIGINT);
    let (status, lines, _) = running.end();
    assert_eq!(status.code(), Some(0));
    assert!(lines.iter().any(|line| line.contains("a second signal came: SIGKILL")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("end    killed by SIGKILL")), "{lines:#?}");
}

#[test]
fn a_suspended_command_ends_too() {
    let mut running =
        Running::start(&["--grace", "100ms"], "@reboot echo ready; kill -STOP $$; echo never\n");
    running.wait_for(&["stdout ready"]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}

#[test]
fn a_process_in_the_background_that_holds_the_output_hangs_nothing() {
    let place = folder("left-behind");
    let sign = place.join("sign");
    let text = format!(
        "(trap 'touch {}; exit' USR1; while :; do sleep 0.02; done) & echo left $!; printf ready",
        sign.display()
    );
    // The drain and the grace are for runs, of which none is there at the end.
    let mut running = Running::start(
        &["--drain", "1h", "--grace", "1h"],
        &format!("# mainspring: name=leaves\n@reboot {text}\n@every 1s echo tick\n"),
    );
    let left = running.wait_for(&["leaves", "stdout left"]);
    running.wait_for(&["leaves", "stdout ready"]);
    running.wait_for(&["leaves", "end    exit status 0", "holds its output open"]);
    running.wait_for(&["echo", "stdout tick"]);
    let (status, _, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    let left = Pid::from_raw(left.rsplit(' ').next().unwrap().parse().unwrap());
    kill(left, Signal::SIGUSR1).expect("what a run has left behind continues");
    assert!(comes_true(1_000, || sign.exists()), "it got no signal but this");
    let _ = fs::remove_dir_all(&place);
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
    // Less than may wait in the log, and more than fits into a pipe.
    let crontab = "@reboot trap 'seq 10000; exit 0' TERM; echo ready; while :; do sleep 0.1; done\n";
    let mut running = Running::start(&["--grace", "1h"], crontab);
    running.wait_for(&["stdout ready"]);
    let (_, lines, _) = running.stop();
    let numbers: Vec<&str> =
        of(&lines, "trap").iter().filter_map(|line| line.strip_prefix("stdout ")).collect();
    assert_eq!((numbers.len(), numbers.last().copied()), (10_001, Some("10000")));
}

#[test]
fn lines_of_many_runs_do_not_interleave() {
    let job = "@reboot i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo \"$i $i $i $i\"; done\n";
    let running = Running::start(&[], &job.repeat(20));
    let (_, lines, _) = stop_when_ended(running, 20);
    let mut jobs: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let expected: Vec<String> = (1..=200).map(|i| format!("stdout {i} {i} {i} {i}")).collect();
    let whole = jobs.iter().filter(|job| of(&lines, job).get(1..201).is_some_and(|run| run == expected));
    assert_eq!(whole.count(), 20, "{jobs:?}");
}

#[test]
fn a_file_with_a_problem_is_not_run_in_part() {
    for bad in ["0 24 * * * true\n", "CRON_TZ=Foo/Bar\n0 1 * * * true\n"] {
        let running = Running::start(&[], &format!("@reboot echo ok\n{bad}"));
        let (status, lines, errors) = running.end();
        assert_eq!((status.code(), lines.len()), (Some(6), 0), "{errors} {lines:#?}");
        assert!(errors.starts_with("standard input:3:"), "{errors}");
        let last = "mainspring: nothing was started, because of the problems of standard input\n";
        assert!(errors.ends_with(last), "{errors}");
    }
}

#[test]
fn a_file_that_is_not_safe_is_refused_with_its_own_exit_code() {
    let folder = folder("unsafe");
    let file = folder.join("jobs.crontab");
    write(&file, "@daily root true\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let ended = mainspring(&["serve", "--memory", "--system", file.to_str().unwrap()]);
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    assert!(ended.stderr.contains("is not safe to run: its mode 0666"), "{}", ended.stderr);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_file_without_an_entry_is_served_for_what_comes_by_command() {
    let mut running = Running::start(&[], "# nothing\n");
    let data = data(&mut running);
    let ended = mainspring(&["at", "now", "--data", &data, "--name", "soon", "--", "echo", "tea"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    running.wait_for(&["soon", "stdout tea"]);
    // There is no second standard input.
    running.signal(Signal::SIGHUP);
    let (status, _, errors) = running.stop();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
}

#[test]
fn a_file_that_cannot_be_read_fails() {
    let ended = mainspring(&["serve", "--memory", "/no/such/file"]);
    assert_eq!(ended.code, 1);
    assert_eq!(
        ended.stderr,
        "mainspring: cannot read /no/such/file: No such file or directory (os error 2)\n\
         mainspring: nothing was started, because of the problems of /no/such/file\n"
    );
}

#[test]
fn zones_come_from_the_option_and_the_crontab() {
    let mut running = Running::start(&["--tz", "Asia/Tokyo"], "@daily a\nCRON_TZ=Asia/Kolkata\n@daily b\n");
    let data = data(&mut running);
    for (job, midnight) in [("a", "T15:00:00Z"), ("b", "T18:30:00Z")] {
        let ended = mainspring(&["show", "--data", &data, job]);
        assert!(ended.stdout.contains(midnight), "{}", ended.stdout);
    }
    assert_eq!(running.stop().0.code(), Some(0));
}

#[test]
fn a_system_crontab_runs_commands_as_the_user_it_names() {
    let ourselves = mainspring_host::accounts::Account::ourselves().unwrap();
    let crontab = format!("@reboot {} echo \"$LOGNAME\"\n", ourselves.name);
    let mut running = Running::start(&["--system"], &crontab);
    running.wait_for(&["echo", &format!("stdout {}", ourselves.name)]);
    assert_eq!(running.stop().0.code(), Some(0));
    let running = Running::start(&["--system"], "@reboot root id -un\n@daily no-such-user true\n");
    let (status, _, errors) = running.end();
    assert_eq!(status.code(), Some(6));
    assert!(errors.contains("standard input:3:8: cannot run as user `no-such-user`"), "{errors}");
    // Who runs the tests decides which of two things is to be seen.
    let may_become_root = ourselves.name == "root";
    assert_eq!(errors.contains("cannot run as user `root`"), !may_become_root, "{errors}");
}

#[test]
fn the_program_ends_although_nobody_reads_its_log() {
    let crontab = "# mainspring: timeout=9h,grace=100ms\n@reboot trap '' TERM; yes\n";
    let running = Running::start(&["--grace", "100ms"], crontab);
    let (status, errors) = running.stop_without_reading();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
}

#[test]
fn a_log_whose_reader_went_away_ends_the_program_and_its_commands() {
    let crontab = "@reboot trap 'exit 0' TERM; while :; do echo tick; sleep 0.1; done\n";
    let running = Running::start(&["--grace", "1h"], crontab);
    let (status, errors) = running.end_after_closing_the_log();
    assert_eq!(status.code(), Some(1));
    assert!(errors.starts_with("mainspring: cannot write to standard output: Broken pipe"), "{errors}");
}

#[test]
fn only_root_runs_commands_as_another_user() {
    let ourselves = mainspring_host::accounts::Account::ourselves().unwrap().name;
    let other = if ourselves == "root" { "nobody" } else { "root" };
    let crontab = format!("HOME=/\n@reboot {ourselves} echo ok\n@reboot {other} id -un; id -Gn; pwd\n");
    let running = Running::start(&["--system"], &crontab);
    if ourselves != "root" {
        let (_, _, errors) = stop_when_ended(running, 1);
        return assert!(errors.contains("cannot run as user `root`"), "{errors}");
    }
    let (_, lines, _) = stop_when_ended(running, 2);
    let run = of(&lines, "id");
    assert_eq!((run[1], run[3]), ("stdout nobody", "stdout /"), "{run:?}");
    assert!(!run[2].contains("root"), "{run:?}");
}
