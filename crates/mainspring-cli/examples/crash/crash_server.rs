//! The server under test: its folder, its process, and its command line.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use mainspring_server::data_directory::DataDirectory;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::jobs;

/// A folder with all that belongs to one test.
#[derive(Clone)]
pub(crate) struct CrashServer {
    server: PathBuf,
    program: PathBuf,
    folder: PathBuf,
}

/// The server, running.
pub(crate) struct Running(Child);

fn failed(what: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", what.display())
}

impl CrashServer {
    pub(crate) fn new(server: &Path, seed: u64) -> Result<CrashServer, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let folder = std::env::temp_dir().join(format!("mainspring-crash-{}-{seed}", std::process::id()));
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        let served = CrashServer { server: server.to_owned(), program, folder };
        served.write_jobs(None)?;
        Ok(served)
    }

    /// Writes the job file; with a time after which no job is due any more.
    pub(crate) fn write_jobs(&self, end_ns: Option<i64>) -> Result<(), String> {
        let file = self.folder.join("jobs.toml");
        fs::write(&file, jobs::text(&self.program, &self.effects(), end_ns)).map_err(failed(&file))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data directory.
    pub(crate) fn data(&self) -> DataDirectory {
        DataDirectory::find(Some(&self.folder.join("data")))
    }

    /// The file that jobs append to.
    pub(crate) fn effects(&self) -> PathBuf {
        self.folder.join("effects")
    }

    /// The words of a job's command.
    pub(crate) fn command(&self, word: &str, sleep_ms: u64) -> Vec<String> {
        let paths =
            [&self.program, Path::new("effect"), &self.effects()].map(|path| path.display().to_string());
        [&paths[..], &[word.to_owned(), sleep_ms.to_string()]].concat()
    }

    pub(crate) fn start(&self) -> Result<Running, String> {
        let log = |name: &str| -> Result<File, String> {
            let path = self.folder.join(name);
            OpenOptions::new().append(true).create(true).open(&path).map_err(failed(&path))
        };
        let child = Command::new(&self.server)
            .args(["serve", "--grace", "1h", "--data"])
            .arg(self.data().directory())
            .arg(self.folder.join("jobs.toml"))
            .stdin(Stdio::null())
            .stdout(log("log")?)
            .stderr(log("errors")?)
            .spawn();
        child.map(Running).map_err(failed(&self.server))
    }

    /// Runs a command against the server.
    pub(crate) fn ask(&self, words: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(&self.server);
        command.arg(words[0]).arg("--data").arg(self.data().directory()).args(&words[1..]);
        command.stdin(Stdio::null()).output().map_err(failed(&self.server))
    }

    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Running {
    pub(crate) fn ask_to_stop(&self) {
        // It may have ended by itself, which `kill` then tells.
        let _ = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
    }

    /// A server that has ended without being asked is an error.
    pub(crate) fn goes_on(&mut self) -> Result<(), String> {
        match self.0.try_wait().map_err(|error| error.to_string())? {
            Some(status) if !status.success() => Err(format!("the server ended by itself: {status}")),
            _ => Ok(()),
        }
    }

    /// SIGKILL, while it runs.
    pub(crate) fn kill(&mut self) -> Result<(), String> {
        self.goes_on()?;
        let _ = self.0.kill();
        self.0.wait().map(|_| ()).map_err(|error| error.to_string())
    }

    /// SIGTERM, and waits for the end.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        self.ask_to_stop();
        let status = self.0.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
