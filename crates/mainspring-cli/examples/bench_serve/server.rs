//! A server on a fresh directory, and what is said to it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::clock;

/// How often a connection is tried, a millisecond apart.
const MAX_TRIES: u64 = 60_000;

pub(crate) struct Server {
    folder: PathBuf,
    child: Child,
}

impl Server {
    /// On a fresh directory. It lies in the current folder's `target`, because /tmp may be in memory.
    pub(crate) fn fresh(program: &Path, name: &str) -> Result<Server, String> {
        let folder = scratch(name)?;
        Server::start(program, folder)
    }

    pub(crate) fn start(program: &Path, folder: PathBuf) -> Result<Server, String> {
        Server::start_with(program, folder, &[])
    }

    /// With further options of `serve`.
    pub(crate) fn start_with(program: &Path, folder: PathBuf, options: &[&str]) -> Result<Server, String> {
        let child = Command::new(program)
            .args(["serve", "--data"])
            .arg(&folder)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Server { folder, child })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn connect(&self) -> Result<Connection, String> {
        let path = self.folder.join("mainspring.sock");
        for _ in 0..MAX_TRIES {
            if let Ok(stream) = UnixStream::connect(&path) {
                return Connection::new(stream);
            }
            clock::sleep_ms(1);
        }
        Err("the server does not answer".to_owned())
    }

    fn end(&mut self) -> Result<(), String> {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM)
            .map_err(|error| error.to_string())?;
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }

    /// Ends it, and leaves its directory.
    pub(crate) fn leave(mut self) -> Result<PathBuf, String> {
        self.end()?;
        Ok(std::mem::take(&mut self.folder))
    }

    pub(crate) fn stop(mut self) -> Result<(), String> {
        self.end()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.folder.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A fresh folder on the disk that the project is on.
pub(crate) fn scratch(name: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from("target").join(format!("bench-serve-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    fs::canonicalize(&folder).map_err(|error| error.to_string())
}

/// A connection that sends lines and reads answers.
pub(crate) struct Connection {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Connection {
    fn new(stream: UnixStream) -> Result<Connection, String> {
        let writer = stream.try_clone().map_err(|error| error.to_string())?;
        Ok(Connection { writer, reader: BufReader::new(stream) })
    }

    pub(crate) fn send(&mut self, text: &str) -> Result<(), String> {
        self.writer.write_all(text.as_bytes()).map_err(|error| error.to_string())
    }

    pub(crate) fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).map_err(|error| error.to_string())?;
        if line.is_empty() { Err("the server closed the connection".to_owned()) } else { Ok(line) }
    }

    pub(crate) fn status(&mut self) -> Result<Value, String> {
        self.send("{\"id\":0,\"command\":\"status\"}\n")?;
        let answer: Value = serde_json::from_str(&self.answer()?).map_err(|error| error.to_string())?;
        Ok(answer["status"].clone())
    }

    /// Submits `count` jobs at once, each due when `due` says, and checks that each is acknowledged.
    pub(crate) fn submit(&mut self, count: usize, due: impl Fn(usize) -> String) -> Result<(), String> {
        self.submit_running(&["/bin/true"], count, due)
    }

    /// The same of jobs with another command.
    pub(crate) fn submit_running(
        &mut self,
        run: &[&str],
        count: usize,
        due: impl Fn(usize) -> String,
    ) -> Result<(), String> {
        let requests: String = (0..count).map(|index| submission(run, &due(index))).collect();
        self.send(&requests)?;
        for _ in 0..count {
            let line = self.answer()?;
            if !line.contains("\"submitted\"") {
                return Err(format!("a job was not acknowledged: {line}"));
            }
        }
        Ok(())
    }
}

fn submission(run: &[&str], due: &str) -> String {
    format!(
        "{{\"id\":1,\"command\":\"submit\",\"due\":\"{due}\",\"process\":{{\"run\":{run:?},\"cwd\":\"/\"}}}}\n"
    )
}
