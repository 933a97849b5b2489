//! A neighbour is a real program that a test runs beside ours: a proxy, a Prometheus. It ends with its test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::root;
use crate::test_server::skipped;

/// One that listens on a port of this machine.
pub(crate) struct Neighbour {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // Asked, so that one with processes of its own ends them.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

impl Neighbour {
    /// Starts one, and waits until it listens. What it says goes into `log`.
    pub(crate) fn start(command: &mut Command, port: u16, log: &Path) -> Neighbour {
        let said = fs::File::options().create(true).append(true).open(log).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let mut neighbour = Neighbour { child, port };
        while neighbour.connect().is_err() {
            let ended = neighbour.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", fs::read_to_string(log).unwrap_or_default());
            thread::yield_now();
        }
        neighbour
    }

    pub(crate) fn connect(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port))
    }
}

/// A port that no program has, for one that cannot say which one it got. It is below those that the system
/// gives to who names none, as each test beside this one does: such a program may not take it meanwhile.
pub(crate) fn free_port() -> u16 {
    const PORTS: std::ops::Range<u32> = 10_000..30_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let count = PORTS.end - PORTS.start;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let next = || PORTS.start + (std::process::id() * 37 + NEXT.fetch_add(1, Ordering::Relaxed)) % count;
    std::iter::repeat_with(|| u16::try_from(next()).unwrap()).find(is_free).unwrap()
}

/// Whether a program is there. The gate installs it.
pub(crate) fn is_installed(program: &str, question: &str, what: &str) -> bool {
    let asked = Command::new(program).arg(question).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(asked.is_ok() || std::env::var_os("CI").is_none(), "{program} is not installed");
    if asked.is_err() {
        skipped(what, &format!("{program} is not installed"));
    }
    asked.is_ok()
}

/// Files of a package that is installed, or unpacked by the gate because the machine would run it.
pub(crate) fn unpacked<const N: usize>(names: [&str; N], what: &str) -> Option<[PathBuf; N]> {
    let places = [PathBuf::from("/"), root().join("target/neighbours")];
    let mut found = places.map(|place| names.map(|name| place.join(name))).into_iter();
    let files = found.find(|files| files.iter().all(|file| file.exists()));
    assert!(files.is_some() || std::env::var_os("CI").is_none(), "{} is not there", names[0]);
    if files.is_none() {
        skipped(what, &format!("{} is not there", names[0]));
    }
    files
}
