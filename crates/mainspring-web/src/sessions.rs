//! The sessions of browsers: a cookie for a token or a code.
//!
//! ```text
//! POST session {code} or {token} ─▶ 256 random bits ─▶ Set-Cookie: mainspring=..; HttpOnly; SameSite=Strict
//! ```
//!
//! They are in memory alone: after a restart everybody signs in again. That of a token ends with the token.
//!
//! Cost: a hash of the cookie for each request; at most `MAX_OF_IDENTITY` sessions of an identity, of which
//! there are as many as tokens.
//!
//! Does not renew itself: after [`LIFE`] one signs in again.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_server::server::login_codes::random_text;

use crate::scope::Scope;
use crate::tokens::{TOKEN_BYTES, Token, hash};

/// How long a session lasts: a working day, and no night on a machine that is left on.
pub const LIFE: Duration = Duration::from_secs(12 * 3600);

/// The most sessions of one identity: the browsers of a person. Its oldest makes room.
const MAX_OF_IDENTITY: usize = 16;

/// How many wrong tries to sign in within a minute are answered as such: a person mistypes a few times. After
/// them a wrong try is told to wait. A right one is never refused, as 256 bits cannot be guessed.
pub const WRONG_TRIES_PER_MINUTE: usize = 10;

const MINUTE: Duration = Duration::from_secs(60);

/// How many random bytes a cookie has.
const COOKIE_BYTES: usize = 32;

const _: () = assert!(256 <= 8 * COOKIE_BYTES, "a cookie cannot be guessed");
const _: () = assert!(256 <= 8 * TOKEN_BYTES, "nor can a token, so that a right one is never refused");

/// An identity: the owner of the limits over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// Who has a token. A session that was begun with it ends with it.
    Token(Token),
    /// A user whom the proxy has signed in.
    Proxy(String),
    /// The local administrator, who came by `mainspring open`.
    Local,
}

/// With its kind: in the log, the audit, the API and on the page. No name has a space, so that none looks
/// like one of another kind, or like `uid 1000`, a user of the socket.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Token(token) => write!(f, "token {}", token.name),
            Identity::Proxy(name) => write!(f, "proxy user {name}"),
            Identity::Local => f.write_str("local user"),
        }
    }
}

/// The caller, and what they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Who it is.
    pub identity: Identity,
    /// What they may do.
    pub scope: Scope,
}

/// All sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    /// By the hash of the cookie.
    known: HashMap<String, (Principal, Moment)>,
    /// The wrong tries to sign in of the last minute.
    wrong_tries: Vec<Moment>,
}

impl Sessions {
    /// Counts a wrong try to sign in. Returns whether there were too many within a minute.
    pub fn count_wrong_try(&mut self, now: Moment) -> bool {
        self.wrong_tries.retain(|tried| now.since(*tried) < MINUTE);
        let are_too_many = WRONG_TRIES_PER_MINUTE <= self.wrong_tries.len();
        if !are_too_many {
            self.wrong_tries.push(now);
        }
        debug_assert!(self.wrong_tries.len() <= WRONG_TRIES_PER_MINUTE);
        are_too_many
    }

    /// Begins a session. Returns its cookie.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn begin(&mut self, who: Principal, now: Moment) -> io::Result<String> {
        let cookie = random_text(COOKIE_BYTES)?;
        self.known.retain(|_, (_, began)| now.since(*began) < LIFE);
        let own = self.known.iter().filter(|(_, (known, _))| known.identity == who.identity);
        if MAX_OF_IDENTITY <= own.clone().count() {
            let oldest = own.min_by_key(|(_, (_, began))| began.monotonic).map(|(key, _)| key.clone());
            oldest.into_iter().for_each(|key| drop(self.known.remove(&key)));
        }
        let own = self.known.values().filter(|(known, _)| known.identity == who.identity);
        debug_assert!(own.count() < MAX_OF_IDENTITY, "there is room for one more");
        self.known.insert(hash(&cookie), (who, now));
        Ok(cookie)
    }

    /// Whose session a cookie is.
    pub fn find(&self, cookie: &str, now: Moment) -> Option<&Principal> {
        let (who, began) = self.known.get(&hash(cookie))?;
        (now.since(*began) < LIFE).then_some(who)
    }

    /// Ends a session.
    pub fn end(&mut self, cookie: &str) {
        self.known.remove(&hash(cookie));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn user(name: &str) -> Principal {
        Principal { identity: Identity::Proxy(name.to_owned()), scope: Scope::Look }
    }

    #[test]
    fn a_session_ends_after_its_life_or_when_it_is_ended() {
        let now = Moment::now();
        let later = |after| Moment { monotonic: now.monotonic + after, ..now };
        let mut sessions = Sessions::default();
        let cookie = sessions.begin(user("mara"), now).unwrap();
        assert_eq!(sessions.find(&cookie, now), Some(&user("mara")));
        assert_eq!(sessions.find("", now), None);
        assert_eq!(sessions.find(&cookie, later(LIFE)), None);
        sessions.end(&cookie);
        assert_eq!(sessions.find(&cookie, now), None);
    }

    #[test]
    fn an_identity_that_signs_in_ten_thousand_times_ends_its_own_sessions_alone() {
        let now = Moment::now();
        let later = |after| Moment { monotonic: now.monotonic + after, ..now };
        let mut sessions = Sessions::default();
        let other = sessions.begin(user("ada"), now).unwrap();
        let first = sessions.begin(user("mara"), now).unwrap();
        for number in 1..=10_000 {
            sessions.begin(user("mara"), later(Duration::from_millis(number))).unwrap();
        }
        assert_eq!(sessions.find(&first, now), None, "the oldest made room");
        assert_eq!(sessions.find(&other, now), Some(&user("ada")));
        assert_eq!(sessions.known.len(), MAX_OF_IDENTITY + 1);
    }

    #[test]
    fn so_many_wrong_tries_a_minute() {
        let now = Moment::now();
        let mut sessions = Sessions::default();
        assert_eq!((0..20).filter(|_| !sessions.count_wrong_try(now)).count(), WRONG_TRIES_PER_MINUTE);
        assert!(!sessions.count_wrong_try(Moment { monotonic: now.monotonic + MINUTE, ..now }));
    }

    #[test]
    fn a_user_of_a_proxy_and_a_token_of_one_name_are_two_and_neither_is_the_local_administrator() {
        let token = |name: &str| Token { name: name.to_owned(), scope: Scope::Look, hash: String::new() };
        let names = ["mara", "user", "local", "token", "proxy", "uid"];
        let shown: Vec<String> = names
            .into_iter()
            .flat_map(|name| [Identity::Token(token(name)), Identity::Proxy(name.to_owned())])
            .chain([Identity::Local])
            .map(|identity| identity.to_string())
            .collect();
        assert_eq!(shown[..2], ["token mara", "proxy user mara"]);
        let distinct: HashSet<&String> = shown.iter().collect();
        assert_eq!(distinct.len(), shown.len(), "{shown:?}");
        assert!(shown.iter().all(|name| !name.starts_with("uid ")), "{shown:?}");
    }
}
