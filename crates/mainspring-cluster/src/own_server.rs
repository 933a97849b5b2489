//! This process's own server, asked as a client of its socket: for what other servers ask of the planner.
//!
//! Cost: a connection for the requests of one look, and a turn of the loop for each.
//!
//! Does not follow a run: who waits for its end asks again.

use std::io::{self, BufRead, BufReader, Write};
use std::time::Duration;

use mainspring_host::net::LocalStream;
use mainspring_host::socket::connect;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::protocol::{
    ErrorKind, ErrorWire, IdentifiedRequest, IdentifiedResponse, Request, Response,
};

/// How long the server has for an answer.
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// A connection to it.
#[derive(Debug)]
pub(crate) struct OwnServer(BufReader<LocalStream>);

impl OwnServer {
    /// # Errors
    /// When it does not answer at its socket yet, or any more.
    pub(crate) fn connect(data: &DataDirectory) -> io::Result<OwnServer> {
        let stream = connect(&data.socket())?;
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        stream.set_write_timeout(Some(ANSWER_WAIT))?;
        Ok(OwnServer(BufReader::new(stream)))
    }

    /// The answer to a request. That the server does not answer is one too.
    pub(crate) fn ask(&mut self, request: Request, comment: Option<String>) -> Response {
        let identified = IdentifiedRequest { id: 1, actor: None, comment, request };
        let line =
            serde_json::to_string(&identified).expect("requests have string keys and finite numbers") + "\n";
        match self.0.get_mut().write_all(line.as_bytes()) {
            Ok(()) => self.answer(),
            Err(error) => temporary(&error),
        }
    }

    fn answer(&mut self) -> Response {
        let mut line = String::new();
        let answered = match self.0.read_line(&mut line) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => serde_json::from_str::<IdentifiedResponse>(&line).map_err(io::Error::from),
            Err(error) => Err(error),
        };
        answered.map_or_else(|error| temporary(&error), |answered| answered.response)
    }
}

fn temporary(error: &io::Error) -> Response {
    ErrorWire::response(ErrorKind::Temporary, format!("the server that plans did not answer: {error}"))
}
