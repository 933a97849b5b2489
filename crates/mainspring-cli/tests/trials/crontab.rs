//! Bob has `crontab` with the group of cron's spool, as Debian installs it, and wants more than his crontab.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use crate::served::skipped;
use crate::trial_fixture::{BOB, TrialFixture};

/// A group that no user of the machine is in.
const CRONTAB: u32 = 64_011;

/// A spool of the trial's own in the place of the machine's, in which bob then does `text`.
fn bob_in_namespace(fixture: &TrialFixture, text: &str) -> Option<(String, Option<i32>)> {
    let may = Command::new("unshare").args(["--mount", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        skipped("trials", "crontab needs a mount namespace");
        return None;
    }
    let mount = "mount -t tmpfs none /var/spool && mkdir -p /var/spool/cron/crontabs && \
                 chown 0:64011 /var/spool/cron/crontabs && chmod 1730 /var/spool/cron/crontabs && \
                 cp -a /etc \"$T/etc\" && mount --bind \"$T/etc\" /etc && rm -f /etc/cron.allow /etc/cron.deny && \
                 printf 'root only\\n' >/var/spool/cron/crontabs/root && chmod 600 /var/spool/cron/crontabs/root && \
                 eval \"$BEFORE\"; cd \"$T/bob\" && setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \"$0\" 2>&1; code=$?; \
                 stat -c 'his file: %u %g %a' /var/spool/cron/crontabs/nobody 2>/dev/null; exit $code";
    let (before, text) = text.split_once("---").unwrap_or(("true", text));
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", mount, text]).env("T", &fixture.folder).env("BEFORE", before);
    command.env("C", fixture.path("crontab")).env("TZ", "UTC");
    let output = command.output().unwrap();
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code()))
}

fn fixture(name: &str) -> Option<TrialFixture> {
    let fixture = TrialFixture::new(name)?;
    let program = fixture.path("crontab");
    // By another program, as the fixture has it.
    let copied = Command::new("cp").arg(fixture.path("mainspring")).arg(&program).status();
    assert!(copied.unwrap().success());
    chown(&program, Some(0), Some(CRONTAB)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o2755)).unwrap();
    Some(fixture)
}

#[test]
fn bob_has_his_own_crontab_and_no_other() {
    let Some(fixture) = fixture("crontab-own") else { return };
    let text = "$C -r; echo '@daily true' | $C - && $C -l; \
                $C -u root -l; cat /var/spool/cron/crontabs/root; ls /var/spool/cron/crontabs; \
                echo x >/var/spool/cron/crontabs/x";
    let Some((said, _)) = bob_in_namespace(&fixture, text) else { return };
    assert!(said.starts_with("no crontab for nobody\n@daily true\n"), "{said}");
    assert!(said.contains("only root has the crontab of another user"), "{said}");
    assert!(!said.contains("root only"), "{said}");
    assert_eq!(said.to_lowercase().matches("permission denied").count(), 3, "{said}");
    assert!(said.ends_with(&format!("his file: {BOB} {CRONTAB} 600\n")), "{said}");
}

#[test]
fn the_group_reaches_no_editor_and_no_other_command() {
    let Some(fixture) = fixture("crontab-group") else { return };
    let text = "VISUAL='id -g; id -G; sed -n s/^Gid://p /proc/self/status; true' $C -e; \
                $C --root \"$T\" -l; \
                bash -c 'exec -a mainspring $C serve --memory' 2>&1 | head -3; \
                $C /var/spool/cron/crontabs/root; ln -s /var/spool/cron/crontabs/root mine; $C mine";
    let Some((said, _)) = bob_in_namespace(&fixture, text) else { return };
    assert!(said.starts_with("65534\n65534\n\t65534\t65534\t65534\t65534\ncrontab: no change\n"), "{said}");
    assert!(said.contains("--root is for a program without rights of its own"), "{said}");
    assert!(!said.contains("root only") && !said.contains("data in"), "{said}");
    assert!(said.contains("unexpected argument '--memory'"), "{said}");
    let _ = fs::remove_dir_all(&fixture.folder);
}

#[test]
fn bob_has_none_where_root_says_so() {
    let Some(fixture) = fixture("crontab-deny") else { return };
    let denied = |before: &str| {
        let text = format!("{before} --- echo '@daily true' | $C -");
        bob_in_namespace(&fixture, &text).map(|(said, code)| {
            let _ = fs::remove_dir_all(fixture.path("etc"));
            (said.contains("you (nobody) are not allowed"), code)
        })
    };
    let Some(found) = denied("echo nobody >/etc/cron.deny") else { return };
    assert_eq!(found, (true, Some(7)));
    assert_eq!(denied("echo mara >/etc/cron.allow"), Some((true, Some(7))));
    // The one who is allowed is so whatever else is said.
    let both = "echo nobody >/etc/cron.allow; echo nobody >/etc/cron.deny";
    assert_eq!(denied(both), Some((false, Some(0))));
    // One that the group may not read says no to all.
    let closed = "echo nobody >/etc/cron.allow; chmod 600 /etc/cron.allow";
    assert_eq!(denied(closed), Some((false, Some(7))));
    let open = "echo nobody >/etc/cron.allow; chgrp 64011 /etc/cron.allow; chmod 640 /etc/cron.allow";
    assert_eq!(denied(open), Some((false, Some(0))));
}
