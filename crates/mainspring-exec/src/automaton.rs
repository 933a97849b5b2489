//! Many texts that are looked for at once in a stream of bytes.
//!
//! ```text
//! "abc", "bd"     root ─a─▶ a ─b─▶ ab ─c─▶ abc        after "ab" comes no "d": on from "b", the longest other
//!                   └──b─▶ b ─d─▶ bd ◀──d── b ◀┄┄┄┘   beginning that "ab" ends with
//! ```
//!
//! A state is the longest beginning of any text that the bytes so far end with. States have numbers in the
//! order of their length, so that those after a state stand side by side, in the order of their bytes.
//!
//! Cost: a byte takes two looks on average, each of at most eight steps, however many texts there are.
//! Seventeen bytes for each byte of a text.
//!
//! The crate `aho-corasick` does not say how much of a text is begun, which is what may not be shown yet.
//!
//! Source: Aho and Corasick, "Efficient String Matching: An Aid to Bibliographic Search", Communications of
//! the ACM 18(6), 1975.

use std::collections::VecDeque;
use std::ops::Range;

/// What the bytes so far end with.
pub(crate) type State = u32;

/// Nothing is begun.
pub(crate) const ROOT: State = 0;

/// The states of some texts. It has no text for people, because the texts are secrets.
pub(crate) struct Automaton {
    /// The byte that leads to each state.
    bytes: Vec<u8>,
    /// The first state after each, and one number more.
    first_next: Vec<State>,
    /// Where it continues if no state after it has the next byte.
    other: Vec<State>,
    depth: Vec<u32>,
    /// The length of the longest text that ends there; 0 for none.
    longest: Vec<u32>,
}

impl Automaton {
    /// Makes the states of texts that are sorted, differ and are not empty.
    pub(crate) fn new(texts: &[&[u8]]) -> Automaton {
        debug_assert!(texts.is_sorted_by(|one, next| one < next), "texts with one beginning stand together");
        debug_assert!(texts.first().is_none_or(|first| !first.is_empty()), "an empty text is everywhere");
        let mut made = Automaton {
            bytes: vec![0],
            first_next: Vec::new(),
            other: vec![ROOT],
            depth: vec![0],
            longest: vec![0],
        };
        // The texts that begin with each state, in the order of the states.
        let mut open: VecDeque<Range<usize>> = VecDeque::new();
        open.push_back(0..texts.len());
        while let Some(range) = open.pop_front() {
            let from = made.first_next.len();
            made.first_next.push(made.count());
            let depth = made.depth[from] as usize;
            let mut at = range.start;
            while at < range.end {
                let Some(&byte) = texts[at].get(depth) else {
                    // It ends here, and stands before those that go on.
                    made.longest[from] = made.depth[from];
                    at += 1;
                    continue;
                };
                let is_same = |text: &&[u8]| text.get(depth) == Some(&byte);
                let end = at + texts[at..range.end].partition_point(is_same);
                open.push_back(at..end);
                made.add(from, byte);
                at = end;
            }
        }
        made.first_next.push(made.count());
        assert_eq!(made.first_next.len(), made.bytes.len() + 1, "each state has those after it");
        made.lead_on();
        made
    }

    fn count(&self) -> State {
        State::try_from(self.bytes.len()).expect("secrets are short")
    }

    fn add(&mut self, from: usize, byte: u8) {
        self.bytes.push(byte);
        self.other.push(ROOT);
        self.depth.push(self.depth[from] + 1);
        self.longest.push(0);
    }

    /// Finds the other beginning of each state, the shorter states first.
    fn lead_on(&mut self) {
        for from in 0..self.bytes.len() {
            for next in self.first_next[from]..self.first_next[from + 1] {
                let at = next as usize;
                if from != ROOT as usize {
                    self.other[at] = self.step(self.other[from], self.bytes[at]);
                }
                let other = self.other[at] as usize;
                debug_assert!(self.depth[other] < self.depth[at], "a search comes to its end");
                if self.longest[at] == 0 {
                    self.longest[at] = self.longest[other];
                }
            }
        }
    }

    /// The state after one more byte, if it is longer by that.
    fn next(&self, state: State, byte: u8) -> Option<State> {
        let at = state as usize;
        let (first, end) = (self.first_next[at], self.first_next[at + 1]);
        let found = self.bytes[first as usize..end as usize].binary_search(&byte).ok()?;
        Some(first + State::try_from(found).expect("it is less than the end"))
    }

    /// The state after one more byte.
    pub(crate) fn step(&self, mut state: State, byte: u8) -> State {
        loop {
            match self.next(state, byte) {
                Some(next) => return next,
                None if state == ROOT => return ROOT,
                None => state = self.other[state as usize],
            }
        }
    }

    /// The state, without a text that is whole and begins no longer one: what may still become one.
    pub(crate) fn unfinished(&self, mut state: State) -> State {
        while state != ROOT && self.first_next[state as usize] == self.first_next[state as usize + 1] {
            state = self.other[state as usize];
        }
        state
    }

    /// Whether there is no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == 1
    }

    /// Whether a text begins with a byte.
    pub(crate) fn begins(&self, byte: u8) -> bool {
        self.next(ROOT, byte).is_some()
    }

    /// How many bytes are begun.
    pub(crate) fn depth(&self, state: State) -> usize {
        self.depth[state as usize] as usize
    }

    /// The length of the longest text that ends there; 0 for none.
    pub(crate) fn longest(&self, state: State) -> usize {
        self.longest[state as usize] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_state_is_the_longest_beginning_that_the_bytes_end_with() {
        let mut seed = 7_u64;
        let mut random = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        for _ in 0..300 {
            let texts: BTreeSet<Vec<u8>> = (0..1 + random(6))
                .map(|_| (0..1 + random(5)).map(|_| b"ab"[random(2) as usize]).collect())
                .collect();
            let sorted: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            let automaton = Automaton::new(&sorted);
            let (mut state, mut seen) = (ROOT, Vec::new());
            for _ in 0..60 {
                let byte = b"abc"[random(3) as usize];
                seen.push(byte);
                state = automaton.step(state, byte);
                let ends = |text: &&&[u8]| seen.ends_with(text);
                let longest = sorted.iter().filter(ends).map(|text| text.len()).max().unwrap_or(0);
                let begun = |length: &usize| {
                    let end = &seen[seen.len() - length..];
                    sorted.iter().any(|text| text.starts_with(end))
                };
                let depth = (0..=seen.len().min(5)).rev().find(begun).unwrap_or(0);
                assert_eq!(
                    (automaton.longest(state), automaton.depth(state)),
                    (longest, depth),
                    "{texts:?} {seen:?}"
                );
            }
        }
    }

    #[test]
    fn a_byte_costs_two_looks_on_average_however_many_texts_there_are() {
        let lines: BTreeSet<String> = (0..10_000).map(|number| format!("{number:05}")).collect();
        let alike: BTreeSet<String> = (1..1_000).map(|count| "a".repeat(count) + "b").collect();
        for texts in [lines, alike] {
            let sorted: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            let automaton = Automaton::new(&sorted);
            for bytes in ["0123401235".repeat(1_000), "a".repeat(10_000), "0000a".repeat(2_000)] {
                let (mut state, mut looks) = (ROOT, 0);
                for byte in bytes.bytes() {
                    looks += 1;
                    while automaton.next(state, byte).is_none() && state != ROOT {
                        state = automaton.other[state as usize];
                        looks += 1;
                    }
                    state = automaton.step(state, byte);
                }
                assert!(looks <= 2 * bytes.len(), "{looks} looks for {} bytes", bytes.len());
            }
            let (states, written) = (automaton.bytes.len(), texts.iter().map(String::len).sum::<usize>());
            assert!(states <= written + 1, "{states} states of {written} bytes");
        }
    }
}
