//! Files of jobs that others wrote, or chose, run nothing as root.

use std::path::Path;

use crate::ground::Ground;
use crate::program::Running;
use crate::served::IDLE;

#[test]
fn a_file_of_bobs_is_not_applied() {
    let Some(ground) = Ground::new("apply") else { return };
    let server = ground.serve(IDLE);
    ground.bob("printf '* * * * * root id > %s/proof\\n' $T > bob.crontab; chmod 666 bob.crontab");
    ground.write("open.crontab", "* * * * * root id\n", 0o666);
    for name in ["bob/bob.crontab", "open.crontab"] {
        let said = ground.ask(&["apply", "--system", name]);
        assert_eq!(said.code, Some(7), "{said:?}");
        assert!(said.text().contains("is not safe to run"), "{said:?}");
        // To look at one is another matter.
        assert_eq!(ground.mainspring(&["check", "--system", name]).code, Some(0));
    }
    assert_eq!(ground.ask(&["show", "id"]).code, Some(4));
    server.stop();
}

#[test]
fn a_log_of_roots_that_bob_chose_is_not_served() {
    let Some(ground) = Ground::new("chosen") else { return };
    let line = format!("* * * * * root touch {}\n", ground.text("pwned"));
    ground.write("log", &format!("sshd: Invalid user foo\n{line}"), 0o644);
    ground.write("bob/jobs.crontab", "0 0 1 1 * root true\n", 0o644);
    ground.bob("mv jobs.crontab away; ln -s $T/log jobs.crontab; mkdir deep; ln -s $T deep/up");
    for name in ["bob/jobs.crontab", "bob/away", "bob/deep/up/log"] {
        let file = ground.text(name);
        let data = ground.text("data");
        let mut server = Running::any(&["serve", "--data", &data, "--system", &file]);
        server.wait_for_error("is not safe to run");
        server.stop();
    }
    assert!(!Path::new(&ground.text("pwned")).exists());
}

#[test]
fn a_deploy_of_roots_is_served_through_its_links() {
    let Some(ground) = Ground::new("deploy") else { return };
    ground.root("mkdir -p rel/2 && ln -s rel/2 cur && ln -s ../../own.toml rel/2/jobs.toml");
    ground.write("own.toml", IDLE, 0o644);
    let (data, file) = (ground.text("data"), ground.text("cur/jobs.toml"));
    let mut server = Running::any(&["serve", "--data", &data, &file]);
    server.wait_for(&["1 job, data in"]);
    assert_eq!(ground.ask(&["run", "idle", "--wait"]).code, Some(0));
    assert_eq!(ground.ask(&["apply", &file]).code, Some(0));
    server.stop();
}

#[test]
fn what_a_job_gives_away_is_warned_of() {
    let ground = Ground::of_ours("exposures");
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
        ground.write("jobs.toml", &text, 0o644);
        let said = ground.mainspring(&["check", "--strict", "jobs.toml"]);
        assert!(said.code == Some(code) && said.text().contains(why), "{text}: {said:?}");
    }
}
