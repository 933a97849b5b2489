//! `mainspring top`: a live view of a server in the terminal, with the keys that people know from `top` and
//! `less`.
//!
//! ```text
//! poll: a key, a signal, the time ─▶ board ─▶ ask ─▶ board ─▶ frame ─▶ terminal
//! ```
//!
//! Cost: what the view shows is asked for once a second, and less often where the answers take long; a frame
//! sends the lines that changed.
//!
//! Does not keep anything, and reads no file of the server: over `--url` it shows the same.

use std::io::{self, IsTerminal, stdin, stdout};
use std::os::fd::AsFd;
use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring_exec::clock::Moment;
use mainspring_exec::notifier::{Notifications, pair};
use mainspring_job::RunState;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::with_causes;
use mainspring_server::protocol::{ALL_CAUSES, HistoryWire, LineWire, MAX_ROWS, Request, Response, RunWire};
use mainspring_server::waiting::{is_readable, wait_for};
use nix::sys::signal::{Signal, raise};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::low_level::pipe;

use super::views::all_jobs;
use super::zone_or_system;
use crate::cli::serve::TopArgs;
use crate::client::{Address, Client};
use crate::terminal::Screen;
use crate::top::board::{Board, USUAL_SIZE, View, Wish};
use crate::top::frame::Frame;
use crate::top::key::keys;
use crate::top::raw::{Raw, show};

/// How often the server is asked: what people take for live.
const INTERVAL: Duration = Duration::from_secs(1);

/// A server is asked for at most one part in so many of the time, so that looking at a large one costs it
/// little.
const SHARE: u32 = 20;

/// How long an answer is waited for before the head line says that there is none.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

const _: () =
    assert!(INTERVAL.as_secs() < ANSWER_WAIT.as_secs(), "a server that is slow is not taken for gone");

/// How many runs a view has.
const MAX_RUNS: usize = 500;

const _: () = assert!(MAX_RUNS <= MAX_ROWS, "one question has a view");

/// How many lines of output are kept: the last of them.
const MAX_LINES: usize = 5_000;

/// How many bytes of keys are read at once.
const KEY_BYTES: usize = 1_024;

pub(super) fn top(args: &TopArgs) -> Result<Exit, Error> {
    if !stdin().is_terminal() || !stdout().is_terminal() {
        let text = "top is for a terminal: `mainspring list` and `mainspring history` print";
        return Err(Error::Usage(text.to_owned()));
    }
    let address = args.server.address();
    // What is wrong from the start is said where it can be read.
    let client = Client::connect_within(&address, ANSWER_WAIT)?;
    let setup = Error::setup("the terminal");
    let signals = Signals::register().map_err(setup)?;
    let raw = Raw::take().map_err(setup)?;
    let zone = if args.utc { TimeZone::UTC } else { zone_or_system(None) };
    let mut top = Top { address, client: Some(client), board: Board::new(zone), frame: Frame::default() };
    top.turn(&raw, &signals).map_err(setup)?;
    Ok(Exit::Ok)
}

/// The streams on which signals arrive.
struct Signals {
    end: Notifications,
    size: Notifications,
}

impl Signals {
    fn register() -> io::Result<Signals> {
        let stream_of = |signals: &[i32]| -> io::Result<Notifications> {
            let (notifier, notifications) = pair()?;
            for signal in signals {
                pipe::register(*signal, notifier.stream().try_clone()?)?;
            }
            Ok(notifications)
        };
        Ok(Signals { end: stream_of(&[SIGTERM, SIGHUP, SIGINT])?, size: stream_of(&[SIGWINCH])? })
    }
}

struct Top {
    address: Address,
    /// `None` while it does not answer.
    client: Option<Client>,
    board: Board,
    frame: Frame,
}

impl Top {
    /// Shows, waits and asks, until somebody ends it.
    fn turn(&mut self, raw: &Raw, signals: &Signals) -> io::Result<()> {
        let mut due = Moment::now();
        loop {
            let now = Moment::now();
            if due.monotonic <= now.monotonic && !self.board.is_held {
                self.look();
                let took = Moment::now().since(now);
                due = Moment { monotonic: Moment::now().monotonic + INTERVAL.max(took * SHARE), ..now };
            }
            self.draw()?;
            let left = due.since(Moment::now()).min(INTERVAL);
            wait_for(&[stdin().as_fd(), signals.end.as_fd(), signals.size.as_fd()], &[], Some(left))?;
            if 0 < signals.end.clear() {
                return Ok(());
            }
            if 0 < signals.size.clear() {
                self.redraw()?;
            }
            if !is_readable(stdin().as_fd()) {
                continue;
            }
            let mut bytes = [0; KEY_BYTES];
            let count = rustix::io::read(stdin(), &mut bytes)?;
            // A terminal that is gone gives nothing.
            if count == 0 {
                return Ok(());
            }
            for key in keys(&bytes[..count]) {
                match self.board.press(key) {
                    Wish::Show => {}
                    // Before the next key, which may have come with this one: it is for a row of the new
                    // view.
                    Wish::Look => self.look(),
                    Wish::Redraw => self.redraw()?,
                    Wish::End => return Ok(()),
                    Wish::Change(request) => {
                        self.change(request);
                        due = Moment::now();
                    }
                    Wish::Suspend => {
                        raw.leave();
                        raise(Signal::SIGTSTP)?;
                        raw.enter()?;
                        self.redraw()?;
                    }
                }
            }
        }
    }

    fn redraw(&mut self) -> io::Result<()> {
        self.frame.forget();
        show("\u{1b}[2J")
    }

    fn draw(&mut self) -> io::Result<()> {
        let size = terminal_size::terminal_size();
        let size = size.map_or(USUAL_SIZE, |(width, height)| (usize::from(width.0), usize::from(height.0)));
        let screen = Screen { width: size.0, ..Screen::stdout() };
        let lines = self.board.lines(Moment::now().wall, screen, size.1);
        let text = self.frame.update(lines);
        if text.is_empty() { Ok(()) } else { show(&text) }
    }

    /// Asks for what the view shows. A server that does not answer is asked again next time.
    fn look(&mut self) {
        let found = self.find();
        let snapshot = &mut self.board.snapshot;
        match found {
            Ok(()) => snapshot.trouble = None,
            Err(error) => {
                snapshot.trouble = Some(format!("{}: trying again", with_causes(&error)));
                self.client = None;
            }
        }
    }

    fn find(&mut self) -> Result<(), Error> {
        if let Response::Status(status) = self.ask(Request::Status)? {
            self.board.snapshot.status = Some(*status);
        }
        match self.board.view.clone() {
            View::Jobs => self.board.snapshot.jobs = all_jobs(&[], |request| self.ask(request))?,
            View::Running => {
                self.board.snapshot.runs =
                    self.runs(&[RunState::Running, RunState::Queued, RunState::Scheduled])?;
            }
            View::History => self.board.snapshot.runs = self.runs(&[])?,
            View::Dead => self.board.snapshot.runs = self.runs(&[RunState::Dead])?,
            View::Log(run) => self.board.snapshot.lines = self.log(run)?,
            View::Help => {}
        }
        Ok(())
    }

    fn ask(&mut self, request: Request) -> Result<Response, Error> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => Client::connect_within(&self.address, ANSWER_WAIT)?,
        };
        let answer = client.ask(request);
        // What the server refuses is an answer; after anything else the connection is of no use.
        if matches!(answer, Ok(_) | Err(Error::Refused(_))) {
            self.client = Some(client);
        }
        answer
    }

    fn runs(&mut self, states: &[RunState]) -> Result<Vec<RunWire>, Error> {
        let states = states.iter().map(|state| state.name().to_owned()).collect();
        let request = Request::History(HistoryWire {
            states,
            limit: MAX_RUNS,
            cause: Some(ALL_CAUSES.to_owned()),
            ..HistoryWire::default()
        });
        match self.ask(request)? {
            Response::Runs { runs, cursor } => {
                self.board.snapshot.is_cut = cursor.is_some();
                Ok(runs)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn log(&mut self, run: String) -> Result<Vec<LineWire>, Error> {
        let mut found = std::collections::VecDeque::new();
        self.board.snapshot.is_cut = false;
        let mut answer = self.ask(Request::Logs { of: run, follow: false })?;
        while let (Response::Line(line), Some(client)) = (answer, &mut self.client) {
            found.push_back(line);
            if MAX_LINES < found.len() {
                found.pop_front();
                self.board.snapshot.is_cut = true;
            }
            answer = client.next_answer()?;
        }
        Ok(found.into())
    }

    fn change(&mut self, request: Request) {
        self.board.notice = match self.ask(request) {
            Ok(Response::Planned { run }) => format!("{run} is planned"),
            Ok(_) => "done".to_owned(),
            Err(error) => with_causes(&error),
        };
    }
}
