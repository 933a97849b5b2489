//! The page and the HTTP API over the jobs of the program, where it asks for them: the feature `page`.
//!
//! ```text
//! page("127.0.0.1:7411") ─▶ start: bound, a thread of its own ─▶ ends with the jobs
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
use mainspring_web::listen::Sockets;
use mainspring_web::settings::Settings;

use crate::error::Error;

/// Where the page is to be.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) address: Option<String>,
}

/// What serves the page beside the loop, and beside what stands by for it: from the first time on that it
/// does.
#[derive(Debug, Default)]
pub(crate) struct PageListener(Option<Sockets>);

impl PageListener {
    /// Serves from now on, until what is returned here is dropped. The address is bound with the first call.
    pub(crate) fn begin(&mut self, page: &Page, data: &DataDirectory) -> Result<Listener, Error> {
        let Some(address) = &page.address else { return Ok(Listener::default()) };
        let wrong = |reason: String| Error::Definition { name: address.clone(), reason };
        let failed = |source| Error::open(ServerError::Setup { what: "the page", source });
        let sockets = match self.0.take() {
            Some(sockets) => sockets,
            None => {
                let addresses = vec![address.parse().map_err(wrong)?];
                let settings = Settings { addresses, ..Settings::default() };
                let bound = Sockets::bind(settings, &ActivatedSockets::default());
                bound.map_err(|error| wrong(error.to_string()))?
            }
        };
        self.0.insert(sockets).serve(data.clone(), TimeZone::system()).map_err(failed)
    }

    /// Waits for the end, which comes soon after that of what answers.
    pub(crate) fn finish(self) {
        self.0.into_iter().for_each(Sockets::finish);
    }
}
