//! Codes with which a browser signs in. `mainspring open` asks for one over the socket, and the listener of
//! the server redeems it.
//!
//! ```text
//! open ─socket▶ give: 256 random bits, good once and for CODE_LIFE ─▶ the fragment of an address ─▶ browser ─▶ listener ─▶ redeem
//! ```
//!
//! Cost: at most `MAX_CODES` codes in memory, and nowhere else.
//!
//! Does not make sessions: the listener does.
//!
//! Source: `nomad ui -authenticate`, <https://github.com/hashicorp/nomad/pull/10134>.

use std::io;
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_host::sys::fill_randomly;

use crate::protocol::{ErrorKind, ErrorWire, LoginWire, Response};

/// How long a code is good: a browser that has to be started first takes some seconds.
pub const CODE_LIFE: Duration = Duration::from_secs(60);

/// The most codes at one time; the oldest makes room. A person does not open more browsers in a minute.
const MAX_CODES: usize = 16;

/// How many random bytes are in a code: too many to be guessed.
const CODE_BYTES: usize = 32;

const _: () = assert!(256 <= 8 * CODE_BYTES, "a code cannot be guessed");

/// The codes that are good now.
#[derive(Debug, Default)]
pub struct LoginCodes {
    /// Where the server listens; empty if it does not.
    addresses: Vec<String>,
    codes: Vec<(String, Moment)>,
}

impl LoginCodes {
    /// None yet, for pages at these addresses.
    pub fn new(addresses: Vec<String>) -> LoginCodes {
        LoginCodes { addresses, codes: Vec::new() }
    }

    /// A new code.
    ///
    /// # Errors
    /// When nothing listens, or the operating system gives no random bytes.
    pub fn give(&mut self, now: Moment) -> Result<Response, ErrorWire> {
        if self.addresses.is_empty() {
            let text = "the server has no page that a browser reaches: serve --listen gives it one, and with \
                        --listen=unix: also --public-url";
            return Err(ErrorWire::new(ErrorKind::Conflict, text));
        }
        let code = random_text(CODE_BYTES)
            .map_err(|error| ErrorWire::new(ErrorKind::Failed, format!("no code can be made: {error}")))?;
        debug_assert!(self.codes.is_sorted_by_key(|(_, at)| at.monotonic), "the first is the oldest");
        if self.codes.len() == MAX_CODES {
            self.codes.remove(0);
        }
        self.codes.push((code.clone(), now));
        debug_assert!(self.codes.len() <= MAX_CODES, "the oldest code has made room");
        Ok(Response::LoginCode(LoginWire { code, addresses: self.addresses.clone() }))
    }

    /// Takes a code.
    ///
    /// # Errors
    /// When it is not good.
    pub fn redeem(&mut self, code: &str, now: Moment) -> Result<Response, ErrorWire> {
        self.codes.retain(|(_, given)| now.since(*given) < CODE_LIFE);
        let index = self.codes.iter().position(|(known, _)| known == code);
        let denied = || ErrorWire::new(ErrorKind::Denied, "the code is not known, or was used");
        self.codes.remove(index.ok_or_else(denied)?);
        Ok(Response::LoginCode(LoginWire { code: String::new(), addresses: Vec::new() }))
    }
}

/// So many random bytes of the operating system, as hexadecimal digits.
///
/// # Errors
///
/// When the operating system has none.
pub fn random_text(byte_count: usize) -> io::Result<String> {
    let mut bytes = vec![0; byte_count];
    fill_randomly(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_for_a_minute() {
        let now = Moment::now();
        let later = |life| Moment { monotonic: now.monotonic + life, ..now };
        let nowhere = LoginCodes::default().give(now).unwrap_err();
        assert!(nowhere.message.ends_with("also --public-url"), "no browser reaches a socket: {nowhere:?}");
        let mut codes = LoginCodes::new(vec!["http://127.0.0.1:7411/".to_owned()]);
        let give = |codes: &mut LoginCodes| match codes.give(now) {
            Ok(Response::LoginCode(LoginWire { code, .. })) => code,
            other => panic!("{other:?}"),
        };
        let first = give(&mut codes);
        assert_eq!(first.len(), 2 * CODE_BYTES);
        assert!(codes.redeem("", now).is_err());
        assert!(codes.redeem(&first, now).is_ok());
        assert!(codes.redeem(&first, now).is_err(), "only once");
        let late = give(&mut codes);
        assert!(codes.redeem(&late, later(CODE_LIFE)).is_err());
        let oldest = give(&mut codes);
        (0..MAX_CODES).for_each(|_| drop(give(&mut codes)));
        assert!(codes.redeem(&oldest, now).is_err());
    }
}
