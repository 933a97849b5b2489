//! Files that root's server reads for a job give its user nothing that is not that user's, and stop no
//! server.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::program::Running;
use crate::starting::LEASE;
use crate::trial_fixture::TrialFixture;

/// A job of bob's that shows its secret where masks do not find it.
fn job(name: &str, path: &str) -> String {
    format!(
        "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = 'nobody'\ncwd = '/'\n\
         shell = 'echo \"$TOKEN\" | rev'\nsecrets = {{ TOKEN = '{path}' }}\n"
    )
}

#[test]
fn a_secret_that_is_a_link_of_bobs_is_not_read() {
    let Some(fixture) = TrialFixture::new("secret-link") else { return };
    fixture.write("shadow", "root:topsecret:1:2\n", 0o600);
    fixture.bob("mkdir deep own; ln -s $T/shadow token; ln -s $T deep/up; echo bobs-own-token > own/token");
    fixture.bob("ln -s own/token mine; chmod 600 own/token; echo open-to-all > open; chmod 666 open");
    let home = fixture.text("bob");
    let jobs = [
        job("link", &format!("{home}/token")),
        job("above", &format!("{home}/deep/up/shadow")),
        job("mine", &format!("{home}/mine")),
        job("open", &format!("{home}/open")),
        // What bob may write is not given to a job of root's.
        job("roots", &format!("{home}/mine")).replace("user = 'nobody'\n", ""),
    ];
    let server = fixture.serve(&jobs.concat());
    for name in ["link", "above", "open", "roots"] {
        let said = fixture.ask(&["run", name, "--wait"]);
        assert!(said.text().contains("not started: cannot read the secret"), "{name}: {said:?}");
        assert!(!fixture.ask(&["logs", name]).text().contains("terces"), "{name}");
    }
    let said = fixture.ask(&["run", "mine", "--wait"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(fixture.ask(&["logs", "mine"]).stdout, "nekot-nwo-sbob\n");
    let (_, lines, _) = server.stop();
    assert!(!lines.join("\n").contains("terces"), "{lines:#?}");
}

#[test]
fn secrets_of_a_deploy_are_read() {
    let Some(fixture) = TrialFixture::new("secret-deploy") else { return };
    fixture.root("mkdir -p rel/2 vol/..v1 && echo secret-two > rel/2/token && ln -s rel/2 cur");
    // As Kubernetes mounts them: root's folder, which everybody may write, with the sticky bit.
    fixture.root("chmod 1777 vol && ln -s ..v1 vol/..data && ln -s ..data/token vol/token && echo v1-secret > vol/..v1/token");
    fixture.bob("ln -s $T/rel/2/token $T/vol/bobs");
    let path = |name: &str| fixture.text(name);
    let jobs = [job("a", &path("cur/token")), job("b", &path("vol/token")), job("c", &path("vol/bobs"))];
    let server = fixture.serve(&jobs.concat());
    for (name, text) in [("a", "owt-terces\n"), ("b", "terces-1v\n")] {
        let said = fixture.ask(&["run", name, "--wait"]);
        assert_eq!((said.code, fixture.ask(&["logs", name]).stdout.as_str()), (Some(0), text), "{said:?}");
    }
    let said = fixture.ask(&["run", "c", "--wait"]);
    assert!(said.text().contains("belongs to user 65534, in a folder that everybody may write"), "{said:?}");
    server.stop();
}

#[test]
fn a_fifo_in_the_place_of_a_file_stops_nothing() {
    let Some(fixture) = TrialFixture::new("fifo") else { return };
    fixture.bob("mkfifo token");
    fixture.root("mkfifo roots");
    let (token, roots) = (fixture.text("bob/token"), fixture.text("roots"));
    let webhook = |name: &str, line: &str| {
        format!(
            "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\n[jobs.{name}.webhook]\nurl = 'https://127.0.0.1:1/'\n{line}\n"
        )
    };
    let jobs = [
        job("process", &token),
        webhook("secret", &format!("headers = {{ A = '{{secret.A}}' }}\nsecrets = {{ A = '{roots}' }}")),
        webhook("signed", &format!("signing_secret = '{roots}'")),
        webhook("certified", &format!("ca_file = '{roots}'")),
    ];
    let mut server = fixture.serve(&jobs.concat());
    for name in ["process", "secret", "signed", "certified"] {
        let said = fixture.ask(&["run", name, "--wait"]);
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        assert!(said.text().contains("it is no regular file"), "{name}: {said:?}");
    }
    // A served file that becomes one, and then a file again.
    fixture.root("mkfifo fifo && mv fifo jobs.toml");
    server.wait_for(&["has problems, and what was read before stays in force"]);
    assert_eq!(fixture.ask(&["list"]).code, Some(0));
    symlink("next.toml", fixture.path("link")).unwrap();
    fixture.write("next.toml", &job("later", &token), 0o644);
    fixture.root("mv -T link jobs.toml");
    server.wait_for(&["was read again: 1 added"]);
    server.stop();
}

#[test]
fn a_lease_on_a_file_is_told_at_once() {
    let Some(fixture) = TrialFixture::new("secret-lease") else { return };
    fixture.bob("for name in token variables; do echo A=1-2-3 > $name; chmod 600 $name; done");
    let (token, variables) = (fixture.text("bob/token"), fixture.text("bob/variables"));
    let webhook = |name: &str, line: &str| {
        format!(
            "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\n[jobs.{name}.webhook]\nurl = 'https://127.0.0.1:1/'\n{line}\n"
        )
    };
    let variables = format!("env_file = ['{variables}']\n");
    let jobs = [
        job("secret", &token) + "timeout = '1s'\n",
        job("variables", "/dev/null").replace("secrets = { TOKEN = '/dev/null' }\n", &variables),
        webhook("signed", &format!("signing_secret = '{token}'")),
        webhook("certified", &format!("ca_file = '{token}'")),
    ];
    let server = fixture.serve(&jobs.concat());
    let mut python = Command::new("python3");
    let files = ["token", "variables"].map(|name| fixture.home().join(name));
    let mut lease = Running::other(python.args(["-c", LEASE]).args(files));
    lease.wait_for(&["held"]);
    for name in ["secret", "variables", "signed", "certified"] {
        let said = fixture.ask(&["run", name, "--wait"]);
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        assert!(said.text().contains("another process has a lease on it"), "{name}: {said:?}");
    }
    drop(lease);
    assert_eq!(fixture.ask(&["run", "secret", "--wait"]).code, Some(0));
    server.stop();
}
