//! Tests that keys change the board, and that it fits.

use super::*;
use mainspring_server::protocol::{JobState, StatusWire};

const NOW: &str = "2026-11-22T12:00:00Z";

fn board() -> Board {
    let job = |name: &str, state_code: JobState| JobWire {
        name: name.into(),
        state: state_code.to_string(),
        state_code,
        ..JobWire::default()
    };
    let jobs = vec![
        job("backup", JobState::Active),
        job("mail", JobState::Paused),
        job("\u{1b}[31mred", JobState::Active),
    ];
    let status = Some(StatusWire { state: "running".into(), jobs: 3, ..StatusWire::default() });
    Board { snapshot: Snapshot { status, jobs, ..Snapshot::default() }, ..Board::new(TimeZone::UTC) }
}

/// A dead letter that was due at this second.
fn run(second: u32) -> RunWire {
    let nominal = format!("2026-11-22T11:00:{second:02}Z");
    serde_json::from_value(serde_json::json!({
        "run": format!("dying@{nominal}"), "job": "dying", "nominal": nominal, "cause": "trigger",
        "state": "dead", "attempt": 2, "due": nominal, "started": null, "ended": null,
        "outcome": "exit 3", "reason": "none of its 2 attempts succeeded", "count": 1, "last": null,
    }))
    .unwrap()
}

fn shown(board: &mut Board, width: usize, height: usize) -> Vec<String> {
    board.lines(NOW.parse().unwrap(), Screen { width, has_colours: false }, height)
}

#[test]
fn every_size_is_filled_and_nothing_is_obeyed_by_the_terminal() {
    for (width, height) in [(0, 0), (1, 1), (20, 3), (80, 24), (200, 5)] {
        for view in [View::Jobs, View::Running, View::Dead, View::Help, View::Log("a@b".into())] {
            let mut board = Board { view, ..board() };
            let lines = shown(&mut board, width, height);
            assert_eq!(lines.len(), height, "{width}x{height}");
            assert!(lines.iter().all(|line| !line.contains("\u{1b}[31m")), "{lines:?}");
            let is_within = |line: &String| line.contains('\u{1b}') || columns(line) <= width.max(8);
            assert!(lines.iter().all(is_within), "{width}x{height}: {lines:?}");
        }
    }
    let lines = shown(&mut board(), 80, 24);
    assert!(
        lines[0].starts_with("mainspring  running: 3 jobs") && lines[0].ends_with("12:00:00"),
        "{lines:#?}"
    );
    assert!(lines[3].starts_with("\u{1b}[7mbackup         active"), "{lines:#?}");
}

#[test]
fn wide_characters_leave_the_clock_its_place() {
    let mut board = board();
    board.snapshot.trouble = Some("\u{65e5}".repeat(80));
    let line = &shown(&mut board, 80, 24)[0];
    assert!(line.ends_with("12:00:00") && columns(line) == 80, "{line}");
}

#[test]
fn a_change_is_asked_for_first_and_named() {
    let mut board = board();
    assert_eq!(board.press(Key::Char('r')), Wish::Show);
    assert_eq!(shown(&mut board, 80, 24)[23], "run backup now? y/n");
    assert_eq!(board.press(Key::Char('n')), Wish::Show);
    board.press(Key::Char('r'));
    let run = Request::Run { job: "backup".into(), wait: false, due: None, key: None };
    assert_eq!(board.press(Key::Char('y')), Wish::Change(run));
    board.press(Key::Down);
    board.press(Key::Char('p'));
    assert_eq!(board.press(Key::Enter), Wish::Change(resume("mail")));
    board.press(Key::Char('x'));
    assert_eq!(shown(&mut board, 80, 24)[23], "no such key here: ? shows the keys");
}

#[test]
fn letters_narrow_the_rows_and_escape_widens_them() {
    let mut board = board();
    for key in [Key::Char('/'), Key::Char('m'), Key::Char('a'), Key::Enter] {
        board.press(key);
    }
    assert_eq!(board.selected_job().as_deref(), Some("mail"));
    assert!(shown(&mut board, 80, 24)[1].ends_with("/ma"));
    board.press(Key::Escape);
    assert_eq!(board.row_count(), 3);
    assert_eq!(board.press(Key::End), Wish::Show);
    assert_eq!(board.selected, 2);
    assert_eq!(board.press(Key::Char('q')), Wish::End);
}

#[test]
fn a_view_leads_back_to_the_one_before() {
    let mut board = board();
    assert_eq!(board.press(Key::Char('3')), Wish::Look);
    board.press(Key::Char('?'));
    assert_eq!(board.view, View::Help);
    board.press(Key::Escape);
    assert_eq!(board.view, View::History);
    board.press(Key::Tab);
    assert_eq!(board.view, View::Dead);
}

#[test]
fn a_job_that_is_paused_with_everything_is_paused_by_itself_too() {
    let mut board = board();
    board.snapshot.jobs[0].state = "paused with everything".into();
    board.press(Key::Char('p'));
    assert_eq!(board.press(Key::Char('y')), Wish::Change(pause("backup")));
}

#[test]
fn the_selected_row_follows_its_job_or_run() {
    let mut board = board();
    shown(&mut board, 80, 24);
    board.snapshot.jobs.reverse();
    shown(&mut board, 80, 24);
    assert_eq!(board.selected_job().as_deref(), Some("backup"));
    board.press(Key::Char('4'));
    board.snapshot.runs = vec![run(7), run(0)];
    shown(&mut board, 80, 24);
    board.press(Key::Down);
    board.snapshot.runs = vec![run(21), run(14), run(7), run(0)];
    shown(&mut board, 80, 24);
    assert_eq!((board.selected, board.selected_run()), (3, Some(run(0).run.to_string())));
    board.snapshot.runs.pop();
    shown(&mut board, 80, 24);
    assert_eq!(board.selected_run(), Some(run(7).run.to_string()), "what is gone gives its place up");
}

#[test]
fn the_last_outcome_of_a_dead_letter_is_shown_with_its_reason() {
    let run = run(0);
    assert_eq!(run_row(&run, NOW.parse().unwrap())[4], "exit 3, none of its 2 attempts succeeded");
}
