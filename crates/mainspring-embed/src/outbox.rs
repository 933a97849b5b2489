//! The thread that submits what transactions of the program left in the outbox of its SQLite file.
//!
//! ```text
//!  mainspring_outbox ─ rows of one look ─▶ the loop: one batch ─▶ on disk ─▶ deleted: one transaction
//!        ▲ looked at each 250 ms; each 10 ms for a second after a call of submit_in
//! ```
//!
//! A row is submitted under a key, and deleted afterwards. A crash in between has it submitted again, which
//! its key makes one submission.
//!
//! | found | done |
//! |---|---|
//! | the file is locked | it is tried again; after ten seconds the log says so |
//! | the file is gone | the open one is read on; SQLite writes to it no more |
//! | another file is in its place | that is opened, and gets the table |
//! | a row is refused, or calls no handler | it stays, with the reason in `refusal`; the log says so |
//! | the planner takes nothing now | the rows stay, and are tried again |
//!
//! Rows bear the identity of the folder of jobs, which is in its file `outbox`. So of two programs with one
//! SQLite file, and a folder each, one submits a row.
//!
//! Cost: a thread; each look asks for the version of the file.
//!
//! Does not know whether a transaction commits: see [`transaction`](crate::transaction).

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::thread::{self, JoinHandle};

use mainspring_exec::clock::Moment;
use mainspring_host::private;
use mainspring_job::{MAX_BATCH_OPERATIONS, StoreError, Submission};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::log::Style;
use mainspring_server::protocol::SubmitWire;
use mainspring_server::server::program_calls::Caller;
use mainspring_server::server::unawaited::{SubmissionFate, UnawaitedSubmission};
use mainspring_server::server::{standby, submission};
use mainspring_store::{Outbox, OutboxFile, OutboxRow};
use serde_json::Value;

use crate::error::Error;
use crate::outbox_signal::{INTERVAL, OutboxSignal};
use crate::parts::setup;

/// How many looks may find the file locked before the log says so: ten seconds.
const LOCKED_LOOKS: u32 = 40;
const _: () = assert!(LOCKED_LOOKS as u128 * INTERVAL.as_millis() == 10_000, "ten seconds");

/// The file of the folder of jobs that holds its identity.
const IDENTITY_FILE: &str = "outbox";

/// An outbox that is open, and not looked at yet.
#[derive(Debug)]
pub(crate) struct OpenedOutbox {
    outbox: Outbox,
    pub(crate) signal: OutboxSignal,
}

/// The thread. It is told to end when this is dropped.
#[derive(Debug)]
pub(crate) struct OutboxThread {
    signal: OutboxSignal,
    thread: Option<JoinHandle<()>>,
}

impl OpenedOutbox {
    /// Opens the file of the program, and makes the table in it.
    ///
    /// # Errors
    /// When it cannot be used, or the folder of jobs cannot be written to.
    pub(crate) fn open(path: &Path, data: &DataDirectory) -> Result<OpenedOutbox, Error> {
        let wrong =
            |reason: &dyn fmt::Display| Error::definition("outbox", format!("{}: {reason}", path.display()));
        let text = path.to_string_lossy();
        let Some(name) = path.file_name().filter(|_| text != ":memory:" && !text.starts_with("file:")) else {
            return Err(wrong(&"expected the path of a file"));
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let real = |folder: &Path| fs::canonicalize(folder).ok();
        if Some(name) == data.store().file_name() && real(folder) == real(data.directory()) {
            return Err(wrong(&"it is the file of the jobs, and not one of the program"));
        }
        let outbox = Outbox::open(path).map_err(|error| wrong(&error))?;
        let folder = identity(&data.directory().join(IDENTITY_FILE), &outbox);
        let folder = folder.map_err(|error| wrong(&error))?;
        Ok(OpenedOutbox { outbox, signal: OutboxSignal::of(folder) })
    }

    /// Starts to look.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start(self, caller: Caller, log: File) -> Result<OutboxThread, Error> {
        let OpenedOutbox { outbox, signal } = self;
        let mut reader = Reader {
            outbox,
            signal: signal.clone(),
            caller,
            log,
            is_left: true,
            locked_looks: 0,
            reported: String::new(),
        };
        let thread = thread::Builder::new().name("outbox".to_owned()).spawn(move || reader.run());
        Ok(OutboxThread { signal, thread: Some(thread.map_err(setup("a thread"))?) })
    }
}

impl OutboxThread {
    /// Waits for its end. It may wait for the loop.
    pub(crate) fn finish(mut self) {
        self.signal.end();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a panic of this thread is a fault of ours");
        }
    }
}

impl Drop for OutboxThread {
    fn drop(&mut self) {
        self.signal.end();
    }
}

/// The identity of a folder of jobs, made with its first outbox. It is on disk before a row bears it.
fn identity(path: &Path, outbox: &Outbox) -> Result<String, StoreError> {
    let is_one = |text: &String| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(text) = fs::read_to_string(path).ok().filter(is_one) {
        return Ok(text);
    }
    let identity = outbox.new_identity()?;
    assert!(is_one(&identity), "it is found again at the next start");
    let write = || -> io::Result<()> {
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(identity.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), private::sync_folder)
    };
    write().map_err(|error| StoreError::Io(Box::new(error)))?;
    Ok(identity)
}

/// The thread's own.
struct Reader {
    outbox: Outbox,
    signal: OutboxSignal,
    caller: Caller,
    log: File,
    /// A row may wait although the file is as it was.
    is_left: bool,
    locked_looks: u32,
    /// What the log has of the trouble that there is.
    reported: String,
}

/// What a look has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// There may be more.
    Full,
    Done,
    /// The jobs end.
    Over,
}

impl Reader {
    fn run(&mut self) {
        self.tell_of_others();
        loop {
            let trouble = match self.look() {
                Ok(Look::Full) if !self.signal.is_over() => continue,
                Ok(Look::Full | Look::Over) => return,
                Ok(Look::Done) => self.place(),
                Err(StoreError::Busy(_)) => {
                    self.is_left = true;
                    self.locked_looks += 1;
                    let is_long = LOCKED_LOOKS <= self.locked_looks;
                    self.place().or_else(|| is_long.then(|| "another connection locks it".to_owned()))
                }
                Err(error) => {
                    self.is_left = self.outbox.file() == OutboxFile::InPlace;
                    Some(self.place().unwrap_or_else(|| error.to_string()))
                }
            };
            self.tell(trouble);
            if !self.signal.wait() {
                return;
            }
        }
    }

    /// Takes what is in the file, if that has changed.
    fn look(&mut self) -> Result<Look, StoreError> {
        if !self.outbox.has_changed()? && !self.is_left {
            return Ok(Look::Done);
        }
        // What is not read now is read then.
        self.is_left = true;
        let rows = self.outbox.waiting(self.signal.folder(), MAX_BATCH_OPERATIONS)?;
        debug_assert!(rows.len() <= MAX_BATCH_OPERATIONS, "no more is read than is asked for");
        let is_full = rows.len() == MAX_BATCH_OPERATIONS;
        let now = Moment::now().wall.to_string();
        let (mut submitted, mut refused, mut promised) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            match command_of(&row, &now) {
                Ok(submission) => promised.push((row, UnawaitedSubmission::ask(&self.caller, submission))),
                Err(why) => refused.push((row, why)),
            }
        }
        let (mut is_left, mut is_over) = (false, false);
        for (row, unawaited) in promised {
            match unawaited.wait() {
                SubmissionFate::Done | SubmissionFate::Known => submitted.push(row),
                SubmissionFate::Refused(why) => refused.push((row, why)),
                SubmissionFate::Deferred => is_left = true,
                SubmissionFate::Stopping => is_over = true,
            }
        }
        self.outbox.settle(&submitted, &refused)?;
        for (row, why) in refused {
            self.note(&format!("submission {} cannot be done: {why}", row.number));
        }
        (self.is_left, self.locked_looks) = (is_left, 0);
        Ok(match (is_over, is_full && !is_left) {
            (true, _) => Look::Over,
            (false, true) => {
                self.is_left = true;
                Look::Full
            }
            (false, false) => Look::Done,
        })
    }

    /// Opens what is in the place of the file, and says what is wrong there.
    fn place(&mut self) -> Option<String> {
        match self.outbox.file() {
            OutboxFile::InPlace => None,
            OutboxFile::Gone => Some("the file is gone".to_owned()),
            OutboxFile::Replaced => match Outbox::reopen(self.outbox.path()) {
                Ok(outbox) => {
                    (self.outbox, self.is_left) = (outbox, true);
                    None
                }
                Err(error) => Some(format!("another file is there, and cannot be used: {error}")),
            },
        }
    }

    /// Tells of trouble once, as long as it is the same.
    fn tell(&mut self, trouble: Option<String>) {
        let trouble = trouble.unwrap_or_default();
        if trouble != self.reported {
            if !trouble.is_empty() {
                self.note(&trouble);
            }
            self.reported = trouble;
        }
    }

    /// What bears the identity of another folder waits for that, and for good where that is lost.
    fn tell_of_others(&self) {
        if let Ok(count @ 1..) = self.outbox.others(self.signal.folder()) {
            let text = "wait for jobs of another folder: those whose `folder` is set to NULL are taken here";
            self.note(&format!("{count} submissions {text}"));
        }
    }

    fn note(&self, text: &str) {
        let text = format!("outbox {}: {text}", self.outbox.path().display());
        standby::note_to(&self.log, Style::default(), &text);
    }
}

/// What a row asks for. People and other programs may have written it, in the words of `mainspring.submit`,
/// without a key or without a time.
fn command_of(row: &OutboxRow, now: &str) -> Result<Submission, String> {
    let read = serde_json::from_str(&row.submission).map_err(|error| format!("no document: {error}"))?;
    let Value::Object(mut document) = read else { return Err("the document is no object".to_owned()) };
    let handler = document.get("handler").and_then(|handler| handler.get("name")).and_then(Value::as_str);
    let Some(handler) = handler.map(ToOwned::to_owned) else {
        return Err("it calls no handler by its `name`".to_owned());
    };
    let key = match document.get("key") {
        None => format!("{handler}/outbox-{}", row.token),
        Some(Value::String(key)) if !key.is_empty() => format!("{handler}/{key}"),
        Some(_) => return Err("the key is a text that is not empty".to_owned()),
    };
    document.remove("folder");
    document.insert("key".to_owned(), Value::String(key));
    document.entry("due").or_insert_with(|| Value::String(now.to_owned()));
    let wire: SubmitWire =
        serde_json::from_value(Value::Object(document)).map_err(|error| error.to_string())?;
    let submission = submission(wire).map_err(|error| error.message)?;
    assert!(submission.key.is_some(), "a row that is read twice is submitted once");
    Ok(submission)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_other_programs_write_it() {
        let now = "2026-01-01T00:00:00Z";
        let read = |submission: &str| {
            let row = OutboxRow { number: 1, token: "t".to_owned(), submission: submission.to_owned() };
            let submission = command_of(&row, now)?;
            let (kind, body) = (submission.work.action.kind(), submission.work.action.body());
            Ok::<_, String>(format!("{} {} {kind} {body}", submission.key.unwrap(), submission.due))
        };
        let text = read(r#"{"handler": {"name": "mail", "input": 7}}"#).unwrap();
        assert_eq!(text, r#"mail/outbox-t 2026-01-01T00:00:00Z handler {"name":"mail","payload":"7"}"#);
        let text = read(
            r#"{"handler": {"name": "mail"}, "key": "k", "due": "2026-02-01T00:00:00Z", "folder": "f"}"#,
        );
        assert_eq!(text.unwrap(), r#"mail/k 2026-02-01T00:00:00Z handler {"name":"mail"}"#);
        for (submission, expected) in [
            ("", "no document"),
            ("[]", "no object"),
            (r#"{"process": {"run": ["true"]}}"#, "calls no handler"),
            (r#"{"handler": {"name": "mail"}, "key": ""}"#, "the key"),
            (r#"{"handler": {"name": "mail"}, "policies": "nonsense=1"}"#, "nonsense"),
            (r#"{"handler": {"name": "mail"}, "newer": 1}"#, "newer"),
            (r#"{"handler": {"name": "mail"}, "process": {"run": ["true"]}}"#, "one of"),
            (r#"{"handler": {"name": "mail"}, "due": "soon"}"#, "soon"),
        ] {
            let refused = read(submission).unwrap_err();
            assert!(refused.contains(expected), "{submission}: {refused}");
        }
    }
}
