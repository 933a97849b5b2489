//! A server with a folder of its own, for tests that talk to it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::program::{EndedProgram, Running, mainspring};
use crate::scratch;

/// A server and its folder.
pub(crate) struct TestServer {
    pub(crate) folder: PathBuf,
    pub(crate) running: Running,
}

/// A job that does nothing by itself.
pub(crate) const IDLE: &str =
    "[jobs.idle]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo ran; exit ${CODE:-0}'\n";

/// A folder of a test's own.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = scratch::path(&format!("serve-{name}"));
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Says that something is skipped, past the capture of test output, so that no reader takes it for something
/// that passed; and to the gate, which decides whether it may be.
pub(crate) fn skipped(what: &str, why: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {what}: {why}\n").as_bytes());
    if let Some(path) = std::env::var_os("GATE_SKIPS") {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(format!("{what}: {why}\n").as_bytes()).unwrap();
    }
}

/// Writes a file that a server trusts. It is there as a whole or not at all, whenever a server looks.
pub(crate) fn write(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o644)).unwrap();
    fs::rename(&new, path).unwrap();
}

impl TestServer {
    pub(crate) fn start(name: &str, jobs: &str) -> TestServer {
        let folder = folder(name);
        write(&folder.join("jobs.toml"), jobs);
        TestServer::start_in(folder, &[])
    }

    pub(crate) fn start_in(folder: PathBuf, args: &[&str]) -> TestServer {
        let (data, file) = (folder.join("data"), folder.join("jobs.toml"));
        let own = ["serve", "--data", data.to_str().unwrap(), "--grace", "1h", file.to_str().unwrap()];
        let running = Running::any(&[&own[..], args].concat());
        let mut served = TestServer { folder, running };
        served.running.wait_for(&[", data in "]);
        served
    }

    pub(crate) fn data(&self) -> String {
        self.folder.join("data").to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("jobs.toml")
    }

    /// Runs a command against this server. What follows `--` stays behind it.
    pub(crate) fn ask(&self, args: &[&str]) -> EndedProgram {
        let data = self.data();
        let mut all = vec![args[0]];
        if matches!(args[0], "dead" | "token") {
            all.push(args[1]);
        }
        let rest = &args[all.len()..];
        all.extend(["--data", &data]);
        all.extend(rest);
        mainspring(&all)
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ended = self.ask(args);
        serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", ended.stdout, ended.stderr))
    }

    pub(crate) fn says(&self, args: &[&str], code: i32, part: &str) {
        let ended = self.ask(args);
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, code, "{args:?}: {text}");
        assert!(text.contains(part), "{args:?}: {part} in {text}");
    }

    /// Kills the server, and starts another one in the same folder.
    pub(crate) fn crash_and_start(self) -> TestServer {
        self.running.signal(Signal::SIGKILL);
        self.running.end();
        TestServer::start_in(self.folder, &[])
    }

    pub(crate) fn stop(self) {
        let folder = self.folder.clone();
        self.stop_and_keep();
        let _ = fs::remove_dir_all(folder);
    }

    /// The same, and its folder stays.
    pub(crate) fn stop_and_keep(self) {
        let (status, lines, errors) = self.running.stop();
        assert_eq!(status.code(), Some(0), "{lines:#?} {errors}");
        assert!(lines.last().unwrap().ends_with("stopped"), "{lines:#?}");
    }
}
