//! One-shot jobs: what `show` and the API tell of each until it is over.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use mainspring_web::scope::Scope;

use crate::program::{EndedProgram, ended, mainspring};
use crate::site::Site;
use crate::test_server::{IDLE, TestServer};

#[test]
fn a_one_shot_job_tells_why_it_waits_and_then_how_it_ended() {
    let site = Site::start("at-waits", IDLE, &[]);
    let (served, token) = (&site.served, site.token("mara", Scope::Look));
    served.says(&["at", "now", "--name", "far", "--policy", "on=gpu", "--", "true"], 0, "far is due");
    served.says(&["at", "+1h", "--name", "member", "--policy", "batch=b", "--", "true"], 0, "member is due");
    served.says(
        &["at", "now", "--name", "last", "--policy", "after-batch=b", "--", "true"],
        0,
        "last is due",
    );
    let found = served.json(&["show", "far", "--json"])["found"].clone();
    let key = found["run"]["run"].as_str().unwrap();
    let because =
        format!("does not run  {key} is due, and no server has gpu; ends with a server that has gpu\n");
    served.says(&["show", "far"], 0, &because);
    served.says(
        &["show", "last"],
        0,
        "is due, and something of batch b waits or runs; ends with the end of batch b",
    );
    assert!(!served.ask(&["show", "member"]).stdout.contains("does not run"), "it is due later");
    let nominal = found["run"]["nominal"].as_str().unwrap();
    let told = site.get(&format!("/api/v1/runs/far/{nominal}/0"), &token).json();
    assert_eq!((&told["holds"], told["holds"][0]["code"].as_str()), (&found["holds"], Some("unserved")));
    served.says(&["pause", "--all"], 0, "");
    served.says(&["at", "now", "--name", "held", "--", "true"], 0, "held is due");
    for name in ["far", "member", "last", "held"] {
        served.says(
            &["show", name],
            0,
            "does not run  everything is paused; ends with `mainspring resume --all`",
        );
    }
    assert_eq!(site.get("/api/v1/once/held", &token).json()["holds"][0]["code"], "all_paused");
    served.says(&["cancel", key], 0, "");
    served.says(&["show", "far"], 0, "it was cancelled by request");
    let data = served.data();
    site.served.stop_and_keep();
    let shown = mainspring(&["show", "last", "--data", &data]);
    assert!(shown.stdout.contains("does not run  everything is paused"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("batch b"), "no server looks: {}", shown.stdout);
}

#[test]
fn what_is_asked_of_a_one_shot_job_as_of_a_job_is_told_of_cancel() {
    let served = TestServer::start("at-no-job", IDLE);
    served.says(&["at", "+1h", "--name", "p1", "--", "true"], 0, "p1 is due");
    for command in ["run", "pause", "resume", "remove"] {
        served.says(&[command, "p1"], 4, "`p1` came by `at`, and `mainspring cancel p1` ends it");
        served.says(&[command, "p2"], 4, "there is no ");
    }
    served.says(&["cancel", "p1"], 0, "");
    served.says(&["history", "--cause", "x"], 2, "there is no cause `x`: expected trigger, ");
    served.stop();
}

#[test]
fn a_command_that_cannot_start_where_the_caller_is_is_refused() {
    let served = TestServer::start("at-place", IDLE);
    let binary = env!("CARGO_BIN_EXE_mainspring");
    let data = served.data();
    let place = served.file().parent().unwrap().join("place");
    let script = "mkdir -p \"$3\" && cd \"$3\" && rmdir \"$3\" && exec \"$1\" at now --data \"$2\" -- pwd";
    let gone = run_shell(script, &[binary.as_ref(), data.as_ref(), place.as_ref()]);
    assert_eq!(gone.code, 2, "{}", gone.stderr);
    assert!(gone.stderr.contains("the current directory, which is gone"), "{}", gone.stderr);
    let odd = place.with_file_name(OsStr::from_bytes(b"odd-\xff"));
    let script = "mkdir -p \"$3\" && cd \"$3\" && exec \"$1\" at now --data \"$2\" -- pwd";
    let nameless = run_shell(script, &[binary.as_ref(), data.as_ref(), odd.as_ref()]);
    assert_eq!(nameless.code, 2, "{}", nameless.stderr);
    assert!(nameless.stderr.contains("the current directory is no UTF-8"), "{}", nameless.stderr);
    served.says(&["list", "--pending"], 0, "there are no jobs");
    served.stop();
}

/// What a script for a shell does with these arguments.
fn run_shell(script: &str, args: &[&OsStr]) -> EndedProgram {
    ended(Command::new("sh").args(["-c", script, "sh"]).args(args).output().unwrap())
}
