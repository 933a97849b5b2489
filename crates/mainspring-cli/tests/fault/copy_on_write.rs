//! A full disk where a page that changes is copied: a btrfs in a file, and a quota on one. Without the
//! programs of btrfs, or the right to mount one, this is skipped and says so.

use super::*;
use crate::test_server::skipped;

/// Makes one in the file `$3`, mounted at `$2`.
const FULL: &str = "truncate -s 160m \"$3\" && mkfs.btrfs -q -M \"$3\" && mount -o loop \"$3\" \"$2\"";

/// The same, of which `$2` is a part that may have 24 MiB.
const QUOTA: &str = "truncate -s 160m \"$3\" && mkfs.btrfs -q -M \"$3\" && mkdir \"$3.all\" && mount -o loop \"$3\" \"$3.all\" && \
    btrfs quota enable \"$3.all\" && btrfs subvolume create \"$3.all/part\" && \
    btrfs qgroup limit 24m \"$3.all/part\" && mount --bind \"$3.all/part\" \"$2\"";

/// Whether one can be made here.
fn may_mount(make: &str) -> bool {
    let folder = folder("btrfs-try");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", make, "sh", "true"]).arg(&folder).arg(folder.join("disk"));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let _ = fs::remove_dir_all(&folder);
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_full_btrfs_and_a_full_quota_end_nothing() {
    for (name, make) in [("btrfs", FULL), ("quota", QUOTA)] {
        if !may_mount(make) {
            skipped("btrfs", "none can be made and mounted here");
            return;
        }
        let folder = folder(name);
        fs::write(folder.join("jobs.toml"), "[jobs.tick]\nevery = '1s'\ncwd = '/'\nshell = 'echo tock'\n")
            .unwrap();
        let script = format!(
            "{{ {make} && chmod 700 \"$2\"; }} >&2 || exit 99; exec \"$1\" serve --data \"$2\" \"$(dirname \"$3\")/jobs.toml\""
        );
        let Some(mut small) = Small::start(&script, &folder.join("data"), &folder.join("disk")) else {
            return;
        };
        small.running.wait_for(&[", data in"]);
        let mut submitter = Submitter::connect(&small.seen);
        (0..10).for_each(|_| submitter.submit().unwrap());
        small.fill();
        let said = submitter.submit_until_refused();
        assert!(said.contains("disk is full: new work is refused"), "{name}: {said}");
        small.running.wait_for(&["scheduled jobs go on with the reserve"]);
        fs::rename(small.seen.join("filler"), small.seen.join("first")).unwrap();
        small.fill();
        small.running.wait_for(&["nothing can be recorded"]);
        small.free();
        fs::remove_file(small.seen.join("first")).unwrap();
        small.running.wait_for(&["the store has room again: scheduled jobs continue"]);
        small.running.wait_for(&["output is kept, and new work taken"]);
        submitter.submit().unwrap();
        let status: Value = serde_json::from_str(&small.ask(&["status", "--json"]).stdout).unwrap();
        assert_eq!(
            status["status"]["pending"].as_u64(),
            Some(submitter.acknowledged_count),
            "{name}: {status}"
        );
        small.stop();
        let (status, _, errors) = small.running.end();
        assert_eq!(status.code(), Some(0), "{name}: {errors}");
        let _ = fs::remove_dir_all(&folder);
    }
}
