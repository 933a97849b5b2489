//! The command line against a server elsewhere: the same answers and exit codes as over the socket, by the
//! scope of a token.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use mainspring_web::scope::Scope;
use serde_json::Value;

use crate::program::{EndedProgram, mainspring};
use crate::site::Site;
use crate::test_server::IDLE;

/// A command, as somebody on another machine gives it.
fn there(site: &Site, scope: Scope, args: &[&str]) -> EndedProgram {
    let file = site.served.folder.join(format!("{scope}.token"));
    if !file.exists() {
        fs::write(&file, site.token(scope.name(), scope)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let url = format!("http://{}", site.host);
    let count = if args[0] == "dead" { 2 } else { 1 };
    let own = ["--url", &url, "--token-file", file.to_str().unwrap()];
    mainspring(&[&args[..count], &own[..], &args[count..]].concat())
}

#[test]
fn a_server_elsewhere_gives_the_documents_that_the_socket_gives() {
    let site = Site::start("remote-equal", IDLE, &[]);
    site.served.says(&["run", "idle", "--wait"], 0, "succeeded");
    let commands: [&[&str]; 9] = [
        &["status", "--json"],
        &["list", "--json"],
        &["show", "idle", "--json"],
        &["history", "--json"],
        &["history", "idle", "--state", "succeeded", "-n", "1", "--json"],
        &["dead", "list", "--json"],
        &["logs", "idle", "--json"],
        &["export"],
        &["export", "--history"],
    ];
    for command in commands {
        let (ours, theirs) = (site.served.ask(command), there(&site, Scope::Look, command));
        assert_eq!(
            (theirs.code, &theirs.stdout),
            (ours.code, &ours.stdout),
            "{command:?}: {}",
            theirs.stderr
        );
        assert!(!ours.stdout.is_empty() && theirs.stderr.is_empty(), "{command:?}: {}", theirs.stderr);
    }
    let report: Value =
        serde_json::from_str(&there(&site, Scope::Look, &["doctor", "--json"]).stdout).unwrap();
    assert_eq!(report["asked"], "server");
    let missing = there(&site, Scope::Look, &["show", "none"]);
    assert_eq!((missing.code, missing.stderr.trim()), (4, "mainspring: there is no job `none`"));
    site.stop();
}

#[test]
fn runs_are_waited_for_and_followed_from_elsewhere() {
    let jobs = format!("{IDLE}[jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo no; exit 3'\n");
    let site = Site::start("remote-runs", &jobs, &[]);
    let good = there(&site, Scope::Operate, &["run", "idle", "--wait"]);
    assert_eq!((good.code, good.stdout.contains("succeeded")), (0, true), "{}", good.stderr);
    assert_eq!(there(&site, Scope::Operate, &["run", "bad", "--wait"]).code, 1);
    assert_eq!(there(&site, Scope::Operate, &["logs", "bad"]).stdout, "no\n");
    assert_eq!(there(&site, Scope::Operate, &["pause", "idle"]).code, 0);
    site.served.says(&["show", "idle"], 0, "paused");
    assert_eq!(there(&site, Scope::Operate, &["resume", "idle"]).code, 0);
    let (_, lines, _) = site.served.running.stop();
    assert!(lines.iter().any(|line| line.contains("token operate asked over HTTP: run idle")), "{lines:#?}");
}

#[test]
fn each_command_needs_its_scope_and_commands_are_defined_only_where_that_is_allowed() {
    let site = Site::start("remote-scopes", IDLE, &[]);
    let job = "[jobs.new]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n";
    let file = site.served.folder.join("new.toml");
    crate::test_server::write(&file, job);
    let file = file.to_str().unwrap();
    let defining: [&[&str]; 3] =
        [&["at", "+1h", "--", "true"], &["every", "1h", "--name", "x", "--", "true"], &["apply", file]];
    for command in defining {
        let refused = there(&site, Scope::Define, command);
        assert_eq!(refused.code, 7, "{command:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("this needs the scope define"), "{}", refused.stderr);
    }
    let refused = there(&site, Scope::Look, &["run", "idle"]);
    assert_eq!(refused.code, 7);
    assert!(
        refused.stderr.contains("this needs the scope operate, and token look has look"),
        "{}",
        refused.stderr
    );
    assert_eq!(there(&site, Scope::Metrics, &["list"]).code, 7);
    assert_eq!(
        there(&site, Scope::Define, &["open", "--print"]).code,
        7,
        "a way in is given on the machine alone"
    );
    site.stop();

    let site = Site::start("remote-define", IDLE, &["--define-over-http"]);
    for command in &defining[..2] {
        let done = there(&site, Scope::Define, command);
        assert_eq!(done.code, 0, "{command:?}: {}", done.stderr);
        assert_eq!(there(&site, Scope::Operate, command).code, 7, "{command:?}");
    }
    site.served.says(&["list"], 0, "x");
    site.stop();
}

#[test]
fn what_is_wrong_with_address_or_token_is_said() {
    let site = Site::start("remote-wrong", IDLE, &[]);
    let url = format!("http://{}", site.host);
    let file = site.served.folder.join("token");
    let ask = |url: &str, token: &str, mode| {
        fs::write(&file, token).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        mainspring(&["list", "--url", url, "--token-file", file.to_str().unwrap()])
    };
    let cases = [
        (ask(&url, "0123", 0o600), 7, "the token is not known"),
        (ask(&url, "0123", 0o604), 7, "chmod o="),
        (ask(&url, "", 0o600), 1, "it does not hold one token"),
        (ask("http://127.0.0.1:1", "0123", 0o600), 3, "no server answers at http://127.0.0.1:1/"),
        (ask("ftp://host", "0123", 0o600), 2, "expected an address such as"),
        (mainspring(&["list", "--url", &url]), 2, "--token-file"),
        (mainspring(&["list", "--url", &url, "--token-file", "/no/such", "--data", "/tmp"]), 2, "--data"),
        (mainspring(&["list", "--url", &url, "--token-file", "/no/such/file"]), 1, "/no/such/file"),
    ];
    for (ended, code, part) in cases {
        assert_eq!((ended.code, ended.stderr.contains(part)), (code, true), "{part}: {}", ended.stderr);
    }
    site.stop();
}
