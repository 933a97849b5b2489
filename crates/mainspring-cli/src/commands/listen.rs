//! The listener of `serve`, and the commands `open` and `token`.
//!
//! ```text
//! --listen ─▶ bound ─▶ thread, with the data directory; the loop is given its connections ─▶ ends with the loop
//! ```
//!
//! Cost: a thread, where it is asked for.
//!
//! Does not serve: `mainspring-web` does.

use std::io;
use std::process::{Command, Stdio};

use jiff::tz::TimeZone;
use nix::unistd::Uid;
use serde_json::json;

use super::{print, print_json};
use crate::cli::listen::ListenArgs;
use crate::cli::token::{OpenArgs, TokenAddArgs, TokenCommand, TokenListArgs};
use crate::client::Client;
use crate::client::http::{MAX_TOKEN_BYTES, SILENCE, parse_url};
use mainspring_server::activation::{ActivatedSockets, HandedSocket};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::note;
use mainspring_server::protocol::{ErrorKind, ErrorWire, LoginWire, Request, Response};
use mainspring_server::server::listener::Listener;
use mainspring_server::server::login_codes::CODE_LIFE;
use mainspring_web::event_stream::BEAT;
use mainspring_web::listen::Sockets;
use mainspring_web::network::Network;
use mainspring_web::proxy_users::ProxyUsers;
use mainspring_web::settings::{Address, Settings};
use mainspring_web::tokens::{self, TOKEN_BYTES, Tokens};

// A client of another machine is this program too.
const _: () =
    assert!(2 * BEAT.as_secs() < SILENCE.as_secs(), "a server that lives says so before it is given up");
const _: () = assert!(2 * TOKEN_BYTES < MAX_TOKEN_BYTES as usize, "a token of ours is read");
const _: () = assert!(CODE_LIFE.as_secs() == 60, "`open` says a minute");

/// What serves beside the loop, from the first time on that something does.
#[derive(Default)]
pub(super) struct HttpListener(Option<Sockets>);

fn failed(source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::InvalidInput {
        return Error::Usage(source.to_string());
    }
    Error::setup("the listener")(source)
}

/// Refuses sockets of the service manager that no `--listen` names.
///
/// # Errors
///
/// When there is one.
pub(super) fn check(args: &ListenArgs, handed: &ActivatedSockets) -> Result<(), Error> {
    let is_meant = |address: &Address, socket: &HandedSocket| match address {
        Address::Handed(name) => socket.is_named(name.as_deref()),
        Address::Tcp(_) | Address::Unix(_) => false,
    };
    handed.check(|socket| args.listen.iter().any(|address| is_meant(address, socket)))
}

impl HttpListener {
    /// Listens where that is asked for, from now on until the loop ends. Returns what the loop is to be
    /// given.
    pub(super) fn begin(
        &mut self,
        args: &ListenArgs,
        handed: &ActivatedSockets,
        data: &DataDirectory,
        zone: &TimeZone,
    ) -> Result<Listener, Error> {
        if args.listen.is_empty() {
            return Ok(Listener::default());
        }
        let sockets = match self.0.take() {
            Some(sockets) => sockets,
            None => Sockets::bind(settings(args)?, handed).map_err(failed)?,
        };
        let listener = self.0.insert(sockets).serve(data.clone(), zone.clone()).map_err(failed)?;
        for address in &listener.addresses {
            note(&format!("the page is at {address} (mainspring open signs a browser in)"));
        }
        if let Some(wide) = args.behind_proxy.filter(Network::is_public) {
            note(&format!(
                "warning: --behind-proxy {wide} has more of the Internet in it than a proxy: everybody there \
                 connects without it, and without encryption"
            ));
        }
        if args.define_over_http && Uid::effective().is_root() {
            note(
                "warning: tokens of the scope define run any command as root: serve without \
                 --define-over-http, or not as root",
            );
        }
        Ok(listener)
    }

    /// Waits for the end, which comes soon after that of the loop.
    pub(super) fn finish(self) {
        self.0.into_iter().for_each(Sockets::finish);
    }
}

/// The address that people type, if it is known.
pub(super) fn public_url(args: &ListenArgs) -> Option<String> {
    args.public_url.as_ref().map(ToString::to_string)
}

fn settings(args: &ListenArgs) -> Result<Settings, Error> {
    let users = args
        .proxy_users
        .as_ref()
        .map(|path| ProxyUsers::open(path).map_err(|source| Error::Data { path: path.clone(), source }));
    Ok(Settings {
        proxy_users: users.transpose()?,
        addresses: args.listen.clone(),
        proxy: args.behind_proxy,
        public_url: args.public_url.clone(),
        is_read_only: args.read_only,
        is_defining: args.define_over_http,
        metered_jobs_max: Some(args.metrics_max_jobs),
    })
}

/// `mainspring open`.
pub(super) fn open(args: &OpenArgs) -> Result<Exit, Error> {
    let answer = Client::connect(&args.ask.server.address())?.ask(Request::LoginCode)?;
    let Response::LoginCode(LoginWire { code, addresses }) = answer else { return Ok(Exit::Failed) };
    let address = page_address(addresses.first().map_or("", String::as_str), &code)?;
    if args.ask.json {
        print_json(&json!({ "address": address, "good_for_seconds": CODE_LIFE.as_secs() }))?;
        return Ok(Exit::Ok);
    }
    if args.print || address.starts_with('#') || !starts_browser(&address) {
        print(&format!("{address}\n"))?;
        note("open it in a browser within a minute; it is good once");
    }
    Ok(Exit::Ok)
}

/// The address that signs a browser in. A server may say anything: what is no address of HTTP with a code
/// goes to no other program and to no terminal.
///
/// # Errors
///
/// When it is none.
fn page_address(page: &str, code: &str) -> Result<String, Error> {
    let is_code =
        !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    // A server that listens on a socket alone has no address to name.
    let page = if page.is_empty() { Ok(String::new()) } else { parse_url(page) };
    match page {
        Ok(page) if is_code => Ok(format!("{page}#code={code}")),
        _ => {
            let text = "the server names no address of a page: ask mainspring status which server that is";
            Err(Error::Refused(ErrorWire::new(ErrorKind::Failed, text)))
        }
    }
}

/// Starts the browser of the desktop, where there is one. As root it does not: for a moment other users of
/// the machine can read the arguments, and a code of root's server runs jobs as root.
fn starts_browser(address: &str) -> bool {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let opener = || {
        let silent = || Stdio::null();
        Command::new("xdg-open").arg(address).stdin(silent()).stdout(silent()).stderr(silent()).status()
    };
    !Uid::effective().is_root() && has_desktop && opener().is_ok_and(|status| status.success())
}

/// `mainspring token`.
pub(super) fn token(command: &TokenCommand) -> Result<Exit, Error> {
    match command {
        TokenCommand::Add(args) => add(args),
        TokenCommand::List(args) => list(args),
        TokenCommand::Remove(args) => {
            let data = args.data.directory();
            if tokens::remove(&data, &args.name).map_err(|error| wrong(&data, error))? {
                return Ok(Exit::Ok);
            }
            let message = format!("`{}` has no token", args.name);
            Err(Error::Refused(ErrorWire::new(ErrorKind::NotFound, message)))
        }
    }
}

fn wrong(data: &DataDirectory, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::Refused(ErrorWire::new(ErrorKind::Conflict, source.to_string()))
        }
        _ => Error::Data { path: tokens::path(data), source },
    }
}

fn add(args: &TokenAddArgs) -> Result<Exit, Error> {
    let data = args.data.directory();
    data.make()?;
    let token = tokens::add(&data, args.name.as_str(), args.scope).map_err(|error| wrong(&data, error))?;
    print(&format!("{token}\n"))?;
    note("keep it; it is not shown again");
    Ok(Exit::Ok)
}

fn list(args: &TokenListArgs) -> Result<Exit, Error> {
    let data = args.data.directory();
    let tokens = Tokens::open(tokens::path(&data)).map_err(|error| wrong(&data, error))?;
    let tokens = tokens.all().iter().map(|token| (&token.name, token.scope.name()));
    if args.json {
        let shown = tokens.map(|(name, scope)| json!({ "name": name, "scope": scope }));
        print_json(&shown.collect::<Vec<_>>())?;
    } else {
        print(&tokens.map(|(name, scope)| format!("{scope:<8}  {name}\n")).collect::<String>())?;
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_opened_at_an_address_of_http_alone() {
        let good = ["http://127.0.0.1:7411/", "http://[::1]:7411/", "https://host.example/mainspring/"];
        for page in good {
            assert_eq!(page_address(page, "aB-_9").unwrap(), format!("{page}#code=aB-_9"));
        }
        assert_eq!(page_address("", "c").unwrap(), "#code=c");
        for page in [
            "--help",
            "-",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "/etc/passwd",
            "http:",
            "http:///x",
            " http://a/",
            "http://a/\u{1b}[2J",
            "http://a/ --x",
            "http://a/?x",
            "http://user@a/",
            "HTTP",
        ] {
            assert!(page_address(page, "c").is_err(), "{page}");
        }
        for code in ["", "a b", "a\n", "\u{1b}", "a&b", "a#b"] {
            assert!(page_address("http://a/", code).is_err(), "{code:?}");
        }
    }
}
