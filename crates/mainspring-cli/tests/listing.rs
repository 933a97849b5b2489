//! A list says of each job what `show` says of it, after any change.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::Running;
use crate::replay;
use crate::test_server::folder;

/// How many random changes there are with each seed.
const STEPS: usize = 120;

/// How many names jobs may have. They begin with those of `KINDS` in turn.
const NAMES: u64 = 12;

/// A list and what it is compared with are asked so often until nothing has changed between them.
const MAX_TRIES: usize = 10_000;

/// What jobs are like. Nothing is due by itself within a test.
const KINDS: [&str; 6] = [
    "every = '1000h'\nrun = ['true']\nretention = 'keep=1'\n",
    "every = '1000h'\nrun = ['false']\nretry = '1,backoff=1ms'\nretention = 'keep=2'\n",
    "every = '1000h'\nrun = ['sleep', '100000']\ngroup = 'one'\noverlap = 'queue-all'\n",
    "after = { job = 'j0', on = 'any' }\nrun = ['true']\n",
    "at = 2100-01-01T00:00:00Z\nrun = ['true']\npause_after = 2\n[jobs.NAME.labels]\nteam = 'a \"b\"'\n",
    "every = '1000h'\nshell = 'exit 3'\noverlap = 'skip'\nmax_runs = 3\n",
];

/// A connection to a server, and what is random.
struct Client {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    random: u64,
}

impl Client {
    fn connect(data: &Path, seed: u64) -> Client {
        let stream = UnixStream::connect(data.join("mainspring.sock")).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Client { stream, reader, random: seed }
    }

    /// A number below a limit, by splitmix64.
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn ask(&mut self, request: &Value) -> String {
        self.stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line
    }

    fn list(&mut self) -> String {
        self.ask(&json!({"id": 1, "command": "list", "after": null}))
    }

    /// The same list, of jobs that are each described when they are asked for.
    fn described(&mut self, names: &[String]) -> String {
        let mut rows = String::new();
        for name in names {
            let answer = self.ask(&json!({"id": 1, "command": "show", "job": name}));
            let Some(row) = answer.strip_prefix("{\"id\":1,\"job\":") else { return answer };
            let (row, _) = row.rsplit_once(",\"definition\":").unwrap();
            let comma = if rows.is_empty() { "" } else { "," };
            write!(rows, "{comma}{row}}}").unwrap();
        }
        format!("{{\"id\":1,\"jobs\":{{\"jobs\":[{rows}],\"after\":null}}}}\n")
    }

    /// All runs with the numbers of their attempts. It is never again what it was: a list is, where an
    /// attempt fails, its retry waits, and begins.
    fn runs(&mut self) -> String {
        self.ask(&json!({"id": 1, "command": "history", "job": null, "limit": 1_000}))
    }

    /// Compares them at a time at which nothing changes.
    fn compare(&mut self, what: &str) {
        for _ in 0..MAX_TRIES {
            let runs = self.runs();
            let before = self.list();
            let parsed: Value = serde_json::from_str(&before).unwrap();
            let jobs = parsed["jobs"]["jobs"].as_array().unwrap().iter();
            let names: Vec<String> = jobs.map(|job| job["name"].as_str().unwrap().to_owned()).collect();
            let described = self.described(&names);
            if self.list() == before && self.runs() == runs {
                assert_eq!(before, described, "{what}");
                return;
            }
        }
        panic!("{what}: it changes all the time");
    }

    fn file(&mut self) -> String {
        let mut text = "[groups.one]\nlimit = 1\n".to_owned();
        for index in 0..NAMES {
            // The first is what others follow.
            if index != 0 && self.below(4) == 0 {
                continue;
            }
            let kind = if self.below(5) == 0 { self.below(KINDS.len() as u64) } else { index };
            let kind = KINDS[usize::try_from(kind).unwrap() % KINDS.len()];
            // What follows the first is not the first, which would follow itself.
            let kind = if index == 0 { KINDS[0] } else { kind };
            let name = format!("j{index}");
            let folder = ["/", "/tmp"][usize::try_from(self.below(2)).unwrap()];
            write!(text, "[jobs.{name}]\ncwd = '{folder}'\n{}", kind.replace("NAME", &name)).unwrap();
        }
        text
    }

    fn apply(&mut self, prune: bool) -> Value {
        let text = self.file();
        let files = json!([{"name": "jobs.toml", "text": text, "system": false}]);
        json!({"id": 1, "command": "apply", "files": files, "prune": prune, "preview": false})
    }

    /// A change, which may be refused.
    fn change(&mut self) -> Value {
        let job = format!("j{}", self.below(NAMES));
        match self.below(20) {
            0..=3 => json!({"id": 1, "command": "run", "job": job, "wait": false}),
            4..=6 => {
                // A job that waits for another, or sleeps, would be waited for too long.
                let job = ["j0", "j1", "j6", "j7"][usize::try_from(self.below(4)).unwrap()];
                json!({"id": 1, "command": "run", "job": job, "wait": false})
            }
            7 | 8 => json!({"id": 1, "command": "cancel", "of": job}),
            9 => json!({"id": 1, "command": "pause", "job": job, "note": "why \"so\""}),
            16 => json!({"id": 1, "command": "pause", "job": job}),
            17 | 18 => {
                let asked =
                    json!({"id": 1, "command": "history", "job": null, "states": ["dead"], "limit": 1});
                let dead: Value = serde_json::from_str(&self.ask(&asked)).unwrap();
                let run = dead["runs"]["runs"][0]["run"].as_str().unwrap_or("j0").to_owned();
                let command = ["dead_retry", "dead_drop"][usize::try_from(self.below(2)).unwrap()];
                json!({"id": 1, "command": command, "run": run})
            }
            10 => json!({"id": 1, "command": "pause", "job": null}),
            11 => json!({"id": 1, "command": "resume", "job": null}),
            12 => json!({"id": 1, "command": "resume", "job": job}),
            13 => self.apply(true),
            14 => json!({"id": 1, "command": "remove", "job": job, "drop_history": true}),
            _ => {
                // It may have the name of a job that is defined later.
                let due =
                    ["2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"][usize::try_from(self.below(2)).unwrap()];
                json!({"id": 1, "command": "submit", "due": due, "name": job, "process": {"run": ["true"], "cwd": "/"}})
            }
        }
    }
}

#[test]
fn a_list_says_of_each_job_what_show_says_after_any_change() {
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    replay::each_seed(1..4, |seed| {
        let folder = folder(&format!("listing-{seed}"));
        let data = folder.join("data");
        let mut running = Running::any(&["serve", "--grace", "0s", "--data", data.to_str().unwrap()]);
        running.wait_for(&[", data in "]);
        let mut client = Client::connect(&data, seed);
        let apply = client.apply(false);
        assert!(client.ask(&apply).contains("\"applied\""));
        for step in 0..STEPS {
            let mut change = client.change();
            let answer = client.ask(&change);
            let answered: Value = serde_json::from_str(&answer).unwrap();
            let kind = answered.as_object().unwrap().keys().find(|key| *key != "id").unwrap().clone();
            let kind = if kind == "error" { format!("{answer:.60}") } else { kind };
            *kinds.entry(format!("{} {kind}", change["command"].as_str().unwrap())).or_default() += 1;
            change["files"] = Value::Null;
            // Several changes may come between two lists.
            if client.below(3) != 0 {
                client.compare(&format!("seed {seed}, step {step}: {change} {answer:.200}"));
            }
        }
        client.compare(&format!("seed {seed}, at the end"));
        let (_, _, errors) = running.stop();
        assert!(!errors.contains("panicked"), "{errors}");
        let _ = std::fs::remove_dir_all(&folder);
    });
    println!("{kinds:#?}");
}
