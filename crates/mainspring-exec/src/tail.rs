//! The end of a long output: the last bytes that a run wrote, as long as it writes.
//!
//! ```text
//! reported at once: the head, up to the cap less the tail │ kept back: the last TAIL_BYTES_MAX at most │ at the end of the run:
//! 1 2 3 4 5 .. 95                                         │ 9990 .. 10000                              │ a note, 9991 .. 10000
//! ```
//!
//! Bytes come in as they were read and lie in the order of the reads, so that a program which writes without
//! end costs a copy and a count of line ends. Secrets were taken out of them before. They become lines when
//! the run is over. What was cut begins with a whole line, if there is one; the part of a line before it is
//! left out too.
//!
//! Cost: at most [`TAIL_BYTES_MAX`] for a run that writes more than its head, and a line.
//!
//! Does not keep when a line was written: all of its lines are reported together.

use std::collections::VecDeque;

use crate::descriptors::MAX_RUNNING;
use crate::output::{LineSplitter, MAX_OUTPUT_LINE_BYTES, Piece, Stream};

/// The longest tail: some hundreds of lines, and 16 MiB for as many runs as there may be.
pub const TAIL_BYTES_MAX: u64 = 64 << 10;

const _: () = assert!(MAX_RUNNING as u64 * TAIL_BYTES_MAX <= 16 << 20);
const _: () = assert!(MAX_OUTPUT_LINE_BYTES as u64 <= TAIL_BYTES_MAX, "a line has a place in it");

/// The last bytes of both outputs of a run.
#[derive(Debug)]
pub struct Tail {
    chunks: VecDeque<Chunk>,
    bytes: usize,
    bytes_max: usize,
    /// Of which streams the first line that is kept has lost its beginning.
    is_cut: [bool; 2],
    left_out: LeftOut,
}

/// Bytes that came one after the other from one stream.
#[derive(Debug)]
struct Chunk {
    stream: Stream,
    bytes: VecDeque<u8>,
}

/// How much is neither in the head nor in the tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Line ends among it.
    pub lines: u64,
    /// Its length.
    pub bytes: u64,
}

impl LeftOut {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    }

    fn note(self) -> String {
        let LeftOut { lines, bytes } = self;
        match lines {
            0 => format!("{bytes} bytes are left out here"),
            1 => format!("1 line ({bytes} bytes) is left out here"),
            _ => format!("{lines} lines ({bytes} bytes) are left out here"),
        }
    }
}

impl Tail {
    /// An empty tail of at most so many bytes.
    pub fn new(bytes_max: u64) -> Tail {
        let bytes_max = usize::try_from(bytes_max.min(TAIL_BYTES_MAX)).expect("the limit is small");
        Tail {
            chunks: VecDeque::new(),
            bytes: 0,
            bytes_max,
            is_cut: [false; 2],
            left_out: LeftOut::default(),
        }
    }

    /// So many bytes more are kept from now on.
    pub fn widen(&mut self, bytes: usize) {
        debug_assert!(self.is_empty(), "nothing was cut that had a place");
        self.bytes_max += bytes;
    }

    /// Adds what a stream wrote.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        match self.chunks.back_mut().filter(|chunk| chunk.stream == stream) {
            Some(chunk) => chunk.bytes.extend(bytes),
            None => self.chunks.push_back(Chunk { stream, bytes: bytes.iter().copied().collect() }),
        }
        self.bytes += bytes.len();
        while self.bytes_max < self.bytes {
            self.cut_first();
        }
    }

    /// Whether nothing has come since the last lines were taken.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0 && self.left_out == LeftOut::default()
    }

    /// Ends the tail: gives its lines to `each`, after a note if anything is left out before them. Returns
    /// how much that is.
    pub fn take(&mut self, each: &mut dyn FnMut(Stream, &Piece<'_>)) -> LeftOut {
        for stream in [Stream::Stdout, Stream::Stderr] {
            if std::mem::take(&mut self.is_cut[index(stream)]) {
                self.drop_torn_line(stream);
            }
        }
        let held: usize = self.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        debug_assert_eq!(held, self.bytes, "the bytes of all chunks are counted");
        debug_assert!(self.bytes <= self.bytes_max, "no more is kept than may be");
        let left_out = std::mem::take(&mut self.left_out);
        if 0 < left_out.bytes {
            each(Stream::Note, &Piece::line(left_out.note()));
        }
        let mut splitters = [LineSplitter::default(), LineSplitter::default()];
        for mut chunk in self.chunks.drain(..) {
            let stream = chunk.stream;
            let splitter = &mut splitters[index(stream)];
            splitter.push(chunk.bytes.make_contiguous(), &mut |piece| each(stream, &piece));
        }
        self.bytes = 0;
        for (splitter, stream) in splitters.iter_mut().zip([Stream::Stdout, Stream::Stderr]) {
            splitter.finish(&mut |piece| each(stream, &piece));
        }
        left_out
    }

    /// Drops as much of the oldest chunk as is too much.
    fn cut_first(&mut self) {
        let excess = self.bytes - self.bytes_max;
        let first = self.chunks.front_mut().expect("there are more bytes than may be");
        let count = excess.min(first.bytes.len());
        debug_assert!(0 < count, "a chunk has bytes");
        self.is_cut[index(first.stream)] = first.bytes.get(count - 1) != Some(&b'\n');
        drop_first(first, count, &mut self.left_out);
        self.bytes -= count;
        if first.bytes.is_empty() {
            self.chunks.pop_front();
        }
    }

    /// Drops the rest of a line whose beginning is lost, if another follows it.
    fn drop_torn_line(&mut self, stream: Stream) {
        let chunks = || self.chunks.iter().filter(|chunk| chunk.stream == stream);
        let byte_count: usize = chunks().map(|chunk| chunk.bytes.len()).sum();
        let line_end = chunks().flat_map(|chunk| &chunk.bytes).position(|&byte| byte == b'\n');
        let mut rest = line_end.map(|at| at + 1).filter(|end| *end < byte_count).unwrap_or_default();
        for chunk in self.chunks.iter_mut().filter(|chunk| chunk.stream == stream) {
            let count = rest.min(chunk.bytes.len());
            drop_first(chunk, count, &mut self.left_out);
            self.bytes -= count;
            rest -= count;
        }
        debug_assert_eq!(rest, 0, "all of the line is dropped");
    }
}

fn drop_first(chunk: &mut Chunk, count: usize, left_out: &mut LeftOut) {
    let (first, second) = chunk.bytes.as_slices();
    left_out.add(&first[..count.min(first.len())]);
    left_out.add(&second[..count.saturating_sub(first.len())]);
    chunk.bytes.drain(..count);
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(tail: &mut Tail) -> (Vec<String>, LeftOut) {
        let mut lines = Vec::new();
        let left_out = tail.take(&mut |stream, piece| lines.push(format!("{stream:?} {}", piece.text)));
        assert!(tail.is_empty());
        (lines, left_out)
    }

    #[test]
    fn what_fits_is_kept_as_it_came() {
        let mut tail = Tail::new(100);
        for (stream, text) in [(Stream::Stdout, "a\nb"), (Stream::Stderr, "x\n"), (Stream::Stdout, "c\nd")] {
            tail.push(stream, text.as_bytes());
        }
        let (lines, left_out) = taken(&mut tail);
        assert_eq!(lines, ["Stdout a", "Stderr x", "Stdout bc", "Stdout d"]);
        assert_eq!(left_out, LeftOut::default());
    }

    #[test]
    fn the_last_whole_lines_stay_and_the_rest_is_counted() {
        for step in [1, 7, 1_000] {
            let text: String = (0..100).map(|number| format!("line {number:02}\n")).collect();
            let mut tail = Tail::new(20);
            text.as_bytes().chunks(step).for_each(|bytes| tail.push(Stream::Stdout, bytes));
            let (lines, left_out) = taken(&mut tail);
            let note = "Note 98 lines (784 bytes) are left out here";
            assert_eq!(lines, [note, "Stdout line 98", "Stdout line 99"], "step {step}");
            assert_eq!(left_out, LeftOut { lines: 98, bytes: 784 });
        }
    }

    #[test]
    fn of_a_line_that_no_other_follows_the_end_is_kept() {
        let mut tail = Tail::new(20);
        tail.push(Stream::Stdout, &[b'x'; 100]);
        tail.push(Stream::Stdout, b"end\n");
        let (lines, _) = taken(&mut tail);
        assert_eq!(lines, ["Note 84 bytes are left out here", "Stdout xxxxxxxxxxxxxxxxend"]);
    }

    #[test]
    fn the_note_counts_what_is_left_out() {
        let note = |lines, bytes| LeftOut { lines, bytes }.note();
        assert_eq!(note(1, 9), "1 line (9 bytes) is left out here");
        assert_eq!(note(2, 9), "2 lines (9 bytes) are left out here");
    }

    #[test]
    fn a_stream_that_says_little_keeps_its_whole_line() {
        let mut tail = Tail::new(20);
        tail.push(Stream::Stdout, &[b'x'; 100]);
        tail.push(Stream::Stderr, b"oh no\n");
        tail.push(Stream::Stdout, b"yyy\nzz\n");
        let (lines, _) = taken(&mut tail);
        assert_eq!(lines[1..], ["Stderr oh no", "Stdout zz"]);
    }
}
