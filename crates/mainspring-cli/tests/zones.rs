//! A running server follows the zone files on disk, and a process is in the zone of its job.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::program::Running;
use crate::test_server::{TestServer, folder, skipped, write};

/// Where Debian has its zone files.
const ZONES: &str = "/usr/share/zoneinfo";

/// A folder with zone files of its own, in which `Europe/Home` is the zone of another name. `None` where this
/// machine has no zone files.
fn zones(folder: &Path, home: &str) -> Option<PathBuf> {
    let zones = folder.join("zoneinfo");
    fs::create_dir_all(zones.join("Europe")).unwrap();
    for name in ["UTC", "Etc/UTC"] {
        fs::create_dir_all(zones.join(name).parent().unwrap()).unwrap();
        fs::copy(Path::new(ZONES).join(name), zones.join(name)).ok()?;
    }
    replace(&zones, home).then_some(zones)
}

/// Puts another file in the place of `Europe/Home`, as a package does.
fn replace(zones: &Path, home: &str) -> bool {
    let new = zones.join("Europe/.new");
    let is_there = fs::copy(Path::new(ZONES).join(home), &new).is_ok();
    is_there && fs::rename(new, zones.join("Europe/Home")).is_ok()
}

fn serve(folder: &Path, environment: &[(&str, &str)], args: &[&str]) -> TestServer {
    let (data, file) = (folder.join("data"), folder.join("jobs.toml"));
    let own = ["serve", "--data", data.to_str().unwrap(), file.to_str().unwrap()];
    let mut running = Running::any_with(environment, &[&own[..], args].concat());
    running.wait_for(&[", data in "]);
    TestServer { folder: folder.to_owned(), running }
}

fn next(served: &TestServer, job: &str) -> String {
    served.json(&["show", job, "--json"])["job"]["next"].as_str().unwrap()[11..].to_owned()
}

#[test]
fn a_new_zone_file_is_noticed_and_what_is_armed_is_computed_anew() {
    let folder = folder("zones");
    let Some(zones) = zones(&folder, "Asia/Tokyo") else {
        fs::remove_dir_all(folder).unwrap();
        return skipped("the zones", "/usr/share/zoneinfo is not there");
    };
    write(
        &folder.join("jobs.toml"),
        "[jobs.home]\ncron = '0 12 * * *'\nzone = 'Europe/Home'\ncwd = '/'\nshell = 'true'\n\
         [jobs.plain]\ncron = '0 12 * * *'\ncwd = '/'\nshell = 'true'\n",
    );
    let mut served = serve(&folder, &[("TZDIR", zones.to_str().unwrap()), ("TZ", "Etc/UTC")], &[]);
    let applied = folder.join("applied.toml");
    write(&applied, "[jobs.applied]\ncron = '0 12 * * *'\nzone = 'Europe/Home'\nrun = ['true']\n");
    // The program that asks has the same zones.
    let data = served.data();
    let asks = ["apply", "--data", &data, applied.to_str().unwrap()];
    let mut apply = Running::any_with(&[("TZDIR", zones.to_str().unwrap())], &asks);
    apply.wait_for(&["+ applied"]);
    assert_eq!((next(&served, "home").as_str(), next(&served, "plain").as_str()), ("03:00:00Z", "12:00:00Z"));
    assert!(replace(&zones, "Asia/Kolkata"));
    served.running.wait_for(&["the time zone files have changed: the times of 2 jobs are computed again"]);
    assert_eq!((next(&served, "home").as_str(), next(&served, "plain").as_str()), ("06:30:00Z", "12:00:00Z"));
    assert_eq!(next(&served, "applied"), "06:30:00Z");
    served.says(&["doctor"], 0, "");
    // Half of a file is no zone: the times before hold, and that is told.
    fs::write(zones.join("Europe/Home"), "TZif2").unwrap();
    served.running.wait_for(&["time zones on disk cannot be read, and the times before hold: Europe/Home"]);
    served.says(&["doctor"], 1, "time zones on disk cannot be read");
    assert_eq!(next(&served, "home"), "06:30:00Z");
    assert!(replace(&zones, "UTC"));
    served.running.wait_for(&["the time zone files have changed: the times of 2 jobs are computed again"]);
    served.says(&["doctor"], 0, "");
    assert_eq!(next(&served, "home"), "12:00:00Z");
    served.stop();
}

#[test]
fn the_zone_of_the_server_changes_and_jobs_that_name_none_follow_it() {
    let folder = folder("zone-of-server");
    let Some(zones) = zones(&folder, "Asia/Tokyo") else {
        fs::remove_dir_all(folder).unwrap();
        return skipped("the zone of the server", "/usr/share/zoneinfo is not there");
    };
    write(
        &folder.join("jobs.toml"),
        "[jobs.plain]\ncron = '0 12 * * *'\ncwd = '/'\nshell = 'date +%z=$TZ'\n",
    );
    // As /etc/localtime is: a link that leads elsewhere tomorrow.
    let link = folder.join("localtime");
    symlink(zones.join("Etc/UTC"), &link).unwrap();
    let environment = [("TZDIR", zones.to_str().unwrap()), ("TZ", link.to_str().unwrap())];
    let mut served = serve(&folder, &environment, &[]);
    served.says(&["run", "plain", "--wait"], 0, "succeeded");
    served.running.wait_for(&["plain@", "stdout +0000=Etc/UTC"]);
    let new = folder.join("new");
    symlink(zones.join("Europe/Home"), &new).unwrap();
    fs::rename(new, &link).unwrap();
    served.running.wait_for(&["and the zone of jobs that name none is Europe/Home, which was Etc/UTC"]);
    while next(&served, "plain") != "03:00:00Z" {}
    served.says(&["export"], 0, "zone = \"Europe/Home\"");
    served.stop();
}

#[test]
fn a_process_is_in_the_zone_of_its_job_unless_its_environment_says_it() {
    let job = |name: &str, rest: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo {name}=$TZ'\n{rest}\n")
    };
    let folder = folder("zone-of-process");
    fs::write(folder.join("env"), "A=b\n").unwrap();
    let text = [
        job("named", "zone = 'Asia/Tokyo'"),
        job("usual", ""),
        job("own", "zone = 'Asia/Tokyo'\nenv = { TZ = 'Europe/Rome' }"),
        job("file", &format!("env_file = '{}'", folder.join("env").display())),
    ];
    write(&folder.join("jobs.toml"), &text.concat());
    let mut served = serve(&folder, &[("TZ", "Europe/Berlin")], &[]);
    for (name, zone) in
        [("named", "Asia/Tokyo"), ("usual", "Europe/Berlin"), ("own", "Europe/Rome"), ("file", "")]
    {
        served.says(&["run", name, "--wait"], 0, "succeeded");
        let line = served.running.wait_for(&[&format!("stdout {name}=")]);
        assert!(line.ends_with(&format!("{name}={zone}")), "{line}");
    }
    let exported = served.ask(&["export"]).stdout;
    assert!(!exported.contains("TZ = \"Asia/Tokyo\""), "the key `zone` says it: {exported}");
    served.stop();
}
