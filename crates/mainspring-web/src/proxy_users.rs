//! Users that a proxy has signed in, as with OpenID Connect: who they are, and what their groups may do.
//!
//! ```text
//! secret 8f0c..                          what the proxy alone knows, in the header X-Mainspring-Proxy-Secret
//! user-header X-Forwarded-Email          who it is; X-Forwarded-User if nothing else is said
//! groups-header X-Forwarded-Groups       in which groups, with commas between; this one if nothing else is said
//! group ops operate                      what a group may do; the most of all groups holds
//! everybody look                         what all that it lets in may do
//! ```
//!
//! Believed is a request that has the secret and comes from the network of `--behind-proxy`, which
//! [`settings`](crate::settings) looks at. One of the two
//! is not enough: others may connect from that network, and a secret alone can be taken along. A client that
//! sends the header of the user itself is no user by that.
//!
//! Cost: a hash for each request that has the secret's header.
//!
//! Does not ask who signs users in, and does not read its file again.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use axum::http::{HeaderMap, HeaderName};

use crate::header::only;
use crate::scope::Scope;
use crate::sessions::{Identity, Principal};
use crate::tokens::{hash, private_text};

/// The header with the secret.
const SECRET_HEADER: &str = "x-mainspring-proxy-secret";

/// The shortest secret: 128 bits in hexadecimal digits.
const MIN_SECRET_CHARS: usize = 32;

/// The longest name of a user: an address of mail.
pub const MAX_NAME_BYTES: usize = 254;

/// The longest file: some thousand groups.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// Whom a proxy may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyUsers {
    secret_hash: String,
    user_header: HeaderName,
    groups_header: HeaderName,
    groups: BTreeMap<String, Scope>,
    everybody: Option<Scope>,
}

impl ProxyUsers {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, another may read or could have written it, or a line of it is wrong.
    pub fn open(path: &Path) -> io::Result<ProxyUsers> {
        let text = private_text(path, MAX_FILE_BYTES)?;
        ProxyUsers::parse(&text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
    }

    /// What a file says.
    ///
    /// # Errors
    ///
    /// Which line is wrong, or that there is no secret.
    pub fn parse(text: &str) -> Result<ProxyUsers, String> {
        let mut found = ProxyUsers {
            secret_hash: String::new(),
            user_header: HeaderName::from_static("x-forwarded-user"),
            groups_header: HeaderName::from_static("x-forwarded-groups"),
            groups: BTreeMap::new(),
            everybody: None,
        };
        for (index, line) in text.lines().enumerate() {
            found.line(line).map_err(|why| format!("line {}: {why}", index + 1))?;
        }
        if found.secret_hash.is_empty() {
            return Err("there is no line with the secret of the proxy".to_owned());
        }
        Ok(found)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let header = |name: &str| name.parse::<HeaderName>().map_err(|_| format!("`{name}` is no header"));
        // A remark may stand behind each line, as in the manual.
        let words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        match words.collect::<Vec<_>>()[..] {
            [] => {}
            ["secret", secret] if secret.len() < MIN_SECRET_CHARS => {
                return Err(format!("the secret has at least {MIN_SECRET_CHARS} characters"));
            }
            ["secret", secret] => self.secret_hash = hash(secret),
            ["user-header", name] => self.user_header = header(name)?,
            ["groups-header", name] => self.groups_header = header(name)?,
            ["group", name, scope] => _ = self.groups.insert(name.to_owned(), scope.parse()?),
            ["everybody", scope] => self.everybody = Some(scope.parse()?),
            _ => {
                let known = "secret, user-header, groups-header, group NAME SCOPE and everybody SCOPE";
                return Err(format!("expected one of {known}"));
            }
        }
        Ok(())
    }

    /// Whom a request of the proxy names; `None` for one without its secret, or without a user.
    ///
    /// # Errors
    ///
    /// What is wrong with what the proxy says.
    pub fn find(&self, headers: &HeaderMap) -> Result<Option<Principal>, String> {
        let Some(secret) = text(headers, SECRET_HEADER)? else { return Ok(None) };
        // Hashes are compared: how long that takes says nothing of the secret.
        if hash(secret) != self.secret_hash {
            return Err("the secret of the proxy is another one".to_owned());
        }
        let Some(name) = text(headers, self.user_header.as_str())? else { return Ok(None) };
        let is_name =
            (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(|c| c.is_ascii_graphic());
        if !is_name {
            return Err("the proxy names a user that can be none".to_owned());
        }
        let groups = text(headers, self.groups_header.as_str())?.unwrap_or_default().split(',');
        let scopes = groups.filter_map(|group| self.groups.get(group.trim()).copied()).chain(self.everybody);
        let scope = scopes.max().ok_or_else(|| format!("`{name}` is in no group that may do anything"))?;
        Ok(Some(Principal { identity: Identity::Proxy(name.to_owned()), scope }))
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, String> {
    only(headers, name).map_err(|why| format!("{name} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut found = HeaderMap::new();
        for (name, value) in pairs {
            found.append(*name, value.parse().unwrap());
        }
        found
    }

    #[test]
    fn a_user_is_who_the_proxy_names_with_its_secret() {
        let text = format!(
            "# oauth2-proxy\nsecret {SECRET}\ngroup ops operate\ngroup dev look\neverybody metrics\n"
        );
        let users = ProxyUsers::parse(&text).unwrap();
        let find = |pairs: &[(&'static str, &str)]| users.find(&headers(pairs));
        let (secret, user) = ((SECRET_HEADER, SECRET), ("x-forwarded-user", "mara@example.com"));
        let found = find(&[secret, user, ("x-forwarded-groups", "dev, ops,cooks")]).unwrap().unwrap();
        assert_eq!(
            (found.identity, found.scope),
            (Identity::Proxy("mara@example.com".to_owned()), Scope::Operate)
        );
        assert_eq!(find(&[secret, user]).unwrap().unwrap().scope, Scope::Metrics);
        assert_eq!(find(&[user]), Ok(None), "without the secret");
        assert_eq!(find(&[secret]), Ok(None), "nobody is signed in");
        assert!(find(&[(SECRET_HEADER, "x"), user]).is_err());
        assert!(find(&[secret, user, ("x-forwarded-user", "root")]).is_err(), "a second user");
        assert!(find(&[secret, ("x-forwarded-user", "a b")]).is_err());
        let strict = ProxyUsers::parse(&format!("secret {SECRET}\nuser-header X-Email")).unwrap();
        let found = strict.find(&headers(&[secret, ("x-email", "mara")]));
        assert!(found.unwrap_err().contains("no group"));
    }

    #[test]
    fn the_file_that_the_manual_shows_is_read_with_its_remarks() {
        let manual = include_str!("../../../docs/manual.md");
        let of_secret = |block: &&str| block.trim_start_matches("text\n").starts_with("secret ");
        let block = manual.split("```").find(of_secret).expect("the manual shows the file");
        let users = ProxyUsers::parse(block.trim_start_matches("text\n")).unwrap();
        assert_eq!(users.user_header, "x-forwarded-user");
        assert_eq!(users.groups.get("ops"), Some(&Scope::Operate));
        assert_eq!(users.everybody, Some(Scope::Look));
    }

    #[test]
    fn a_file_without_a_secret_or_with_a_wrong_line_is_refused() {
        for (text, part) in [
            ("everybody look\n", "no line with the secret"),
            ("secret short\n", "line 1: the secret has at least"),
            ("\nsecret\n", "line 2: expected one of"),
            ("group ops all\n", "line 1: there is no scope"),
            ("user-header a b\n", "expected one of"),
            ("user-header ä:\n", "is no header"),
        ] {
            let why = ProxyUsers::parse(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
