//! Both outputs of a run, up to its cap.
//!
//! ```text
//! stdout ─▶ pipe ─┬─▶ the head: lines, reported as they come
//! stderr ─▶ pipe ─┘         └─ a line has no place in it: all from there on ─▶ Tail, reported at the end of the run
//! ```
//!
//! Cost: up to two system calls per read; memory for the [`Tail`].
//!
//! Does not wait, and does not know when the run ends: its caller does.

use crate::output::{EachLine, Piece, Stream};
use crate::pipe::OutputPipe;
use crate::tail::{TAIL_BYTES_MAX, Tail};

/// The most that is read of an output that is still held open before the end is reported: the largest pipe
/// that a process may make without privileges. What is in it was written before the end.
const MAX_HELD_BYTES: usize = 1 << 20;

/// What is reported of each line.
pub(crate) type OnPiece<'a> = dyn FnMut(Stream, &Piece<'_>) + 'a;

/// Both outputs of a run, and what is left of its cap.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) stdout: OutputPipe,
    pub(crate) stderr: OutputPipe,
    /// How much of the head is still to come.
    head_bytes: u64,
    /// What comes after the head, once a line had no place in it.
    tail: Tail,
    is_in_tail: bool,
    pub(crate) dropped_bytes: u64,
}

impl Outputs {
    pub(crate) fn new(stdout: OutputPipe, stderr: OutputPipe, bytes_max: u64) -> Outputs {
        let tail_bytes = (bytes_max / 2).min(TAIL_BYTES_MAX);
        let (head_bytes, tail) = (bytes_max - tail_bytes, Tail::new(tail_bytes));
        Outputs { stdout, stderr, head_bytes, tail, is_in_tail: false, dropped_bytes: 0 }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8], tell: &mut OnPiece<'_>) {
        if !self.is_in_tail {
            return self.each_stream(tell, &mut |pipe, each| pipe.read(buffer, each));
        }
        for (pipe, stream) in [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)] {
            pipe.read_bytes(buffer, &mut |bytes| self.tail.push(stream, bytes));
        }
    }

    /// Reads what is in the pipes, at most [`MAX_HELD_BYTES`] of each.
    pub(crate) fn drain(&mut self, buffer: &mut [u8], tell: &mut OnPiece<'_>) {
        for _ in 0..MAX_HELD_BYTES.div_ceil(buffer.len()) {
            if !self.stdout.has_more() && !self.stderr.has_more() {
                return;
            }
            self.read(buffer, tell);
        }
    }

    /// Reports what was not reported yet, also lines without an end.
    pub(crate) fn finish_lines(&mut self, tell: &mut OnPiece<'_>) {
        self.each_stream(tell, &mut |pipe, each| pipe.finish_line(each));
        self.report_tail(tell);
    }

    pub(crate) fn close(&mut self, tell: &mut OnPiece<'_>) {
        self.each_stream(tell, &mut |pipe, each| pipe.close(each));
        self.report_tail(tell);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stdout.is_closed() && self.stderr.is_closed()
    }

    fn report_tail(&mut self, tell: &mut OnPiece<'_>) {
        debug_assert!(self.is_in_tail || self.tail.is_empty(), "what has a place in the head is there");
        if !self.tail.is_empty() {
            self.dropped_bytes += self.tail.take(tell).bytes;
        }
    }

    /// Does something to both pipes that gives lines, and reports those of the head.
    fn each_stream(
        &mut self,
        tell: &mut OnPiece<'_>,
        act: &mut dyn FnMut(&mut OutputPipe, &mut EachLine<'_>),
    ) {
        let Outputs { stdout, stderr, head_bytes, tail, is_in_tail, .. } = self;
        for (pipe, stream) in [(stdout, Stream::Stdout), (stderr, Stream::Stderr)] {
            act(pipe, &mut |piece| {
                let line_bytes = piece.text.len() as u64 + u64::from(!piece.goes_on);
                // What follows a line that has no place has none either: a head with holes in it would
                // mislead.
                if !*is_in_tail && *head_bytes < line_bytes {
                    *is_in_tail = true;
                    // So an output within the cap is kept whole.
                    tail.widen(usize::try_from(*head_bytes).expect("a line is short"));
                }
                if *is_in_tail {
                    tail.push(stream, piece.text.as_bytes());
                    if !piece.goes_on {
                        tail.push(stream, b"\n");
                    }
                } else {
                    *head_bytes -= line_bytes;
                    tell(stream, &piece);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::Masks;
    use crate::output::MAX_OUTPUT_LINE_BYTES;
    use crate::replay;
    use mainspring_action::secret::Secret;
    use std::io::Write;

    /// Begun secrets are told as they are up to here, by chance or at the end of an output: a part of so many
    /// characters is in every text, and shorter secrets are not masked either.
    const TOLD_CHARS_MAX: usize = 3;

    const SEEDS: u64 = 1_000;

    /// A generator of random numbers: SplitMix64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
        }

        /// Of few letters, so that a secret often repeats or overlaps another.
        fn letters(&mut self, count: usize) -> String {
            (0..count).map(|_| ["A", "B", "Ä"][self.below(3)]).collect()
        }

        fn secrets(&mut self) -> Vec<String> {
            let first_chars = 4 + self.below(30);
            let mut secrets = vec![self.letters(first_chars)];
            for _ in 0..self.below(4) {
                let known = secrets[self.below(secrets.len())].clone();
                let (begin, added) = (self.below(4), 4 + self.below(8));
                let part: String = known.chars().skip(begin).collect();
                secrets.push(match self.below(3) {
                    // A part of another, one that begins within another, and one of its own.
                    0 if 4 <= part.chars().count() => part,
                    1 => part + &self.letters(added),
                    _ => self.letters(added),
                });
            }
            secrets
        }

        /// What a program writes, without a part of a secret anywhere but in a whole one, or at the end.
        fn text(&mut self, secrets: &[String]) -> String {
            let mut text = String::new();
            for _ in 0..self.below(40) {
                match self.below(10) {
                    0..6 => text += &secrets[self.below(secrets.len())],
                    6 => text += "\n",
                    7 if self.below(20) == 0 => {
                        text += &"x".repeat(MAX_OUTPUT_LINE_BYTES - 40 + self.below(80));
                    }
                    _ => text += &"y".repeat(1 + self.below(5)),
                }
            }
            // Its program was killed while it wrote.
            let cut = text.ceil_char_boundary(text.len() - self.below(10).min(text.len()));
            text.truncate(cut);
            text
        }
    }

    /// What is reported of two texts that are written and read in pieces, under a cap.
    fn masked_output(random: &mut Random, secrets: &[String], texts: [&str; 2]) -> String {
        let mut masks = Masks::default();
        secrets.iter().for_each(|secret| masks.add(&Secret::new(secret)));
        let (stdout, its_stdout) = std::io::pipe().unwrap();
        let (stderr, its_stderr) = std::io::pipe().unwrap();
        let pipe = |end: std::io::PipeReader| OutputPipe::new(end, &masks).unwrap();
        let bytes_max =
            [random.below(300), MAX_OUTPUT_LINE_BYTES + random.below(500), 1 << 20][random.below(3)];
        let mut outputs = Outputs::new(pipe(stdout), pipe(stderr), bytes_max as u64);
        let (mut output, mut buffer) = (String::new(), vec![0; 1 + random.below(600)]);
        let mut tell = |_: Stream, piece: &Piece<'_>| output += &format!("{}\n", piece.text);
        let mut writers = [its_stdout, its_stderr];
        let mut rest = texts.map(str::as_bytes);
        while rest.iter().any(|rest| !rest.is_empty()) {
            let index = random.below(2);
            let count = (1 + random.below(60)).min(rest[index].len());
            writers[index].write_all(&rest[index][..count]).unwrap();
            rest[index] = &rest[index][count..];
            if random.below(2) == 0 {
                outputs.read(&mut buffer, &mut tell);
            }
            // The end of the program was waited for long enough, and something in the background continues.
            if random.below(20) == 0 {
                outputs.finish_lines(&mut tell);
            }
        }
        drop(writers);
        outputs.drain(&mut buffer, &mut tell);
        outputs.close(&mut tell);
        output
    }

    #[test]
    fn an_output_within_its_cap_is_kept_whole() {
        for line_bytes in [1, 100, 2_047, 2_048, 3_000, 4_095] {
            let line = "x".repeat(line_bytes) + "\n";
            let text = line.repeat(4_096 / line.len());
            let (stdout, mut its_stdout) = std::io::pipe().unwrap();
            let (stderr, its_stderr) = std::io::pipe().unwrap();
            let pipe = |end| OutputPipe::new(end, &Masks::default()).unwrap();
            let mut outputs = Outputs::new(pipe(stdout), pipe(stderr), 4_096);
            let mut output = String::new();
            let mut tell = |_: Stream, piece: &Piece<'_>| output += &format!("{}\n", piece.text);
            its_stdout.write_all(text.as_bytes()).unwrap();
            drop((its_stdout, its_stderr));
            outputs.drain(&mut [0; 1_000], &mut tell);
            outputs.close(&mut tell);
            assert!(output == text, "lines of {line_bytes}: {}", output.len());
        }
    }

    #[test]
    fn no_part_of_a_secret_is_told_wherever_an_output_is_cut() {
        replay::each_seed(0..SEEDS, |seed| {
            let mut random = Random(seed);
            let secrets = random.secrets();
            let texts = [random.text(&secrets), random.text(&secrets)];
            let output = masked_output(&mut random, &secrets, [&texts[0], &texts[1]]);
            let parts = output.split(|c: char| !["A", "B", "Ä"].contains(&c.to_string().as_str()));
            let longest = parts.max_by_key(|part| part.chars().count()).unwrap();
            assert!(
                longest.chars().count() <= TOLD_CHARS_MAX,
                "seed {seed}: {longest:?} of {secrets:?} is in {output:?}"
            );
        });
    }
}
