//! beanstalkd, measured as [the header](super) says. Its log is flushed at each command, as the database is.
//!
//! ```text
//! submitters ── put, pipelined in bulk ──▶ beanstalkd -b . -f 0 ◀── reserve, delete ── as many workers
//! ```
//!
//! Cost: the server, a thread and a connection for each submitter and worker.
//!
//! Its jobs are in no database, so that a program's own transaction cannot submit one, and it keeps nothing
//! of those that have ended.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::{BULK, SUBMITTERS};

/// Where the package of Debian is unpacked.
const PROGRAM: &str = "beanstalkd/usr/bin/beanstalkd";

/// Any that is free: another run of this example is not beside it.
const ADDRESS: (&str, u16) = ("127.0.0.1", 11399);

/// How long a job may run, in seconds.
const TIME_TO_RUN_S: u32 = 60;

/// How often a connection is tried, each time after [`LOOK`].
const MAX_TRIES: usize = 1_000;
const LOOK: Duration = Duration::from_millis(5);

/// Between two submissions whose latency is measured.
const PAUSE: Duration = Duration::from_millis(20);

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Client {
    lines: BufReader<TcpStream>,
}

impl Client {
    fn connect() -> Client {
        let connected = (0..MAX_TRIES).find_map(|_| {
            thread::sleep(LOOK);
            TcpStream::connect(ADDRESS).ok()
        });
        let stream = connected.expect("beanstalkd answers");
        stream.set_nodelay(true).unwrap();
        Client { lines: BufReader::new(stream) }
    }

    fn send(&mut self, commands: &str) {
        self.lines.get_mut().write_all(commands.as_bytes()).unwrap();
    }

    /// The rest of a line that begins so.
    fn read(&mut self, word: &str) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().strip_prefix(word).unwrap_or_else(|| panic!("{word}, and not {line}")).to_owned()
    }

    fn submit(&mut self, numbers: &[usize]) {
        let put = |number: &usize| {
            let text = number.to_string();
            format!("put 0 0 {TIME_TO_RUN_S} {}\r\n{text}\r\n", text.len())
        };
        self.send(&numbers.iter().map(put).collect::<String>());
        numbers.iter().for_each(|_| drop(self.read("INSERTED ")));
    }

    /// Waits for a job.
    fn reserve(&mut self) -> String {
        self.send("reserve\r\n");
        let reserved = self.read("RESERVED ");
        drop(self.read(""));
        reserved.split(' ').next().unwrap().to_owned()
    }

    fn delete(&mut self, id: &str) {
        self.send(&format!("delete {id}\r\n"));
        drop(self.read("DELETED"));
    }
}

/// Measures, and prints.
pub(crate) fn measure(mode: &str, count: usize) {
    // The log of a run before is another queue's.
    let _ = std::fs::remove_dir_all("binlog");
    std::fs::create_dir("binlog").unwrap();
    let arguments = ["-l", ADDRESS.0, "-p", &ADDRESS.1.to_string(), "-f", "0", "-b", "binlog"];
    let _server = Server(Command::new(PROGRAM).args(arguments).spawn().unwrap());
    drop(Client::connect());
    let (sender, ended) = channel();
    for _ in 0..SUBMITTERS {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut client = Client::connect();
            loop {
                let id = client.reserve();
                let began = Instant::now();
                client.delete(&id);
                sender.send(began).unwrap();
            }
        });
    }
    if mode == "latency" {
        let mut client = Client::connect();
        for number in 0..count {
            let submitted = Instant::now();
            client.submit(&[number]);
            print!("{} ", (ended.recv().unwrap() - submitted).as_secs_f64() * 1e3);
            thread::sleep(PAUSE);
        }
        return;
    }
    let (began, numbers) = (Instant::now(), (0..count).collect::<Vec<_>>());
    match mode {
        "bulk" => {
            let mut client = Client::connect();
            numbers.chunks(BULK).for_each(|chunk| client.submit(chunk));
        }
        _ => thread::scope(|scope| {
            for part in numbers.chunks(count.div_ceil(SUBMITTERS)) {
                scope.spawn(move || {
                    let mut client = Client::connect();
                    part.iter().for_each(|number| client.submit(&[*number]));
                });
            }
        }),
    }
    assert_eq!(ended.iter().take(count).count(), count);
    println!("{}", began.elapsed().as_secs_f64());
}
