//! A comparison: a horizontal bar per subject, best first, with the range of its rounds as a whisker.
//!
//! ```text
//!   floor          |##|- 31
//!   wheel::Chunked |####--| 61
//!   tokio-sleep    |####################-| 505
//! ```
//!
//! Cost: none. It does not hide a large one: where values differ much the axis is logarithmic, and says so.

use super::axis::Axis;
use super::canvas::{self, Anchor, LARGE, SMALL};
use super::palette::{GRID, INK, KINDS, of_kind};
use crate::statistics::Summary;
use crate::table::three_digits;

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The name of the subject.
    pub subject: String,
    /// Its length, and its whisker.
    pub summary: Summary,
}

const WIDTH: u32 = 860;
/// Where bars begin: the longest name ends before.
const LEFT: i32 = 230;
/// Where bars end: the longest value fits behind.
const RIGHT: i32 = 770;
const TOP: i32 = 66;
const ROW: i32 = 24;

/// Between groups.
const GAP: i32 = 10;

const _: () = assert!(LEFT < RIGHT);
const _: () = assert!(RIGHT < WIDTH as i32, "the value has room behind the longest bar");
const _: () = assert!(16 < ROW, "a bar does not touch the next");

/// Draws, best first.
pub fn draw(heading: &str, axis_title: &str, mut bars: Vec<Bar>) -> String {
    bars.sort_by(|left, right| left.summary.median.total_cmp(&right.summary.median));
    if axis_title.contains("more is better") {
        bars.reverse();
    }
    draw_groups(heading, axis_title, &[bars])
}

/// Draws groups below each other, in the order given.
pub fn draw_groups(heading: &str, axis_title: &str, groups: &[Vec<Bar>]) -> String {
    let bars: Vec<(i32, &Bar)> = placed(groups);
    let range = |(_, bar): &(i32, &Bar)| [bar.summary.median, bar.summary.min, bar.summary.max];
    let values: Vec<f64> = bars.iter().flat_map(range).collect();
    let axis = Axis::for_bars(&values, LEFT, RIGHT);
    let bottom = bars.last().map_or(TOP, |(y, _)| y + ROW / 2);
    canvas::draw(WIDTH, bottom as u32 + 56, |canvas| {
        canvas.text((16, 20), heading, LARGE, Anchor::Start);
        let mut x = LEFT;
        for (_, name, colour) in KINDS {
            if !bars.iter().any(|(_, bar)| of_kind(&bar.subject) == colour) {
                continue;
            }
            canvas.rectangle((x, 40), (x + 12, 52), colour);
            canvas.text((x + 17, 46), name, SMALL, Anchor::Start);
            x += 30 + 8 * name.len() as i32;
        }
        for tick in axis.ticks() {
            canvas.line(&[(tick.pixel, TOP), (tick.pixel, bottom)], GRID, 1);
            canvas.text((tick.pixel, bottom + 14), &tick.label, SMALL, Anchor::Middle);
        }
        let scale = if axis.is_log() { ", logarithmic" } else { "" };
        canvas.text(
            ((LEFT + RIGHT) / 2, bottom + 38),
            &format!("{axis_title}{scale}"),
            SMALL,
            Anchor::Middle,
        );
        for (y, bar) in bars {
            let Summary { median, min, max, count } = bar.summary;
            canvas.text((LEFT - 8, y), &bar.subject, SMALL, Anchor::End);
            canvas.rectangle((LEFT, y - 8), (axis.pixel(median), y + 8), of_kind(&bar.subject));
            if count > 1 {
                whisker(canvas, axis.pixel(min), axis.pixel(max), y);
            }
            let end = axis.pixel(if count > 1 { max } else { median });
            canvas.text((end + 8, y), &three_digits(median), SMALL, Anchor::Start);
        }
        canvas.line(&[(LEFT, TOP), (LEFT, bottom)], INK, 1);
    })
}

/// Each bar with the height of its middle.
fn placed(groups: &[Vec<Bar>]) -> Vec<(i32, &Bar)> {
    let mut placed = Vec::new();
    let mut y = TOP + ROW / 2;
    for group in groups.iter().filter(|group| !group.is_empty()) {
        for bar in group {
            placed.push((y, bar));
            y += ROW;
        }
        y += GAP;
    }
    placed
}

fn whisker(canvas: &canvas::Canvas<'_>, from: i32, to: i32, y: i32) {
    canvas.line(&[(from, y), (to, y)], INK, 1);
    for x in [from, to] {
        canvas.line(&[(x, y - 4), (x, y + 4)], INK, 1);
    }
}
