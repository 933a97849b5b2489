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
use crate::run::Reports;
use crate::secret::Masks;
use crate::tail::{TAIL_BYTES_MAX, Tail};

/// The most that is read of an output that is still held open before the end is reported: the largest pipe
/// that a process may make without privileges. What is in it was written before the end.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Both outputs of a run, and what is left of its cap.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) stdout: OutputPipe,
    pub(crate) stderr: OutputPipe,
    masks: Masks,
    /// How much of the head is still to come.
    head_bytes: u64,
    /// What comes after the head, once a line had no place in it.
    tail: Tail,
    is_in_tail: bool,
    pub(crate) dropped_bytes: u64,
}

impl Outputs {
    pub(crate) fn new(stdout: OutputPipe, stderr: OutputPipe, masks: Masks, bytes_max: u64) -> Outputs {
        let tail_bytes = (bytes_max / 2).min(TAIL_BYTES_MAX);
        let (head_bytes, tail) = (bytes_max - tail_bytes, Tail::new(tail_bytes));
        Outputs { stdout, stderr, masks, head_bytes, tail, is_in_tail: false, dropped_bytes: 0 }
    }

    pub(crate) fn read<K>(&mut self, key: &K, buffer: &mut [u8], reports: &mut dyn Reports<K>) {
        if !self.is_in_tail {
            return self.each_stream(key, reports, &mut |pipe, each| pipe.read(buffer, each));
        }
        for (pipe, stream) in [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)] {
            pipe.read_bytes(buffer, &mut |bytes| self.tail.push(stream, bytes));
        }
    }

    /// Reads what is in the pipes, at most [`MAX_HELD_BYTES`] of each.
    pub(crate) fn drain<K>(&mut self, key: &K, buffer: &mut [u8], reports: &mut dyn Reports<K>) {
        for _ in 0..MAX_HELD_BYTES.div_ceil(buffer.len().max(1)) {
            if !self.stdout.has_more() && !self.stderr.has_more() {
                return;
            }
            self.read(key, buffer, reports);
        }
    }

    /// Reports what was not reported yet, also lines without an end.
    pub(crate) fn finish_lines<K>(&mut self, key: &K, reports: &mut dyn Reports<K>) {
        self.each_stream(key, reports, &mut |pipe, each| pipe.finish_line(each));
        self.report_tail(key, reports);
    }

    pub(crate) fn close<K>(&mut self, key: &K, reports: &mut dyn Reports<K>) {
        self.each_stream(key, reports, &mut |pipe, each| pipe.close(each));
        self.report_tail(key, reports);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stdout.is_closed() && self.stderr.is_closed()
    }

    fn report_tail<K>(&mut self, key: &K, reports: &mut dyn Reports<K>) {
        if !self.tail.is_empty() {
            let mut each = |stream, piece: &Piece<'_>| reports.line(key, stream, piece);
            self.dropped_bytes += self.tail.take(&self.masks, &mut each).bytes;
        }
    }

    /// Does something to both pipes that gives lines, and reports those of the head.
    fn each_stream<K>(
        &mut self,
        key: &K,
        reports: &mut dyn Reports<K>,
        act: &mut dyn FnMut(&mut OutputPipe, &mut EachLine<'_>),
    ) {
        let Outputs { stdout, stderr, head_bytes, tail, is_in_tail, .. } = self;
        for (pipe, stream) in [(stdout, Stream::Stdout), (stderr, Stream::Stderr)] {
            act(pipe, &mut |piece| {
                let line_bytes = piece.text.len() as u64 + u64::from(!piece.goes_on);
                // What follows a line that has no place has none either: a head with holes in it would
                // mislead.
                *is_in_tail |= *head_bytes < line_bytes;
                if *is_in_tail {
                    tail.push(stream, piece.text.as_bytes());
                    if !piece.goes_on {
                        tail.push(stream, b"\n");
                    }
                } else {
                    *head_bytes -= line_bytes;
                    reports.line(key, stream, &piece);
                }
            });
        }
    }
}
