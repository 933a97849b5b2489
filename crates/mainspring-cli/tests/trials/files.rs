//! Files of jobs that others wrote, or chose, run nothing as root.

use std::path::Path;

use crate::program::Running;
use crate::served::IDLE;
use crate::trial_fixture::TrialFixture;

#[test]
fn a_file_of_bobs_is_not_applied() {
    let Some(fixture) = TrialFixture::new("apply") else { return };
    let server = fixture.serve(IDLE);
    fixture.bob("printf '* * * * * root id > %s/proof\\n' $T > bob.crontab; chmod 666 bob.crontab");
    fixture.write("open.crontab", "* * * * * root id\n", 0o666);
    for name in ["bob/bob.crontab", "open.crontab"] {
        let said = fixture.ask(&["apply", "--system", name]);
        assert_eq!(said.code, Some(7), "{said:?}");
        assert!(said.text().contains("is not safe to run"), "{said:?}");
        // To look at one is another matter.
        assert_eq!(fixture.mainspring(&["check", "--system", name]).code, Some(0));
    }
    assert_eq!(fixture.ask(&["show", "id"]).code, Some(4));
    server.stop();
}

#[test]
fn a_log_of_roots_that_bob_chose_is_not_served() {
    let Some(fixture) = TrialFixture::new("chosen") else { return };
    let line = format!("* * * * * root touch {}\n", fixture.text("pwned"));
    fixture.write("log", &format!("sshd: Invalid user foo\n{line}"), 0o644);
    fixture.write("bob/jobs.crontab", "0 0 1 1 * root true\n", 0o644);
    fixture.bob("mv jobs.crontab away; ln -s $T/log jobs.crontab; mkdir deep; ln -s $T deep/up");
    for name in ["bob/jobs.crontab", "bob/away", "bob/deep/up/log"] {
        let file = fixture.text(name);
        let data = fixture.text("data");
        let mut server = Running::any(&["serve", "--data", &data, "--system", &file]);
        server.wait_for_error("is not safe to run");
        server.stop();
    }
    assert!(!Path::new(&fixture.text("pwned")).exists());
}

#[test]
fn a_deploy_of_roots_is_served_through_its_links() {
    let Some(fixture) = TrialFixture::new("deploy") else { return };
    fixture.root("mkdir -p rel/2 && ln -s rel/2 cur && ln -s ../../own.toml rel/2/jobs.toml");
    fixture.write("own.toml", IDLE, 0o644);
    let (data, file) = (fixture.text("data"), fixture.text("cur/jobs.toml"));
    let mut server = Running::any(&["serve", "--data", &data, &file]);
    server.wait_for(&["1 job, data in"]);
    assert_eq!(fixture.ask(&["run", "idle", "--wait"]).code, Some(0));
    assert_eq!(fixture.ask(&["apply", &file]).code, Some(0));
    server.stop();
}

#[test]
fn what_a_job_gives_away_is_warned_of() {
    let fixture = TrialFixture::of_ours("exposures");
    let job = |name: &str, lines: &str| format!("[jobs.{name}]\nevery = '1h'\n{lines}\n");
    let webhook = |name: &str, url: &str| {
        let lines = format!("[jobs.{name}.webhook]\nurl = '{url}'\nsecrets = {{ TOKEN = '/etc/token' }}");
        job(name, &lines)
    };
    let texts = [
        (6, "inherit_env", job("x", "user = 'nobody'\ninherit_env = true\nshell = 'id'")),
        (6, "in the clear", webhook("x", "http://example.org/{secret.TOKEN}")),
        (0, "no problems", job("x", "inherit_env = true\nshell = 'id'")),
        (0, "no problems", webhook("x", "http://127.0.0.1:8080/{secret.TOKEN}")),
        (0, "no problems", webhook("x", "https://example.org/{secret.TOKEN}")),
    ];
    for (code, why, text) in texts {
        fixture.write("jobs.toml", &text, 0o644);
        let said = fixture.mainspring(&["check", "--strict", "jobs.toml"]);
        assert!(said.code == Some(code) && said.text().contains(why), "{text}: {said:?}");
    }
}
