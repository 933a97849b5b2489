//! Where the database is: a URL, with a secret that is not shown.
//!
//! ```text
//!  postgres://mainspring@db1,db2/mainspring   several hosts: the one that takes writes
//! ```
//!
//! Cost: none.
//!
//! Does not connect. Does not do TLS: a URL that asks for it is refused, rather than served without.

use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

/// How long a connection may take to be there. Shorter than the time that an owner has without a renewal.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// After this time a packet that nobody has acknowledged ends the connection: a primary whose machine is gone
/// sends no reset.
const USER_TIMEOUT: Duration = Duration::from_secs(5);

/// What a session is asked for, where no pooler stands between: a statement of ours is never longer than an
/// owner can be without its lease. Locks are waited for by the functions, each of which says how long.
pub(super) const OF_OWNER: &str = "-c statement_timeout=10000 -c idle_in_transaction_session_timeout=10000";

/// The same of a session that answers people: a question that takes longer keeps others waiting. Behind a
/// pooler the connection gives up after `CALL_TIMEOUT`.
pub(super) const OF_READER: &str = "-c statement_timeout=2000 -c idle_in_transaction_session_timeout=10000";

/// Where the database is.
#[derive(Clone)]
pub struct Location {
    config: Config,
}

impl Location {
    /// Reads a URL, or the words of a connection string such as `host=/run/postgresql dbname=mainspring`.
    ///
    /// # Errors
    /// When it is none, or asks for what is not there: a text that has no secret.
    pub fn parse(text: &str) -> Result<Location, String> {
        // The text of the cause may have parts of the URL, and the secret among them.
        let mut config: Config = text
            .parse()
            .map_err(|_| "it is no URL of a database, such as postgres://USER@HOST/DATABASE".to_owned())?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err("it asks for TLS, which this version does not speak: use a local socket, a private \
                 network, or a proxy that does"
                .to_owned());
        }
        if config.get_hosts().is_empty() {
            return Err("it names no host".to_owned());
        }
        config
            .application_name("mainspring")
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(USER_TIMEOUT)
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .ssl_mode(SslMode::Disable);
        Ok(Location { config })
    }

    /// Whether it has a password, which other users read in an argument when they list processes.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// How to connect, with what is asked of the session if that may be asked.
    pub(super) fn config(&self, session: &str, is_pooled: bool) -> Config {
        let mut config = self.config.clone();
        if !is_pooled {
            let given = config.get_options().unwrap_or_default().to_owned();
            config.options(format!("{session} {given}"));
        }
        config
    }
}

/// Hosts and database, and no secret.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use tokio_postgres::config::Host;
        let hosts: Vec<String> = self
            .config
            .get_hosts()
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        write!(f, "database {database} at {}", hosts.join(", "))
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let location = Location::parse("postgres://ada:s3cret@db1,db2:5433/jobs").unwrap();
        assert!(location.has_password());
        for shown in [location.to_string(), format!("{location:?}")] {
            assert_eq!(shown, "database jobs at db1, db2");
        }
        for bad in ["postgres://ada:s3cret@db1:x/jobs", "s3cret", "postgres://u:s3cret@h/d?sslmode=require"] {
            let error = Location::parse(bad).unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
