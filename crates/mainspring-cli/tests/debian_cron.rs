//! The same files of cron in the same minute, for Debian's cron and for `serve --cron`: what runs, with which
//! environment, in which folder, as whom, with which input, and the mails.
//!
//! ```text
//! debian_cron.sh: a machine with its /etc and spool, at 06:24:52 ─┬─▶ cron -f          ─▶ out/NAME, out/mail.*
//!                                                                └─▶ serve --cron     ─▶ out/NAME, out/mail.*
//! ```
//!
//! Both run in namespaces of their own. What Mainspring adds is named here, and all else is equal, byte for
//! byte; but for a blank at the end of a quoted value, which the manual of Debian's cron keeps and not its
//! program.
//!
//! It takes root, util-linux, libfaketime and Debian's cron, which the gate unpacks and does not install.
//! Without one of them the test says that it is skipped, and the gate fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::live::faketime_or_skip;
use crate::neighbour::unpacked;
use crate::program::{BOUND, Running};
use crate::test_server::{folder, skipped};

/// The name of what is skipped.
const WHAT: &str = "comparison with Debian's cron";

/// Variables that a command has from Mainspring, and not from cron.
fn is_added(variable: &str) -> bool {
    variable.starts_with("MAINSPRING_") || variable.starts_with("USER=")
}

/// What one of the two did.
#[derive(Debug)]
struct Done {
    /// What a command had around it, by its name.
    shown: BTreeMap<String, BTreeSet<String>>,
    mails: BTreeSet<Mail>,
}

/// A mail, with the words of its envelope apart: Debian's cron hands a list to the mailer in one of them.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mail {
    /// Who has sent it, and to whom.
    envelope: BTreeSet<String>,
    /// What the person there has, byte for byte.
    text: String,
}

fn may_have_namespaces() -> bool {
    let try_it = ["--mount", "--uts", "--pid", "--fork", "sh", "-c", "mount -t tmpfs none /var/spool"];
    let tried = Command::new("unshare").args(try_it).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

fn start(folder: &Path, library: &Path, pam: &Path, program: &[&str]) -> Running {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debian_cron.sh");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--uts", "--pid", "--fork", "--kill-child", "sh"])
        .arg(script)
        .arg(folder)
        .arg(pam);
    command.args(program).env("FAKETIME_LIBRARY", library);
    Running::other(&mut command)
}

/// Waits until the last command has ended and there are so many mails.
fn wait(folder: &Path, mail_count: usize) {
    let text = "until [ -e end ] && [ \"$(ls mail.* 2>/dev/null | wc -l)\" -ge $0 ]; do sleep 0.1; done";
    let mut command = Command::new("timeout");
    command.args([&BOUND.as_secs().to_string(), "sh", "-c", text, &mail_count.to_string()]);
    let status = command.current_dir(folder.join("out")).status().unwrap();
    let found: Vec<_> =
        fs::read_dir(folder.join("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(status.success(), "{} is not through: {found:#?}", folder.display());
}

fn done(folder: &Path) -> Done {
    let mut done = Done { shown: BTreeMap::new(), mails: BTreeSet::new() };
    for entry in fs::read_dir(folder.join("out")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        if name.starts_with("mail.") {
            assert!(done.mails.insert(mail(&text)), "the same mail twice: {text}");
        } else {
            done.shown.insert(name, text.split('\0').map(str::to_owned).collect());
        }
    }
    done
}

fn mail(text: &str) -> Mail {
    let (envelope, mail) = text.split_once("\n\n").unwrap();
    let envelope = envelope.lines().flat_map(|line| {
        let (kind, words) = line.split_once(": ").unwrap();
        words.split(',').map(move |word| format!("{kind}: {word}"))
    });
    Mail { envelope: envelope.collect(), text: mail.to_owned() }
}

#[test]
fn what_debians_cron_runs_runs_here_with_the_same_around_it() {
    // The program, and its rules for PAM.
    let cron = unpacked(["usr/sbin/cron", "etc/pam.d/cron"], WHAT);
    let (Some(library), Some([cron, pam])) = (faketime_or_skip(), cron) else { return };
    if !nix::unistd::Uid::effective().is_root() || !may_have_namespaces() {
        return skipped(WHAT, "it takes root, and the right to have namespaces");
    }
    let root = folder("debian-cron");
    let [theirs, ours] = ["cron", "mainspring"].map(|name| root.join(name));
    for folder in [&theirs, &ours] {
        fs::create_dir_all(folder.join("out")).unwrap();
    }
    // Its folder is hidden there. Copied by another program: see the trials.
    let program = root.join("debian-cron");
    assert!(Command::new("cp").arg(&cron).arg(&program).status().unwrap().success());
    let running = [
        start(&theirs, &library, &pam, &[program.to_str().unwrap(), "-f"]),
        start(&ours, &library, &pam, &[env!("CARGO_BIN_EXE_mainspring"), "serve", "--memory", "--cron"]),
    ];
    for folder in [&theirs, &ours] {
        wait(folder, MAIL_COUNT);
    }
    let [theirs, mut ours] = [&theirs, &ours].map(|folder| done(folder));
    drop(running);
    let names = |done: &Done| done.shown.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "what runs");
    assert!(names(&theirs).iter().map(String::as_str).eq(RUN.iter().copied()), "{:#?}", names(&theirs));
    for (name, expected) in &theirs.shown {
        let found = ours.shown.get_mut(name).unwrap();
        found.retain(|part| !is_added(part) || expected.contains(part));
        assert_eq!(found, expected, "what {name} has around it");
    }
    assert_eq!(ours.mails, theirs.mails, "the mails");
    assert_eq!(theirs.mails.len(), MAIL_COUNT);
    let _ = fs::remove_dir_all(&root);
}

/// What Debian's cron runs of all that.
const RUN: &[&str] = &[
    "bash",
    "beside-odd",
    "boot",
    "cron.d-executable",
    "cron.d-linked",
    "cron.d-plain",
    "cut",
    "either-day",
    "end",
    "homeless",
    "mara",
    "no-zone",
    "nobody",
    "nowhere",
    "spool-homeless",
    "spool-mara",
    "spool-root",
    "step",
    "table",
];

/// Of the entry with MAILTO, of the two that fail, of mara's entry that writes to both streams, and of the
/// one in the crontab.
const MAIL_COUNT: usize = 5;
