//! A process of a job inherits nothing usable from the server that started it.

use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::program::Running;
use crate::served::skipped;
use crate::trial_fixture::TrialFixture;

/// A job, started by hand.
fn job(name: &str, user: &str, shell: &str) -> String {
    format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = '{user}'\ncwd = '/'\nshell = '''{shell}'''\n")
}

#[test]
fn no_job_has_the_terminal_of_the_server() {
    let Some(fixture) = TrialFixture::new("terminal") else { return };
    // Opening it is what TIOCSTI and escape sequences begin with.
    let shell =
        "(exec 9<>/dev/tty) 2>&- && echo opened; read pid name state ppid pgrp sid tty rest < /proc/$$/stat
        echo tty $tty, own $((sid == $$)) $((pgrp == $$))";
    let jobs = job("bobs", "nobody", shell) + &job("roots", "root", shell);
    crate::served::write(&fixture.path("jobs.toml"), &jobs);
    let text = format!("tty && exec {} serve --data data jobs.toml", fixture.text("mainspring"));
    // `script` gives it a terminal of its own.
    let mut script = Command::new("script");
    script.args(["-qec", &text, "/dev/null"]).current_dir(&fixture.folder);
    let mut server = Running::other(&mut script);
    server.wait_for(&["/dev/pts/"]);
    server.wait_for(&["2 jobs, data in"]);
    for name in ["bobs", "roots"] {
        assert_eq!(fixture.ask(&["run", name, "--wait"]).code, Some(0), "{name}");
        assert_eq!(fixture.ask(&["logs", name]).stdout, "tty 0, own 1 1\n", "{name}");
    }
    let status: Value = serde_json::from_str(&fixture.ask(&["status", "--json"]).stdout).unwrap();
    let pid = i32::try_from(status["status"]["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    server.wait_for(&["stopped"]);
}

#[test]
fn no_job_has_a_file_of_whoever_started_the_server() {
    let Some(fixture) = TrialFixture::new("descriptors") else { return };
    fixture.write("shadow", "root:topsecret:1:2\n", 0o600);
    let shell = "for n in $(seq 3 300); do readlink /proc/$$/fd/$n; done; cat <&7";
    let jobs = job("bobs", "nobody", shell) + &job("roots", "root", shell);
    let opened = "exec 7< /etc/shadow 8<> /dev/null 9>> /dev/null";
    let server = fixture.serve_after(&opened.replace("/etc/", &fixture.text("")), &jobs);
    for name in ["bobs", "roots"] {
        let ran = fixture.ask(&["run", name, "--wait"]);
        let said = fixture.ask(&["logs", name]);
        let found: Vec<&str> = said.stdout.lines().filter(|line| !line.starts_with('!')).collect();
        assert_eq!(found, [] as [&str; 0], "{name}: {said:?}");
        assert!(said.stdout.contains("Bad file descriptor"), "{name}: {ran:?} {said:?}");
    }
    server.stop();
}

/// Makes the calls of the kernel by their numbers: join a session keyring, add a key, search and read it.
const KEYS: &str = "
import ctypes, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
keyctl, add_key = {'x86_64': (250, 248), 'aarch64': (219, 217)}[platform.machine()]
session = -3
if sys.argv[1] == 'add':
    if libc.syscall(keyctl, 1, None) == -1:
        print('no keys'); sys.exit(3)
    libc.syscall(add_key, b'user', b'trial', b'ROOT-KEYRING-SECRET', 19, session)
    os.execv(sys.argv[2], sys.argv[2:])
key = libc.syscall(keyctl, 10, session, b'user', b'trial', 0)
buffer = ctypes.create_string_buffer(99)
count = libc.syscall(keyctl, 11, key, buffer, 99)
print('uid', os.getuid(), 'read', buffer.raw[:max(count, 0)].decode())
";

#[test]
fn no_job_of_another_user_has_the_keys_of_whoever_started_the_server() {
    let Some(fixture) = TrialFixture::new("keyring") else { return };
    fixture.write("keys.py", KEYS, 0o644);
    let shell = format!("python3 {} read", fixture.text("keys.py"));
    let jobs = job("bobs", "nobody", &shell) + &job("roots", "root", &shell);
    crate::served::write(&fixture.path("jobs.toml"), &jobs);
    let mut python = Command::new("python3");
    let program = fixture.text("mainspring");
    python.args(["keys.py", "add", &program, "serve", "--data", "data", "jobs.toml"]);
    let mut server = Running::other(python.current_dir(&fixture.folder));
    let first = server.wait_for(&["s"]);
    if first == "no keys" {
        // In some containers no process may have any.
        return skipped("kernel keys", "there are none in this container");
    }
    assert_eq!(fixture.ask(&["run", "roots", "--wait"]).code, Some(0));
    assert_eq!(fixture.ask(&["logs", "roots"]).stdout, "uid 0 read ROOT-KEYRING-SECRET\n");
    assert_eq!(fixture.ask(&["run", "bobs", "--wait"]).code, Some(0));
    assert_eq!(fixture.ask(&["logs", "bobs"]).stdout, "uid 65534 read \n");
    server.stop();
}

#[test]
fn a_job_without_new_privileges_gets_none() {
    let Some(fixture) = TrialFixture::new("privileges") else { return };
    // As sudo is: root's, with the set-user-id bit.
    fixture.root("cp /usr/bin/id . && chmod 4755 id");
    let job = job("bobs", "nobody", &format!("{} -u; grep NoNewPrivs /proc/self/status", fixture.text("id")));
    let server = fixture.serve(&(job + "no_new_privileges = true\n"));
    assert_eq!(fixture.ask(&["run", "bobs", "--wait"]).code, Some(0));
    assert_eq!(fixture.ask(&["logs", "bobs"]).stdout, "65534\nNoNewPrivs:\t1\n");
    server.stop();
}

#[test]
fn no_job_of_another_user_goes_before_others() {
    let Some(fixture) = TrialFixture::new("precedence") else { return };
    let before = "chrt -r -p 5 $$ && ionice -c 1 -p $$ && renice -n -5 -p $$ > /dev/null";
    if fixture.root(before).code != Some(0) {
        return skipped("precedence", "this container may not be scheduled before others");
    }
    let shell = "chrt -p $$ | head -1 | sed 's/.*: //'; nice; ionice -p $$ | sed 's/:.*//'";
    let jobs = [("roots", "root", ""), ("bobs", "nobody", ""), ("asked", "nobody", "nice = -3\n")]
        .map(|(name, user, line)| job(name, user, shell) + line);
    let server = fixture.serve_after(before, &jobs.concat());
    let said = ["SCHED_RR\n-5\nrealtime\n", "SCHED_OTHER\n0\nnone\n", "SCHED_OTHER\n-3\nnone\n"];
    for (name, said) in ["roots", "bobs", "asked"].into_iter().zip(said) {
        assert_eq!(fixture.ask(&["run", name, "--wait"]).code, Some(0), "{name}");
        assert_eq!(fixture.ask(&["logs", name]).stdout, said, "{name}");
    }
    server.stop();
}

#[test]
fn a_job_in_another_group_has_left_its_users_own() {
    let Some(fixture) = TrialFixture::new("group") else { return };
    let job = |name: &str, user: &str| job(name, user, "id -u; id -g; id -G");
    let jobs = job("bobs", "nobody:tty") + &job("roots", "root:tty") + &job("own", "nobody");
    let server = fixture.serve(&jobs);
    let tty = fixture.root("getent group tty | cut -d: -f3").stdout;
    let own = "65534\n".to_owned();
    for (name, expected) in [("bobs", own.clone() + &tty + &tty), ("roots", "0\n".to_owned() + &tty + &tty)] {
        assert_eq!(fixture.ask(&["run", name, "--wait"]).code, Some(0), "{name}");
        assert_eq!(fixture.ask(&["logs", name]).stdout, expected, "{name}");
    }
    assert_eq!(fixture.ask(&["run", "own", "--wait"]).code, Some(0));
    assert_eq!(fixture.ask(&["logs", "own"]).stdout, own.repeat(3));
    server.stop();
}

/// What a process of a job of another user has from the one that started the server, whatever that one did to
/// itself: what is asked, and the answer. What is not here is decided by the job or is the server's own, as
/// the manual says.
const TABLE: [(&str, &str); 15] = [
    ("grep CapInh /proc/self/status", "CapInh:\t0000000000000000"),
    ("grep CapPrm /proc/self/status", "CapPrm:\t0000000000000000"),
    ("grep CapEff /proc/self/status", "CapEff:\t0000000000000000"),
    ("grep CapAmb /proc/self/status", "CapAmb:\t0000000000000000"),
    ("grep SigBlk /proc/self/status", "SigBlk:\t0000000000000000"),
    ("grep SigIgn /proc/self/status", "SigIgn:\t0000000000000000"),
    ("grep ^Uid: /proc/self/status", "Uid:\t65534\t65534\t65534\t65534"),
    ("grep ^Gid: /proc/self/status", "Gid:\t65534\t65534\t65534\t65534"),
    ("id -G", "65534"),
    ("cat /proc/self/personality", "00000000"),
    ("cut -d' ' -f7 /proc/self/stat", "0"),
    ("nice", "0"),
    ("pwd", "/"),
    ("env | grep -c OF_THE_STARTER", "0"),
    ("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "),
];

#[test]
fn a_job_of_another_user_has_nothing_that_the_starter_did_to_itself() {
    let Some(fixture) = TrialFixture::new("starter") else { return };
    let shell = TABLE.map(|(question, _)| format!("{question}\n")).concat();
    crate::served::write(&fixture.path("jobs.toml"), &job("bobs", "nobody", &shell));
    let text = format!(
        "trap '' USR1 INT; exec 7</etc/passwd; export OF_THE_STARTER=1; renice -n -3 -p $$ > /dev/null
        exec setpriv --inh-caps=+chown,+dac_override --ambient-caps=+chown,+dac_override --groups 4,24 \
            --securebits=+no_setuid_fixup setarch -R {} serve --data data jobs.toml",
        fixture.text("mainspring")
    );
    let mut starter = Command::new("/bin/sh");
    let mut server = Running::other(starter.args(["-c", &text]).current_dir(&fixture.folder));
    server.wait_for(&["1 job, data in"]);
    assert_eq!(fixture.ask(&["run", "bobs", "--wait"]).code, Some(0));
    let said = fixture.ask(&["logs", "bobs"]);
    let found: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(found, TABLE.map(|(_, answer)| answer));
    server.stop();
}

#[test]
fn a_job_of_another_user_can_open_its_own_output() {
    let Some(fixture) = TrialFixture::new("own-output") else { return };
    let shell = "for name in stdout stderr fd/1 fd/2; do echo $name > /dev/$name || exit 2; done
        echo pid > /proc/self/fd/1; cat /dev/stdin; ls -lL /dev/stdout | cut -c 1-10";
    let jobs = job("bobs", "nobody", shell)
        + "stdin = \"in\\n\"\n"
        + &job("roots", "root", shell)
        + "stdin = \"in\\n\"\n";
    let server = fixture.serve(&jobs);
    for name in ["bobs", "roots"] {
        let ran = fixture.ask(&["run", name, "--wait"]);
        let said = fixture.ask(&["logs", name]).stdout;
        assert_eq!(ran.code, Some(0), "{name}: {ran:?} {said}");
        let mut lines: Vec<&str> = said.lines().map(|line| line.trim_start_matches("! ")).collect();
        lines.sort_unstable();
        assert_eq!(lines, ["fd/1", "fd/2", "in", "pid", "prw-------", "stderr", "stdout"], "{name}");
    }
    server.stop();
}
