//! The URL of the database, with a secret that is not shown.
//!
//! ```text
//!  postgres://mainspring@db1,db2/mainspring   several hosts: the one that takes writes
//! ```
//!
//! Cost: none.
//!
//! Two words are read here, and not by the client library: `sslmode` and `sslrootcert`.
//!
//! Does not connect. TLS is spoken where `sslmode` is `require` or `verify-full`: both check the certificate
//! and the name of the host. Sockets of this machine have none.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::tls::Connector;

/// How long a connection may take to be there. Shorter than the time that an owner has without a renewal.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// After this time a packet that is not acknowledged ends the connection: a primary whose machine is gone
/// sends no reset.
pub(super) const USER_TIMEOUT: Duration = Duration::from_secs(5);

/// What a session is asked for, where no pooler stands between: a statement of ours is never longer than an
/// owner can be without its lease. Locks are waited for by the functions, each of which says how long.
pub(super) const OF_OWNER: &str = "-c statement_timeout=10000 -c idle_in_transaction_session_timeout=10000";

/// The same of a session that answers people: a question that takes longer keeps others waiting. Behind a
/// pooler the connection gives up after `CALL_TIMEOUT`.
pub(super) const OF_READER: &str = "-c statement_timeout=2000 -c idle_in_transaction_session_timeout=10000";

/// Where each session looks for names without a schema, whatever the role, the database or the address say:
/// in no schema that others may write to, so that no other role's function is called in the place of the
/// database's own. Behind a pooler each function of the schema says the same for itself.
const SEARCH_PATH: &str = "-c search_path=pg_catalog,pg_temp";

/// Where the database is.
#[derive(Clone)]
pub struct Location {
    config: Config,
    tls: Option<Connector>,
}

/// A text without what is read here and not by tokio-postgres.
#[derive(Default)]
struct LocationParts {
    rest: String,
    mode: Option<String>,
    authorities: Option<String>,
}

impl LocationParts {
    /// Takes `sslmode` and `sslrootcert` out of a URL, or out of words.
    fn of(text: &str) -> LocationParts {
        let is_url = text.contains("://");
        let (place, parameters) =
            if is_url { text.split_once('?').unwrap_or((text, "")) } else { ("", text) };
        let separator = if is_url { "&" } else { " " };
        let mut parted = LocationParts::default();
        let remaining = parameters.split(separator).filter(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = if is_url { decoded(value) } else { value.trim_matches('\'').to_owned() };
            // Spaces between quotes are kept: a password may have two.
            !(is_url && part.is_empty() || parted.takes(name, value))
        });
        let remaining = remaining.collect::<Vec<_>>().join(separator);
        let mark = if is_url && !remaining.is_empty() { "?" } else { "" };
        LocationParts { rest: format!("{place}{mark}{remaining}"), ..parted }
    }

    fn takes(&mut self, name: &str, value: String) -> bool {
        match name {
            "sslmode" => self.mode = Some(value),
            "sslrootcert" => self.authorities = Some(value),
            _ => return false,
        }
        true
    }

    /// How the database is spoken to, if not in the clear.
    fn connector(&self) -> Result<Option<Connector>, String> {
        let authorities = self.authorities.as_deref().map(PathBuf::from);
        match self.mode.as_deref() {
            Some("require" | "verify-full") => Connector::new(authorities.as_deref()).map(Some),
            None | Some("disable" | "allow" | "prefer") if authorities.is_some() => {
                Err("sslrootcert is for sslmode=require or sslmode=verify-full".to_owned())
            }
            None | Some("disable" | "allow" | "prefer") => Ok(None),
            Some(_) => {
                Err("sslmode is disable, require or verify-full; the last two check the certificate and \
                 the name of the host"
                    .to_owned())
            }
        }
    }
}

/// A value of a URL: `%2F` is a slash. What is no such code stays.
fn decoded(value: &str) -> String {
    let mut parts = value.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => bytes.extend([byte].iter().chain(&part.as_bytes()[2..])),
            None => bytes.extend(b"%".iter().chain(part.as_bytes())),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Location {
    /// Reads a URL, or the words of a connection string such as `host=/run/postgresql dbname=mainspring`.
    ///
    /// # Errors
    /// When it is none, or asks for what is not there: a text that has no secret.
    pub fn parse(text: &str) -> Result<Location, String> {
        // The text of the cause may have parts of the URL, and the secret among them.
        let parted = LocationParts::of(text);
        let mut config: Config = parted
            .rest
            .parse()
            .map_err(|_| "it is no URL of a database, such as postgres://USER@HOST/DATABASE".to_owned())?;
        let mut tls = parted.connector()?;
        if config.get_hosts().is_empty() {
            return Err("it names no host".to_owned());
        }
        config
            .application_name("mainspring")
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(USER_TIMEOUT)
            .target_session_attrs(TargetSessionAttrs::Any)
            .ssl_mode(SslMode::Disable);
        if config.get_hosts().iter().any(|host| !matches!(host, Host::Tcp(_))) {
            // Who can read a socket of this machine can read the memory of the server. As libpq has it.
            let is_mixed = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
            if is_mixed && tls.is_some() {
                return Err("it names a socket of this machine, which has no TLS, and a host".to_owned());
            }
            tls = None;
        }
        if tls.is_some() {
            config.ssl_mode(SslMode::Require);
        }
        Ok(Location { config, tls })
    }

    /// How its sessions are encrypted, if they are.
    pub(super) fn tls(&self) -> Option<Connector> {
        self.tls.clone()
    }

    /// Whether it has a password, which other users read in an argument when they list processes.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// How to connect to each host, in their order, with what is asked of the session if that may be asked.
    pub(super) fn configs(&self, session: Option<&str>) -> Vec<Config> {
        let count = self.config.get_hosts().len();
        let each = (0..count).map(|index| {
            let mut config = self.at_host(index);
            if let Some(session) = session {
                let given = self.config.get_options().unwrap_or_default();
                config.options(format!("{session} {given} {SEARCH_PATH}"));
            }
            config
        });
        each.collect()
    }

    /// All that was said of the database, with one of its hosts alone.
    fn at_host(&self, index: usize) -> Config {
        let (all, mut one) = (&self.config, Config::new());
        match &all.get_hosts()[index] {
            Host::Tcp(name) => one.host(name),
            #[cfg(unix)]
            Host::Unix(path) => one.host_path(path),
        };
        all.get_hostaddrs().get(index).map(|address| one.hostaddr(*address));
        // One port may stand for all hosts.
        let ports = all.get_ports();
        ports.get(index).or(ports.first()).map(|port| one.port(*port));
        all.get_user().map(|user| one.user(user));
        all.get_password().map(|password| one.password(password));
        all.get_dbname().map(|name| one.dbname(name));
        all.get_options().map(|options| one.options(options));
        all.get_application_name().map(|name| one.application_name(name));
        all.get_connect_timeout().map(|longest| one.connect_timeout(*longest));
        all.get_tcp_user_timeout().map(|longest| one.tcp_user_timeout(*longest));
        all.get_keepalives_interval().map(|interval| one.keepalives_interval(interval));
        all.get_keepalives_retries().map(|count| one.keepalives_retries(count));
        one.keepalives(all.get_keepalives()).keepalives_idle(all.get_keepalives_idle());
        one.ssl_mode(all.get_ssl_mode()).ssl_negotiation(all.get_ssl_negotiation());
        one.channel_binding(all.get_channel_binding()).load_balance_hosts(all.get_load_balance_hosts());
        one.target_session_attrs(all.get_target_session_attrs());
        one
    }
}

/// Hosts and database, and no secret.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self
            .config
            .get_hosts()
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                #[cfg(unix)]
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
        for bad in ["postgres://ada:s3cret@db1:x/jobs", "s3cret", "postgres://u:s3cret@h/d?sslmode=maybe"] {
            let error = Location::parse(bad).unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn tls_is_spoken_where_it_is_asked_for_and_half_a_wish_is_refused() {
        for (text, is_tls) in [
            ("postgres://ada@db1/jobs", false),
            ("postgres://ada@db1/jobs?sslmode=disable", false),
            ("postgres://ada@db1/jobs?sslmode=require", true),
            ("postgres://ada@db1,db2/jobs?application_name=a&sslmode=verify-full&connect_timeout=3", true),
            ("host=db1 user=ada sslmode=verify-full", true),
            ("host=/run/postgresql user=ada sslmode=require", false),
            ("host=db1 user=ada password='a  b'", false),
        ] {
            assert_eq!(Location::parse(text).unwrap().tls().is_some(), is_tls, "{text}");
        }
        for (text, part) in [
            ("postgres://ada@db1/jobs?sslmode=verify-ca", "sslmode is disable, require"),
            ("postgres://ada@db1/jobs?sslrootcert=/a", "sslrootcert is for"),
            ("postgres://ada@db1/jobs?sslmode=require&sslrootcert=%2Fno%2Fsuch", "sslrootcert /no/such: "),
            ("host=db1 sslmode=require sslrootcert=/dev/null", "it is no regular file"),
            ("host=db1 sslmode=require sslrootcert=/etc/passwd", "it has no certificate"),
            ("host=/run/postgresql,db1 sslmode=require", "which has no TLS"),
        ] {
            let error = Location::parse(text).map(|_| ()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(decoded("a%2Fb%zz%"), "a/b%zz%");
        let quoted = Location::parse("host=db1 password='a  b' sslmode=require user=ada").unwrap();
        assert_eq!(quoted.config.get_password(), Some(b"a  b".as_slice()));
    }
}
