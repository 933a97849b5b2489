//! The arguments of the server, and of the commands that talk to it.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: the conventions of <https://clig.dev>.

#![expect(missing_docs, reason = "clap would take the text of a group for that of the help")]

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use clap_complete::Shell;
use jiff::tz::TimeZone;

use super::FormatArgs;
use super::listen::ListenArgs;
use super::value::{parse_grace, parse_zone};
use crate::client::Address;
use crate::client::http::{Site, parse_url};
use mainspring_action::needs::given;
use mainspring_exec::executor::MAX_RUNNING;
use mainspring_file::hook::Target;
use mainspring_job::WorkerLabel;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::log::{Format, Level, Style, journal};
use mainspring_server::server::rate::{DEFAULT_CONNECTION_RATE, DEFAULT_TOTAL_RATE};

/// Which server.
#[derive(Clone, Debug, Args)]
pub struct DataArgs {
    /// The data directory [default: $MAINSPRING_DATA, or as `mainspring serve --help` says]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl DataArgs {
    /// The directory that is meant.
    pub fn directory(&self) -> DataDirectory {
        DataDirectory::find(self.data.as_deref())
    }
}

/// Names the file of the authorities that a machine trusts, as for OpenSSL.
const CA_VARIABLE: &str = "SSL_CERT_FILE";

/// Which server, on this machine or elsewhere.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// Asks a server elsewhere by its HTTP API, such as https://host/mainspring/
    #[arg(long, value_name = "URL", value_parser = parse_url, requires = "token_file", conflicts_with = "data")]
    pub url: Option<String>,
    /// The file with the token for it, which `mainspring token add` has printed there
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with = "data")]
    pub token_file: Option<PathBuf>,
    /// Authorities that vouch for it, in place of the public ones [default: $SSL_CERT_FILE]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub ca_file: Option<PathBuf>,
}

impl ServerArgs {
    /// The server that is meant.
    pub fn address(&self) -> Address {
        match (&self.url, &self.token_file) {
            (Some(url), Some(token_file)) => {
                let named = || env::var_os(CA_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
                let ca_file = self.ca_file.clone().or_else(named);
                Address::There(Site { url: url.clone(), token_file: token_file.clone(), ca_file })
            }
            _ => Address::Here(self.data.directory()),
        }
    }
}

/// What the commands that talk to a server have in common.
#[derive(Clone, Debug, Args)]
pub struct AskArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Prints JSON: one document, and of `logs` one a line
    #[arg(long)]
    pub json: bool,
    /// Shows times in UTC instead of the system's zone
    #[arg(long)]
    pub utc: bool,
}

/// A label that a person may give: what a program knows of itself is not said by one.
fn parse_label(text: &str) -> Result<WorkerLabel, String> {
    let is_host = text.starts_with("host=");
    if is_host { Err(format!("`{text}` is what a server says of itself")) } else { given(text) }
}

/// The arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Job files (.toml), crontabs, and folders of them; - is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub data: DataArgs,
    /// Waits until the data directory is free, then takes over
    #[arg(long)]
    pub standby: bool,
    /// Starts nothing until `mainspring resume --all`: to look at a restored copy
    #[arg(long, conflicts_with = "standby")]
    pub paused: bool,
    /// The database that servers share: postgres://USER@HOST/DATABASE [default: $MAINSPRING_STORE]
    #[arg(long, value_name = "URL", conflicts_with_all = ["memory", "standby"])]
    pub store: Option<String>,
    /// The same out of the first line of a file, which keeps a password out of the list of processes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["memory", "standby", "store"])]
    pub store_file: Option<PathBuf>,
    /// What this server has, as `gpu` or `region=eu`, for jobs that say `on`; may be repeated
    #[arg(long = "label", value_name = "LABEL", value_parser = parse_label, conflicts_with_all = ["memory", "standby"])]
    pub labels: Vec<WorkerLabel>,
    /// Plans and carries nothing out: the other servers of the database do
    #[arg(long, conflicts_with_all = ["memory", "standby", "no_plan"])]
    pub no_work: bool,
    /// Carries out what other servers of the database plan, and never plans
    #[arg(long, conflicts_with_all = ["memory", "standby"])]
    pub no_plan: bool,
    /// Keeps nothing: the store is in memory, and ends with the server
    #[arg(long, conflicts_with = "standby")]
    pub memory: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    /// Serves what cron does: /etc/crontab, /etc/cron.d and the users' crontabs, or those below ROOT
    #[arg(long, value_name = "ROOT", num_args = 0..=1, require_equals = true, default_missing_value = "/")]
    pub cron: Option<PathBuf>,
    /// Time zone of jobs that name none [default: the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// Time from SIGTERM to SIGKILL of running jobs, at most; 10s unless their timeout has a grace
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = parse_grace)]
    pub grace: Duration,
    /// Time that running jobs have after SIGTERM to end by themselves, before they are asked
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_grace)]
    pub drain: Duration,
    /// How the log is written: columns, or JSON objects; auto: fields to journald if it reads the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Auto)]
    pub log: LogFormat,
    /// What is left out of the log: what matters less than debug, info, notice, warning or error
    #[arg(long, value_name = "LEVEL", default_value = "debug", value_parser = parse_level)]
    pub log_level: Level,
    /// Who is told of jobs that do not say it: mailto:ADDRESS, a URL, or a command; may be repeated
    #[arg(long, value_name = "TARGET", value_parser = Target::parse)]
    pub notify: Vec<Target>,
    /// Runs that may go on at a time, processes and webhooks together
    #[arg(long, value_name = "COUNT", default_value_t = MAX_RUNNING as u32, value_parser = running_max())]
    pub max_running: u32,
    /// Changes that clients may ask for in a second, all together; 0 is any number
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_TOTAL_RATE)]
    pub max_changes: u32,
    /// Changes that may be asked for in a second over one connection; 0 is any number
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_CONNECTION_RATE)]
    pub max_connection_changes: u32,
    #[command(flatten)]
    pub listen: ListenArgs,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// As fields to journald if it reads standard output, else as columns.
    Auto,
    /// As columns, for people.
    Text,
    /// A JSON object a line.
    Json,
}

impl ServeArgs {
    /// What the log has, and how.
    pub fn log_style(&self) -> Style {
        let format = match self.log {
            LogFormat::Auto if journal::reads(&std::io::stdout()) => Format::Journal,
            LogFormat::Auto | LogFormat::Text => Format::Text,
            LogFormat::Json => Format::Json,
        };
        Style { format, level: self.log_level }
    }
}

fn parse_level(text: &str) -> Result<Level, String> {
    let names = Level::ALL.map(Level::name).join(", ");
    Level::ALL.into_iter().find(|level| level.name() == text).ok_or(format!("expected one of {names}"))
}

fn running_max() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=MAX_RUNNING as i64)
}

/// The arguments of `top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Shows times in UTC instead of the system's zone
    #[arg(long)]
    pub utc: bool,
}

/// The arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Exports runs as one JSON document a line, instead of the jobs as a job file
    #[arg(long)]
    pub history: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// The arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Writes a page for each command into this directory, instead of the main one to standard output
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}
