//! The way from a command to the server: the socket of a data directory, or the HTTP API of another machine.
//!
//! What answers on the socket is the server of the user that the folder belongs to, or nothing is sent: see
//! [`socket`](mainspring_host::socket).
//!
//! A server on this machine may take its time for an answer. Where it says nothing for long it is asked over
//! another connection for what it answers at once: one that is stopped or hangs says nothing there either.
//!
//! Cost: one connection per command, and one for each look whether the server still answers; over HTTP one
//! per request.
//!
//! Does not retry.
//!
//! Source: unix(7).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::client::http::{Http, Site};
use mainspring_exec::clock::Moment;
use mainspring_exec::span::Span;
use mainspring_host::socket::connect;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::protocol::{
    ErrorKind, ErrorWire, IdentifiedRequest, IdentifiedResponse, MAX_REQUEST_BYTES, Request, Response,
};
use mainspring_server::waiting::{is_left, is_readable, wait_for_any};

pub mod http;

/// The longest answer in bytes: some times that of the largest page, and what a machine has to spare. Another
/// user's server may say anything.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

const _: () =
    assert!(4 * MAX_REQUEST_BYTES as u64 <= MAX_ANSWER_BYTES, "what the server was given it can tell");

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Address {
    /// On this machine: a socket in a data directory.
    Here(DataDirectory),
    /// Elsewhere, by its HTTP API.
    There(Site),
}

/// A way to a server.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    last_id: u64,
}

#[derive(Debug)]
enum Channel {
    Socket(Socket),
    Http(Box<Http>),
}

/// How long a line of an answer may take from its first byte on: a server writes it as a whole. What waits
/// for a run waits before that byte.
const LINE_WAIT: Duration = Duration::from_secs(60);

/// How long a server on this machine may say nothing before it is looked whether it answers at all. For that
/// it has twice as long: it may be starting.
const QUIET: Duration = Duration::from_secs(5);

const _: () = assert!(3 * QUIET.as_secs() < LINE_WAIT.as_secs());

/// What a server answers at once, whatever its store does: that it is no request.
const NO_REQUEST: &[u8] = b"{}\n";

/// How much is read from the server at once: a page of a list is a quarter of a megabyte.
const READ_BYTES: usize = 64 << 10;

#[derive(Debug)]
struct Socket {
    reader: BufReader<UnixStream>,
    path: PathBuf,
    /// How long the server has for an answer, from when it is waited for.
    wait: Option<Duration>,
    /// How long it may say nothing, where there is no such end.
    quiet: Duration,
}

impl Client {
    /// Connects to the server of an address. That of a URL is asked with the first request.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`] when no server answers there, and what is wrong with a file of a token.
    pub fn connect(address: &Address) -> Result<Client, Error> {
        Client::open(address, None)
    }

    /// The same, and gives the server so long for each whole answer.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_within(address: &Address, wait: Duration) -> Result<Client, Error> {
        Client::open(address, Some(wait))
    }

    fn open(address: &Address, wait: Option<Duration>) -> Result<Client, Error> {
        let channel = match address {
            Address::There(site) => Channel::Http(Box::new(Http::new(site, wait)?)),
            Address::Here(data) => {
                let path = data.socket();
                match connect(&path) {
                    Ok(stream) => {
                        let reader = BufReader::with_capacity(READ_BYTES, stream);
                        Channel::Socket(Socket { reader, path, wait, quiet: QUIET })
                    }
                    Err(source) => return Err(Error::Unreachable { path, source }),
                }
            }
        };
        Ok(Client { channel, last_id: 0 })
    }

    /// Asks, and waits for the first answer.
    ///
    /// # Errors
    ///
    /// When the connection breaks off, and the server's own errors as [`Error::Refused`].
    pub fn ask(&mut self, request: Request) -> Result<Response, Error> {
        self.last_id += 1;
        let answers = request.row().answers;
        let identified = IdentifiedRequest { id: self.last_id, actor: None, comment: None, request };
        let text = serde_json::to_string(&identified).expect("requests have string keys and finite numbers");
        let sent = match &mut self.channel {
            Channel::Socket(socket) => socket.send(&text),
            // What is wrong with an answer over HTTP stands in its head.
            Channel::Http(http) => return http.send(&text, answers).and_then(|()| self.next_answer()),
        };
        match sent {
            Ok(()) => self.next_answer(),
            // A server that takes no more connections says so and closes, perhaps before the request has
            // come.
            Err(error) => match self.next_answer() {
                Err(refused @ Error::Refused(_)) => Err(refused),
                _ => Err(error),
            },
        }
    }

    /// Waits for the next answer to the last request.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub fn next_answer(&mut self) -> Result<Response, Error> {
        loop {
            let mut line = String::new();
            let count = match &mut self.channel {
                Channel::Socket(socket) => socket.read_line(&mut line),
                Channel::Http(http) => http.read_line(&mut line, MAX_ANSWER_BYTES),
            };
            match count {
                Ok(count) if MAX_ANSWER_BYTES <= count as u64 => {
                    let text = format!("an answer is longer than {} MiB", MAX_ANSWER_BYTES >> 20);
                    return Err(self.broken(io::Error::other(text)));
                }
                Ok(0) => return Err(self.broken(io::Error::other("the server closed the connection"))),
                // By it the server says over HTTP that it is still there.
                Ok(_) if line == "\n" => continue,
                Ok(_) => {}
                Err(error) => return Err(self.broken(error)),
            }
            let answered: IdentifiedResponse =
                serde_json::from_str(&line).map_err(|error| self.unread(error))?;
            match answered.response {
                // The server may say something about the connection as a whole.
                Response::Error(error) => return Err(Error::Refused(error)),
                response if answered.id == self.last_id => return Ok(response),
                _ => {}
            }
        }
    }

    /// Waits for something to read from a server on this machine, as long as `output` has a reader; returns
    /// whether it has. What follows the output of jobs for a reader that has gone would stay until the next
    /// line.
    ///
    /// # Errors
    ///
    /// When the operating system has no memory left.
    pub fn waits_with_reader(&self, output: BorrowedFd<'_>) -> Result<bool, Error> {
        let Channel::Socket(socket) = &self.channel else { return Ok(!is_left(output)) };
        while socket.reader.buffer().is_empty() && !is_readable(socket.reader.get_ref().as_fd()) {
            if is_left(output) {
                return Ok(false);
            }
            wait_for_any(&[socket.reader.get_ref().as_fd()], &[], &[output], Some(socket.quiet))
                .and_then(|ready| if ready.is_empty() { socket.probe() } else { Ok(()) })
                .map_err(|error| self.broken(error))?;
        }
        Ok(true)
    }

    /// An answer that breaks off in the middle is a connection that does; any other comes from a server of
    /// another version, or from another program.
    fn unread(&self, error: serde_json::Error) -> Error {
        if error.is_eof() {
            return self.broken(error.into());
        }
        let version = env!("CARGO_PKG_VERSION");
        let text =
            format!("the answer of the server cannot be read by this client, version {version}: {error}");
        Error::Refused(ErrorWire::new(ErrorKind::Failed, text))
    }

    fn broken(&self, source: io::Error) -> Error {
        match &self.channel {
            Channel::Socket(socket) => socket.broken(source),
            Channel::Http(http) => http.broken(&source),
        }
    }
}

impl Socket {
    fn send(&mut self, text: &str) -> Result<(), Error> {
        debug_assert!(!text.contains('\n'), "a request is one line");
        let line = format!("{text}\n");
        let stream = self.reader.get_mut();
        let sent =
            stream.set_write_timeout(Some(3 * self.quiet)).and_then(|()| stream.write_all(line.as_bytes()));
        sent.map_err(|error| self.broken(error))
    }

    /// Looks whether the server answers at all.
    fn probe(&self) -> io::Result<()> {
        let mut stream = connect(&self.path)?;
        stream.set_write_timeout(Some(2 * self.quiet))?;
        stream.set_read_timeout(Some(2 * self.quiet))?;
        let answer = stream.write_all(NO_REQUEST).and_then(|()| stream.take(1).read_to_end(&mut Vec::new()));
        // One that closes, as it takes no more connections, answers too.
        answer
            .map(drop)
            .or_else(|error| if error.kind() == io::ErrorKind::WouldBlock { Err(error) } else { Ok(()) })
    }

    /// Reads a line as far as an answer may be long. The time that it has is one for the whole: a server that
    /// sends a byte now and then gets no more of it.
    fn read_line(&mut self, line: &mut String) -> io::Result<usize> {
        let began = Moment::now();
        let (mut wait, mut bytes) = (self.wait, Vec::new());
        loop {
            let left = wait.map(|wait| wait.saturating_sub(Moment::now().since(began)));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.reader.get_ref().set_read_timeout(left.or(Some(self.quiet)))?;
            let part = match self.reader.fill_buf() {
                // A signal, such as the end of a job in the process of a server.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && wait.is_none() => {
                    self.probe()?;
                    continue;
                }
                part => part?,
            };
            let end = part.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let count = end.unwrap_or(part.len());
            bytes.extend_from_slice(&part[..count]);
            self.reader.consume(count);
            if end.is_some() || count == 0 || MAX_ANSWER_BYTES <= bytes.len() as u64 {
                break;
            }
            wait = wait.or_else(|| Some(Moment::now().since(began) + LINE_WAIT));
        }
        *line =
            String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(line.len())
    }

    fn broken(&self, source: io::Error) -> Error {
        let path = self.path.clone();
        if source.kind() != io::ErrorKind::WouldBlock {
            return Error::Unreachable { path, source };
        }
        let wait = Span(self.wait.unwrap_or(3 * self.quiet));
        let text = format!(
            "it has said nothing for {wait}; kill -CONT wakes it if it was stopped, and it may still do what it was asked"
        );
        Error::Unreachable { path, source: io::Error::new(io::ErrorKind::TimedOut, text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use mainspring_server::exit::Exit;
    use mainspring_server::message::with_causes;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::thread;

    /// Writes byte after byte, without an end of the line, until the client has gone.
    fn drip(mut stream: impl Write) {
        while stream.write_all(b" ").is_ok() {}
    }

    #[test]
    fn an_answer_that_comes_drop_by_drop_has_one_deadline() {
        let folder = scratch::path("drip");
        std::fs::create_dir_all(&folder).unwrap();
        let data = DataDirectory::find(Some(&folder));
        let listener = UnixListener::bind(data.socket()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| drip(listener.accept().unwrap().0));
            let wait = Duration::from_millis(100);
            let mut client = Client::connect_within(&Address::Here(data), wait).unwrap();
            let error = client.ask(Request::Status).unwrap_err();
            let Error::Unreachable { source, .. } = &error else { panic!("{error}") };
            assert_eq!(source.kind(), io::ErrorKind::TimedOut);
        });
        let token_file = folder.join("token");
        std::fs::write(&token_file, "t").unwrap();
        std::fs::set_permissions(&token_file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut stream = listener.accept().unwrap().0;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\r\n";
                stream.write_all(head.as_bytes()).unwrap();
                drip(stream);
            });
            let wait = Duration::from_millis(500);
            let mut client =
                Client::connect_within(&Address::There(Site { url, token_file, ca_file: None }), wait)
                    .unwrap();
            let error = client.ask(Request::Status).unwrap_err();
            assert!(matches!(&error, Error::Away { why, .. } if why.contains("timeout")), "{error}");
        });
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_server_that_answers_nothing_is_given_up_and_one_that_takes_its_time_is_not() {
        let folder = scratch::path("quiet");
        std::fs::create_dir_all(&folder).unwrap();
        let data = DataDirectory::find(Some(&folder));
        let ask = |quiet| {
            let mut client = Client::connect(&Address::Here(data.clone())).unwrap();
            let Channel::Socket(socket) = &mut client.channel else { panic!("it is here") };
            socket.quiet = quiet;
            client.ask(Request::Status)
        };
        let stopped = UnixListener::bind(data.socket()).unwrap();
        let error = ask(Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.exit(), Exit::Unreachable);
        let text = with_causes(&error);
        assert!(text.contains("does not answer: it has said nothing for "), "{text}");
        drop(stopped);
        std::fs::remove_file(data.socket()).unwrap();
        let slow = UnixListener::bind(data.socket()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = slow.accept().unwrap();
                // It is asked whether it answers at all, and only then gives the first answer.
                let (mut probe, _) = slow.accept().unwrap();
                probe.write_all(b"{").unwrap();
                let response = ErrorWire::response(ErrorKind::Temporary, "at last");
                writeln!(
                    stream,
                    "{}",
                    serde_json::to_string(&IdentifiedResponse { id: 1, response }).unwrap()
                )
                .unwrap();
            });
            assert_eq!(ask(Duration::from_secs(1)).unwrap_err().to_string(), "at last");
        });
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_refusal_is_heard_though_the_server_has_closed() {
        let folder = scratch::path("client");
        std::fs::create_dir_all(&folder).unwrap();
        let data = DataDirectory::find(Some(&folder));
        let _ = std::fs::remove_file(data.socket());
        let listener = UnixListener::bind(data.socket()).unwrap();
        let mut client = Client::connect(&Address::Here(data)).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let response = ErrorWire::response(ErrorKind::Temporary, "full");
        writeln!(stream, "{}", serde_json::to_string(&IdentifiedResponse { id: 0, response }).unwrap())
            .unwrap();
        drop(stream);
        let error = client.ask(Request::Status).unwrap_err();
        assert_eq!(error.to_string(), "full", "{error:?}");
        assert!(matches!(client.ask(Request::Status), Err(Error::Unreachable { .. })));
    }
}
