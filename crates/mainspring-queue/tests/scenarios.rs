//! Every script in `testdata/scenarios` runs through every structure.

use std::fs;
use std::path::Path;

use mainspring_queue::contract::{Difference, Outcome, Script, run};
use mainspring_queue::wheel::{Bitmap, Cascading, Chunked, Hierarchical, Overflow, Rounds, Simple};
use mainspring_queue::{Naive, RedBlackTree, SkipList, heap};

type Run = fn(&Script) -> Result<Outcome, Difference>;

/// Far enough for most scenarios; the others go beyond it on purpose.
const SIMPLE_HORIZON: usize = 1_000;

const STRUCTURES: [(&str, Run); 13] = [
    ("naive", |script| run(script, Naive::new())),
    ("heap::quaternary", |script| run(script, heap::Quaternary::new())),
    ("heap::lazy", |script| run(script, heap::Lazy::new())),
    ("red_black_tree", |script| run(script, RedBlackTree::new())),
    ("skip_list", |script| run(script, SkipList::new())),
    ("wheel::rounds", |script| run(script, Rounds::new(512, 1))),
    ("wheel::rounds, a ring of 3", |script| run(script, Rounds::new(3, 1))),
    ("wheel::hierarchical", |script| run(script, Hierarchical::new(&[10, 10, 10]))),
    ("wheel::overflow", |script| run(script, Overflow::new(20, 1))),
    ("wheel::cascading", |script| run(script, Cascading::new())),
    ("wheel::bitmap", |script| run(script, Bitmap::new())),
    ("wheel::chunked", |script| run(script, Chunked::new())),
    (SIMPLE, |script| run(script, Simple::new(SIMPLE_HORIZON))),
];

const SIMPLE: &str = "wheel::simple";

fn scenarios() -> Vec<(String, Script)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenarios");
    let mut scenarios: Vec<_> = fs::read_dir(&folder)
        .expect("the scenarios are in the repository")
        .map(|entry| entry.expect("the folder can be read").path())
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a scenario is text");
            assert!(text.starts_with("# "), "{} begins with a sentence", path.display());
            let script = Script::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path.file_stem().expect("a scenario has a name").to_string_lossy().into_owned(), script)
        })
        .collect();
    scenarios.sort_by(|left, right| left.0.cmp(&right.0));
    scenarios
}

#[test]
fn every_scenario_runs_through_every_structure() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 30, "there are {} scenarios", scenarios.len());
    let mut within_horizon_count = 0;
    for (name, script) in &scenarios {
        for (structure, run) in STRUCTURES {
            let result = run(script);
            if structure == SIMPLE && script_goes_beyond(name) {
                // What was rejected changes what a person would see after it, so the script ends there.
                continue;
            }
            match result {
                Ok(Outcome::Complete) => within_horizon_count += usize::from(structure == SIMPLE),
                Ok(Outcome::Rejected) => panic!("{name} on {structure}: a deadline was rejected"),
                Err(difference) => panic!("{name} on {structure}: {difference}"),
            }
        }
    }
    assert!(within_horizon_count >= 20, "{within_horizon_count} scenarios fit the simple wheel");
}

/// Scenarios about far deadlines say so in their names.
fn script_goes_beyond(name: &str) -> bool {
    name.starts_with("far-")
}

#[test]
fn the_simple_wheel_rejects_what_lies_beyond_its_horizon() {
    for (name, script) in scenarios().iter().filter(|(name, _)| script_goes_beyond(name)) {
        let only_schedules = Script {
            steps: script
                .steps
                .iter()
                .filter(|step| step.to_string().starts_with("schedule"))
                .cloned()
                .collect(),
        };
        assert_eq!(run(&only_schedules, Simple::new(SIMPLE_HORIZON)), Ok(Outcome::Rejected), "{name}");
    }
}
