//! The builder's method that enables the page: the feature `page`.
//!
//! Cost: none.
//!
//! Does not serve it: see [`page`](crate::page).

use crate::builder::Builder;

impl Builder {
    /// Serves the page and the HTTP API of `mainspring serve` at a loopback address such as
    /// `127.0.0.1:7411`, or at `unix:` and an absolute path in a folder that no other user may write, for as
    /// long
    /// as the jobs run. Needs the feature `page`. A simulation has none.
    pub fn page(mut self, address: impl Into<String>) -> Builder {
        self.page.address = Some(address.into());
        self
    }
}
