//! Tables for people, as wide as the terminal and no wider, if that can be.
//!
//! ```text
//! NAME    STATE    NEXT       LAST
//! backup  active   in 2h 10m  succeeded 3h ago
//! report  paused   -          failed: exit 3…           of the columns that may be cut the widest are cut first
//! ```
//!
//! What people copy, such as the name of a run, is never cut: where there is no room for it, the columns that
//! one can do without go, and beyond that lines are longer than the terminal.
//!
//! Cost: one pass to measure, one to write.
//!
//! Does not know what a cell means, but for the states that have a colour.

use mainspring_file::plain;

use crate::terminal::{Screen, Tone, columns};

/// The narrowest that a column is cut to: a word.
const MIN_CELL_COLUMNS: usize = 8;

const _: () = assert!(1 < MIN_CELL_COLUMNS, "what is cut has room for a letter and the mark");

const GAP: &str = "  ";

/// What becomes of a column where there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It stays as it is.
    Whole,
    /// It is cut.
    Cut,
    /// It goes, the last of these first.
    Spare,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// What becomes of it where there is little room.
    pub fit: Fit,
    /// Whether its cells begin with a state, which has a colour.
    pub is_state: bool,
    /// Whether it goes where all its cells are empty.
    pub is_optional: bool,
}

impl Column {
    /// A column that is never cut.
    pub const fn whole(title: &'static str) -> Column {
        Column::new(title, Fit::Whole)
    }

    /// A column that may be cut.
    pub const fn cut(title: &'static str) -> Column {
        Column::new(title, Fit::Cut)
    }

    /// A column that one can do without.
    pub const fn spare(title: &'static str) -> Column {
        Column::new(title, Fit::Spare)
    }

    const fn new(title: &'static str, fit: Fit) -> Column {
        Column { title, fit, is_state: false, is_optional: false }
    }

    /// The same with cells that begin with a state.
    pub const fn of_states(self) -> Column {
        Column { is_state: true, ..self }
    }

    /// The same, but that it goes where all its cells are empty.
    pub const fn optional(self) -> Column {
        Column { is_optional: true, ..self }
    }
}

/// Rows under a header.
///
/// # Example
///
/// ```
/// use mainspring_cli::table::{Column, table};
/// use mainspring_cli::terminal::Screen;
///
/// let rows = [vec!["backup".to_owned(), "in 2h".to_owned()], vec!["x".to_owned(), "-".to_owned()]];
/// let columns = [Column::whole("NAME"), Column::cut("NEXT")];
/// assert_eq!(table(&columns, &rows, Screen::PLAIN), "NAME    NEXT\nbackup  in 2h\nx       -\n");
/// ```
pub fn table(header: &[Column], rows: &[Vec<String>], screen: Screen) -> String {
    debug_assert!(rows.iter().all(|row| row.len() == header.len()), "each row has a cell for each column");
    let shown = |row: &Vec<String>| row.iter().map(|cell| on_one_line(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let mut widths: Vec<usize> = header.iter().map(|column| columns(column.title)).collect();
    for row in &rows {
        for (cell, widest) in row.iter().zip(&mut widths) {
            *widest = columns(cell).max(*widest);
        }
    }
    let is_empty = |index: usize| rows.iter().all(|row| row[index].is_empty());
    let is_shown = header.iter().enumerate().map(|(index, column)| !(column.is_optional && is_empty(index)));
    let is_shown = fit(header, is_shown.collect(), &mut widths, screen.width);
    let titles = header.iter().map(|column| (column.title, Some(Tone::Heading))).collect();
    let mut text = line(titles, &widths, &is_shown, screen);
    for row in &rows {
        let tone = |column: &Column, cell: &str| column.is_state.then(|| Tone::of_state(cell)).flatten();
        let cells =
            header.iter().zip(row).map(|(column, cell)| (cell.as_str(), tone(column, cell))).collect();
        text.push_str(&line(cells, &widths, &is_shown, screen));
    }
    text
}

/// Cells in their columns, without blanks at the end.
fn line(cells: Vec<(&str, Option<Tone>)>, widths: &[usize], is_shown: &[bool], screen: Screen) -> String {
    let mut line = String::new();
    let mut blanks = 0;
    for (((cell, tone), &width), _) in
        cells.into_iter().zip(widths).zip(is_shown).filter(|(_, shown)| **shown)
    {
        let cell = cut(cell, width);
        let filled = columns(cell.trim_end());
        if 0 < filled {
            line.push_str(&" ".repeat(blanks));
            line.push_str(&screen.paint(cell.trim_end(), tone));
            blanks = 0;
        }
        blanks += width.saturating_sub(filled) + GAP.len();
    }
    debug_assert!(!line.contains('\n'), "a row is one line, by which `top` finds it");
    line + "\n"
}

/// Narrows columns until all fit, or nothing more can be done. Returns which are shown still.
fn fit(header: &[Column], mut is_shown: Vec<bool>, widths: &mut [usize], width: usize) -> Vec<bool> {
    assert_eq!(header.len(), widths.len());
    assert_eq!(header.len(), is_shown.len());
    let total = |widths: &[usize], is_shown: &[bool]| {
        let shown = || widths.iter().zip(is_shown).filter(|(_, shown)| **shown);
        shown().map(|(width, _)| *width).sum::<usize>() + GAP.len() * shown().count().saturating_sub(1)
    };
    while width < total(widths, &is_shown) {
        let cut = header.iter().zip(&mut *widths).zip(&is_shown);
        let cut = cut.filter(|((column, _), shown)| column.fit == Fit::Cut && **shown);
        let widest = cut.map(|((_, width), _)| width).max().filter(|widest| MIN_CELL_COLUMNS < **widest);
        if let Some(widest) = widest {
            *widest -= 1;
            continue;
        }
        let is_spare = |index: &usize| header[*index].fit == Fit::Spare && is_shown[*index];
        let Some(last) = (0..header.len()).rev().find(is_spare) else { break };
        is_shown[last] = false;
    }
    is_shown
}

/// A cell in plain characters without tabs and line ends.
fn on_one_line(cell: &str) -> String {
    plain::line(&cell.replace(['\t', '\n', '\r'], " ")).into_owned()
}

/// A cell cut to its column.
fn cut(cell: &str, width: usize) -> String {
    if columns(cell) <= width {
        return cell.to_owned();
    }
    debug_assert!(MIN_CELL_COLUMNS <= width, "`fit` cuts no column further");
    let mut text = String::new();
    for c in cell.chars() {
        text.push(c);
        if width <= columns(&text) {
            text.pop();
            break;
        }
    }
    debug_assert!(columns(&text) < width, "the mark has room");
    text + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] =
        [Column::whole("RUN"), Column::spare("TOOK"), Column::cut("WHY").of_states(), Column::cut("B")];

    fn row(cells: [&str; 4]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    fn plain(width: usize) -> Screen {
        Screen { width, has_colours: false }
    }

    #[test]
    fn the_widest_cells_that_may_be_cut_are_cut_first() {
        let long = "x".repeat(40);
        let rows = [row(["tick@2026-11-21T21:16:39Z", "3ms", &long, "short"])];
        let text = table(&COLUMNS, &rows, plain(50));
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        assert!(text.contains("tick@2026-11-21T21:16:39Z  3ms   xxx") && text.contains("…  short"), "{text}");
        // Where that is not enough others go, but never what is copied.
        let text = table(&COLUMNS, &rows, plain(20));
        assert!(text.contains("tick@2026-11-21T21:16:39Z  xxxxxxx…  short"), "{text}");
    }

    #[test]
    fn wide_characters_keep_the_columns_in_line() {
        let rows = [row(["日本", "-", "一二三四五六七八九", "a"]), row(["ab", "-", "b", "c"])];
        let text = table(&COLUMNS, &rows, plain(29));
        assert!(text.lines().all(|line| columns(line) <= 29), "{text}");
        assert!(text.contains("日本  -     一二三四五六…   a\n"), "{text}");
    }

    #[test]
    fn an_optional_column_is_there_for_what_stands_in_it() {
        let header = COLUMNS.map(|column| if column.title == "RUN" { column } else { column.optional() });
        let rows = [row(["a", "", "", "b"]), row(["c", "", "d", ""])];
        assert_eq!(table(&header, &rows, plain(80)), "RUN  WHY  B\na         b\nc    d\n");
        assert_eq!(table(&header, &rows[..1], plain(80)), "RUN  B\na    b\n");
        assert!(table(&COLUMNS, &rows, plain(80)).starts_with("RUN  TOOK  WHY  B\n"));
    }

    #[test]
    fn colours_take_no_room_and_only_states_have_them() {
        let rows = [row(["failed", "-", "failed", "b"])];
        let text = table(&COLUMNS, &rows, Screen { width: 80, has_colours: true });
        assert!(text.contains("failed  -     \u{1b}[31mfailed\u{1b}[0m  b\n"), "{text}");
        assert!(text.starts_with("\u{1b}[1mRUN\u{1b}[0m     \u{1b}[1mTOOK"), "{text}");
    }

    #[test]
    fn control_characters_are_shown_as_elsewhere_and_line_ends_are_blanks() {
        let rows = [row(["a\u{1b}[2J\nb\u{202e}", "", "", ""])];
        assert!(table(&COLUMNS, &rows, plain(80)).ends_with("\na\\u{1b}[2J b\\u{202e}\n"));
    }
}
