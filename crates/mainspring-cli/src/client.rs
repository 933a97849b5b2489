//! A connection to the server, for the commands.
//!
//! Cost: one connection per command.
//!
//! Does not retry.
//!
//! Source: unix(7).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use mainspring_exec::span::Span;
use mainspring_server::error::Error;
use mainspring_server::place::Place;
use mainspring_server::protocol::{Answered, Asked, Request, Response};

/// The longest answer in bytes: some times that of the largest page, and what a machine has to spare. Another user's server may
/// say anything.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// A connection.
#[derive(Debug)]
pub struct Client {
    reader: BufReader<UnixStream>,
    path: PathBuf,
    last_id: u64,
    wait: Option<Duration>,
}

impl Client {
    /// Connects to the server of a data directory.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`] when no server answers there.
    pub fn connect(place: &Place) -> Result<Client, Error> {
        let path = place.socket();
        match UnixStream::connect(&path) {
            Ok(stream) => Ok(Client { reader: BufReader::new(stream), path, last_id: 0, wait: None }),
            Err(source) => Err(Error::Unreachable { path, source }),
        }
    }

    /// Gives the server so long for each answer from now on.
    ///
    /// # Errors
    ///
    /// When the operating system refuses that.
    pub fn answers_within(&mut self, wait: Duration) -> Result<(), Error> {
        self.reader.get_ref().set_read_timeout(Some(wait)).map_err(|error| self.broken(error))?;
        self.wait = Some(wait);
        Ok(())
    }

    /// Asks, and waits for the first answer.
    ///
    /// # Errors
    ///
    /// When the connection breaks off, and the server's own errors as [`Error::Refused`].
    pub fn ask(&mut self, request: Request) -> Result<Response, Error> {
        match self.send(request) {
            Ok(()) => self.next_answer(),
            // A server that takes no more connections says so and closes, perhaps before the request has come.
            Err(error) => match self.next_answer() {
                Err(said @ Error::Refused(_)) => Err(said),
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
            match self.reader.by_ref().take(MAX_ANSWER_BYTES).read_line(&mut line) {
                Ok(count) if count as u64 == MAX_ANSWER_BYTES => {
                    let text = format!("an answer is longer than {} MiB", MAX_ANSWER_BYTES >> 20);
                    return Err(self.broken(io::Error::other(text)));
                }
                Ok(0) => return Err(self.broken(io::Error::other("the server closed the connection"))),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let wait = Span(self.wait.unwrap_or_default());
                    let text = format!("it takes requests, and has not answered within {wait}");
                    return Err(self.broken(io::Error::new(io::ErrorKind::TimedOut, text)));
                }
                Err(error) => return Err(self.broken(error)),
            }
            let answered: Answered =
                serde_json::from_str(&line).map_err(|error| self.broken(error.into()))?;
            match answered.response {
                // The server may say something about the connection as a whole.
                Response::Error(error) => return Err(Error::Refused(error)),
                response if answered.id == self.last_id => return Ok(response),
                _ => {}
            }
        }
    }

    fn send(&mut self, request: Request) -> Result<(), Error> {
        self.last_id += 1;
        let asked = Asked { id: self.last_id, actor: None, request };
        let mut line = serde_json::to_string(&asked).expect("requests have string keys and finite numbers");
        line.push('\n');
        self.reader.get_mut().write_all(line.as_bytes()).map_err(|error| self.broken(error))
    }

    fn broken(&self, source: io::Error) -> Error {
        Error::Unreachable { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_server::protocol::{ErrorKind, ErrorWire};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_refusal_is_heard_though_the_server_has_closed() {
        let folder = std::env::temp_dir().join(format!("mainspring-client-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = Place::find(Some(&folder));
        let _ = std::fs::remove_file(place.socket());
        let listener = UnixListener::bind(place.socket()).unwrap();
        let mut client = Client::connect(&place).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let response = ErrorWire::response(ErrorKind::Temporary, "full");
        writeln!(stream, "{}", serde_json::to_string(&Answered { id: 0, response }).unwrap()).unwrap();
        drop(stream);
        let error = client.ask(Request::Status).unwrap_err();
        assert_eq!(error.to_string(), "full", "{error:?}");
        assert!(matches!(client.ask(Request::Status), Err(Error::Unreachable { .. })));
    }
}
