//! Notifications of a job: by a command, a webhook, a chat, a mail; and those of a crontab's MAILTO.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{Running, mainspring};
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
    assert!(mail.contains("detail    exit 3") && mail.ends_with("What it wrote:\n\nit says\n"), "{mail}");
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

#[test]
fn a_webhook_is_told_in_json_and_a_success_is_pinged() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let jobs = format!(
        "[jobs.good]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'true'\nping_url = '{url}/ping/uuid'\n\
         [jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'exit 7'\nnotify = '{url}/told'\n"
    );
    let served = TestServer::start("notify-web", &jobs);
    served.says(&["run", "good", "--wait"], 0, "");
    let (head, _) = answered(&listener.accept().unwrap().0);
    assert!(head.starts_with("GET /ping/uuid "), "{head}");
    served.says(&["run", "bad", "--wait"], 1, "");
    let (head, body) = answered(&listener.accept().unwrap().0);
    assert!(head.starts_with("POST /told ") && head.to_lowercase().contains("application/json"), "{head}");
    let told: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&told["event"], &told["job"], &told["detail"]),
        (&"failed".into(), &"bad".into(), &"exit 7".into())
    );
    assert_eq!((&told["failures"], &told["count"]), (&1.into(), &1.into()), "{told}");
    served.stop();
}

/// What a service answers, by its documents, and what a person there reads.
fn service(name: &str, head: &str, body: &str) -> Result<String, String> {
    let json = || serde_json::from_str::<serde_json::Value>(body).map_err(|_| "invalid_payload".to_owned());
    let only = |value: &serde_json::Value, known: &[&str]| {
        let unknown = value.as_object().into_iter().flat_map(serde_json::Map::keys);
        unknown.filter(|key| !known.contains(&key.as_str())).map(|key| format!("no field {key}")).next()
    };
    let text = |value: &serde_json::Value, key: &str, known: &[&str]| match only(value, known) {
        Some(why) => Err(why),
        None => value[key].as_str().map(str::to_owned).ok_or_else(|| format!("no_{key}")),
    };
    match name {
        "slack" | "google-chat" => text(&json()?, "text", &["text"]),
        "discord" => text(&json()?, "content", &["content", "allowed_mentions"]),
        "teams" => {
            let card = &json()?["attachments"][0]["content"];
            let lines = card["body"].as_array().ok_or("no card")?;
            let lines: Vec<&str> = lines.iter().filter_map(|line| line["text"].as_str()).collect();
            Ok(lines.join("\n"))
        }
        _ => {
            let title = head.lines().find_map(|line| line.strip_prefix("title: ")).ok_or("no title")?;
            Ok(format!("{}\n{body}", title.trim()))
        }
    }
}

#[test]
fn each_chat_takes_what_it_is_sent_and_shows_the_job_and_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    for name in ["slack", "discord", "teams", "google-chat", "ntfy"] {
        let jobs = format!(
            "[jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'exit 7'\nnotify = '{name}:http://{host}/hook'\n"
        );
        let served = TestServer::start(&format!("notify-{name}"), &jobs);
        served.says(&["run", "bad", "--wait"], 1, "");
        let (head, body) = answered(&listener.accept().unwrap().0);
        let read = service(name, &head, &body).unwrap_or_else(|why| panic!("{name} refuses: {why}: {body}"));
        assert!(read.starts_with("bad has failed on "), "{name}: {read}");
        assert!(read.contains("\nexit 7\nrun bad@") && read.contains(", 1 attempt"), "{name}: {read}");
        served.stop();
    }
}

/// Reads a request and answers it with 200.
fn answered(mut stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    (head, String::from_utf8(body).unwrap())
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
        ":4:18: expected one of failed, recovered, missed, silent",
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
