//! The folder of a program with jobs of its own, looked at by the commands while the program runs and when it
//! does not.

use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{Cron, Jobs, Options, Run};

use crate::program::mainspring;

/// What only a hang reaches.
const LONG: Duration = Duration::from_secs(60);

fn asked(data: &str, words: &[&str]) -> String {
    let ended = mainspring(&[words, &["--data", data]].concat());
    assert_eq!(ended.code, 0, "{words:?}: {}", ended.stderr);
    ended.stdout
}

#[test]
fn the_commands_know_the_jobs_of_a_program_also_when_it_does_not_run() {
    let folder = std::env::temp_dir().join(format!("mainspring-embedded-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let data = folder.to_str().unwrap();
    let (sender, receiver) = channel();
    let nightly = Cron::parse("0 3 * * mon-fri").unwrap().zone("Europe/Berlin").unwrap();
    let jobs = Jobs::open(&folder)
        .unwrap()
        .job("invoices", nightly, move |run: &Run| {
            run.say("17 invoices");
            sender.send(run.key().to_string())
        })
        .handler(Options::new("charge").retry(1).backoff(Duration::from_millis(1)), |_: &Run, card: u32| {
            Err::<(), _>(format!("card {card} is declined"))
        })
        .start()
        .unwrap();
    // With the program: it answers at its socket.
    let status = asked(data, &["status"]);
    assert!(status.contains(&std::process::id().to_string()), "{status}");
    let ran = asked(data, &["run", "invoices", "--wait"]);
    let key = receiver.recv_timeout(LONG).unwrap();
    assert!(ran.contains(&key), "{ran} {key}");
    assert!(asked(data, &["logs", "invoices"]).contains("17 invoices"));
    let charge = jobs.once("charge").payload(&7).name("charge-7").submit().unwrap();
    let record = || jobs.runs_of(charge.job(), 1).unwrap().pop();
    let (_keep, never) = channel::<()>();
    while record().is_none_or(|record| record.state.is_open()) {
        let _ = never.recv_timeout(Duration::from_millis(2));
    }
    let refused = mainspring(&["every", "1h", "--data", data, "--name", "x", "--", "true"]);
    assert!(refused.stderr.contains("functions of a program"), "{}", refused.stderr);
    // And in both cases:
    let look = || {
        let list = asked(data, &["list"]);
        assert!(list.contains("invoices") && list.contains("handler invoices"), "{list}");
        let show = asked(data, &["show", "invoices"]);
        assert!(show.contains("handler = { name = \"invoices\" }") && show.contains("the program"), "{show}");
        assert!(asked(data, &["history", "invoices"]).contains("succeeded"));
        let dead = asked(data, &["dead", "list"]);
        assert!(dead.contains("charge-7") && dead.contains("card 7 is declined"), "{dead}");
    };
    look();
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    look();
}
