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
use mainspring_server::server::listener::Listener;
use mainspring_web::listen::Sockets;
use mainspring_web::settings::Settings;

use crate::builder::Builder;
use crate::error::Error;
use crate::parts::{ServedBeside, setup};

/// The page at an address, which is bound when it is served first.
struct Page {
    address: String,
    sockets: Option<Sockets>,
}

impl Builder {
    /// Serves the page and the HTTP API of `mainspring serve` at a loopback address such as
    /// `127.0.0.1:7411`, or at `unix:` and an absolute path in a folder that no other user may write, for as
    /// long as the jobs run. Needs the feature `page`. A simulation has none.
    pub fn page(mut self, address: impl Into<String>) -> Builder {
        self.parts.beside = Some(Box::new(Page { address: address.into(), sockets: None }));
        self
    }
}

impl ServedBeside for Page {
    fn begin(&mut self, data: &DataDirectory) -> Result<Listener, Error> {
        let wrong = |reason: String| Error::definition(&self.address, reason);
        let sockets = match self.sockets.take() {
            Some(sockets) => sockets,
            None => {
                let addresses = vec![self.address.parse().map_err(wrong)?];
                let settings = Settings { addresses, ..Settings::default() };
                let bound = Sockets::bind(settings, &ActivatedSockets::default());
                bound.map_err(|error| wrong(error.to_string()))?
            }
        };
        self.sockets.insert(sockets).serve(data.clone(), TimeZone::system()).map_err(setup("the page"))
    }

    fn finish(self: Box<Self>) {
        self.sockets.into_iter().for_each(Sockets::finish);
    }
}
