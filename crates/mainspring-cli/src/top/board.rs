//! The screen of `top` and its key bindings: pure, so that all of it is tested without a terminal.
//!
//! ```text
//! mainspring 0.1.0 on /var/lib/mainspring: running, 12 jobs, 2 running, 1 in trouble        11:04:07
//! 1 jobs  2 running  3 history  4 dead                              trouble first  /back
//! NAME     STATE   NEXT       LAST            ACTION
//! backup   active  in 2h 10m  failed 3h ago   backup --all
//! r run  p pause  l log  / filter  s sort  ? help  q quit
//! ```
//!
//! Cost: a table of the rows that there is room for.
//!
//! Does not ask a server: it says what it wishes.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_file::plain;
use mainspring_server::message::counted;
use mainspring_server::protocol::{JobWire, PauseWire, Request, RunWire};

use super::key::Key;
use super::rows::{HELP, cut, job_columns, job_row, log_lines, run_columns, run_row};
use super::snapshot::{Order, Snapshot};
use crate::table::table;
use crate::terminal::{Screen, Tone, columns};

/// Lines that are no rows: two above the table, its header, one below.
const OTHER_LINES: usize = 4;

/// The widest line that is filled: that of the widest terminals.
const MAX_COLUMNS: usize = 1_000;

/// The size of a terminal that does not say it: columns and lines.
pub const USUAL_SIZE: (usize, usize) = (80, 24);

/// What is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All jobs.
    #[default]
    Jobs,
    /// Runs that go on or wait.
    Running,
    /// The latest runs.
    History,
    /// Runs that failed for good.
    Dead,
    /// What a run wrote.
    Log(String),
    /// The keys.
    Help,
}

const TABS: [(char, &str, View); 4] = [
    ('1', "jobs", View::Jobs),
    ('2', "running", View::Running),
    ('3', "history", View::History),
    ('4', "dead", View::Dead),
];

const _: () = {
    assert!(HELP.len() + OTHER_LINES <= USUAL_SIZE.1, "the help is seen whole on the usual terminal");
    let mut index = 0;
    while index < HELP.len() {
        assert!(HELP[index].len() <= USUAL_SIZE.0);
        index += 1;
    }
    let mut index = 0;
    while index < TABS.len() {
        assert!(TABS[index].0 as usize == '1' as usize + index, "the keys of the views count from 1");
        index += 1;
    }
};

/// What the command is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// Nothing but to show.
    Show,
    /// To ask again what the view shows.
    Look,
    /// To ask for a change.
    Change(Request),
    /// To draw all.
    Redraw,
    /// To stop until somebody lets it go on.
    Suspend,
    /// To end.
    End,
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct Board {
    /// What is looked at.
    pub view: View,
    /// What the server said.
    pub snapshot: Snapshot,
    /// Whether it is not asked again.
    pub is_held: bool,
    /// What came of the last change.
    pub notice: String,
    before: View,
    order: Order,
    filter: String,
    is_typing: bool,
    confirmation: Option<(String, Request)>,
    selected: usize,
    /// The name of the job or run in the selected row, which it follows.
    marked: Option<String>,
    first: usize,
    zone: TimeZone,
}

impl Board {
    /// One that shows jobs of which nothing is known yet, with times in a zone.
    pub fn new(zone: TimeZone) -> Board {
        Board {
            view: View::Jobs,
            snapshot: Snapshot::default(),
            is_held: false,
            notice: String::new(),
            before: View::Jobs,
            order: Order::default(),
            filter: String::new(),
            is_typing: false,
            confirmation: None,
            selected: 0,
            marked: None,
            first: 0,
            zone,
        }
    }

    /// Does what a key says.
    pub fn press(&mut self, key: Key) -> Wish {
        match key {
            Key::Interrupt => return Wish::End,
            Key::Suspend => return Wish::Suspend,
            Key::Redraw => return Wish::Redraw,
            _ => {}
        }
        if let Some((_, request)) = self.confirmation.take() {
            let is_wanted = matches!(key, Key::Char('y' | 'Y') | Key::Enter);
            return if is_wanted { Wish::Change(request) } else { Wish::Show };
        }
        if self.is_typing {
            self.type_filter(key);
            return Wish::Show;
        }
        self.notice.clear();
        if self.is_moved(key) {
            return Wish::Show;
        }
        match key {
            Key::Char('q') | Key::Escape => return self.go_back(key),
            Key::Char('?' | 'h') => return self.look_at(View::Help),
            Key::Char('s') => self.order = self.order.following(),
            Key::Char('/') => self.is_typing = true,
            Key::Char(' ') => self.is_held = !self.is_held,
            Key::Tab => {
                let index = TABS.iter().position(|tab| tab.2 == self.view).map_or(0, |index| index + 1);
                return self.look_at(TABS[index % TABS.len()].2.clone());
            }
            Key::Enter | Key::Char('l') => match self.selected_run() {
                Some(run) => return self.look_at(View::Log(run)),
                None => self.say("it has no run yet"),
            },
            Key::Char(c) => match TABS.iter().find(|tab| tab.0 == c) {
                Some(tab) => return self.look_at(tab.2.clone()),
                None => self.act(c),
            },
            _ => {}
        }
        Wish::Show
    }

    fn say(&mut self, text: &str) {
        text.clone_into(&mut self.notice);
    }

    fn look_at(&mut self, view: View) -> Wish {
        if TABS.iter().any(|tab| tab.2 == self.view) {
            self.before = std::mem::take(&mut self.view);
        }
        self.view = view;
        self.select_first();
        self.snapshot.runs.clear();
        self.snapshot.lines.clear();
        Wish::Look
    }

    fn go_back(&mut self, key: Key) -> Wish {
        if matches!(self.view, View::Log(_) | View::Help) {
            let before = self.before.clone();
            return self.look_at(before);
        }
        if !self.filter.is_empty() {
            self.filter.clear();
            return Wish::Show;
        }
        if key == Key::Escape { Wish::Show } else { Wish::End }
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => (self.is_typing, self.filter) = (false, String::new()),
            Key::Backspace => drop(self.filter.pop()),
            Key::Char(c) => self.filter.push(c),
            _ => {}
        }
        self.select_first();
    }

    fn select_first(&mut self) {
        (self.selected, self.marked, self.first) = (0, None, 0);
    }

    fn is_moved(&mut self, key: Key) -> bool {
        let last = self.row_count().saturating_sub(1);
        let page = 20;
        self.selected = match key {
            Key::Up | Key::Char('k') => self.selected.saturating_sub(1),
            Key::Down | Key::Char('j') => self.selected + 1,
            Key::PageUp => self.selected.saturating_sub(page),
            Key::PageDown => self.selected + page,
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => last,
            _ => return false,
        }
        .min(last);
        self.marked = self.selected_row();
        true
    }

    /// The name of what is in the selected row.
    fn selected_row(&self) -> Option<String> {
        if self.view == View::Jobs { self.selected_job() } else { self.selected_run() }
    }

    /// Selects the row in which the marked job or run is now, or marks what is in its place.
    fn follow_mark(&mut self) {
        let is_marked = |name: &str| self.marked.as_deref() == Some(name);
        let found = match self.view {
            View::Jobs => self.jobs().iter().position(|job| is_marked(&job.name)),
            _ => self.runs().iter().position(|run| is_marked(&run.run.to_string())),
        };
        self.selected = found.unwrap_or(self.selected).min(self.row_count().saturating_sub(1));
        self.marked = self.selected_row();
    }

    /// Asks whether a change is wanted that a letter stands for.
    fn act(&mut self, letter: char) {
        let (job, run) = (self.selected_job(), self.selected_open());
        let proposal = match (letter, job, run) {
            ('r', Some(job), _) => {
                Some((format!("run {job} now"), Request::Run { job, wait: false, due: None, key: None }))
            }
            ('p', Some(job), _) if self.is_paused(&job) => Some((format!("let {job} go on"), resume(&job))),
            ('p', Some(job), _) => Some((format!("pause {job}"), pause(&job))),
            ('c', _, Some(run)) => Some((format!("cancel {run}"), Request::Cancel { of: run })),
            ('t', _, Some(run)) if self.view == View::Dead => {
                Some((format!("run {run} again"), Request::DeadRetry { run }))
            }
            _ => None,
        };
        match proposal {
            Some((text, request)) => self.confirmation = Some((plain::line(&text).into_owned(), request)),
            None if letter.is_alphanumeric() => self.say("no such key here: ? shows the keys"),
            None => {}
        }
    }

    fn is_paused(&self, name: &str) -> bool {
        let found = self.snapshot.jobs.iter().find(|job| job.name == name);
        found.is_some_and(|job| job.state_code.is_paused())
    }

    fn jobs(&self) -> Vec<&JobWire> {
        self.snapshot.jobs(&self.filter, self.order)
    }

    fn runs(&self) -> Vec<&RunWire> {
        self.snapshot.runs(&self.filter)
    }

    fn row_count(&self) -> usize {
        match self.view {
            View::Jobs => self.jobs().len(),
            View::Running | View::History | View::Dead => self.runs().len(),
            View::Log(_) => self.snapshot.lines.len(),
            View::Help => HELP.len(),
        }
    }

    fn selected_job(&self) -> Option<String> {
        match &self.view {
            View::Jobs => self.jobs().get(self.selected).map(|job| job.name.clone()),
            View::Running | View::History | View::Dead => {
                self.runs().get(self.selected).map(|run| run.job.to_string())
            }
            View::Log(run) => run.rsplit_once('@').map(|(job, _)| job.to_owned()),
            View::Help => None,
        }
    }

    /// The run whose output is looked at: of a job the last one.
    fn selected_run(&self) -> Option<String> {
        match self.view {
            View::Jobs => self.jobs().get(self.selected)?.last.as_ref().map(|run| run.run.to_string()),
            _ => self.runs().get(self.selected).map(|run| run.run.to_string()),
        }
    }

    fn selected_open(&self) -> Option<String> {
        match &self.view {
            View::Log(run) => Some(run.clone()),
            View::Running | View::Dead => self.selected_run(),
            View::Jobs => {
                self.jobs().get(self.selected).filter(|job| 0 < job.running).map(|job| job.name.clone())
            }
            View::History | View::Help => None,
        }
    }

    /// All lines, as many as the terminal has.
    pub fn lines(&mut self, now: Timestamp, screen: Screen, height: usize) -> Vec<String> {
        let room = height.saturating_sub(OTHER_LINES);
        self.follow_mark();
        // Where there is room for no row the selected one is the first all the same.
        self.first = self.first.min(self.selected).max((self.selected + 1).saturating_sub(room.max(1)));
        let mut lines = vec![self.head(now, screen), self.tabs(screen)];
        lines.extend(self.rows(now, screen, room));
        lines.resize(height.saturating_sub(1).max(1), String::new());
        lines.push(self.foot(screen));
        lines.truncate(height);
        debug_assert_eq!(lines.len(), height);
        lines
    }

    fn head(&self, now: Timestamp, screen: Screen) -> String {
        let clock = now.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string();
        let held = if self.is_held { "held  " } else { "" };
        if screen.width <= held.len() + clock.len() {
            return cut(&clock, screen.width);
        }
        let text = match (&self.snapshot.trouble, &self.snapshot.status) {
            (Some(trouble), _) => trouble.clone(),
            (None, None) => "asking ..".to_owned(),
            (None, Some(status)) => {
                let troubled = match self.snapshot.troubled() {
                    0 => String::new(),
                    count => format!(", {count} in trouble"),
                };
                let paused = if status.paused { ", everything paused" } else { "" };
                let troubles =
                    status.troubles.iter().map(|trouble| format!(", {trouble}")).collect::<String>();
                format!(
                    "mainspring {} {}: {}, {} running, {} dead{troubled}{paused}{troubles}",
                    status.version,
                    status.state,
                    counted(status.jobs, "job"),
                    status.running,
                    status.dead
                )
            }
        };
        let room = screen.width.saturating_sub(clock.len() + held.len() + 1);
        let text = cut(&plain::line(&text), room);
        let blanks = " ".repeat(room.saturating_sub(columns(&text)) + 1);
        let tone = match &self.snapshot.trouble {
            Some(_) => Tone::Bad,
            None if 0 < self.snapshot.troubled() => Tone::Doubtful,
            None => Tone::Heading,
        };
        format!("{}{blanks}{held}{clock}", screen.paint(&text, Some(tone)))
    }

    fn tabs(&self, screen: Screen) -> String {
        let tab = |(letter, name, view): &(char, &str, View)| {
            let text = format!("{letter} {name}");
            if *view == self.view { screen.paint(&text, Some(Tone::Heading)) } else { text }
        };
        let mut text = String::new();
        match &self.view {
            View::Log(run) => text.push_str(&format!("   log of {}", plain::line(run))),
            View::Jobs => text.push_str(&format!("   {}", self.order.name())),
            _ => {}
        }
        match &self.view {
            View::Log(_) if self.snapshot.is_cut => {
                text.push_str(&format!(", its last {} lines", self.snapshot.lines.len()));
            }
            View::Running | View::History | View::Dead if self.snapshot.is_cut => {
                text.push_str(&format!("   the latest {}", self.snapshot.runs.len()));
            }
            _ => {}
        }
        if self.is_typing || !self.filter.is_empty() {
            text.push_str(&format!("   /{}", plain::line(&self.filter)));
        }
        if self.is_typing {
            text.push('_');
        }
        let plain = TABS.map(|(letter, name, _)| format!("{letter} {name}")).join("  ") + &text;
        if screen.width < columns(&plain) {
            return cut(&plain, screen.width);
        }
        TABS.iter().map(tab).collect::<Vec<_>>().join("  ") + &text
    }

    /// The header of the table, and the rows that there is room for.
    fn rows(&self, now: Timestamp, screen: Screen, room: usize) -> Vec<String> {
        assert!(self.first <= self.selected, "the selected row is seen");
        let shown = self.first..self.row_count().min(self.first + room);
        let (header, rows) = match &self.view {
            View::Help => return HELP.iter().map(|line| cut(line, screen.width)).collect(),
            View::Log(_) => {
                let lines = log_lines(&self.snapshot.lines[shown]);
                return lines.iter().map(|line| cut(line, screen.width)).collect();
            }
            View::Jobs => {
                (job_columns(), self.jobs()[shown].iter().map(|job| job_row(job, now)).collect::<Vec<_>>())
            }
            _ => (run_columns(), self.runs()[shown].iter().map(|run| run_row(run, now)).collect()),
        };
        if rows.is_empty() {
            return vec![String::new(), cut(self.nothing(), screen.width)];
        }
        let plain = table(&header, &rows, Screen { has_colours: false, ..screen });
        let coloured = table(&header, &rows, screen);
        debug_assert_eq!(coloured.lines().count(), plain.lines().count(), "both have the same rows");
        let selected = self.selected - self.first + 1;
        let line = |(index, (coloured, plain)): (usize, (&str, &str))| match index == selected {
            true => {
                let blanks = screen.width.saturating_sub(columns(plain)).min(MAX_COLUMNS);
                format!("\u{1b}[7m{plain}{}\u{1b}[0m", " ".repeat(blanks))
            }
            false => coloured.to_owned(),
        };
        coloured.lines().zip(plain.lines()).enumerate().map(line).collect()
    }

    fn nothing(&self) -> &'static str {
        match self.view {
            _ if self.snapshot.status.is_none() => "",
            _ if !self.filter.is_empty() => {
                "Nothing has these letters in its name: Esc takes the filter away."
            }
            View::Jobs => "There are no jobs: mainspring serve FILE, or mainspring every.",
            View::Running => "Nothing runs, and nothing waits.",
            View::Dead => "There are no dead letters.",
            _ => "There are no runs yet.",
        }
    }

    fn foot(&self, screen: Screen) -> String {
        if let Some((text, _)) = &self.confirmation {
            return screen.paint(&cut(&format!("{text}? y/n"), screen.width), Some(Tone::Doubtful));
        }
        if !self.notice.is_empty() {
            return cut(&plain::line(&self.notice), screen.width);
        }
        let keys = match self.view {
            View::Jobs => "r run  p pause  l log  / filter  s sort  Space hold  ? help  q quit",
            View::Running => "c cancel  l log  r run again  / filter  ? help  q quit",
            View::History => "l log  r run again  / filter  ? help  q quit",
            View::Dead => "t retry  l log  / filter  ? help  q quit",
            View::Log(_) => "G end  g begin  c cancel  r run again  q back",
            View::Help => "q back",
        };
        cut(keys, screen.width)
    }
}

fn pause(job: &str) -> Request {
    Request::Pause(PauseWire { job: Some(job.to_owned()), ..PauseWire::default() })
}

fn resume(job: &str) -> Request {
    Request::Resume { job: Some(job.to_owned()) }
}

#[cfg(test)]
mod tests;
