//! The addresses and names of the listener, and those who may use it.
//!
//! ```text
//! --listen 127.0.0.1:7411, unix:/path,   only this machine, unless --behind-proxy names a proxy
//!          systemd                      sockets of the service manager, by the same rule
//! --public-url https://host/path/       the name that a proxy has, and the path before all addresses
//! ```
//!
//! Cost: none.
//!
//! Does not listen: see [`listen`](crate::listen).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use axum::http::{HeaderMap, Uri};

use crate::network::Network;
use crate::proxy_users::ProxyUsers;
use crate::scope::Scope;
use crate::sessions::Principal;

/// Where a server listens if nothing else is said: this machine alone.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7411";

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port.
    Tcp(SocketAddr),
    /// A socket in a folder, for a proxy.
    Unix(PathBuf),
    /// The sockets that the service manager hands over: those of one name, or all.
    Handed(Option<String>),
}

/// The word for sockets of the service manager.
const HANDED: &str = "systemd";

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Address::Unix(path))
            } else {
                Err("unix: wants a whole path".to_owned())
            };
        }
        if text == HANDED {
            return Ok(Address::Handed(None));
        }
        if let Some(name) = text.strip_prefix(HANDED).and_then(|rest| rest.strip_prefix(':')) {
            let is_name = !name.is_empty() && !name.contains(':');
            return match is_name {
                true => Ok(Address::Handed(Some(name.to_owned()))),
                false => Err("systemd: wants the FileDescriptorName= of a socket".to_owned()),
            };
        }
        let text = text.replacen("localhost:", "127.0.0.1:", 1);
        text.parse().map(Address::Tcp).map_err(|_| {
            format!("expected an address with a port, such as {DEFAULT_ADDRESS}, unix:/path, or systemd")
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "http://{address}/"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Handed(None) => f.write_str(HANDED),
            Address::Handed(Some(name)) => write!(f, "{HANDED}:{name}"),
        }
    }
}

/// The address that people use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: String,
    authority: String,
    /// Begins and ends with a slash.
    path: String,
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<PublicUrl, String> {
        let wrong = || "expected an address such as https://host.example/mainspring/".to_owned();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong());
        };
        if !matches!(scheme, "http" | "https") || uri.query().is_some() || authority.as_str().contains('@') {
            return Err(wrong());
        }
        let path = format!("{}/", uri.path().trim_end_matches('/'));
        // Browsers leave the usual port of a scheme out.
        let authority = without_usual_port(authority.as_str(), scheme).to_ascii_lowercase();
        let scheme = scheme.to_owned();
        Ok(PublicUrl { scheme, authority, path })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// How the server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where it listens.
    pub addresses: Vec<Address>,
    /// The proxy in front of it: no other host may connect from another machine.
    pub proxy: Option<Network>,
    /// Whom that proxy may name as the user.
    pub proxy_users: Option<ProxyUsers>,
    /// What people type.
    pub public_url: Option<PublicUrl>,
    /// Whether nothing may be changed over HTTP.
    pub is_read_only: bool,
    /// Whether who has the scope may say what runs.
    pub is_defining: bool,
    /// How many jobs have metrics of their own. `None`: as many as is usual, `METERED_JOBS` of the protocol.
    pub metered_jobs_max: Option<usize>,
}

impl Settings {
    /// Whether it may listen there: an address that other machines reach needs a proxy, which has the
    /// encryption.
    ///
    /// # Errors
    ///
    /// What is missing.
    pub fn check(&self) -> Result<(), String> {
        if self.proxy_users.is_some() && self.proxy.is_none() {
            return Err("--proxy-users needs --behind-proxy: a secret alone names nobody".to_owned());
        }
        let ports = self.addresses.iter().filter_map(|address| match address {
            Address::Tcp(address) => Some(*address),
            Address::Unix(_) | Address::Handed(_) => None,
        });
        ports.into_iter().try_for_each(|address| self.check_port(address))
    }

    /// The same of one port, also of one that the service manager has bound.
    ///
    /// # Errors
    ///
    /// What is missing.
    pub fn check_port(&self, address: SocketAddr) -> Result<(), String> {
        if address.ip().to_canonical().is_loopback() || self.proxy.is_some() {
            return Ok(());
        }
        Err(format!(
            "{address} can be reached from other machines without encryption: listen on {DEFAULT_ADDRESS}, or say \
             with --behind-proxy NETWORK/BITS from where a proxy with TLS connects"
        ))
    }

    /// Whether somebody may connect from there.
    pub fn takes(&self, from: IpAddr) -> bool {
        let from = from.to_canonical();
        from.is_loopback() || self.proxy.is_some_and(|proxy| proxy.has(from))
    }

    /// Whom the proxy names as the user; `None` for a request that does not come from its network.
    ///
    /// # Errors
    ///
    /// What is wrong with what it says.
    pub fn user_of_proxy(
        &self,
        from: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Result<Option<Principal>, String> {
        let is_proxy = from.zip(self.proxy).is_some_and(|(from, proxy)| proxy.has(from));
        self.proxy_users.as_ref().filter(|_| is_proxy).map_or(Ok(None), |users| users.find(headers))
    }

    /// Whether a host is one of ours: a name that an attacker could have made to point here is none.
    pub fn has_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_public = |url: &PublicUrl| without_usual_port(&host, &url.scheme) == url.authority;
        self.public_url.as_ref().is_some_and(is_public) || is_beyond_names(&host)
    }

    /// Whether a page of this origin is ours. `host` is the one that was asked, which was checked before.
    pub fn is_own_origin(&self, origin: &str, host: Option<&str>) -> bool {
        let origin = origin.to_ascii_lowercase();
        let is_public = self
            .public_url
            .as_ref()
            .is_some_and(|url| format!("{}://{}", url.scheme, url.authority) == origin);
        // Of a name that has TLS a page without it is another's.
        let is_plain = |host: &String| is_beyond_names(host) && origin == format!("http://{host}");
        is_public || host.map(str::to_ascii_lowercase).is_some_and(|host| is_plain(&host))
    }

    /// The most that a client may do, and why no client may do more.
    pub fn most(&self) -> (Scope, &'static str) {
        match self {
            settings if settings.is_read_only => (Scope::Look, "with --read-only"),
            settings if settings.is_defining => (Scope::Define, "as all others"),
            _ => (Scope::Operate, "without --define-over-http"),
        }
    }

    /// The path before all addresses, with its final slash.
    pub fn prefix(&self) -> &str {
        self.public_url.as_ref().map_or("/", |url| &url.path)
    }

    /// Whether browsers come by TLS, which a proxy has.
    pub fn is_secure(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.scheme == "https")
    }

    /// The name of the cookie. With the prefix browsers take it from this host and path / alone.
    pub fn cookie_name(&self) -> &'static str {
        if self.is_secure() { "__Host-mainspring" } else { "mainspring" }
    }
}

fn without_usual_port<'h>(host: &'h str, scheme: &str) -> &'h str {
    host.strip_suffix(if scheme == "https" { ":443" } else { ":80" }).unwrap_or(host)
}

/// Whether a host is an address, or the name of each machine for itself, with any port: a proxy, a tunnel or
/// a container may have another one than ours.
fn is_beyond_names(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let bracketed = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    name == "localhost"
        || name.parse::<Ipv4Addr>().is_ok()
        || bracketed.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_hosts_are_ours() {
        let of = |url: &str| Settings { public_url: Some(url.parse().unwrap()), ..Settings::default() };
        let settings = of("https://Cron.Example/m");
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:7411",
            "127.0.0.2:21202",
            "10.1.2.3:7411",
            "[::1]:7411",
            "[fd00::7]",
            "cron.example",
            "cron.example:443",
        ] {
            assert!(settings.has_host(host), "{host}");
            assert!(of("https://cron.example:443/m").has_host(host), "{host}");
        }
        for host in [
            "",
            "::1",
            "127.0.0.1.evil.example:7411",
            "localhost.evil:7411",
            "evil.example",
            "evil.example:7411",
            "cron.example:7411",
            "cron.example.evil",
            "user@localhost:7411",
            "localhost:7411:7411",
            "localhost:07411x",
        ] {
            assert!(!settings.has_host(host), "{host}");
        }
        assert!(settings.is_own_origin("https://cron.example", Some("cron.example")));
        assert!(settings.is_own_origin("http://localhost:7411", Some("localhost:7411")));
        assert!(!settings.is_own_origin("http://cron.example", Some("cron.example")));
        for origin in [
            "null",
            "https://evil.example",
            "http://cron.example.evil",
            "https://localhost:7411",
            "http://127.0.0.1:7411",
        ] {
            assert!(!settings.is_own_origin(origin, Some("localhost:7411")), "{origin}");
        }
        assert_eq!((settings.prefix(), settings.cookie_name()), ("/m/", "__Host-mainspring"));
    }

    #[test]
    fn a_user_is_named_from_the_network_of_the_proxy_alone() {
        let secret = "0123456789abcdef0123456789abcdef";
        let users = ProxyUsers::parse(&format!("secret {secret}\neverybody look")).unwrap();
        let proxy = Some("10.0.0.0/8".parse().unwrap());
        let settings = Settings { proxy, proxy_users: Some(users), ..Settings::default() };
        let mut headers = HeaderMap::new();
        headers.insert("x-mainspring-proxy-secret", secret.parse().unwrap());
        headers.insert("x-forwarded-user", "mara".parse().unwrap());
        let find =
            |from: Option<&str>| settings.user_of_proxy(from.map(|from| from.parse().unwrap()), &headers);
        let found = find(Some("10.1.2.3")).unwrap().unwrap();
        assert_eq!(found.identity.to_string(), "proxy user mara");
        assert_eq!(find(Some("127.0.0.1")), Ok(None), "another user of this machine");
        assert_eq!(find(None), Ok(None), "a socket in a folder");
        assert!(Settings { proxy: None, ..settings.clone() }.check().unwrap_err().contains("--behind-proxy"));
    }

    #[test]
    fn another_machine_reaches_it_through_a_proxy_alone() {
        let open = |address: &str, proxy: Option<&str>| Settings {
            addresses: vec![address.parse().unwrap()],
            proxy: proxy.map(|proxy| proxy.parse().unwrap()),
            ..Settings::default()
        };
        assert!(open("127.0.0.1:0", None).check().is_ok());
        assert!(open("localhost:7411", None).check().is_ok());
        assert!(open("[::1]:7411", None).check().is_ok());
        assert!(open("unix:/run/m.sock", None).check().is_ok());
        assert!(open("0.0.0.0:7411", None).check().unwrap_err().contains("--behind-proxy"));
        assert!(open("[::]:7411", None).check().is_err());
        let behind = open("0.0.0.0:7411", Some("10.1.0.0/16"));
        assert!(behind.check().is_ok());
        let takes = |text: &str| behind.takes(text.parse().unwrap());
        assert!(takes("10.1.255.1") && takes("::ffff:10.1.2.3") && takes("127.0.0.1") && takes("::1"));
        assert!(!takes("10.2.0.1") && !takes("2001:db8::1") && !takes("192.168.0.1"));
        for bad in ["10.0.0.0", "10.0.0.0/33", "x/8", "::/129"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        assert_eq!("systemd".parse(), Ok(Address::Handed(None)));
        assert_eq!("systemd:http".parse(), Ok(Address::Handed(Some("http".to_owned()))));
        for bad in ["systemd:", "systemd:a:b", "systemdx", "7411", "example.org:7411", "unix:relative", ""] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
        for bad in ["cron.example", "ftp://a/", "https://a/?b", "https://u@a/"] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
    }
}
