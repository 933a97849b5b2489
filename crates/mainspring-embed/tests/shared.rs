//! Programs that share a database: what one submits another runs, and what was acknowledged is done although
//! they are killed in the middle.
//!
//! The test starts itself: with words behind `child` it is such a program, which submits for ever and writes
//! each acknowledgement to its standard output, or ends in good order when its standard input does.
//!
//! What a killed program ran is waited for as in earnest, 16 s: the length of its lease is no option.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "the tests of the store use the rest")]
#[path = "../../mainspring-postgres/tests/database.rs"]
mod database;
#[path = "../examples/shared.rs"]
mod example;
mod in_tasks;
mod in_transactions;
mod shared_progress;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use database::Database;
use in_transactions::{End, in_transaction, transaction};
use mainspring_embed::mainspring_job::{OnceId, Refusal, Run as Record};
use mainspring_embed::{Builder, Error, Every, HandlerError, Jobs, Options, Run, RunState};

/// How many submissions each program acknowledges before something happens to one of them.
const ACKNOWLEDGED: usize = 8;

/// How many a program submits at most, so that the history of all can be read at once.
const SUBMITTED_MAX: usize = 1_000;

/// What only a hang reaches.
const LONG: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(20);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|word| word == "child") {
        return child(Path::new(&arguments[at + 1]), &arguments[at + 2], &arguments[at + 3]);
    }
    let Some(database) = Database::start() else { return };
    commands_work_where_the_jobs_are_not_owned(&database);
    in_transactions::all(&database);
    in_tasks::jobs_are_made_read_and_ended_in_a_task(&database);
    a_takeover_has_a_greater_fence_and_goes_on_without_its_page(&database);
    what_is_for_a_label_runs_where_it_is(&database);
    shared_progress::progress_is_seen_at_each_program_while_the_run_goes_on(&database);
    what_is_submitted_as_its_owner_loses_the_jobs_is_done_once(&database);
    what_is_submitted_where_no_planner_is_runs_once(&database);
    what_is_put_off_comes_again_where_a_program_is_left(&database);
    assert!(database.psql("mainspring", "DROP SCHEMA mainspring CASCADE").status.success());
    a_program_that_is_stuck_keeps_nothing_from_another(&database);
    assert!(database.psql("mainspring", "DROP SCHEMA mainspring CASCADE").status.success());
    what_is_acknowledged_is_done_though_programs_are_killed(&database);
}

fn open(folder: &Path, name: &str, url: &str) -> Jobs {
    let starts = folder.join("starts");
    let note = move |run: &Run| {
        let mut file = OpenOptions::new().append(true).create(true).open(&starts)?;
        // One write, so that lines of several threads and programs do not mix.
        file.write_all(format!("{} {}\n", run.key(), run.attempt()).as_bytes())
    };
    let noted = note.clone();
    let rules =
        |name: &str| Options::new(name).retry(1_000).backoff(Duration::from_millis(1)).retry_abandoned();
    Jobs::connect(url)
        .unwrap()
        .folder(folder.join(name))
        .handler(rules("step"), move |run: &Run, _: usize| note(run))
        .job(rules("tick"), Every::seconds(1), move |run: &Run| noted(run))
        .start()
        .unwrap()
}

/// Submits until it is killed, or its standard input ends; at most [`SUBMITTED_MAX`].
fn child(folder: &Path, name: &str, url: &str) {
    let jobs = open(folder, name, url);
    let ends = jobs.clone();
    let read = move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ends.shutdown(LONG).unwrap();
    };
    let reader = std::thread::Builder::new().spawn(read).unwrap();
    for number in 0..SUBMITTED_MAX {
        let name = format!("{name}-{number}");
        let once = jobs.once("step").name(&name).key(&name).payload(&number);
        // Each third is acknowledged by its transaction, and not by the owner of the jobs.
        if number % 3 == 0 {
            transaction(url, async |transaction| in_transaction(transaction, once).await, End::Commit);
            println!("{name}");
            continue;
        }
        match once.submit() {
            // One that was asked for again, as its owner died, may be there already.
            Ok(_) => println!("{name}"),
            Err(Error::Stopped) => break,
            Err(error) => panic!("{name}: {error}"),
        }
    }
    reader.join().unwrap();
}

/// A child, and what it has acknowledged.
struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(folder: &Path, name: &str, database: &Database) -> Program {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["child", folder.to_str().unwrap(), name, &database.url()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Program { child, lines }
    }

    fn acknowledge(&mut self, acknowledged: &mut BTreeSet<String>) {
        for _ in 0..ACKNOWLEDGED {
            acknowledged.insert(self.lines.next().expect("it continues until it is killed").unwrap());
        }
    }

    fn kill(mut self, acknowledged: &mut BTreeSet<String>) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // What it printed before it was killed was acknowledged as well.
        acknowledged.extend(self.lines.map_while(Result::ok));
    }

    fn end(mut self, acknowledged: &mut BTreeSet<String>) {
        drop(self.child.stdin.take());
        acknowledged.extend(self.lines.map_while(Result::ok));
        assert!(self.child.wait().unwrap().success());
    }
}

fn what_is_acknowledged_is_done_though_programs_are_killed(database: &Database) {
    let folder = folder("killed");
    let mut acknowledged = BTreeSet::new();
    let mut first = Program::start(&folder, "first", database);
    first.acknowledge(&mut acknowledged);
    // It stands by, and what it submits the first one runs.
    let mut second = Program::start(&folder, "second", database);
    second.acknowledge(&mut acknowledged);
    first.kill(&mut acknowledged);
    // What it had asked for when the owner died continues when it owns the jobs itself.
    second.acknowledge(&mut acknowledged);
    let mut third = Program::start(&folder, "third", database);
    third.acknowledge(&mut acknowledged);
    third.kill(&mut acknowledged);
    let mut fourth = Program::start(&folder, "fourth", database);
    fourth.acknowledge(&mut acknowledged);
    second.end(&mut acknowledged);
    fourth.acknowledge(&mut acknowledged);
    fourth.end(&mut acknowledged);

    let jobs = open(&folder, "last", &database.url());
    let is_open = |run: &Record| run.state.is_open() && run.key.job.as_str() != "tick";
    wait_until(|| jobs.waiting(1).unwrap().is_empty() && !jobs.runs(10_000).unwrap().iter().any(is_open));
    let records: BTreeMap<String, RunState> =
        jobs.runs(10_000).unwrap().iter().map(|run| (run.key.job.to_string(), run.state)).collect();
    jobs.shutdown(LONG).unwrap();
    let starts = fs::read_to_string(folder.join("starts")).unwrap();
    let mut seen = BTreeSet::new();
    for line in starts.lines() {
        assert!(seen.insert(line), "{line} was started twice");
    }
    for name in &acknowledged {
        assert_eq!(records.get(name), Some(&RunState::Succeeded), "{name}");
        assert!(seen.iter().any(|line| line.starts_with(&format!("{name}@"))), "{name} has no start");
    }
    assert!(seen.iter().any(|line| line.starts_with("tick@")));
    let _ = fs::remove_dir_all(&folder);
    println!("{} acknowledged, {} starts, 2 of 5 programs killed", acknowledged.len(), seen.len());
}

fn commands_work_where_the_jobs_are_not_owned(database: &Database) {
    let folder = folder("commands");
    let (first, second) = (open(&folder, "one", &database.url()), open(&folder, "two", &database.url()));
    let hour = Duration::from_secs(3_600);
    // Nothing says which of two handlers runs it: there is one folder of starts.
    let later = second.once("step").key("later").after(hour).payload(&1).submit().unwrap();
    assert!(later.is_new);
    assert_eq!(first.waiting(10).unwrap().len(), 1);
    assert_eq!(second.waiting(10).unwrap()[0].name.as_str(), later.job());
    for program in [&first, &second] {
        let again = program.once("step").key("later").after(hour).payload(&1).submit().unwrap();
        assert_eq!((again.id, again.is_new, again.state), (later.id, false, None));
        let other = program.once("step").key("later").after(hour).payload(&2).submit();
        assert!(matches!(other, Err(Error::Taken(_))), "{other:?}");
    }
    second.withdraw(later.id.unwrap()).unwrap();
    let withdrawn = second.withdraw(later.id.unwrap());
    assert!(matches!(withdrawn, Err(Error::Refused(Refusal::NoSuchOnce))), "{withdrawn:?}");
    second.pause("tick").unwrap();
    let key = second.run_now("tick").unwrap();
    wait_until(|| second.runs(1_000).unwrap().iter().any(|run| run.key == key && !run.state.is_open()));
    assert!(matches!(second.run_now("none"), Err(Error::Refused(Refusal::NoSuchJob))));
    // It is on disk, and known by an id, before the one that plans has seen it.
    let mistake = second.once("step").after(hour).payload(&7).submit().unwrap();
    assert_eq!(mistake.id.map(OnceId::name), mistake.name);
    second.withdraw(mistake.id.unwrap()).unwrap();
    assert_eq!(second.runs_of(mistake.job(), 1).unwrap()[0].state, RunState::Cancelled);
    let beyond = second.once("step").at("3000-01-01T00:00:00Z".parse().unwrap()).payload(&7).submit();
    assert!(matches!(beyond, Err(Error::Refused(Refusal::DueOutOfRange))), "{beyond:?}");
    let now = second.once("step").payload(&3).submit().unwrap();
    assert!(now.is_new);
    wait_until(|| first.runs_of(now.job(), 1).unwrap().iter().any(|run| run.state == RunState::Succeeded));
    let audited: Vec<String> =
        second.audit(10).unwrap().into_iter().map(|audited| audited.audit.action).collect();
    assert!(audited.contains(&"pause".to_owned()) && audited.contains(&"run".to_owned()), "{audited:?}");

    // The one that stood by takes over at once, with what was waiting.
    let kept = first.once("step").key("kept").after(hour).payload(&4).submit().unwrap();
    first.shutdown(LONG).unwrap();
    assert!(matches!(first.run_now("tick"), Err(Error::Stopped)));
    let then = second.once("step").payload(&5).submit().unwrap();
    wait_until(|| second.runs_of(then.job(), 1).unwrap().iter().any(|run| run.state == RunState::Succeeded));
    assert_eq!(second.waiting(10).unwrap()[0].id, kept.id.unwrap());
    // A transaction of SQL calls a handler, once for a key, which is the handler's.
    let submit = r#"SELECT mainspring.submit('{"handler": {"name": "step", "input": 6}}', key => 'by sql')"#;
    for _ in 0..2 {
        assert_eq!(database.ask(submit), "step/by sql");
    }
    wait_until(|| database.ask("SELECT count(*) FROM mainspring.inbox") == "0");
    let again = second.once("step").key("by sql").payload(&6).submit().unwrap();
    assert!(!again.is_new, "{again:?}");
    wait_until(|| second.runs_of(again.job(), 1).unwrap().iter().any(|run| run.state == RunState::Succeeded));
    // What cannot be done is kept with its reason.
    let wrong = r#"SELECT mainspring.submit('{"handler": {"name": "step"}, "policies": "nonsense=1"}')"#;
    assert!(database.psql("mainspring", wrong).status.success());
    wait_until(|| database.ask("SELECT count(*) FROM mainspring.inbox WHERE refusal <> ''") == "1");
    second.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);

    // A folder of its own goes with the jobs.
    let jobs = Jobs::connect(&database.url()).unwrap().start().unwrap();
    let address = || database.ask("SELECT address FROM mainspring.planner");
    assert_eq!(address(), "");
    jobs.shutdown(LONG).unwrap();
    assert_eq!(example::greeted(&database.url(), 3).unwrap(), 3);
    let text = "postgres://ada:s3cret@db1:x/jobs";
    assert!(!Jobs::connect(text).unwrap_err().to_string().contains("s3cret"));
}

fn a_takeover_has_a_greater_fence_and_goes_on_without_its_page(database: &Database) {
    let (folder, fences) = (folder("fence"), Arc::new(Mutex::new(Vec::new())));
    let start = |name: &str, address: Option<String>| {
        let seen = Arc::clone(&fences);
        let note = move |run: &Run, _: usize| -> Result<(), String> {
            seen.lock().unwrap().push(run.fence());
            Ok(())
        };
        let builder = Jobs::connect(&database.url())
            .unwrap()
            .folder(folder.join(name))
            .handler("fenced", note)
            .log_to(File::create(folder.join(format!("{name}.log"))).unwrap());
        #[cfg(feature = "page")]
        let builder = match address {
            Some(address) => builder.page(address),
            None => builder,
        };
        #[cfg(not(feature = "page"))]
        drop(address);
        builder.start().unwrap()
    };
    let run = |jobs: &Jobs, count: usize| {
        jobs.once("fenced").payload(&count).submit().unwrap();
        wait_until(|| fences.lock().unwrap().len() == count);
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = start("one", None);
    // A program that could not begin carries nothing out.
    #[cfg(feature = "page")]
    {
        let address = taken.local_addr().unwrap().to_string();
        let failed = Jobs::connect(&database.url())
            .unwrap()
            .handler("fenced", |_: &Run, _: usize| Ok::<(), String>(()));
        first.shutdown(LONG).unwrap();
        assert!(failed.page(address).start().is_err(), "it would plan, and its address is another's");
        // One whose last report no planner has read stays until its lease has run out.
        let there = "SELECT count(*) FROM mainspring.worker WHERE clock_timestamp() < until";
        wait_until(|| database.ask(there) == "0");
    }
    #[cfg(feature = "page")]
    let first = start("three", None);
    // Its address is another's, and its jobs go on.
    let second = start("two", Some(taken.local_addr().unwrap().to_string()));
    run(&first, 1);
    run(&second, 2);
    first.shutdown(LONG).unwrap();
    run(&second, 3);
    let log = fs::read_to_string(folder.join("two.log")).unwrap();
    assert_eq!(log.contains("there is no page for now"), cfg!(feature = "page"), "{log}");
    second.shutdown(LONG).unwrap();
    let fences = fences.lock().unwrap();
    assert!(fences[0] < fences[1] && fences[1] < fences[2], "{fences:?}");
    let _ = fs::remove_dir_all(&folder);
}

fn what_is_for_a_label_runs_where_it_is(database: &Database) {
    let folder = folder("labels");
    let (said, heard) = channel();
    let start = |name: &'static str, set: &dyn Fn(Builder) -> Builder| {
        let said = said.clone();
        let options = || Options::new("labelled").on("gpu".parse().unwrap());
        let builder = Jobs::connect(&database.url()).unwrap().folder(folder.join(name));
        set(builder.handler(options(), move |_: &Run, _: usize| said.send(name))).start().unwrap()
    };
    let first = start("one", &|builder| builder);
    let second = start("two", &|builder| builder.label("gpu").never_plans());
    for number in 0..8_usize {
        first.once("labelled").payload(&number).submit().unwrap();
    }
    for _ in 0..8 {
        assert_eq!(heard.recv_timeout(LONG), Ok("two"));
    }
    first.shutdown(LONG).unwrap();
    // No program plans: what is submitted waits, and is there.
    let left = second.once("labelled").payload(&8_usize).submit().unwrap();
    assert!(heard.recv_timeout(Duration::from_secs(1)).is_err());
    let first = start("three", &|builder| builder);
    assert_eq!(heard.recv_timeout(LONG), Ok("two"), "{left:?}");
    second.shutdown(LONG).unwrap();
    first.shutdown(LONG).unwrap();
    let wrong = Jobs::connect(&database.url()).unwrap().label("two words").start().unwrap_err();
    assert!(wrong.to_string().contains("label"), "{wrong}");
    let _ = fs::remove_dir_all(&folder);
}

/// What is due at once by the clock of the program that submits is ahead of that of the store.
fn what_is_submitted_where_no_planner_is_runs_once(database: &Database) {
    const COUNT: usize = 400;
    let (folder, (sender, receiver)) = (folder("once"), channel());
    let connect = |name: &str| {
        let sender = sender.clone();
        let note = move |_: &Run, number: usize| sender.send(number).map_err(|error| error.to_string());
        let builder = Jobs::connect(&database.url()).unwrap().folder(folder.join(name));
        builder.handler("elsewhere", note).start().unwrap()
    };
    let (first, second) = (connect("first"), connect("second"));
    for number in 0..COUNT {
        assert!(second.once("elsewhere").payload(&number).submit().unwrap().is_new);
    }
    let mut numbers: Vec<usize> = (0..COUNT).map(|_| receiver.recv_timeout(LONG).unwrap()).collect();
    wait_until(|| database.ask("SELECT count(*) FROM mainspring.inbox WHERE refusal = ''") == "0");
    let count = |from: &str| {
        database.ask(&format!("SELECT count(*) FROM mainspring.{from} WHERE body LIKE '%\"elsewhere\"%'"))
    };
    wait_until(|| count("pending") == "0" && count("open_run") == "0");
    assert_eq!(count("run"), COUNT.to_string());
    numbers.extend(receiver.try_iter());
    numbers.sort_unstable();
    assert_eq!(numbers, (0..COUNT).collect::<Vec<_>>(), "each once");
    second.shutdown(LONG).unwrap();
    first.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}

/// Neither the program that planned nor the one that ran it need be there any more.
fn what_is_put_off_comes_again_where_a_program_is_left(database: &Database) {
    const WAIT: Duration = Duration::from_secs(3);
    let (folder, (sender, receiver)) = (folder("put-off"), channel());
    let connect = |name: &'static str| {
        let sender = sender.clone();
        let wait = move |run: &Run, (): ()| {
            let now = mainspring_exec::clock::Moment::now().wall;
            sender.send((name, run.attempt(), run.due(), now)).map_err(HandlerError::because)?;
            if run.attempt() == 1 { Err(HandlerError::again_in(WAIT)) } else { Ok(()) }
        };
        let builder = Jobs::connect(&database.url()).unwrap().folder(folder.join(name));
        builder.handler("put-off", wait).start().unwrap()
    };
    let first = connect("first");
    let submitted = first.once("put-off").submit().unwrap();
    let (_, attempt, _, begun) = receiver.recv_timeout(LONG).unwrap();
    assert_eq!(attempt, 1);
    let state = |jobs: &Jobs| jobs.runs_of(submitted.job(), 1).unwrap()[0].state;
    wait_until(|| state(&first) == RunState::Scheduled);
    first.shutdown(LONG).unwrap();
    assert!(receiver.try_recv().is_err(), "it is put off");
    let second = connect("second");
    let (name, attempt, due, again) = receiver.recv_timeout(LONG).unwrap();
    assert_eq!((name, attempt), ("second", 2));
    assert!(begun + WAIT <= due && due <= again, "begun at {begun}, due at {due}, again at {again}");
    wait_until(|| state(&second) == RunState::Succeeded);
    assert_eq!(second.runs_of(submitted.job(), 1).unwrap()[0].forgiven, 1);
    assert_eq!(receiver.try_iter().count(), 0);
    second.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}

/// Another takes the jobs while the commit of the submission waits for the row of the planner.
fn what_is_submitted_as_its_owner_loses_the_jobs_is_done_once(database: &Database) {
    const TAKE: &str = "BEGIN; SELECT FROM mainspring.planner FOR UPDATE; SELECT nextval('public.takes');
        DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND query LIKE '%mainspring.commit(%' AND pid <> pg_backend_pid())
            LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$;
        UPDATE mainspring.planner SET epoch = epoch + 1, token = gen_random_uuid(), owner = '', until = '-infinity';
        COMMIT";
    let (folder, (sender, done)) = (folder("lost"), channel());
    let note = move |_: &Run, number: usize| sender.send(number).map_err(|error| error.to_string());
    let builder = Jobs::connect(&database.url()).unwrap().folder(folder.join("one"));
    let jobs = builder.handler("lost", note).start().unwrap();
    let submit = |number: usize| jobs.once("lost").payload(&number).submit().unwrap();
    submit(0);
    database.ask("CREATE SEQUENCE public.takes");
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(database.psql("mainspring", TAKE).status.success()));
        // A sequence is seen by all at once. Another commit than that of the submission may end the wait.
        wait_until(|| database.ask("SELECT is_called FROM public.takes") == "t");
        assert!(submit(1).is_new, "no other has submitted it");
    });
    submit(2);
    let mut numbers: Vec<usize> = (0..3).map(|_| done.recv_timeout(LONG).unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2]);
    jobs.shutdown(LONG).unwrap();
    assert_eq!(done.try_iter().count(), 0);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.run WHERE body LIKE '%\"lost\"%'"), "3");
    let _ = fs::remove_dir_all(&folder);
}

/// Short runs make a program have more started ahead. Then one takes its only thread, and what waits behind
/// it runs at another.
fn a_program_that_is_stuck_keeps_nothing_from_another(database: &Database) {
    const COUNT: usize = 400;
    const LONG_ONE: usize = COUNT / 2;
    let folder = folder("stuck");
    let (release, held) = channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let (sender, receiver) = channel();
    let connect = |name: &'static str| {
        let (sender, held) = (sender.clone(), Arc::clone(&held));
        Jobs::connect(&database.url())
            .unwrap()
            .folder(folder.join(name))
            .threads(1)
            .handler(Options::new("work").retry(3).retry_abandoned(), move |_: &Run, number: usize| {
                sender.send((number, name)).unwrap();
                if number == LONG_ONE {
                    let _ = held.lock().unwrap().recv();
                }
                Ok::<(), Error>(())
            })
            .start()
            .unwrap()
    };
    let first = connect("first");
    let submitted = first.submit_all((0..COUNT).map(|number| first.once("work").payload(&number)));
    submitted.into_iter().for_each(|submitted| assert!(submitted.unwrap().is_new));
    let mut begun = BTreeMap::new();
    while !begun.contains_key(&LONG_ONE) {
        let (number, name) = receiver.recv_timeout(LONG).unwrap();
        assert!(begun.insert(number, name).is_none(), "each once");
    }
    let second = connect("second");
    while begun.len() < COUNT {
        let (number, name) = receiver.recv_timeout(LONG).unwrap();
        assert!(begun.insert(number, name).is_none(), "each once");
    }
    assert!(begun.values().any(|name| *name == "second"), "the other had nothing to do");
    release.send(()).unwrap();
    let have_ended = || first.runs(COUNT).unwrap().iter().all(|run| run.state == RunState::Succeeded);
    wait_until(have_ended);
    second.shutdown(LONG).unwrap();
    first.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mainspring-embed-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let (_keep, never) = channel::<()>();
    let mut tries = 0;
    while !is_so() {
        tries += 1;
        assert!(POLL * tries < LONG, "it does not become so");
        let _ = never.recv_timeout(POLL);
    }
}
