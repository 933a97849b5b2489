//! A server that keeps nothing takes away nothing but what it made.

use std::process::Command;

use crate::ground::{BOB, Ground, names};
use crate::program::Running;

const JOB: &str = "[jobs.tick]\nat_boot = true\ncwd = '/'\nshell = 'echo ran'\n";

#[test]
fn a_folder_called_output_stays() {
    let ground = Ground::of_ours("memory");
    ground.root("mkdir -p proj/output && echo results > proj/output/results.csv");
    let file = ground.write("jobs.toml", JOB, 0o600);
    let (data, file) = (ground.text("proj"), file.to_str().unwrap().to_owned());
    for _ in 0..2 {
        let mut server = Running::any(&["serve", "--memory", "--data", &data, &file]);
        server.wait_for(&["tick", "end    exit status 0"]);
        assert_eq!(ground.mainspring(&["logs", "tick", "--data", &data]).stdout, "ran\n");
        server.stop();
    }
    assert_eq!(ground.read("proj/output/results.csv"), "results\n");
    assert_eq!(names(&ground.path("proj")), ["mainspring.lock", "output"]);
}

#[test]
fn its_own_folder_is_in_none_of_another_user() {
    let Some(ground) = Ground::new("runtime") else { return };
    let file = ground.write("jobs.toml", JOB, 0o600);
    let mut command = Command::new(ground.path("mainspring"));
    command.args(["serve", "--memory", file.to_str().unwrap()]).env("XDG_RUNTIME_DIR", ground.home());
    let mut server = Running::other(command.env("TMPDIR", &ground.folder));
    server.wait_for(&[&format!("--data {}/mainspring-", ground.folder.display())]);
    assert_eq!(names(&ground.home()), [] as [&str; 0], "user {BOB}");
    server.stop();
}
