//! Requests to the HTTP API of a server elsewhere, with a token out of a file.
//!
//! ```text
//! request ─POST URL/api/v1/requests, Bearer TOKEN─▶ lines: the answers that the socket gives
//!                                                  or a problem: its sentence, and the exit code of its kind
//! ```
//!
//! Cost: one request of HTTP per request.
//!
//! Does not follow redirects: a token is sent to the server that was named and to no other.
//!
//! Source: RFC 6750 for bearer tokens, RFC 9457 for problems.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mainspring_exec::webhook::trusting;
use mainspring_host::regular::open_regular;
use mainspring_server::error::Error;
use mainspring_server::message::note;
use mainspring_server::protocol::{Answers, ErrorKind, ErrorWire};
use serde::Deserialize;
use ureq::http::Uri;
use ureq::{Agent, BodyReader};

/// The path of requests, below the address that people use.
const PATH: &str = "api/v1/requests";

/// How long a connection may take: a server that does not answer within it is taken for gone.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// How long nothing may come while an answer is waited for: some times the interval of the server's own signs
/// of life.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

const _: () = assert!(CONNECT_WAIT.as_secs() < SILENCE.as_secs());

/// How long the body of an answer may take that waits for no run: as long as a page of a list takes over a
/// slow line. What waits for a run has no such end: it is for who waits to leave.
const BODY_WAIT: Duration = Duration::from_secs(60);

/// The longest token: some times that of ours.
pub(crate) const MAX_TOKEN_BYTES: u64 = 4 << 10;

/// The longest problem that is read.
const MAX_PROBLEM_BYTES: u64 = 64 << 10;

/// The name that rustls has for a certificate for which no trusted authority vouches.
const UNKNOWN_ISSUER: &str = "UnknownIssuer";

/// Permission of everybody on the machine to read.
const OF_EVERYBODY: u32 = 0o004;

/// A server elsewhere, and with what it is asked.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its address, as `serve --public-url` has it.
    pub url: String,
    /// Where the token is.
    pub token_file: PathBuf,
    /// The certificates of the authorities that vouch for it, in place of the public ones.
    pub ca_file: Option<PathBuf>,
}

/// The way to it.
pub struct Http {
    agent: Agent,
    url: String,
    token: String,
    /// How long a whole answer may take, in place of the usual waits.
    wait: Option<Duration>,
    lines: Option<BufReader<BodyReader<'static>>>,
}

// A token is in no text that is made for finding faults.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Whether a text is the address of a server.
///
/// # Errors
///
/// What is expected instead.
pub fn parse_url(text: &str) -> Result<String, String> {
    let wrong = || "expected an address such as https://host.example/mainspring/".to_owned();
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    if !is_http || !has_host || uri.query().is_some() || text.contains(['@', '#']) {
        return Err(wrong());
    }
    Ok(format!("{}/", text.trim_end_matches('/')))
}

impl Http {
    pub(super) fn new(site: &Site, wait: Option<Duration>) -> Result<Http, Error> {
        debug_assert!(site.url.ends_with('/'), "a path is put behind it");
        let token = read_token(&site.token_file)?;
        let uri: Uri = site.url.parse().map_err(|_| Error::Usage(format!("{} is no address", site.url)))?;
        let is_local = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if uri.scheme_str() == Some("http") && !is_local {
            note(&format!("the token goes to {} unencrypted: others on the way can read it", site.url));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        if let Some(path) = &site.ca_file {
            let wrong = |why| Error::Data { path: path.clone(), source: io::Error::other(why) };
            config = config.tls_config(trusting(path).map_err(wrong)?);
        }
        let agent = config.build().new_agent();
        Ok(Http { agent, url: site.url.clone(), token, wait, lines: None })
    }

    pub(super) fn send(&mut self, text: &str, answers: Answers) -> Result<(), Error> {
        let usual = |wait| Some(wait).filter(|_| self.wait.is_none());
        let result = self
            .agent
            .post(format!("{}{PATH}", self.url))
            .config()
            .timeout_global(self.wait)
            .timeout_connect(usual(CONNECT_WAIT))
            .timeout_recv_response(usual(SILENCE))
            .timeout_recv_body((answers == Answers::One).then_some(BODY_WAIT))
            .build()
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .header("accept", "application/x-ndjson, application/problem+json")
            .send(text);
        let response = result.map_err(|error| self.away(error.to_string()))?;
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_owned();
        let reader = response.into_body().into_reader();
        if status == 200 && kind == "application/x-ndjson" {
            self.lines = Some(BufReader::new(reader));
            return Ok(());
        }
        let mut text = String::new();
        let read = reader.take(MAX_PROBLEM_BYTES).read_to_string(&mut text);
        let problem = read.ok().and_then(|_| serde_json::from_str::<Problem>(&text).ok());
        match problem.filter(|_| kind == "application/problem+json") {
            Some(problem) => Err(Error::Refused(ErrorWire::new(kind_of(status), problem.detail))),
            None => {
                Err(self.away(format!("what answers there, with status {status}, is no mainspring server")))
            }
        }
    }

    pub(super) fn read_line(&mut self, line: &mut String, max_bytes: u64) -> io::Result<usize> {
        match &mut self.lines {
            Some(lines) => lines.by_ref().take(max_bytes).read_line(line),
            None => Ok(0),
        }
    }

    pub(super) fn broken(&self, source: &io::Error) -> Error {
        self.away(source.to_string())
    }

    fn away(&self, mut why: String) -> Error {
        if why.contains(UNKNOWN_ISSUER) {
            why.push_str(": --ca-file FILE or $SSL_CERT_FILE names the authorities that vouch for it");
        }
        Error::Away { url: self.url.clone(), why }
    }
}

/// The part of a problem that people read.
#[derive(Deserialize)]
struct Problem {
    detail: String,
}

/// The kind of error that a status stands for, by which the exit code is that of the same error over the
/// socket.
fn kind_of(status: u16) -> ErrorKind {
    match status {
        400 => ErrorKind::Usage,
        401 | 403 => ErrorKind::Denied,
        404 => ErrorKind::NotFound,
        409 => ErrorKind::Conflict,
        413 | 422 => ErrorKind::Invalid,
        408 | 429 | 503 => ErrorKind::Temporary,
        _ => ErrorKind::Failed,
    }
}

fn read_token(path: &Path) -> Result<String, Error> {
    let failed = |source: io::Error| Error::Data { path: path.to_path_buf(), source };
    let opened = open_regular(path).map_err(failed)?;
    if opened.ownership.mode & OF_EVERYBODY != 0 {
        let text = format!("everybody on this machine may read it: chmod o= {}", path.display());
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, text)));
    }
    let mut text = String::new();
    opened.file.take(MAX_TOKEN_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token || MAX_TOKEN_BYTES < text.len() as u64 {
        let text = "it does not hold one token: mainspring token add prints one";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, text)));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_a_host_and_perhaps_a_path() {
        assert_eq!(parse_url("https://a.example/m").unwrap(), "https://a.example/m/");
        assert_eq!(parse_url("http://127.0.0.1:7411").unwrap(), "http://127.0.0.1:7411/");
        for bad in ["a.example", "ftp://a", "https://u:p@a/", "https://a/?x", "https://a/#x", "http:///x", ""]
        {
            assert!(parse_url(bad).is_err(), "{bad}");
        }
    }
}
