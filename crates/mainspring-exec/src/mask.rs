//! Secrets taken out of what a run writes, before anything else is done with it.
//!
//! ```text
//! secret "hunter22"     read "a hun" ─▶ told "a ", held "hun"     read "ter22 b" ─▶ told "*** b"
//!                                                                 read "gry"     ─▶ told "hungry"
//!                                       the output ends           ─▶ told "hun"; of 4 characters or more: "***"
//! ```
//!
//! Whatever cuts a text does so after this: it finds `***`, and never a part of a secret. Held back is only
//! what may be the beginning of a secret. Where secrets overlap, one `***` stands for all of them.
//!
//! An output that pauses is told with what is held, so that its last words are not lost. What is reported
//! then stays known: if it was the beginning of a secret, the rest of that secret is not told.
//!
//! Cost: each byte is compared about twice, however many secrets and lines of them there are, and wherever
//! the cuts are: `automaton.rs`. At most the longest secret is held.
//!
//! Does not find a secret in another form, such as base64, or in parts: half of it in each of two outputs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use mainspring_action::secret::{MASK, MASKED_CHARS_MIN, Secret};

use crate::automaton::{Automaton, ROOT, State};

/// The secrets of one run, as they are looked for in its output.
#[derive(Clone, Default)]
pub struct Masks {
    texts: BTreeSet<String>,
    /// Made of the texts when it is needed.
    automaton: OnceLock<Arc<Automaton>>,
}

impl Masks {
    /// Remembers a secret: each of its lines.
    pub fn add(&mut self, secret: &Secret) {
        let lines = secret.reveal().lines().map(str::trim);
        self.texts.extend(lines.filter(|text| MASKED_CHARS_MIN <= text.chars().count()).map(str::to_owned));
        self.automaton = OnceLock::new();
    }

    /// The length of the longest text that is taken out.
    pub fn longest_bytes(&self) -> usize {
        self.texts.iter().map(String::len).max().unwrap_or(0)
    }

    /// The bytes without secrets, and without a secret that begins at their end.
    pub fn apply<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut masker = Masker::new(self);
        let mut masked = masker.push(bytes);
        let rest = masker.finish();
        if !rest.is_empty() {
            masked.to_mut().extend_from_slice(&rest);
        }
        debug_assert!(masked.len() <= bytes.len(), "a cap of what is read holds for what is kept");
        masked
    }

    fn automaton(&self) -> Arc<Automaton> {
        let make = || {
            let texts: Vec<&[u8]> = self.texts.iter().map(String::as_bytes).collect();
            Arc::new(Automaton::new(&texts))
        };
        Arc::clone(self.automaton.get_or_init(make))
    }
}

impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masks({})", self.texts.len())
    }
}

/// Takes secrets out of a stream of bytes.
pub struct Masker {
    automaton: Arc<Automaton>,
    /// What the bytes so far end with.
    state: State,
    /// The bytes at the end that may begin a secret: as many as the state is deep.
    held: Vec<u8>,
    /// Secrets among them, within the beginning of a longer one.
    found: Vec<Range<usize>>,
    /// How many of them are told already.
    told_bytes: usize,
    /// Whether a mask is the last that was told of them.
    is_told_masked: bool,
}

impl Masker {
    /// Takes these secrets out.
    pub fn new(masks: &Masks) -> Masker {
        let (automaton, held, found) = (masks.automaton(), Vec::new(), Vec::new());
        Masker { automaton, state: ROOT, held, found, told_bytes: 0, is_told_masked: false }
    }

    /// Takes the next bytes, and returns what can be told.
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.automaton.is_empty() {
            return Cow::Borrowed(bytes);
        }
        debug_assert_eq!(self.held.len(), self.automaton.depth(self.state), "what is begun is held");
        let found = self.find(bytes);
        debug_assert!(found.is_sorted_by(|one, next| one.end <= next.start), "those that overlap are one");
        let most = self.automaton.depth(self.state);
        if self.held.is_empty() && most == 0 && found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let end = all.len() - most;
        let masked = self.tell(&all, end, &found);
        self.held = all.split_off(end);
        debug_assert!(self.told_bytes <= self.held.len(), "no more is told ahead than is held");
        let later = found.into_iter().filter(|found| end <= found.start);
        self.found = later.map(|found| found.start - end..found.end - end).collect();
        Cow::Owned(masked)
    }

    /// Tells what is held back: the output pauses or has ended. So much of a secret that it could be known by
    /// is masked as the whole of it is.
    pub fn finish(&mut self) -> Vec<u8> {
        self.found.clear();
        let rest = &self.held[self.told_bytes..];
        if rest.is_empty() {
            return Vec::new();
        }
        let is_masked = MASKED_CHARS_MIN <= String::from_utf8_lossy(&self.held).chars().count();
        let output = match is_masked {
            true if self.is_told_masked => Vec::new(),
            true => MASK.into(),
            false => rest.to_vec(),
        };
        self.told_bytes = self.held.len();
        self.is_told_masked = is_masked;
        output
    }

    /// Where secrets are in what is held and these bytes, in order; those that overlap are one.
    fn find(&mut self, bytes: &[u8]) -> Vec<Range<usize>> {
        let automaton = &self.automaton;
        let mut found = std::mem::take(&mut self.found);
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.state == ROOT && !automaton.begins(byte) {
                let next = bytes[at..].iter().position(|byte| automaton.begins(*byte));
                at = next.map_or(bytes.len(), |next| at + next);
                continue;
            }
            self.state = automaton.step(self.state, byte);
            at += 1;
            let length = automaton.longest(self.state);
            if 0 < length {
                let end = self.held.len() + at;
                let mut start = end - length;
                while let Some(last) = found.pop_if(|last: &mut Range<usize>| start < last.end) {
                    start = start.min(last.start);
                }
                found.push(start..end);
            }
            self.state = automaton.unfinished(self.state);
        }
        found
    }

    /// The text of all bytes up to `end`, without what was told before.
    fn tell(&mut self, all: &[u8], end: usize, found: &[Range<usize>]) -> Vec<u8> {
        let mut masked = Vec::with_capacity(end.saturating_sub(self.told_bytes));
        let mut at = self.told_bytes;
        let is_last_masked = std::mem::take(&mut self.is_told_masked);
        let mut is_masked_to_end = is_last_masked && end <= at;
        for &Range { start, end: found_end } in found.iter().take_while(|found| found.start < end) {
            if at < start {
                masked.extend_from_slice(&all[at..start]);
            }
            let goes_on = start < self.told_bytes && is_last_masked;
            if at < found_end && !goes_on {
                masked.extend_from_slice(MASK.as_bytes());
            }
            at = at.max(found_end);
            is_masked_to_end = end < found_end;
        }
        if at < end {
            masked.extend_from_slice(&all[at..end]);
        }
        self.told_bytes = at.max(end) - end;
        self.is_told_masked = is_masked_to_end && 0 < self.told_bytes;
        masked
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masker({} held)", self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(secrets: &[&str]) -> Masks {
        let mut masks = Masks::default();
        secrets.iter().for_each(|secret| masks.add(&Secret::new(*secret)));
        masks
    }

    fn masked(secrets: &[&str], text: &str) -> String {
        String::from_utf8(masks(secrets).apply(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn a_secret_does_not_show_itself() {
        let secret = Secret::new("hunter22");
        let masks = masks(&["hunter22"]);
        let mut masker = Masker::new(&masks);
        masker.push(b"hunter");
        assert!(!format!("{secret:?} {masks:?} {masker:?}").contains("hunter"));
        assert_eq!(masks.apply(b"password=hunter22!"), &b"password=***!"[..]);
    }

    #[test]
    fn each_line_of_a_secret_is_masked_and_short_texts_are_not() {
        let secret = "-----BEGIN-----\nabcdefgh\r\nxy";
        assert_eq!(masked(&[secret], "got abcdefgh xy"), "got *** xy");
        assert_eq!(masked(&[secret], "nothing"), "nothing");
    }

    #[test]
    fn one_mask_stands_for_secrets_that_overlap() {
        for (secrets, text, expected) in [
            (&["abcd", "abcd-efgh"][..], "abcd-efgh abcd", "*** ***"),
            (&["abcdefgh", "efghijkl"], "abcdefghijkl", "***"),
            (&["abcdefgh", "efghijkl"], "abcdefghefghijkl", "******"),
            (&["aaaa"], "xaaaaaaaay", "x***y"),
            (&["ababc"], "abababc ababababc", "ab*** abab***"),
            // Found only once the longer one, which holds it, is not.
            (&["abcdefgh", "cdef"], "abcdefgx", "ab***gx"),
            (&["Grüße"], "Grüß Gott, Grüße", "Grüß Gott, ***"),
        ] {
            for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
                let mut masker = Masker::new(&masks(secrets));
                let first = masker.push(&text.as_bytes()[..at]).into_owned();
                let masked = [&first, &*masker.push(&text.as_bytes()[at..]), &masker.finish()].concat();
                assert_eq!(String::from_utf8(masked).unwrap(), expected, "{secrets:?} at {at}");
            }
        }
    }

    #[test]
    fn what_has_begun_is_told_when_the_output_pauses_and_its_rest_is_not() {
        let pauses = |parts: &[&str]| -> Vec<String> {
            let mut masker = Masker::new(&masks(&["hunter2-SECRET"]));
            let mut mask = |part: &&str| {
                let first = masker.push(part.as_bytes()).into_owned();
                String::from_utf8([first, masker.finish()].concat()).unwrap()
            };
            parts.iter().map(&mut mask).collect()
        };
        assert_eq!(pauses(&["a hun", "ter2-", "SECRET b"]), ["a hun", "***", " b"]);
        assert_eq!(pauses(&["a hunt", "er2-SEC", "RET b"]), ["a ***", "", " b"]);
        assert_eq!(pauses(&["hun", "gry hunt", "ing hunter2-SECRET"]), ["hun", "gry ***", "ing ***"]);
    }
}
