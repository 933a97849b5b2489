//! Our ends of a command's pipes. None of them ever blocks.
//!
//! Cost: one system call per read or write; the buffer for reading is the caller's.
//!
//! Does not wait: the loop does.
//!
//! Source: pipe(7).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::descriptors::MAX_RUNNING;
use crate::mask::{Masker, Masks};
use crate::output::{EachLine, LineSplitter};

/// The most that is taken from one pipe before the others get their turn: what a pipe holds on Linux.
pub const READ_BYTES: usize = 64 << 10;

/// The least: with as many runs as there may be, a turn of the loop then has half a megabyte of lines to
/// write.
pub const MIN_READ_BYTES: usize = 1 << 10;

const _: () = assert!(2 * MAX_RUNNING * MIN_READ_BYTES <= 512 << 10, "half a megabyte of lines");

/// What a command writes, as lines without secrets.
#[derive(Debug)]
pub struct OutputPipe {
    pipe: Option<File>,
    /// Comes before all that cuts the text.
    masker: Masker,
    splitter: LineSplitter,
}

impl OutputPipe {
    /// Takes over our end of the pipe, and takes secrets out of what comes through it.
    ///
    /// # Errors
    ///
    /// When it cannot be made non-blocking.
    pub fn new(pipe: impl Into<OwnedFd>, masks: &Masks) -> io::Result<OutputPipe> {
        let pipe = Some(nonblocking(pipe.into())?);
        Ok(OutputPipe { pipe, masker: Masker::new(masks), splitter: LineSplitter::default() })
    }

    /// Reads once, at most [`READ_BYTES`], and gives the complete lines to `each`; at the end also the last
    /// one.
    pub fn read(&mut self, buffer: &mut [u8], each: &mut EachLine<'_>) {
        assert!(!buffer.is_empty(), "a read of nothing would look like the end");
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(buffer) {
            Err(error) if is_temporary(&error) => {}
            // No other error is known for reading a pipe; should one come, there is nothing more to read
            // either.
            Ok(0) | Err(_) => self.close(each),
            Ok(count) => self.splitter.push(&self.masker.push(&buffer[..count]), each),
        }
    }

    /// Reads once, and gives the bytes without secrets, after what was kept of a line.
    pub fn read_bytes(&mut self, buffer: &mut [u8], each: &mut dyn FnMut(&[u8])) {
        assert!(!buffer.is_empty(), "a read of nothing would look like the end");
        each(&self.splitter.take_begun());
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(buffer) {
            Err(error) if is_temporary(&error) => {}
            Ok(0) | Err(_) => self.pipe = None,
            Ok(count) => each(&self.masker.push(&buffer[..count])),
        }
    }

    /// Gives what was read of an unterminated line to `each`, as a line.
    pub fn finish_line(&mut self, each: &mut EachLine<'_>) {
        self.splitter.push(&self.masker.finish(), each);
        self.splitter.finish(each);
    }

    /// Stops reading and gives the unterminated last line to `each`.
    pub fn close(&mut self, each: &mut EachLine<'_>) {
        self.pipe = None;
        self.finish_line(each);
    }

    /// Whether no process holds the other end any more, and all was read.
    pub fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    /// Whether a read gives bytes, or the end, at once.
    pub fn has_more(&self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut poll_fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        poll(&mut poll_fds, PollTimeout::ZERO).is_ok_and(|count| 0 < count)
    }

    /// What to poll for reading.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }
}

/// What a command reads.
#[derive(Debug)]
pub struct InputPipe {
    /// Closed as soon as all is written, so that the command sees the end.
    pipe: Option<File>,
    rest: Vec<u8>,
}

impl InputPipe {
    /// Takes over our end of the pipe and what shall go into it.
    ///
    /// # Errors
    ///
    /// When it cannot be made non-blocking.
    pub fn new(pipe: impl Into<OwnedFd>, input: &str) -> io::Result<InputPipe> {
        Ok(InputPipe { pipe: Some(nonblocking(pipe.into())?), rest: input.as_bytes().to_vec() })
    }

    /// Writes what fits. A command that closes its standard input does not get the rest.
    pub fn write(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            match pipe.write(&self.rest) {
                Err(error) if is_temporary(&error) => return,
                Err(_) => self.pipe = None,
                Ok(count) => {
                    self.rest.drain(..count);
                    if self.rest.is_empty() {
                        self.pipe = None;
                    }
                }
            }
        }
    }

    /// What to poll for writing.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn nonblocking(pipe: OwnedFd) -> io::Result<File> {
    // The flag belongs to our end alone: the command's end is another open file.
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(File::from(pipe))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &mut OutputPipe) -> Vec<String> {
        let mut lines = Vec::new();
        output.read(&mut [0; 1024], &mut |piece| lines.push(piece.text.into_owned()));
        lines
    }

    #[test]
    fn reading_an_empty_pipe_does_not_block() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut output = OutputPipe::new(reader, &Masks::default()).unwrap();
        assert!(read(&mut output).is_empty());
        writer.write_all(b"one\ntwo").unwrap();
        assert_eq!(read(&mut output), ["one"]);
        assert!(!output.is_closed());
        drop(writer);
        assert_eq!(read(&mut output), ["two"]);
        assert!(output.is_closed());
        assert!(read(&mut output).is_empty());
    }

    #[test]
    fn input_beyond_the_pipe_waits_for_the_reader() {
        let (mut reader, writer) = io::pipe().unwrap();
        let text = "x".repeat(3 * READ_BYTES);
        let mut input = InputPipe::new(writer, &text).unwrap();
        let mut arrived = 0;
        while input.fd().is_some() {
            input.write();
            arrived += reader.read(&mut vec![0; READ_BYTES]).unwrap();
        }
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(arrived + rest.len(), text.len());
    }

    #[test]
    fn empty_input_closes_the_pipe_at_once() {
        let (mut reader, writer) = io::pipe().unwrap();
        InputPipe::new(writer, "").unwrap().write();
        assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn a_reader_that_goes_away_ends_the_input() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut input = InputPipe::new(writer, "x").unwrap();
        input.write();
        assert!(input.fd().is_none());
    }
}
