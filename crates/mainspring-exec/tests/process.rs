//! The executor of processes, driven as a loop drives it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mainspring_action::names::Fate;
use mainspring_action::process::ProcessBody;
use mainspring_action::secret::SecretBody;
use mainspring_exec::clock::Moment;
use mainspring_exec::end::{End, KillCause, Outcome, Reports};
use mainspring_exec::executor::{Executor, MAX_RUNNING, StartRefusal};
use mainspring_exec::output::Piece;
use mainspring_exec::output::Stream;
use mainspring_exec::pipe::READ_BYTES;
use mainspring_exec::spec::{KillSequence, ProcessSpec};
use mainspring_exec::specs;
use mainspring_host::accounts::Account;
use mainspring_host::accounts::users::Users;
use mainspring_job::Policies;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

/// Beyond what any of these processes needs; reached only by a hang.
const BOUND: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct RunRecorder {
    pub(crate) lines: Vec<String>,
    pub(crate) ends: Vec<End>,
}

impl Reports<u32> for RunRecorder {
    fn line(&mut self, _run: &u32, stream: Stream, piece: &Piece<'_>) {
        let mark = match stream {
            Stream::Stdout => "",
            Stream::Stderr => "! ",
            Stream::Note => "~ ",
        };
        self.lines.push(format!("{mark}{}", piece.text));
    }

    fn ended(&mut self, _run: &u32, end: &End) {
        self.ends.push(end.clone());
    }
}

pub(crate) fn shell(text: &str) -> ProcessSpec {
    of(ProcessBody::default(), text)
}

/// The same with what a body says besides.
fn of(body: ProcessBody, text: &str) -> ProcessSpec {
    program(ProcessBody { shell: Some(text.to_owned()), ..body })
}

fn program(body: ProcessBody) -> ProcessSpec {
    let account = Account { home: "/".into(), ..Account::ourselves().unwrap() };
    let path = ("PATH".to_owned(), "/usr/bin:/bin".to_owned());
    let spec = specs::process(body, &Users::new(account), &Policies::default()).unwrap();
    ProcessSpec { environment: vec![path], ..spec }
}

fn argv(words: &[&str]) -> ProcessSpec {
    program(ProcessBody { run: words.iter().map(|word| (*word).to_owned()).collect(), ..Default::default() })
}

/// One that may run as many as there can be.
pub(crate) fn executor_of_all() -> Executor<u32> {
    Executor::of_at_most(MAX_RUNNING)
}

/// Runs a process to its end; `each` is called with the executor after each line.
fn run_with(spec: &ProcessSpec, each: &mut dyn FnMut(&mut Executor<u32>, &str)) -> RunRecorder {
    run_until(spec, &mut |executor, line| {
        each(executor, line);
        Duration::ZERO
    })
}

/// The same on a clock that stands still, but for the steps that `each` says: no deadline is reached by
/// waiting.
fn run_until(spec: &ProcessSpec, each: &mut dyn FnMut(&mut Executor<u32>, &str) -> Duration) -> RunRecorder {
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    let start = Moment::now();
    let mut now = start;
    executor.start(spec, &[("RUN".into(), "7".into())], 1, start).unwrap();
    while 0 < executor.running_count() {
        assert!(Moment::now().since(start) < BOUND, "the process ends: {:?}", heard.lines);
        let seen = heard.lines.len();
        executor.turn(now, &mut heard);
        for line in &heard.lines[seen..] {
            now.monotonic += each(&mut executor, line);
        }
        wait_for_output(&executor);
    }
    heard
}

fn wait_for_output(executor: &Executor<u32>) {
    let (mut readable, mut writable): (Vec<BorrowedFd<'_>>, Vec<BorrowedFd<'_>>) = Default::default();
    executor.watch(&mut readable, &mut writable);
    let mut fds: Vec<PollFd<'_>> =
        readable.into_iter().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    fds.extend(writable.into_iter().map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
    // The end of a process is no event of a pipe; without SIGCHLD the loop looks again soon.
    poll(&mut fds, PollTimeout::from(5_u8)).unwrap();
}

fn run(spec: &ProcessSpec) -> RunRecorder {
    run_with(spec, &mut |_, _| {})
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = crate::scratch::path(&format!("process-{name}"));
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn arguments_reach_the_program_as_they_are() {
    let heard = run(&argv(&["printf", "%s\\n", "a b", "$HOME", "*"]));
    assert_eq!(heard.lines, ["a b", "$HOME", "*"]);
    assert_eq!(heard.ends[0].outcome, Some(Outcome::Exited(0)));
}

#[test]
fn the_environment_is_clean_or_inherited_and_knows_the_run() {
    let text = "echo ${CARGO_MANIFEST_DIR:-none} $RUN $A";
    let body = ProcessBody { env: vec![("A".into(), "1".into())], ..ProcessBody::default() };
    assert_eq!(run(&of(body.clone(), text)).lines, ["none 7 1"]);
    let inherited = of(ProcessBody { inherit_env: true, ..body }, text);
    assert_eq!(run(&inherited).lines, [format!("{} 7 1", env!("CARGO_MANIFEST_DIR"))]);
}

#[test]
fn secrets_reach_the_program_and_not_its_output() {
    let path = file("token", "hunter22\n");
    let secret = |name: &str, is_path| SecretBody { name: name.into(), path: path.clone(), is_path };
    let secrets = vec![secret("TOKEN", false), secret("TOKEN_FILE", true)];
    let text = "test ${#TOKEN} = 8 && test \"$(cat \"$TOKEN_FILE\")\" = \"$TOKEN\" && echo \"[$TOKEN]\"";
    let spec = of(ProcessBody { secrets, ..ProcessBody::default() }, text);
    assert_eq!(run(&spec).lines, ["[***]"]);
}

#[test]
fn a_secret_that_is_not_there_starts_nothing() {
    let path = PathBuf::from("/no/such/secret");
    let secrets = vec![SecretBody { name: "A".into(), path, is_path: false }];
    let spec = of(ProcessBody { secrets, ..ProcessBody::default() }, "echo started");
    let refused = executor_of_all().start(&spec, &[], 1, Moment::now()).unwrap_err();
    assert!(matches!(refused, StartRefusal::Start(_)));
    assert!(
        refused.to_string().starts_with("cannot read the secret /no/such/secret: No such file"),
        "{refused}"
    );
}

#[test]
fn umask_niceness_limits_and_input_are_those_of_the_spec() {
    let body = ProcessBody {
        umask: Some(0o027),
        nice: Some(19),
        limits: vec![("open_files".into(), 40)],
        oom_score_adj: Some(900),
        stdin: Some("from afar\n".into()),
        ..ProcessBody::default()
    };
    let spec = of(body, "umask; nice; ulimit -n; cat /proc/self/oom_score_adj; cat");
    assert_eq!(run(&spec).lines, ["0027", "19", "40", "900", "from afar"]);
}

#[test]
fn what_a_process_may_not_have_is_named_by_its_key() {
    // More than the kernel gives anyone: fs.nr_open.
    let body = ProcessBody { limits: vec![("open_files".into(), u64::MAX)], ..ProcessBody::default() };
    let spec = of(body, "echo started");
    let refused = executor_of_all().start(&spec, &[], 1, Moment::now()).unwrap_err();
    assert_eq!(refused.to_string(), "cannot set limits: Operation not permitted (os error 1)");
}

#[test]
fn a_program_that_is_not_there_is_an_error_with_its_name() {
    let spec = argv(&["no-such-program"]);
    let refused = executor_of_all().start(&spec, &[], 1, Moment::now()).unwrap_err();
    assert!(refused.to_string().starts_with("cannot execute no-such-program: No such file"), "{refused}");
}

#[test]
fn a_daemon_that_holds_the_output_costs_a_run_little_and_loses_nothing_of_it() {
    // As much as a pipe holds stands in it when the program ends, and a last line without an end.
    let text = "sleep 1000 & echo $!; head -c 60000 /dev/zero | tr '\\0' 'x'; printf ' end'";
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    let (start, mut waited) = (Moment::now(), Duration::ZERO);
    executor.start(&shell(text), &[], 1, start).unwrap();
    while heard.ends.is_empty() {
        assert!(Moment::now().since(start) < BOUND, "the program ends: {:?}", heard.lines);
        executor.turn(start.after(waited), &mut heard);
        // There is no deadline before the program has ended: the clock stands still until then.
        waited += executor.wait(start.after(waited)).unwrap_or_default();
        wait_for_output(&executor);
    }
    assert!(waited <= Duration::from_millis(50), "{waited:?}");
    assert!(heard.ends[0].is_output_held);
    let said: String = heard.lines[1..].concat();
    assert_eq!((said.len(), said.ends_with("x end")), (60_004, true));
    Command::new("kill").arg(&heard.lines[0]).status().unwrap();
}

#[test]
fn a_timeout_kills_the_whole_group_step_by_step() {
    let text = "trap 'echo int' INT; (trap '' INT; echo ready; while :; do sleep 0.02; done) &
                while :; do sleep 0.02; done";
    let spec = ProcessSpec {
        timeout: Some(Duration::from_millis(300)),
        kill: KillSequence { signal: Signal::SIGINT, wait: Duration::from_millis(300) },
        ..shell(text)
    };
    // Each step is taken when the one before was seen to do its work.
    let heard = run_until(&spec, &mut |_, line| match line {
        "ready" | "int" => Duration::from_millis(300),
        _ => Duration::ZERO,
    });
    // A shell whose `sleep` is killed by a signal may say so on its standard error.
    let said: Vec<_> = heard.lines.iter().filter(|line| !line.starts_with("! ")).collect();
    assert_eq!(said, ["ready", "int"]);
    let end = &heard.ends[0];
    assert_eq!((end.outcome.clone(), end.cause), (Some(Outcome::Killed(9)), Some(KillCause::Timeout)));
    assert!(Duration::from_millis(600) <= end.after, "{end:?}");
}

#[test]
fn sigkill_is_the_last_step_also_where_it_is_the_first() {
    for (signal, has_next) in [(Signal::SIGTERM, true), (Signal::SIGKILL, false)] {
        let spec = ProcessSpec { kill: KillSequence { signal, wait: BOUND }, ..shell("sleep 600") };
        let (mut executor, start) = (executor_of_all(), Moment::now());
        executor.start(&spec, &[], 1, start).unwrap();
        assert!(executor.kill(&1, KillCause::Requested, start));
        assert_eq!(executor.wait(start).is_some(), has_next, "{signal}");
        executor.kill_all_at_once(start);
        assert_eq!(executor.wait(start), None, "{signal}");
        executor.close(start, &mut RunRecorder::default());
    }
}

#[test]
fn what_ignores_every_signal_is_killed() {
    let kill = KillSequence { signal: Signal::SIGTERM, wait: Duration::ZERO };
    let spec = ProcessSpec { kill, ..shell("trap '' TERM; echo ready; while :; do sleep 1; done") };
    let heard = run_until(&spec, &mut |executor, line| {
        assert_eq!(line, "ready");
        assert!(executor.kill(&1, KillCause::Requested, Moment::now()));
        assert!(!executor.kill(&2, KillCause::Requested, Moment::now()));
        // From the moment of the kill on, which is later than the clock that stands still.
        BOUND
    });
    assert_eq!(
        (heard.ends[0].outcome.clone(), heard.ends[0].cause),
        (Some(Outcome::Killed(9)), Some(KillCause::Requested))
    );
}

#[test]
fn programs_that_write_without_end_share_a_turn() {
    let (mut executor, start) = (executor_of_all(), Moment::now());
    for key in 0..8 {
        executor.start(&shell("yes"), &[], key, start).unwrap();
    }
    let mut line_count = 0;
    while line_count < 1 << 20 {
        assert!(Moment::now().since(start) < BOUND, "{line_count} lines");
        wait_for_output(&executor);
        let mut heard = RunRecorder::default();
        executor.turn(start, &mut heard);
        line_count += heard.lines.len();
        // Two bytes for each line, of all of them as much as of one.
        assert!(heard.lines.len() <= READ_BYTES / 2, "{}", heard.lines.len());
    }
    executor.kill_all_at_once(start);
    executor.close(start, &mut RunRecorder::default());
}

#[test]
fn of_output_beyond_the_cap_head_and_tail_are_kept_and_nothing_stops() {
    let spec = ProcessSpec { output_bytes_max: 40, ..shell("echo 12345; echo 6789; seq 100000; exit 5") };
    let heard = run(&spec);
    let note = "~ 99993 lines (588868 bytes) are left out here";
    assert_eq!(heard.lines[..6], ["12345", "6789", "1", "2", "3", "4"]);
    assert_eq!(heard.lines[6..], [note, "99998", "99999", "100000"]);
    assert_eq!(heard.ends[0].outcome, Some(Outcome::Exited(5)));
    assert_eq!(heard.ends[0].dropped_bytes, 588_868);
    assert!(heard.ends[0].to_string().contains("588868 bytes of output beyond the limit are left out"));
    // At the cap nothing is left out, and nothing is said.
    let heard = run(&ProcessSpec { output_bytes_max: 12, ..shell("echo 12345; echo 67890") });
    assert_eq!((heard.lines, heard.ends[0].dropped_bytes), (vec!["12345".to_owned(), "67890".to_owned()], 0));
}

#[test]
fn the_last_words_of_a_killed_program_are_kept() {
    let spec = ProcessSpec { output_bytes_max: 20, ..shell("seq 1000; printf 'the error' >&2; kill -9 $$") };
    let heard = run(&spec);
    assert_eq!(heard.lines.last().unwrap(), "! the error");
    assert_eq!(heard.ends[0].outcome, Some(Outcome::Killed(9)));
}

#[test]
fn a_timeout_is_not_early_by_a_nanosecond_and_the_loop_sleeps_until_it() {
    let timeout = Some(Duration::from_nanos(1_500_001));
    let kill = KillSequence { signal: Signal::SIGTERM, wait: Duration::from_secs(7) };
    let spec = ProcessSpec { timeout, kill, ..shell("trap '' TERM; sleep 600") };
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    let start = Moment::now();
    let later = |ns| Moment { monotonic: start.monotonic + Duration::from_nanos(ns), ..start };
    executor.start(&spec, &[], 1, start).unwrap();
    assert_eq!(executor.wait(start), timeout);
    executor.turn(later(1_500_000), &mut heard);
    assert_eq!(executor.wait(later(1_500_000)), Some(Duration::from_nanos(1)), "nothing is killed");
    executor.turn(later(1_500_001), &mut heard);
    let wait = executor.wait(later(1_500_001)).unwrap();
    assert!(Duration::from_millis(2) < wait && wait <= Duration::from_secs(7), "the next step: {wait:?}");
    executor.kill_all_at_once(later(3_000_000));
    assert_eq!(executor.wait(later(3_000_000)), None, "nothing more to do but to wait for its end");
    while 0 < executor.running_count() {
        executor.turn(later(3_000_000), &mut heard);
        wait_for_output(&executor);
    }
    assert_eq!(heard.ends[0].cause, Some(KillCause::Timeout));
    assert_eq!(executor.wait(later(3_000_000)), None, "its wait has gone with it");
}

/// Turns an executor until that holds.
pub(crate) fn turn_until(
    executor: &mut Executor<u32>,
    heard: &mut RunRecorder,
    is_so: &dyn Fn(&Executor<u32>, &RunRecorder) -> bool,
) {
    let start = Moment::now();
    while !is_so(executor, heard) {
        assert!(Moment::now().since(start) < BOUND, "it becomes so: {:?}", heard.lines);
        executor.turn(Moment::now(), heard);
        wait_for_output(executor);
    }
}

#[test]
fn what_is_left_goes_on_reads_and_writes_and_is_reaped_though_its_server_has_let_it_go() {
    const INPUT_BYTES: usize = 3 * READ_BYTES;
    let [go, done] = ["left-go", "left-done"].map(|name| file(name, ""));
    // Open for both, so that neither end waits for the other.
    let [mut go_writer, mut done_reader] = [&go, &done].map(|path| {
        fs::remove_file(path).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        fs::OpenOptions::new().read(true).write(true).open(path).unwrap()
    });
    let text = format!(
        "echo $$; printf begun; read word < {}; count=$(wc -c); seq 100000; echo $word $count > {}",
        go.display(),
        done.display()
    );
    let spec = ProcessSpec {
        on_lease_loss: Fate::Leave,
        timeout: Some(BOUND),
        ..of(ProcessBody { stdin: Some("x".repeat(INPUT_BYTES)), ..ProcessBody::default() }, &text)
    };
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    let pid = executor.start(&spec, &[], 1, Moment::now()).unwrap();
    executor.start(&shell("exec sleep 1000"), &[], 2, Moment::now()).unwrap();
    turn_until(&mut executor, &mut heard, &|_, heard| heard.lines == [pid.to_string()]);
    assert_eq!(executor.to_be_detached_count(), 1);
    executor.kill_all_before_loss(Moment::now());
    turn_until(&mut executor, &mut heard, &|executor, _| executor.running_count() == 1);
    assert_eq!(heard.ends[0].outcome, Some(Outcome::Killed(15)), "it has no policy: it is ended");
    assert_eq!(executor.leave(&mut heard), [1]);
    assert_eq!((executor.running_count(), executor.wait(Moment::now())), (0, None));
    drop(executor);
    assert_eq!(heard.lines[1], "begun");
    assert!(heard.lines[2].starts_with("~ the server has lost the jobs"), "{:?}", heard.lines);
    assert_eq!((heard.lines.len(), heard.ends.len()), (3, 1), "its end is not known");
    go_writer.write_all(b"went\n").unwrap();
    let bound = PollTimeout::try_from(BOUND).unwrap();
    let is_done = poll(&mut [PollFd::new(done_reader.as_fd(), PollFlags::POLLIN)], bound).unwrap();
    assert_eq!(is_done, 1, "it could read and write to its end");
    let mut told = [0; 64];
    let count = done_reader.read(&mut told).unwrap();
    assert_eq!(String::from_utf8_lossy(&told[..count]), format!("went {INPUT_BYTES}\n"));
    let start = Moment::now();
    while Path::new(&format!("/proc/{pid}")).exists() {
        assert!(Moment::now().since(start) < BOUND, "it is reaped");
        std::thread::yield_now();
    }
}

#[test]
fn what_is_being_ended_is_not_left() {
    let spec = ProcessSpec { on_lease_loss: Fate::Leave, ..shell("trap '' TERM; echo ready; sleep 1000") };
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    executor.start(&spec, &[], 1, Moment::now()).unwrap();
    turn_until(&mut executor, &mut heard, &|_, heard| heard.lines == ["ready"]);
    assert!(executor.kill(&1, KillCause::Requested, Moment::now()));
    assert_eq!(executor.to_be_detached_count(), 0);
    assert!(executor.leave(&mut heard).is_empty());
    executor.kill_all_at_once(Moment::now());
    turn_until(&mut executor, &mut heard, &|executor, _| executor.running_count() == 0);
    assert_eq!(heard.ends[0].outcome, Some(Outcome::Killed(9)));
}

#[test]
fn a_process_without_its_directory_starts_in_the_other_one() {
    let spec = |cwd_else: Option<&str>| {
        let (cwd, cwd_else) = (Some("/no/such/home".into()), cwd_else.map(PathBuf::from));
        of(ProcessBody { cwd, cwd_else, ..ProcessBody::default() }, "pwd")
    };
    assert_eq!(run(&spec(Some("/"))).lines, ["/"]);
    for nowhere in [None, Some("/no/such/folder")] {
        let refused = executor_of_all().start(&spec(nowhere), &[], 1, Moment::now()).unwrap_err();
        assert!(refused.to_string().contains("cannot enter the directory /no/such/home"), "{refused}");
    }
}

/// Holds up who opens a file until it is dropped, at most as long as the kernel waits for a lease: 45 s.
#[cfg(target_os = "linux")]
struct SlowFile {
    _lease: fs::File,
}

#[cfg(target_os = "linux")]
impl SlowFile {
    #[expect(unsafe_code, reason = "neither std nor nix has leases")]
    fn of(path: &Path) -> SlowFile {
        /// Which libc lacks.
        const F_SETSIG: libc::c_int = 10;
        let file = fs::File::open(path).unwrap();
        // SAFETY: the call takes numbers.
        let set = |call: libc::c_int, value: libc::c_int| unsafe { libc::fcntl(file.as_raw_fd(), call, value) } == 0;
        // The signal that asks for it back, in the place of one that ends this process.
        assert!(set(F_SETSIG, libc::SIGURG));
        let begun = Moment::now();
        // A child that another test has just forked holds what was open here, until it executes its program.
        while !set(libc::F_SETLEASE, libc::F_WRLCK) {
            assert!(Moment::now().since(begun) < BOUND, "{}", std::io::Error::last_os_error());
            poll(&mut [], PollTimeout::from(1_u8)).unwrap();
        }
        SlowFile { _lease: file }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_on_a_file_system_that_does_not_answer_keeps_no_other_from_starting() {
    let path = crate::scratch::path("process-slow");
    fs::copy("/bin/true", &path).unwrap();
    let slow = argv(&[path.to_str().unwrap()]);
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    let begun = Moment::now();
    // Known from now on: the first of the next ones are not waited for.
    executor.start(&slow, &[], 0, begun).unwrap();
    turn_until(&mut executor, &mut heard, &|executor, _| executor.running_count() == 0);
    let held = SlowFile::of(&path);
    // Each is started by another thread, and is as slow.
    let slow: BTreeSet<u32> = (1..=6).map(|key| executor.start(&slow, &[], key, begun).unwrap()).collect();
    assert_eq!(slow.len(), 6);
    executor.start(&shell("echo started"), &[], 7, begun).unwrap();
    turn_until(&mut executor, &mut heard, &|_, heard| 1 < heard.ends.len());
    assert_eq!((heard.lines.as_slice(), executor.running_count()), (["started".to_owned()].as_slice(), 6));
    drop(held);
    turn_until(&mut executor, &mut heard, &|executor, _| executor.running_count() == 0);
    let ends: Vec<_> = heard.ends.iter().map(|end| end.outcome.clone()).collect();
    assert_eq!(ends, vec![Some(Outcome::Exited(0)); 8], "they ran once they could be executed");
}

#[test]
fn a_known_program_that_is_gone_is_not_started_and_says_so() {
    let path = crate::scratch::path("process-gone");
    fs::copy("/bin/true", &path).unwrap();
    let spec = argv(&[path.to_str().unwrap()]);
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    let begun = Moment::now();
    executor.start(&spec, &[], 0, begun).unwrap();
    fs::remove_file(&path).unwrap();
    let refused = executor.start(&spec, &[], 1, begun).map(drop);
    turn_until(&mut executor, &mut heard, &|executor, _| executor.running_count() == 0);
    let mut said: Vec<String> =
        heard.ends.iter().filter_map(|end| end.outcome.as_ref()).map(ToString::to_string).collect();
    // It was heard before its start was over, or after.
    said.extend(refused.err().map(|refused| format!("not started: {refused}")));
    said.sort_unstable();
    assert_eq!(said.len(), 2);
    assert_eq!(said[0], "exit status 0");
    assert!(
        said[1].starts_with("not started: cannot execute ") && said[1].contains("No such file"),
        "{said:?}"
    );
}
