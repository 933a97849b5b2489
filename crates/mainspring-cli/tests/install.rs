//! Installation of the program: the unit for systemd, the image, and the Debian package.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::{Running, root};
use crate::scratch;
use crate::test_server::{folder, skipped};

/// Runs a tool; `None` and a word where it is not installed.
fn tool(name: &str, args: &[&str]) -> Option<Output> {
    let mut command = Command::new(name);
    // For the units of users, systemd-analyze wants a folder.
    let runtime = scratch::path(&format!("runtime-{:?}", std::thread::current().id()));
    fs::create_dir_all(&runtime).unwrap();
    command.args(args).env("XDG_RUNTIME_DIR", runtime);
    // A package that is looked at and thrown away.
    match command.env("DEB_LEVEL", "1").output() {
        Ok(output) => Some(output),
        Err(error) => {
            skipped("installation", &format!("{name}: {error}"));
            None
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn systemd_has_nothing_against_the_units() {
    for (name, of) in [("mainspring.service", "--system"), ("mainspring-user.service", "--user")] {
        verify(name, of);
    }
}

#[test]
fn systemd_has_nothing_against_the_sockets_beside_the_service() {
    let folder = folder("sockets");
    let names = ["mainspring.service", "mainspring.socket", "mainspring-http.socket"];
    for name in names {
        let unit = fs::read_to_string(root().join("docs").join(name)).unwrap();
        let unit = unit.replace("/usr/local/bin/mainspring", env!("CARGO_BIN_EXE_mainspring"));
        fs::write(folder.join(name), unit).unwrap();
    }
    let paths = names.map(|name| folder.join(name).to_str().unwrap().to_owned());
    let arguments = [&["verify", "--man=no"][..], &paths.each_ref().map(String::as_str)].concat();
    if let Some(verified) = tool("systemd-analyze", &arguments) {
        let said = text(&verified);
        let about_it: Vec<&str> = said.lines().filter(|line| line.contains("mainspring")).collect();
        assert!(verified.status.success() && about_it.is_empty(), "{said}");
    }
    let service = fs::read_to_string(root().join("docs/mainspring.service")).unwrap();
    let socket = fs::read_to_string(root().join("docs/mainspring.socket")).unwrap();
    let data = service.split(" --data ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(socket.contains(&format!("\nListenStream={data}/mainspring.sock\n")), "{data}: {socket}");
    assert!(socket.contains("\nSocketMode=0600\n"), "{socket}");
    let _ = fs::remove_dir_all(&folder);
}

/// How exposed `systemd-analyze security` finds the unit, in tenths: what no job needs is forbidden.
const MAX_EXPOSURE: &str = "65";

#[test]
fn the_unit_forbids_what_hardly_any_job_needs() {
    let unit = root().join("docs/mainspring.service");
    let threshold = format!("--threshold={MAX_EXPOSURE}");
    let arguments = ["security", "--offline=true", "--no-pager", &threshold, unit.to_str().unwrap()];
    if let Some(judged) = tool("systemd-analyze", &arguments) {
        let said = text(&judged);
        // Before version 250 it asks the service manager that runs.
        let is_known = !said.contains("unrecognized option");
        assert!(judged.status.success() || !is_known, "{said}");
    }
}

#[test]
fn the_image_is_made_from_named_versions_and_runs_as_a_user_without_rights() {
    let text = fs::read_to_string(root().join("packaging/Dockerfile")).unwrap();
    let of = |word: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(word));
        lines.map(|rest| rest.split_whitespace().next().unwrap().to_owned()).collect()
    };
    let bases = of("FROM ");
    // As many numbers as a tag has that no later release takes over, or a digest.
    let numbers = [("rust", 3), ("debian", 2)];
    for (base, (name, count)) in bases.iter().zip(numbers) {
        let version = base.strip_prefix(&format!("{name}:")).unwrap().split('-').next().unwrap();
        let parts: Vec<&str> = version.split('.').collect();
        let is_whole = parts.len() == count && parts.iter().all(|part| part.parse::<u32>().is_ok());
        assert!(is_whole || base.contains("@sha256:"), "{base}");
    }
    assert_eq!(bases.len(), numbers.len(), "{bases:?}");
    let [user] = of("USER ").try_into().unwrap();
    let numbers: Vec<u32> = user.split(':').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 2 && !numbers.contains(&0), "{user}");
}

fn verify(name: &str, of: &str) {
    let folder = folder(name);
    let unit = fs::read_to_string(root().join("docs").join(name)).unwrap();
    let unit = unit.replace("/usr/local/bin/mainspring", env!("CARGO_BIN_EXE_mainspring"));
    let path = folder.join("mainspring.service");
    fs::write(&path, unit).unwrap();
    if let Some(verified) = tool("systemd-analyze", &["verify", of, "--man=no", path.to_str().unwrap()]) {
        let said = text(&verified);
        let about_it: Vec<&str> = said.lines().filter(|line| line.contains("mainspring")).collect();
        assert!(verified.status.success() && about_it.is_empty(), "{said}");
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_package_has_the_program_its_unit_its_pages_and_its_completions() {
    if tool("dpkg-deb", &["--version"]).is_none() {
        return;
    }
    let folder = folder("deb");
    let script = root().join("packaging/deb");
    let binary = env!("CARGO_BIN_EXE_mainspring");
    let package = packed(script.to_str().unwrap(), binary, &folder);
    let package = package.to_str().unwrap();
    let control = text(&tool("dpkg-deb", &["--field", package]).unwrap());
    assert!(
        control.starts_with("Package: mainspring\nVersion: ") && control.contains("Depends: libc6"),
        "{control}"
    );
    let installed = folder.join("root");
    let unpacked = tool("dpkg-deb", &["-x", package, installed.to_str().unwrap()]).unwrap();
    assert!(unpacked.status.success(), "{}", text(&unpacked));
    let is_there = |path: &str| assert!(installed.join(path).is_file(), "{path}");
    is_there("usr/share/man/man1/mainspring.1.gz");
    is_there("usr/share/man/man1/mainspring-serve.1.gz");
    is_there("usr/share/bash-completion/completions/mainspring");
    is_there("usr/share/zsh/vendor-completions/_mainspring");
    is_there("usr/share/fish/vendor_completions.d/mainspring.fish");
    let unit = fs::read_to_string(installed.join("usr/lib/systemd/system/mainspring.service")).unwrap();
    assert!(unit.starts_with("[Unit]") && unit.contains("ExecStart=/usr/bin/mainspring serve"), "{unit}");
    for name in ["mainspring.socket", "mainspring-http.socket"] {
        let unit = fs::read_to_string(installed.join("usr/lib/systemd/system").join(name)).unwrap();
        assert!(!unit.contains("/usr/local/") && unit.contains("\nListenStream="), "{name}: {unit}");
    }
    let unit = fs::read_to_string(installed.join("usr/lib/systemd/user/mainspring.service")).unwrap();
    assert!(unit.starts_with("[Unit]") && unit.contains("ExecStart=/usr/bin/mainspring serve %h/"), "{unit}");
    // What it installs runs, and takes the jobs that it installs.
    let program = installed.join("usr/bin/mainspring");
    let jobs = installed.join("etc/mainspring/jobs.toml");
    let checked = Command::new(&program).arg("check").arg(&jobs).output().unwrap();
    assert!(text(&checked).contains("0 jobs, no problems"), "{}", text(&checked));
    assert!(Path::new(&program).metadata().unwrap().len() < 200 << 20);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_second_package_takes_the_place_of_cron_and_diverts_nothing() {
    if tool("dpkg-deb", &["--version"]).is_none() {
        return;
    }
    let folder = folder("deb-cron");
    let script = root().join("packaging/deb-cron");
    let built = tool(script.to_str().unwrap(), &[env!("CARGO_BIN_EXE_mainspring"), folder.to_str().unwrap()]);
    assert!(built.as_ref().unwrap().status.success(), "{}", text(&built.unwrap()));
    let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let package = files.find(|path| path.extension().is_some_and(|end| end == "deb")).unwrap();
    let package = package.to_str().unwrap();
    let field = |name: &str| text(&tool("dpkg-deb", &["--field", package, name]).unwrap());
    assert_eq!(field("Provides"), "cron-daemon\n");
    assert!(field("Conflicts").starts_with("cron, ") && field("Depends").contains("cron-daemon-common"));
    let (installed, scripts) = (folder.join("root"), folder.join("scripts"));
    for (option, path) in [("-x", &installed), ("-e", &scripts)] {
        assert!(tool("dpkg-deb", &[option, package, path.to_str().unwrap()]).unwrap().status.success());
    }
    for name in ["postinst", "postrm"] {
        let path = scripts.join(name);
        assert!(!fs::read_to_string(&path).unwrap().contains("divert"), "{name}");
        assert!(tool("sh", &["-n", path.to_str().unwrap()]).unwrap().status.success(), "{name}");
    }
    // No file of it has more rights than others before its group is there.
    let mode = installed.join("usr/bin/crontab").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    let shown = Command::new(installed.join("usr/bin/crontab")).arg("--help").output().unwrap();
    assert!(text(&shown).starts_with("Installs, shows, edits and removes the crontab"), "{}", text(&shown));
    let unit = installed.join("usr/lib/systemd/system/mainspring.service.d/cron.conf");
    let more = fs::read_to_string(unit).unwrap();
    let starts = "\nExecStart=\nExecStart=/usr/bin/mainspring serve --cron ";
    assert!(more.starts_with("[Unit]") && more.contains(starts), "{more}");
    let unit = fs::read_to_string(root().join("docs/mainspring.service")).unwrap() + &more;
    let program = env!("CARGO_BIN_EXE_mainspring");
    let unit = unit.replace("/usr/local/bin/mainspring", program).replace("/usr/bin/mainspring", program);
    let path = folder.join("mainspring.service");
    fs::write(&path, unit).unwrap();
    if let Some(verified) = tool("systemd-analyze", &["verify", "--man=no", path.to_str().unwrap()]) {
        let said = text(&verified);
        assert!(verified.status.success() && !said.contains("mainspring"), "{said}");
    }
    let _ = fs::remove_dir_all(&folder);
}

/// Makes a package as somebody whose files are for no other user, and looks at the modes of what is in it.
fn packed(script: &str, binary: &str, folder: &Path) -> PathBuf {
    let line = "umask 077; exec \"$0\" \"$@\"";
    let made = tool("/bin/sh", &["-c", line, script, binary, folder.to_str().unwrap()]).unwrap();
    assert!(made.status.success(), "{}", text(&made));
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let package = files.find(|path| path.extension().is_some_and(|end| end == "deb")).unwrap();
    let listed = text(&tool("dpkg-deb", &["--contents", package.to_str().unwrap()]).unwrap());
    assert!(20 < listed.lines().count(), "{listed}");
    for line in listed.lines() {
        let is_own =
            line.ends_with(" ./etc/mainspring/jobs.toml") && line.starts_with("-rw------- root/root ");
        let modes = ["drwxr-xr-x root/root ", "-rwxr-xr-x root/root ", "-rw-r--r-- root/root "];
        assert!(is_own || modes.iter().any(|mode| line.starts_with(mode)), "{line}");
    }
    package
}

/// The code blocks of a language below a heading of the manual, up to the next one.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let manual = fs::read_to_string(root().join("docs/manual.md")).unwrap();
    let (_, chapter) = manual.split_once(&format!("{heading}\n")).unwrap();
    let chapter = chapter.split("\n##").next().unwrap();
    let fence = format!("```{language}\n");
    chapter.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A shell in which the program is in PATH, and `sudo` and `crontab` are as a person's.
fn walk(folder: &Path, text: &str) -> (Option<i32>, String) {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = env!("CARGO_BIN_EXE_mainspring");
    for (name, line) in [
        ("mainspring", format!("exec {program} \"$@\"")),
        ("sudo", "exec \"$@\"".to_owned()),
        ("crontab", "printf '# mainspring: name=backup\\n30 2 * * * echo kept\\n@daily true\\n'".to_owned()),
    ] {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut shell = Command::new("/bin/sh");
    shell.args(["-e", "-c", text]).current_dir(folder).env("PATH", path).env("TZ", "UTC");
    let output = shell.env("MAINSPRING_DATA", folder.join("data")).output().unwrap();
    (output.status.code(), self::text(&output))
}

#[test]
fn the_way_from_cron_is_as_the_manual_says() {
    let folder = folder("from-cron");
    let [look, _run, again] = blocks("### From cron, step by step", "sh").try_into().unwrap();
    let (code, said) = walk(&folder, &look);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 jobs, no problems") && said.contains("T02:30:00+00:00"), "{said}");
    assert!(said.contains("4 starts from 2026-03-28"), "{said}");
    let crontab = folder.join("my.crontab");
    fs::set_permissions(&crontab, fs::Permissions::from_mode(0o600)).unwrap();
    let [edit] = blocks("### From cron, step by step", "ini").try_into().unwrap();
    let command = edit.lines().filter_map(|line| line.strip_prefix("ExecStart=")).next_back().unwrap();
    let (data, file) = (folder.join("data"), crontab.to_str().unwrap().to_owned());
    let command = command.replace("/var/lib/mainspring", data.to_str().unwrap());
    let command = command.replace("/etc/mainspring/my.crontab", &file);
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let mut running = Running::any(&words);
    running.wait_for(&["2 jobs"]);
    let (code, said) = walk(&folder, &again);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("backup") && said.contains("succeeded"), "{said}");
    let (code, said) = walk(&folder, "sudo mainspring export > jobs.toml; mainspring check jobs.toml");
    assert_eq!((code, said.contains("2 jobs, no problems")), (Some(0), true), "{said}");
    running.stop();
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_unit_of_another_user_s_crontab_is_one_that_systemd_takes() {
    let folder = folder("unit-edit");
    let unit = fs::read_to_string(root().join("docs/mainspring.service")).unwrap();
    let [edit] = blocks("### From cron, step by step", "ini").try_into().unwrap();
    let edit =
        edit.replace("/usr/bin/mainspring", env!("CARGO_BIN_EXE_mainspring")).replace("mara", "daemon");
    let path = folder.join("mainspring.service");
    fs::write(&path, unit.replace("[Install]", &format!("{edit}\n[Install]"))).unwrap();
    if let Some(verified) = tool("systemd-analyze", &["verify", "--man=no", path.to_str().unwrap()]) {
        let said = text(&verified);
        let about_it: Vec<&str> = said.lines().filter(|line| line.contains("mainspring")).collect();
        assert!(verified.status.success() && about_it.is_empty(), "{said}");
    }
    let _ = fs::remove_dir_all(&folder);
}
