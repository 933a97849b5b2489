//! State on disk outlives the program.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use mainspring_embed::mainspring_job::RunKey;
use mainspring_embed::mainspring_job::jiff::Timestamp;
use mainspring_embed::{Bounds, Every, Options, Run};
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Reminder {
    to: String,
}

#[test]
fn a_submission_runs_and_its_history_survives_a_restart() {
    let folder = folder("restart");
    let (sender, receiver) = channel();
    let open = || {
        let sender = sender.clone();
        Jobs::open(&folder).unwrap().handler("remind", move |run: &Run, to: Reminder| -> Done {
            sender.send((run.key().clone(), to)).map_err(|error| error.to_string())
        })
    };
    let jobs = open().start().unwrap();
    let reminder = Reminder { to: "ada".to_owned() };
    let submitted = jobs.once("remind").key("user-17").payload(&reminder).submit().unwrap();
    let (key, got) = heard(&receiver);
    assert_eq!((Some(&key.job), got), (submitted.name.as_ref(), reminder));
    assert_eq!(ended(&jobs, &submitted).state, RunState::Succeeded);
    let later =
        jobs.once("remind").after(LONG * 60).payload(&Reminder { to: "bob".to_owned() }).submit().unwrap();
    let waiting = jobs.waiting(10).unwrap();
    assert_eq!(waiting.iter().map(|once| Some(once.id)).collect::<Vec<_>>(), [later.id]);
    jobs.shutdown(LONG).unwrap();
    let after = jobs.once("remind").payload(&Reminder { to: "eve".to_owned() }).submit();
    assert!(matches!(after, Err(mainspring_embed::Error::Stopped)), "{after:?}");

    let jobs = open().start().unwrap();
    let again =
        jobs.once("remind").key("user-17").payload(&Reminder { to: "ada".to_owned() }).submit().unwrap();
    assert!(!again.is_new, "the key is in the history: {again:?}");
    assert_eq!((&again.name, again.state), (&submitted.name, Some(RunState::Succeeded)));
    let other = jobs.once("remind").key("user-17").payload(&Reminder { to: "eve".to_owned() }).submit();
    assert!(matches!(other, Err(mainspring_embed::Error::Taken(_))), "{other:?}");
    assert_eq!(jobs.runs_of(submitted.job(), 1).unwrap()[0].state, RunState::Succeeded);
    jobs.withdraw(later.id.unwrap()).unwrap();
    assert_eq!(jobs.waiting(10).unwrap(), []);
    assert!(receiver.try_recv().is_err(), "nothing ran twice");
    jobs.shutdown(LONG).unwrap();
}

/// A run ends when its record was read, which says after its end when the run began, or when the jobs end,
/// which can not be read meanwhile.
#[derive(Default)]
struct Records {
    started: Mutex<BTreeMap<RunKey, Option<Timestamp>>>,
}

impl Records {
    fn read_until(&self, jobs: &Jobs, count: usize) {
        while self.started.lock().unwrap().len() < count {
            let runs = jobs.runs(100).unwrap();
            let running = runs.into_iter().filter(|run| run.state == RunState::Running);
            let mut started = self.started.lock().unwrap();
            for run in running {
                started.entry(run.key).or_insert(run.started);
            }
        }
    }

    fn wait_for(&self, run: &Run) {
        while !self.started.lock().unwrap().contains_key(run.key()) {
            if run.wait_for_stop(Duration::from_millis(5)) {
                self.started.lock().unwrap().entry(run.key().clone()).or_default();
            }
        }
    }
}

#[test]
fn a_rate_holds_by_the_records_and_over_a_restart() {
    let (folder, records) = (folder("rate"), Arc::new(Records::default()));
    let period = Duration::from_millis(150);
    let open = || {
        let (records, options) = (Arc::clone(&records), Options::new("charge"));
        let wait = move |run: &Run, (): ()| -> Done {
            records.wait_for(run);
            Ok(())
        };
        let options = options.group("bank", Bounds::rate(4, period));
        Jobs::open(&folder).unwrap().handler(options, wait).start().unwrap()
    };
    let submit = |jobs: &Jobs| (0..14).for_each(|_| drop(jobs.once("charge").submit().unwrap()));
    let jobs = open();
    submit(&jobs);
    // One of the third period; what is left waits for the next program.
    records.read_until(&jobs, 9);
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    let jobs = open();
    submit(&jobs);
    records.read_until(&jobs, 28);
    let mut started: Vec<_> = records.started.lock().unwrap().values().filter_map(|at| *at).collect();
    started.sort();
    for span in started.windows(5) {
        let length = span[4].duration_since(span[0]).unsigned_abs();
        assert!(period <= length, "five starts within {length:?}: {started:?}");
    }
    jobs.shutdown(LONG).unwrap();
}

#[test]
fn a_second_program_on_the_folder_is_refused_in_words() {
    let folder = folder("two");
    let jobs = Jobs::open(&folder).unwrap().start().unwrap();
    let refused = Jobs::open(&folder).unwrap_err().to_string();
    assert!(
        refused.starts_with("another program (") && refused.contains("uses the data directory"),
        "{refused}"
    );
    jobs.shutdown(LONG).unwrap();
    Jobs::open(&folder).unwrap().start().unwrap();
}

#[test]
fn a_handler_that_is_gone_leaves_its_runs_waiting() {
    let folder = folder("gone");
    let jobs = Jobs::open(&folder)
        .unwrap()
        .handler("other", |_: &Run, (): ()| -> Done { Ok(()) })
        .handler("remind", |_: &Run, (): ()| -> Done { Ok(()) })
        .job(Options::new("tick").group("g", 1), Every::hours(24 * 365), |_: &Run| -> Done { Ok(()) })
        .start()
        .unwrap();
    let submitted = jobs.once("remind").after(Duration::from_millis(300)).submit().unwrap();
    jobs.shutdown(LONG).unwrap();
    drop(jobs);

    let jobs =
        Jobs::open(&folder).unwrap().handler("other", |_: &Run, (): ()| -> Done { Ok(()) }).start().unwrap();
    let key = jobs.run_now("tick").unwrap();
    let waiting = wait_until(submitted.job(), &jobs, |record| record.state == RunState::Queued);
    // What has a handler continues meanwhile.
    let other = jobs.once("other").submit().unwrap();
    assert_eq!(ended(&jobs, &other).state, RunState::Succeeded);
    assert_eq!(jobs.runs_of("tick", 1).unwrap()[0].state, RunState::Queued);
    jobs.shutdown(LONG).unwrap();
    drop(jobs);

    let jobs = Jobs::open(&folder)
        .unwrap()
        .handler("remind", |_: &Run, (): ()| -> Done { Ok(()) })
        .job("tick", Every::hours(24 * 365), |_: &Run| -> Done { Ok(()) })
        .start()
        .unwrap();
    let record = ended(&jobs, &submitted);
    assert_eq!((record.state, record.key), (RunState::Succeeded, waiting.key));
    assert_eq!(wait_until("tick", &jobs, |record| !record.state.is_open()).key, key);
}

#[test]
fn a_job_that_the_code_defines_no_more_can_be_forgotten() {
    let folder = folder("forget");
    let open = || Jobs::open(&folder).unwrap();
    let jobs = open().job("tick", Every::hours(1), |_: &Run| -> Done { Ok(()) }).start().unwrap();
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    let jobs = open().start().unwrap();
    jobs.forget("tick").unwrap();
    assert!(jobs.run_now("tick").is_err());
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    assert!(open().start().unwrap().run_now("tick").is_err());
}

#[test]
fn what_is_wrong_with_a_definition_is_said_at_the_start() {
    let open = |name: &str| Jobs::open(folder(name)).unwrap();
    let nothing = |_: &Run, (): ()| -> Done { Ok(()) };
    let cases = [
        (open("wrong-1").handler("a b", nothing), "`a b`: "),
        (open("wrong-2").handler("a", nothing).handler("a", nothing), "`a`: the name is taken"),
        (open("wrong-3").handler(Options::new("a").retry(5_000), nothing), "`a`: "),
        (
            open("wrong-4").async_handler("a", |_: Run, (): ()| async { Done::Ok(()) }),
            "futures need a spawner",
        ),
    ];
    for (builder, expected) in cases {
        let found = builder.start().unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    }
    let jobs = open("wrong-5").start().unwrap();
    assert_eq!(jobs.once("none").submit().unwrap_err().to_string(), "there is no handler `none`");
}

#[test]
fn an_older_payload_is_upgraded_and_a_newer_one_waits() {
    let folder = folder("versions");
    let (sender, receiver) = channel();
    let open = |options: Options| {
        let sender = sender.clone();
        let greet = move |_: &Run, (title, to): (String, String)| sender.send(format!("{title} {to}"));
        Jobs::open(&folder).unwrap().handler(options, greet).start().unwrap()
    };
    let old = Jobs::open(&folder).unwrap().handler("greet", |_: &Run, _: String| -> Done { Ok(()) });
    let old = old.start().unwrap();
    let submitted = old.once("greet").after(Duration::from_millis(300)).payload("Ada").submit().unwrap();
    old.shutdown(LONG).unwrap();
    drop(old);

    let upgraded = || {
        Options::new("greet").version(2).upgrade(|version, to| {
            assert_eq!(version, 0);
            Ok(vec!["Dr".into(), to].into())
        })
    };
    let new = open(upgraded());
    assert_eq!(heard(&receiver), "Dr Ada");
    assert_eq!(ended(&new, &submitted).state, RunState::Succeeded);
    let newer =
        new.once("greet").after(Duration::from_millis(300)).payload(&("Prof", "Ada")).submit().unwrap();
    new.shutdown(LONG).unwrap();
    drop(new);

    let rolled_back = open(Options::new("greet"));
    wait_until(newer.job(), &rolled_back, |record| record.state == RunState::Queued);
    rolled_back.shutdown(LONG).unwrap();
    drop(rolled_back);
    let new = open(upgraded());
    assert_eq!(heard(&receiver), "Prof Ada");
    assert_eq!(ended(&new, &newer).state, RunState::Succeeded);
}
