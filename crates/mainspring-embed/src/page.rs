//! The page and the HTTP API over the jobs of the program, where it asks for them: the feature `page`.
//!
//! ```text
//! page("127.0.0.1:7411") ─▶ start: bound, a thread of its own ─▶ ends with the loop
//! ```
//!
//! It is that of `mainspring serve --listen`. A browser is signed in by `mainspring open --data DIR`.
//!
//! Cost: a thread, and the crates of an HTTP server.
//!
//! Does not encrypt: see [`Settings::check`].

use jiff::tz::TimeZone;
use mainspring_server::activation::ActivatedSockets;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error as ServerError;
use mainspring_server::server::listener::Listener;
use mainspring_web::listen::{Serving, prepare};
use mainspring_web::settings::Settings;

use crate::error::Error;

/// Where the page is to be.
#[derive(Debug, Default)]
pub(crate) struct Page {
    address: Option<String>,
}

/// What serves the page beside the loop.
#[derive(Debug, Default)]
pub(crate) struct PageListener(Option<Serving>);

impl Page {
    /// A page at this address.
    pub(crate) fn at(address: String) -> Page {
        Page { address: Some(address) }
    }

    /// Binds, and serves from now on.
    pub(crate) fn begin(&self, data: &DataDirectory) -> Result<(Listener, PageListener), Error> {
        let Some(address) = &self.address else { return Ok((Listener::default(), PageListener::default())) };
        let wrong = |reason: String| Error::Definition { name: address.clone(), reason };
        let addresses = vec![address.parse().map_err(wrong)?];
        let failed = |source| Error::open(ServerError::Setup { what: "the page", source });
        let bound = prepare(Settings { addresses, ..Settings::default() }, &ActivatedSockets::default());
        let (bound, listener) = bound.map_err(|error| wrong(error.to_string()))?;
        let serving = bound.serve(data.clone(), TimeZone::system()).map_err(failed)?;
        Ok((listener, PageListener(Some(serving))))
    }
}

impl PageListener {
    /// Waits for the end, which comes soon after that of the loop.
    pub(crate) fn finish(self) {
        self.0.into_iter().for_each(Serving::finish);
    }
}
