//! The options for the addresses of `serve`, and for those who may use them.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: the conventions of <https://clig.dev>.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use mainspring_server::protocol::{MAX_METERED_JOBS, METERED_JOBS};
use mainspring_web::network::Network;
use mainspring_web::settings::{Address, DEFAULT_ADDRESS, PublicUrl};

/// Where to listen.
#[derive(Clone, Debug, Args)]
pub struct ListenArgs {
    /// Serves page, HTTP API and metrics there; unix:/path is a socket, systemd those handed over
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT_ADDRESS)]
    pub listen: Vec<Address>,
    /// The address that people type where a proxy is in front, such as https://host/mainspring/
    #[arg(long, value_name = "URL", requires = "listen")]
    pub public_url: Option<PublicUrl>,
    /// From where that proxy connects; without it only this machine is listened to
    #[arg(long, value_name = "NETWORK/BITS", requires = "listen")]
    pub behind_proxy: Option<Network>,
    /// Whom that proxy signs in, by a header: its secret, and what its groups may do
    #[arg(long, value_name = "FILE", requires = "behind_proxy")]
    pub proxy_users: Option<PathBuf>,
    /// How many jobs have metrics of their own; the others have those of `_other` together
    #[arg(long, value_name = "N", requires = "listen", default_value_t = METERED_JOBS,
        value_parser = RangedU64ValueParser::<usize>::new().range(0..=MAX_METERED_JOBS as u64))]
    pub metrics_max_jobs: usize,
    /// Refuses every change over HTTP
    #[arg(long, requires = "listen")]
    pub read_only: bool,
    /// Lets tokens of the scope `define` say what runs: any command, as the users of the server
    #[arg(long, requires = "listen", conflicts_with = "read_only")]
    pub define_over_http: bool,
}
