//! Texts of clients on their way to a thread that parses them, and what they say on its way back.
//!
//! ```text
//! loop ── ClientText ──▶ channel ──▶ thread: parse ── ParsedText ──▶ notified channel ──▶ loop: applies it
//! ```
//!
//! A text of some megabytes is parsed for a second or more. Meanwhile the loop starts and ends runs, and
//! answers other clients. A client has one text here at a time: its next request is taken after the answer.
//! Texts are parsed in the order in which they came.
//!
//! Cost: two switches between threads for each text. The thread is started for the first one.
//!
//! Does not know what a text says: see [`client_text`](super::client_text).

use std::io;
use std::sync::mpsc::Sender;

use super::client_text::{ClientText, ParsedText};
use super::next_step::RequestId;
use crate::protocol::{ErrorKind, ErrorWire};
use mainspring_exec::notified_channel::{NotifiedReceiver, NotifyingSender, notified_channel};
use mainspring_file::loaded_file::Reader;

/// What a text says, or what is wrong with it, and the request that it came with.
pub(super) type ParsedRequest = (RequestId, Result<ParsedText, ErrorWire>);

/// The loop's side of the thread that parses.
pub(super) struct Parser {
    reader: Reader,
    /// `None` before the first text.
    sender: Option<Sender<(RequestId, ClientText)>>,
    back: NotifyingSender<ParsedRequest>,
    /// What was parsed.
    pub(super) parsed: NotifiedReceiver<ParsedRequest>,
}

impl Parser {
    /// Prepares for texts that are parsed as `reader` reads files.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair.
    pub(super) fn new(reader: Reader) -> io::Result<Parser> {
        let (back, parsed) = notified_channel()?;
        Ok(Parser { reader, sender: None, back, parsed })
    }

    /// Texts that come from now on are parsed as this reader reads files.
    pub(super) fn read_as(&mut self, reader: Reader) {
        // The thread ends when it has parsed what it has.
        (self.reader, self.sender) = (reader, None);
    }

    /// Has a text parsed.
    ///
    /// # Errors
    ///
    /// When there is no thread for it.
    pub(super) fn add(&mut self, request_id: RequestId, text: ClientText) -> Result<(), ErrorWire> {
        let failed = || ErrorWire::new(ErrorKind::Failed, "there is no thread that parses texts");
        let sender = match self.sender.take() {
            Some(sender) => sender,
            None => self.start_thread().map_err(|_| failed())?,
        };
        // It fails only after a panic of the thread, which is on standard error: the next text has a new one.
        sender.send((request_id, text)).map_err(|_| failed())?;
        self.sender = Some(sender);
        Ok(())
    }

    /// Starts the thread. It ends with its channel; the end waits for no text.
    fn start_thread(&self) -> io::Result<Sender<(RequestId, ClientText)>> {
        let reader = self.reader.clone();
        let parse = move |(request_id, text): (RequestId, ClientText)| (request_id, text.parse(&reader));
        Ok(self.back.clone().answer_beside("parser", parse)?.0)
    }
}
