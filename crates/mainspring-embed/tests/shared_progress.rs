//! The progress of a run, as it is seen at each of the programs that share a database.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use mainspring_embed::Cron;
use serde_json::Value;

use super::*;

/// The answer of a program to what a command of `mainspring` asks of the job over its socket.
fn asked(folder: &Path, command: &str) -> Value {
    let mut stream = UnixStream::connect(folder.join("mainspring.sock")).unwrap();
    writeln!(stream, r#"{{"id":1,"command":"{command}","job":"copy"}}"#).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

pub(super) fn progress_is_seen_at_each_program_while_the_run_goes_on(database: &Database) {
    let folder = folder("progress");
    let (steps, told) = channel();
    let told = Arc::new(Mutex::new(told));
    let start = |name: &str, set: &dyn Fn(Builder) -> Builder| {
        let told = Arc::clone(&told);
        let copy = move |run: &Run| {
            while let Some(done) = told.lock().unwrap().recv_timeout(LONG).unwrap() {
                run.progress(done, 100);
            }
            Ok::<(), HandlerError>(())
        };
        let rules = Options::new("copy").on("gpu".parse().unwrap());
        let builder = Jobs::connect(&database.url()).unwrap().folder(folder.join(name));
        set(builder.job(rules, Cron::parse("0 0 29 2 *").unwrap(), copy)).start().unwrap()
    };
    let first = start("one", &|builder| builder);
    let second = start("two", &|builder| builder.label("gpu").never_plans());
    let seen = |name: &str, command: &str, place: &str| {
        asked(&folder.join(name), command).pointer(place).map(|shown| shown["progress"]["done"].as_u64())
    };
    let all = ["one", "two"].map(|name| [(name, "history", "/runs/runs/0"), (name, "show", "/job")]);
    for round in [10, 20] {
        let key = first.run_now("copy").unwrap();
        for done in [round + 1, round + 2] {
            steps.send(Some(done)).unwrap();
            for (name, command, place) in all.into_iter().flatten() {
                // The one before it, or none, is seen until the worker's lease is renewed.
                wait_until(|| seen(name, command, place) == Some(Some(done)));
            }
        }
        steps.send(None).unwrap();
        wait_until(|| first.runs(10).unwrap().iter().any(|run| run.key == key && !run.state.is_open()));
        for (name, command, place) in all.into_iter().flatten() {
            assert_eq!(seen(name, command, place), Some(None), "{command} at {name}, of what is over");
        }
        wait_until(|| database.ask("SELECT count(*) FROM mainspring.worker WHERE progress <> ''") == "0");
    }
    second.shutdown(LONG).unwrap();
    first.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}
