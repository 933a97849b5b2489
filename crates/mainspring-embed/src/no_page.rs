//! A program without the feature `page`: nothing is served over HTTP.
//!
//! Cost: none.
//!
//! Does not pull in a crate of HTTP.

use mainspring_server::data_directory::DataDirectory;
use mainspring_server::server::listener::Listener;

use crate::error::Error;

/// No page is asked for.
#[derive(Debug, Default)]
pub(crate) struct Page(());

/// Nothing serves beside the loop.
#[derive(Debug, Default)]
pub(crate) struct PageListener(());

impl PageListener {
    /// Serves nothing.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "with the feature it may fail")]
    pub(crate) fn begin(&mut self, _page: &Page, _data: &DataDirectory) -> Result<Listener, Error> {
        Ok(Listener::default())
    }

    /// Waits for nothing.
    #[expect(clippy::unused_self, reason = "with the feature there is something to wait for")]
    pub(crate) fn finish(self) {}
}
