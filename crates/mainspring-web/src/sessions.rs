//! The sessions of browsers: a cookie for a token or a code.
//!
//! ```text
//! POST session {code} or {token} ─▶ 256 random bits ─▶ Set-Cookie: mainspring=..; HttpOnly; SameSite=Strict
//! ```
//!
//! They are in memory alone: after a restart everybody signs in again. That of a token ends with the token.
//!
//! Cost: a hash of the cookie for each request; at most `MAX_SESSIONS`.
//!
//! Does not renew itself: after [`LIFE`] one signs in again.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_server::server::login_codes::random_text;

use crate::scope::Scope;
use crate::tokens::{Token, hash};

/// How long a session lasts: a working day, and no night on a machine that is left on.
pub const LIFE: Duration = Duration::from_secs(12 * 3600);

/// The most sessions; the oldest makes room.
const MAX_SESSIONS: usize = 1_000;

/// How often one may try to sign in: a person mistypes a few times, a program that guesses is held back.
pub const LOGINS_PER_MINUTE: usize = 10;

const MINUTE: Duration = Duration::from_secs(60);

/// How many random bytes a cookie has.
const COOKIE_BYTES: usize = 32;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The name of the token, or `local` for who came by `mainspring open`.
    pub name: String,
    /// What they may do.
    pub scope: Scope,
    /// The token that they signed in with, without which the session ends.
    pub token: Option<Token>,
}

/// All sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    /// By the hash of the cookie.
    known: HashMap<String, (Who, Moment)>,
    /// When somebody tried to sign in, of the last minute, but for those who could.
    tries: Vec<Moment>,
}

impl Sessions {
    /// Whether somebody may try to sign in now.
    pub fn may_try(&mut self, now: Moment) -> bool {
        self.tries.retain(|tried| now.since(*tried) < MINUTE);
        let may = self.tries.len() < LOGINS_PER_MINUTE;
        if may {
            self.tries.push(now);
        }
        may
    }

    /// Begins a session for the last who tried. One who has a token or a code does not guess, so that try
    /// does not count. Returns its cookie.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn begin(&mut self, who: Who, now: Moment) -> io::Result<String> {
        let cookie = random_text(COOKIE_BYTES)?;
        self.tries.pop();
        self.known.retain(|_, (_, began)| now.since(*began) < LIFE);
        if MAX_SESSIONS <= self.known.len() {
            let oldest = self.known.iter().min_by_key(|(_, (_, began))| began.monotonic);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.known.remove(&oldest);
            }
        }
        self.known.insert(hash(&cookie), (who, now));
        Ok(cookie)
    }

    /// Whose session a cookie is.
    pub fn find(&self, cookie: &str, now: Moment) -> Option<&Who> {
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

    #[test]
    fn a_session_ends_after_its_life_or_when_it_is_ended() {
        let now = Moment::now();
        let later = |after| Moment { monotonic: now.monotonic + after, ..now };
        let who = Who { name: "mara".to_owned(), scope: Scope::Look, token: None };
        let mut sessions = Sessions::default();
        let cookie = sessions.begin(who.clone(), now).unwrap();
        assert_eq!(sessions.find(&cookie, now), Some(&who));
        assert_eq!(sessions.find("", now), None);
        assert_eq!(sessions.find(&cookie, later(LIFE)), None);
        sessions.end(&cookie);
        assert_eq!(sessions.find(&cookie, now), None);
        let first = sessions.begin(who.clone(), now).unwrap();
        (0..MAX_SESSIONS).for_each(|number| {
            let number = u64::try_from(number).unwrap();
            drop(sessions.begin(who.clone(), later(Duration::from_millis(number + 1))).unwrap());
        });
        assert_eq!(sessions.find(&first, now), None, "the oldest made room");
        assert_eq!(sessions.known.len(), MAX_SESSIONS);
    }

    #[test]
    fn so_many_tries_a_minute() {
        let now = Moment::now();
        let mut sessions = Sessions::default();
        assert_eq!((0..20).filter(|_| sessions.may_try(now)).count(), LOGINS_PER_MINUTE);
        assert!(sessions.may_try(Moment { monotonic: now.monotonic + MINUTE, ..now }));
    }

    #[test]
    fn who_signs_in_has_not_guessed() {
        let (now, mut sessions) = (Moment::now(), Sessions::default());
        for _ in 0..3 * LOGINS_PER_MINUTE {
            assert!(sessions.may_try(now));
            let who = Who { name: "mara".to_owned(), scope: Scope::Look, token: None };
            sessions.begin(who, now).unwrap();
        }
        assert_eq!((0..20).filter(|_| sessions.may_try(now)).count(), LOGINS_PER_MINUTE);
    }
}
