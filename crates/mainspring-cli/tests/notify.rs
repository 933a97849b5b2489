//! Notifications of a job: by a command, a webhook, a chat, a mail; and those of a crontab's MAILTO.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{Running, mainspring};
use crate::receivers::{CHECK, Services};
use crate::test_server::{TestServer, folder, write};

/// A program that writes its arguments and its input into a file.
fn mailer(folder: &Path) -> String {
    let path = folder.join("sendmail");
    let text = format!("#!/bin/sh\necho \"args: $*\" >>{0}\ncat >>{0}\n", folder.join("mails").display());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_command_is_told_of_a_failure_and_of_the_recovery_and_a_mail_has_the_output() {
    let folder = folder("notify-command");
    let (told, mailer) = (folder.join("told"), mailer(&folder));
    let jobs = format!(
        "[jobs.flaky]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo it says; exit $(cat {code})'\n\
         sendmail = '{mailer}'\nretry = '1,backoff=1ms'\n\
         notify = {{ on = ['failed', 'recovered'], to = ['echo $NOTIFY_EVENT $NOTIFY_JOB $NOTIFY_ATTEMPTS >>{told}', 'mailto:ops@example.com'] }}\n",
        code = folder.join("code").display(),
        told = told.display(),
    );
    write(&folder.join("jobs.toml"), &jobs);
    write(&folder.join("code"), "3");
    let mut served = TestServer::start_in(folder.clone(), &[]);
    served.says(&["run", "flaky", "--wait"], 1, "");
    served.running.wait_for_all(&[
        &["notify:flaky:failed:1", "end    exit status 0"],
        &["notify:flaky:failed:2", "end    exit status 0"],
    ]);
    assert_eq!(fs::read_to_string(&told).unwrap(), "failed flaky 2\n", "once, after the last attempt");
    let mail = fs::read_to_string(folder.join("mails")).unwrap();
    assert!(
        mail.starts_with(
            "args: -i -oem ops@example.com\nTo: ops@example.com\nSubject: [mainspring] flaky has failed on "
        ),
        "{mail}"
    );
    assert!(mail.contains("reason    exit 3") && mail.ends_with("What it wrote:\n\nit says\n"), "{mail}");
    // The third failure in a row is not told; the fourth is.
    for _ in 0..2 {
        served.says(&["run", "flaky", "--wait"], 1, "");
    }
    write(&folder.join("code"), "0");
    served.says(&["run", "flaky", "--wait"], 0, "");
    served.running.wait_for(&["notify:flaky:recovered:1", "end    exit status 0"]);
    assert_eq!(fs::read_to_string(&told).unwrap(), "failed flaky 2\nfailed flaky 2\nrecovered flaky 1\n");
    served.stop();
}

/// A job that fails with a long output, a secret at its end, and these lines.
fn failing(name: &str, folder: &Path, lines: &str) -> String {
    let secret = folder.join("secret");
    write(&secret, "correct horse battery\n");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    format!(
        "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nsecrets = {{ TOKEN = '{}' }}\n\
         shell = 'seq 1 20000; echo \"last \\\"words\\\" <&>\"; echo $TOKEN; exit 7'\n{lines}\n",
        secret.display()
    )
}

#[test]
fn each_service_takes_what_it_is_sent_and_shows_reason_output_and_link() {
    let (folder, services) = (folder("notify-kinds"), Services::start());
    let kinds = ["slack", "discord", "teams", "google-chat", "ntfy", "json"];
    let job = |kind: &&str| {
        let host = services.host;
        failing(
            kind,
            &folder,
            &format!("notify = {{ to = {{ url = 'http://{host}/{kind}', kind = '{kind}' }} }}"),
        )
    };
    write(&folder.join("jobs.toml"), &kinds.iter().map(job).collect::<String>());
    let listen = format!("--listen=unix:{}", folder.join("page").display());
    let served = TestServer::start_in(folder, &[&listen, "--public-url=https://cron.example/of/"]);
    for kind in kinds {
        served.says(&["run", kind, "--wait"], 1, "");
        let seen = services.next();
        let read = seen.read.as_ref().unwrap_or_else(|why| panic!("{kind} refuses: {why:?}: {}", seen.body));
        let read = if kind == "json" {
            let told: serde_json::Value = serde_json::from_str(read).unwrap();
            assert_eq!((&told["event"], &told["reason"]), (&"failed".into(), &"exit 7".into()), "{told}");
            assert!(
                told["output"].as_str().unwrap().ends_with("19999\n20000\nlast \"words\" <&>\n***"),
                "{told}"
            );
            assert!(
                told["url"].as_str().unwrap().starts_with("https://cron.example/of/?page=run&run=json%40")
            );
            told["text"].as_str().unwrap().to_owned()
        } else {
            read.clone()
        };
        assert!(read.starts_with(&format!("{kind} has failed on ")), "{kind}: {read}");
        assert!(read.contains("\nexit 7\nrun ") && read.contains(", 1 attempt"), "{kind}: {read}");
        assert!(read.contains("\n20000\nlast \"words\" <&>\n***"), "{kind}: {read}");
        assert!(read.contains("https://cron.example/of/?page=run&run="), "{kind}: {read}");
        assert!(!read.contains("horse"), "{kind}: {read}");
    }
    served.stop();
}

#[test]
fn a_target_of_ones_own_has_a_template_a_secret_in_a_header_and_a_signature() {
    let (folder, services) = (folder("notify-own"), Services::start());
    let key = folder.join("key");
    write(&key, "a key of sixteen bytes at least\n");
    let to = format!(
        "notify = {{ on = ['failed'], to = {{ url = 'http://{}/own', headers = {{ Authorization = 'Bearer {{secret.T}}' }}, \
         secrets = {{ T = '{}' }}, signing_secret = '{}', body = '{{\"why\": \"{{reason}}\", \"end\": \"{{output}}\"}}' }} }}",
        services.host,
        folder.join("secret").display(),
        key.display()
    );
    let text = failing("bad", &folder, &to);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    write(&folder.join("jobs.toml"), &text);
    let served = TestServer::start_in(folder, &[]);
    served.says(&["run", "bad", "--wait"], 1, "");
    let seen = services.next();
    let told: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(told["why"], "exit 7");
    assert!(told["end"].as_str().unwrap().ends_with("last \"words\" <&>\n***"), "{told}");
    assert_eq!(seen.header("authorization"), Some("Bearer correct horse battery"));
    let header = seen.header("mainspring-signature").unwrap();
    let time = header.trim_start_matches("t=").split(',').next().unwrap().parse().unwrap();
    let secret = mainspring_action::secret::Secret::new("a key of sixteen bytes at least");
    assert_eq!(header, mainspring_exec::signature::signature(&secret, time, &seen.body));
    served.stop();
}

#[test]
fn a_watchdog_is_told_of_each_start_before_its_end_with_the_output() {
    let (folder, services) = (folder("notify-ping"), Services::start());
    let ping = format!("ping_url = 'http://{}{CHECK}'", services.host);
    let good = format!("[jobs.good]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo fine'\n{ping}\n");
    let lost = format!("[jobs.lost]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nrun = ['/none']\n{ping}\n");
    write(&folder.join("jobs.toml"), &(good + &failing("bad", &folder, &ping) + &lost));
    let served = TestServer::start_in(folder, &[]);
    let mut ids = Vec::new();
    for (job, code, event, output) in [
        ("good", 0, "success", "fine\n"),
        ("bad", 1, "7", "exit 7\n\n"),
        ("bad", 1, "7", "\n***\n"),
        ("lost", 1, "fail", "not started: "),
    ] {
        served.says(&["run", job, "--wait"], code, "");
        let (start, end) = (services.next(), services.next());
        let (start, end) = (start.read.unwrap(), end.read.unwrap());
        let id = start.strip_prefix("start ").unwrap().lines().next().unwrap().to_owned();
        assert!(end.starts_with(&format!("{event} {id}\n")), "{job}: {start} {end}");
        assert!(format!("{end}\n").contains(output), "{job}: {end}");
        assert!(!ids.contains(&id), "each run has an id of its own");
        ids.push(id);
    }
    served.stop();
}

#[test]
fn what_a_service_refuses_is_a_failure_and_what_it_puts_off_waits_as_long_as_it_says() {
    let services = Services::start();
    let host = services.host;
    let job = |name: &str, to: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'exit 3'\nnotify = {to}\n")
    };
    let jobs = job("none", &format!("{{ to = {{ url = 'http://{host}/slack', body = '{{}}' }} }}"))
        + &job("busy", &format!("'discord:http://{host}/discord/busy'"));
    let mut served = TestServer::start("notify-refused", &jobs);
    served.says(&["run", "none", "--wait"], 1, "");
    assert_eq!(services.next().read, Err((400, "no_text".to_owned())));
    served.running.wait_for(&["notify:none:failed:1", "status 400"]);
    served.says(&["run", "busy", "--wait"], 1, "");
    assert_eq!(services.next().read.unwrap_err().0, 429);
    served.running.wait_for(&["notify:busy:failed:1", "status 429"]);
    let runs = served.json(&["history", "--cause", "notify", "--json"]);
    let is_of =
        |run: &&serde_json::Value, name: &str| run["job"].as_str().is_some_and(|it| it.contains(name));
    let runs = runs["runs"]["runs"].as_array().unwrap();
    let busy = runs.iter().find(|run| is_of(run, "notify:busy")).unwrap_or_else(|| panic!("{runs:?}"));
    let time = |key: &str| busy[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let others = served.json(&["history", "--json"]);
    assert_eq!(others["runs"]["runs"].as_array().unwrap().len(), 2, "the runs of the jobs alone: {others}");
    assert!(3_500.0 < time("due").duration_since(time("nominal")).as_secs_f64(), "{busy}");
    served.stop();
}

#[test]
fn what_was_not_told_when_the_server_died_is_told_by_the_next() {
    let folder = folder("notify-crash");
    let told = folder.join("told");
    let jobs = format!(
        "[jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'exit 3'\nnotify = 'echo $NOTIFY_JOB >>{}'\n",
        told.display()
    );
    write(&folder.join("jobs.toml"), &jobs);
    let mut served = TestServer::start_in(folder.clone(), &[]);
    served.says(&["run", "bad"], 0, "");
    served.running.wait_for(&["bad", "end    exit status 3"]);
    let mut served = served.crash_and_start();
    // At least once: it may have been told before the crash as well.
    while fs::read_to_string(&told).unwrap_or_default().is_empty() {
        served.running.wait_for(&["notify:bad:failed:1", "end "]);
    }
    served.stop();
}

#[test]
fn silence_is_told_while_nothing_runs_and_once() {
    let folder = folder("notify-silent");
    let told = folder.join("told");
    let jobs = format!(
        "[defaults]\nnotify = 'echo $NOTIFY_EVENT $NOTIFY_JOB >>{}'\n\
         [jobs.quiet]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'true'\nsilent_after = '1s'\n",
        told.display()
    );
    write(&folder.join("jobs.toml"), &jobs);
    let mut served = TestServer::start_in(folder.clone(), &[]);
    served.running.wait_for(&["notify:quiet:silent:1", "end    exit status 0"]);
    assert_eq!(fs::read_to_string(&told).unwrap(), "silent quiet\n");
    served.says(&["run", "quiet", "--wait"], 0, "");
    served.running.wait_for(&["notify:quiet:silent:1", "end    exit status 0"]);
    assert_eq!(
        fs::read_to_string(&told).unwrap(),
        "silent quiet\nsilent quiet\n",
        "after the success, again"
    );
    // The next server knows when the last success was, and that this silence was told.
    let mut served = served.crash_and_start();
    served.says(&["run", "quiet", "--wait"], 0, "");
    served.running.wait_for(&["notify:quiet:silent:1", "end    exit status 0"]);
    assert_eq!(fs::read_to_string(&told).unwrap().lines().count(), 3);
    served.stop();
}

#[test]
fn a_crontabs_mailto_gets_what_its_entries_write_and_nothing_where_they_write_nothing() {
    let folder = folder("mailto");
    let mailer = mailer(&folder);
    let text = format!(
        "SENDMAIL={mailer}\nMAILTO=ada@example.com, bob@example.com\n# mainspring: name=loud\n0 0 1 1 * echo hello; echo there >&2\n\
         # mainspring: name=mute\n0 0 1 1 * true\nMAILTO=\"\"\n# mainspring: name=alone\n0 0 1 1 * echo alone\n"
    );
    write(&folder.join("crontab"), &text);
    let file = folder.join("crontab");
    let data = folder.join("data");
    let args = ["serve", "--data", data.to_str().unwrap(), file.to_str().unwrap()];
    let mut running = Running::any(&args);
    running.wait_for(&[", data in "]);
    for job in ["mute", "alone", "loud"] {
        let ended = mainspring(&["run", "--data", data.to_str().unwrap(), job, "--wait"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
    running.wait_for(&["notify:loud:ended:1", "end    exit status 0"]);
    let mails = fs::read_to_string(folder.join("mails")).unwrap();
    assert!(mails.starts_with("args: -i -oem ada@example.com bob@example.com\n"), "{mails}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap();
    let user = mainspring_host::accounts::Account::ourselves().unwrap().name;
    assert!(
        mails.contains(&format!("\nSubject: Cron <{user}@{host}> echo hello; echo there >&2\n")),
        "{mails}"
    );
    assert!(mails.contains("\nFrom: root (Cron Daemon)\n"), "{mails}");
    assert!(mails.ends_with("\n\nhello\nthere\n") && mails.matches("args: ").count() == 1, "{mails}");
    running.stop();
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_storm_is_told_in_part_and_then_as_a_whole() {
    let folder = folder("notify-storm");
    let told = folder.join("told");
    let job = |index: usize| format!("[jobs.bad{index}]\nat_boot = true\ncwd = '/'\nshell = 'exit 3'\n");
    let jobs: String = (0..40).map(job).collect();
    write(&folder.join("jobs.toml"), &jobs);
    let command = format!("echo $NOTIFY_EVENT >>{}", told.display());
    let mut served = TestServer::start_in(folder.clone(), &["--notify", &command]);
    for index in 0..40 {
        served.says(&["history", &format!("bad{index}")], 0, "");
    }
    let pending = served.json(&["list", "--pending", "--json"]);
    let waits = pending["jobs"]["pending"].as_array().unwrap().iter();
    let more = waits.filter(|once| once["name"].as_str().unwrap().starts_with("notify:more:")).count();
    assert!(more <= 1, "{pending}");
    // The minute may change once while the jobs fail.
    served.running.wait_for(&["notify:bad", ":failed:1", "end    exit status 0"]);
    let failed = fs::read_to_string(&told).unwrap().matches("failed").count();
    assert!((1..=20).contains(&failed), "{failed}");
    served.stop();
}

#[test]
fn what_is_wrong_with_a_hook_is_said_at_its_place() {
    let folder = folder("notify-check");
    let file = folder.join("jobs.toml");
    let jobs = "[jobs.a]\nevery = '1h'\nshell = 'true'\nnotify = { on = ['failled'], to = ['mailto:', 'x', 'x', 'x', 'x'] }\n\
                ping_url = 'example.com'\nsilent_after = 'soon'\nmail_output = '-bad'\nenv_file = 'relative'\n";
    write(&file, jobs);
    let found = mainspring(&["check", file.to_str().unwrap()]).stdout;
    for part in [
        ":4:18: expected one of failed, recovered, missed, unserved, silent",
        "did you mean `failed`?",
        "expected an address",
        "at most 4 are told",
        ":5:12: expected a URL",
        ":6:16: expected a length of time",
        "`-bad` is no address",
        ":8:12: expected a path that begins with /",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn variables_come_from_files_and_the_jobs_own_count_for_more() {
    let folder = folder("env-file");
    let (one, other) = (folder.join("one.env"), folder.join("other.env"));
    write(&one, "# of the service\nA=file\nexport B='two words'\nC=file\n");
    write(&other, "C=later\n");
    let jobs = format!(
        "[jobs.x]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nenv_file = ['{}', '{}']\nenv = {{ A = 'own' }}\nshell = 'echo $A, $B, $C'\n",
        one.display(),
        other.display()
    );
    write(&folder.join("jobs.toml"), &jobs);
    let served = TestServer::start_in(folder.clone(), &[]);
    served.says(&["run", "x", "--wait"], 0, "");
    served.says(&["logs", "x"], 0, "own, two words, later");
    write(&one, "no variable\n");
    served.says(&["run", "x", "--wait"], 1, "");
    served.says(&["history", "x"], 0, "line 1 is no NAME=value");
    served.stop();
}
