//! A server that keeps nothing takes away nothing but what it made.

use std::process::Command;

use crate::program::Running;
use crate::trial_fixture::{BOB, TrialFixture, names};

const JOB: &str = "[jobs.tick]\nat_boot = true\ncwd = '/'\nshell = 'echo ran'\n";

#[test]
fn a_folder_called_output_stays() {
    let fixture = TrialFixture::of_ours("memory");
    fixture.root("mkdir -p proj/output && echo results > proj/output/results.csv");
    let file = fixture.write("jobs.toml", JOB, 0o600);
    let (data, file) = (fixture.text("proj"), file.to_str().unwrap().to_owned());
    for _ in 0..2 {
        let mut server = Running::any(&["serve", "--memory", "--data", &data, &file]);
        server.wait_for(&["tick", "end    exit status 0"]);
        assert_eq!(fixture.mainspring(&["logs", "tick", "--data", &data]).stdout, "ran\n");
        server.stop();
    }
    assert_eq!(fixture.read("proj/output/results.csv"), "results\n");
    assert_eq!(names(&fixture.path("proj")), ["mainspring.lock", "output"]);
}

#[test]
fn its_own_folder_is_in_none_of_another_user() {
    let Some(fixture) = TrialFixture::new("runtime") else { return };
    let file = fixture.write("jobs.toml", JOB, 0o600);
    let mut command = Command::new(fixture.path("mainspring"));
    command.args(["serve", "--memory", file.to_str().unwrap()]).env("XDG_RUNTIME_DIR", fixture.home());
    let mut server = Running::other(command.env("TMPDIR", &fixture.folder));
    server.wait_for(&[&format!("--data {}/mainspring-", fixture.folder.display())]);
    assert_eq!(names(&fixture.home()), [] as [&str; 0], "user {BOB}");
    server.stop();
}
