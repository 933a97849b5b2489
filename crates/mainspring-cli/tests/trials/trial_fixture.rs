//! A folder of root's, in it a home of bob's, and ways to act as both.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::unistd::Uid;

use crate::program::Running;
use crate::served::skipped;

/// The number of the user and of the group that bob is.
pub(crate) const BOB: u32 = 65534;

/// Beyond what any command needs, in seconds; reached only by one that hangs.
const BOUND_SECONDS: &str = "60";

/// Where a trial takes place.
pub(crate) struct TrialFixture {
    /// Root's, readable by all.
    pub(crate) folder: PathBuf,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TrialFixture {
    /// Makes the ground of the trial called `name`; `None`, after saying so, where we cannot become bob.
    pub(crate) fn new(name: &str) -> Option<TrialFixture> {
        if !Uid::effective().is_root() {
            assert!(std::env::var_os("CI").is_none(), "the trials need root");
            skipped("trials", &format!("{name} needs root"));
            return None;
        }
        let fixture = TrialFixture::of_ours(name);
        fs::create_dir(fixture.home()).unwrap();
        chown(fixture.home(), Some(BOB), Some(BOB)).unwrap();
        Some(fixture)
    }

    /// The ground of a trial without bob, which any user can make.
    pub(crate) fn of_ours(name: &str) -> TrialFixture {
        let folder = crate::served::folder(&format!("trial-{name}"));
        let fixture = TrialFixture { folder: fs::canonicalize(folder).unwrap() };
        // Bob cannot reach the folder that it was built in. Copied by another program: a copy that is open
        // for writing here would be so in what other tests start meanwhile, and could not be executed.
        let copied =
            Command::new("cp").args([env!("CARGO_BIN_EXE_mainspring"), &fixture.text("mainspring")]).status();
        assert!(copied.unwrap().success());
        fixture
    }

    /// Bob's folder.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("bob")
    }

    /// A path in root's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The text of a path in root's folder.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file of root's.
    pub(crate) fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Does something as bob, in bob's folder; `$T` is root's.
    pub(crate) fn bob(&self, text: &str) -> CommandOutput {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-ec", text]).current_dir(self.home()).uid(BOB).gid(BOB);
        said(shell.env("T", &self.folder))
    }

    /// Does something as root, in root's folder; `$M` is the program.
    pub(crate) fn root(&self, text: &str) -> CommandOutput {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", text]).current_dir(&self.folder).env("M", self.path("mainspring"));
        said(shell.env("TZ", "UTC").env_remove("MAINSPRING_DATA").env_remove("COLUMNS"))
    }

    /// Starts a server of root's with these jobs, its data in `data`.
    pub(crate) fn serve(&self, jobs: &str) -> Running {
        self.serve_after("true", jobs)
    }

    /// The same from a shell that has done something to itself.
    pub(crate) fn serve_after(&self, shell_text: &str, jobs: &str) -> Running {
        crate::served::write(&self.path("jobs.toml"), jobs);
        let (data, file) = (self.text("data"), self.text("jobs.toml"));
        let mut server = Running::after(shell_text, &["serve", "--data", &data, &file]);
        server.wait_for(&[", data in "]);
        server
    }

    /// Asks that server.
    pub(crate) fn ask(&self, args: &[&str]) -> CommandOutput {
        let (first, rest) = args.split_first().unwrap();
        self.mainspring(&[&[first, "--data", "data"], rest].concat())
    }

    /// A connection to that server.
    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.path("data/mainspring.sock")).unwrap();
        // Reached only by a hang.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Runs the program as root.
    pub(crate) fn mainspring(&self, args: &[&str]) -> CommandOutput {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", BOUND_SECONDS]).arg(self.path("mainspring")).args(args);
        said(command.current_dir(&self.folder).env("TZ", "UTC").env_remove("MAINSPRING_DATA"))
    }
}

impl Drop for TrialFixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl CommandOutput {
    /// Everything that was said.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

fn said(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    CommandOutput { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}
