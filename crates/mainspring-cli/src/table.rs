//! Tables for people, as wide as the terminal and no wider.
//!
//! ```text
//! NAME    STATE    NEXT       LAST
//! backup  active   in 2h 10m  succeeded 3h ago
//! report  paused   -          failed: exit 3…           the widest cells are cut first
//! ```
//!
//! Cost: one pass to measure, one to write.
//!
//! Does not know the width of wide (East Asian) characters.
//!
//! Source: own.

use std::io::{self, IsTerminal};

use mainspring_file::plain::is_plain;

/// The width where nobody says: what a mail or a file still shows well.
pub const USUAL_WIDTH: usize = 120;

/// The narrowest that a column is cut to: a word.
const MIN_CELL_CHARS: usize = 8;

const GAP: &str = "  ";

/// The width of standard output: the terminal's by COLUMNS or by asking it, or without end if it is none.
pub fn width() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| 0 < *width);
    match set {
        Some(width) => width,
        None if io::stdout().is_terminal() => {
            terminal_size::terminal_size().map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0))
        }
        None => usize::MAX,
    }
}

/// Rows under a header, in columns of at most `width` characters together.
///
/// # Example
///
/// ```
/// use mainspring_cli::table::table;
///
/// let rows = [vec!["backup".to_owned(), "in 2h".to_owned()], vec!["x".to_owned(), "-".to_owned()]];
/// assert_eq!(table(&["NAME", "NEXT"], &rows, 80), "NAME    NEXT\nbackup  in 2h\nx       -\n");
/// ```
pub fn table(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let header: Vec<String> = header.iter().map(|&title| title.to_owned()).collect();
    let mut widths: Vec<usize> = header.iter().map(|title| title.chars().count()).collect();
    for row in rows {
        for (cell, widest) in row.iter().zip(&mut widths) {
            *widest = cell.chars().count().max(*widest);
        }
    }
    fit(&mut widths, width);
    let mut text = String::new();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths) {
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let cell = clean(cell, width);
            line.push_str(&format!("{cell:<width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Narrows the widest columns until all fit, or none can be narrowed any more.
fn fit(widths: &mut [usize], width: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while width < widths.iter().sum::<usize>() + gaps {
        let Some(widest) = widths.iter_mut().max().filter(|widest| MIN_CELL_CHARS < **widest) else { return };
        *widest -= 1;
    }
}

/// A cell on one line, cut to its column.
fn clean(cell: &str, width: usize) -> String {
    let shown = |c: char| if c != '\t' && is_plain(c) { c } else { ' ' };
    if cell.chars().count() <= width {
        return cell.chars().map(shown).collect();
    }
    cell.chars().take(width.saturating_sub(1)).map(shown).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_cells_are_cut_first() {
        let rows = [vec!["a".to_owned(), "x".repeat(40), "short".to_owned()]];
        let text = table(&["A", "B", "C"], &rows, 30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains("xxx…  short"), "{text}");
    }

    #[test]
    fn control_characters_stay_out_of_the_terminal() {
        let rows = [vec!["a\u{1b}[2J\nb\u{202e}".to_owned()]];
        assert_eq!(table(&["A"], &rows, 80), "A\na [2J b\n");
    }
}
