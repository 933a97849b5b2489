//! Curves: cost against the number of timers, and lateness over quantiles, on logarithmic axes.
//!
//! A curve is named where it ends, in its own colour, and names move apart where curves end together. What is
//! not named is drawn in grey behind: more than a dozen names cannot be told apart.
//!
//! Cost: none. It does not smooth.

use super::axis::{Axis, Tick};
use super::canvas::{self, Anchor, Canvas, LARGE, SMALL};
use super::palette::{GRID, INK, is_default, of_curve};
use crate::subjects::queues::DEFAULT;
use crate::subjects::{engines, locked, tokio_runtime};
use crate::workload::lateness::QUANTILES;

/// A point of a curve, in the units of its axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// On the horizontal axis.
    pub x: f64,
    /// On the vertical axis.
    pub y: f64,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name of the subject.
    pub subject: String,
    /// Through which points, from left to right.
    pub points: Vec<Point>,
}

const WIDTH: u32 = 880;
const HEIGHT: u32 = 460;
const LEFT: i32 = 84;
/// Names of curves stand to the right of this.
const RIGHT: i32 = 610;
const TOP: i32 = 44;
const BOTTOM: i32 = 396;
/// What stands behind.
const CROWD: plotters::style::RGBColor = plotters::style::RGBColor(195, 195, 195);
/// Names nearer than this run into each other.
const NAME_HEIGHT: i32 = 17;

const _: () = assert!(LEFT < RIGHT);
const _: () = assert!(RIGHT + 26 < WIDTH as i32, "names have room");
const _: () = assert!(TOP < BOTTOM);
const _: () = assert!(BOTTOM + 40 < HEIGHT as i32, "the title of the axis has room");
const _: () = assert!(NAMED.len() as i32 * NAME_HEIGHT <= BOTTOM - TOP, "all names fit beside the curves");

/// Curves with a name and a colour, in this order; the others stand behind in grey.
const NAMED: [&str; 16] = [
    DEFAULT,
    "floor",
    "tokio-sleep",
    "DelayQueue",
    "slab-wheel",
    "nexus-timer",
    "hierarchical_hash_wheel_timer",
    "std-heap-lazy",
    "BTreeMap",
    engines::DEFAULT,
    engines::PRECISE,
    engines::THRIFTY,
    tokio_runtime::TWO_WORKERS,
    locked::STD_HEAP,
    "async-io",
    "futures-timer",
];

/// Cost against the number of timers.
pub fn against_size(heading: &str, axis_title: &str, curves: Vec<Curve>) -> String {
    let x_axis = Axis::log(&all(&curves, |point| point.x), LEFT, RIGHT);
    draw(heading, axis_title, "number of timers N, logarithmic", curves, (x_axis, x_axis.ticks()))
}

/// Lateness over quantiles, whose places are evenly spaced.
pub fn over_quantiles(heading: &str, axis_title: &str, curves: Vec<Curve>) -> String {
    let x_axis = Axis::linear(-0.3, QUANTILES.len() as f64 - 0.7, LEFT, RIGHT);
    let label = |(place, (quantile, _)): (usize, &(f64, &str))| {
        let label = match *quantile {
            0.0 => "least".to_owned(),
            1.0 => "largest".to_owned(),
            quantile => format!("{} %", (quantile * 1e6).round() / 1e4),
        };
        Tick { pixel: x_axis.pixel(place as f64), label }
    };
    let ticks = QUANTILES.iter().enumerate().map(label).collect();
    draw(heading, axis_title, "share of timers that are at most so late", curves, (x_axis, ticks))
}

fn all(curves: &[Curve], part: impl Fn(&Point) -> f64) -> Vec<f64> {
    curves.iter().flat_map(|curve| curve.points.iter().map(&part)).collect()
}

fn draw(
    heading: &str,
    y_title: &str,
    x_title: &str,
    mut curves: Vec<Curve>,
    (x_axis, x_ticks): (Axis, Vec<Tick>),
) -> String {
    curves.retain(|curve| !curve.points.is_empty());
    let goes_right = |curve: &Curve| curve.points.is_sorted_by(|left, right| left.x < right.x);
    debug_assert!(curves.iter().all(goes_right), "a curve goes from left to right");
    let y_axis = Axis::log(&all(&curves, |point| point.y), BOTTOM, TOP);
    canvas::draw(WIDTH, HEIGHT, |canvas| {
        canvas.text((16, 20), heading, LARGE, Anchor::Start);
        for tick in y_axis.ticks() {
            canvas.line(&[(LEFT, tick.pixel), (RIGHT, tick.pixel)], GRID, 1);
            canvas.text((LEFT - 8, tick.pixel), &tick.label, SMALL, Anchor::End);
        }
        for Tick { pixel: x, label } in x_ticks {
            canvas.line(&[(x, TOP), (x, BOTTOM)], GRID, 1);
            canvas.text((x, BOTTOM + 14), &label, SMALL, Anchor::Middle);
        }
        canvas.line(&[(LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM)], INK, 1);
        canvas.text(((LEFT + RIGHT) / 2, BOTTOM + 40), x_title, SMALL, Anchor::Middle);
        canvas.upward_text((20, (TOP + BOTTOM) / 2), &format!("{y_title}, logarithmic"));
        draw_curves(canvas, &curves, &|point: &Point| (x_axis.pixel(point.x), y_axis.pixel(point.y)));
    })
}

fn draw_curves(canvas: &Canvas<'_>, curves: &[Curve], pixel: &dyn Fn(&Point) -> (i32, i32)) {
    let is_named = |curve: &&Curve| NAMED.contains(&curve.subject.as_str());
    // Grey is for a crowd: some curves all have names.
    let has_room = curves.len() <= NAMED.len();
    for curve in curves.iter().filter(|curve| !has_room && !is_named(curve)) {
        let points: Vec<(i32, i32)> = curve.points.iter().map(pixel).collect();
        canvas.line(&points, CROWD, 1);
    }
    let mut named: Vec<&Curve> = curves.iter().filter(|curve| has_room || is_named(curve)).collect();
    named.sort_by_key(|curve| NAMED.iter().position(|name| *name == curve.subject).unwrap_or(NAMED.len()));
    let mut names = Vec::new();
    // The first on top.
    for (place, curve) in named.iter().enumerate().rev() {
        let (colour, mark) = of_curve(&curve.subject, place);
        let points: Vec<(i32, i32)> = curve.points.iter().map(pixel).collect();
        canvas.line(&points, colour, if is_default(&curve.subject) { 3 } else { 2 });
        for &point in &points {
            canvas.mark(point, mark, colour);
        }
        if let Some(&(x, y)) = points.last() {
            names.push(Name { text: &curve.subject, colour, end: (x, y), y });
        }
    }
    spread(&mut names);
    debug_assert!(names.windows(2).all(|pair| pair[0].y + NAME_HEIGHT <= pair[1].y), "each can be read");
    for name in &names {
        let x = RIGHT + 26;
        canvas.line(&[(name.end.0 + 7, name.end.1), (x - 4, name.y)], name.colour, 1);
        canvas.coloured_text((x, name.y), name.text, Anchor::Start, name.colour);
    }
}

/// A name beside a curve's end.
struct Name<'a> {
    text: &'a str,
    colour: plotters::style::RGBColor,
    end: (i32, i32),
    y: i32,
}

/// Moves names apart, downwards first and then back up from the bottom.
fn spread(names: &mut [Name<'_>]) {
    names.sort_by_key(|name| name.y);
    for index in 1..names.len() {
        names[index].y = names[index].y.max(names[index - 1].y + NAME_HEIGHT);
    }
    let mut lowest = BOTTOM + NAME_HEIGHT;
    for name in names.iter_mut().rev() {
        lowest = name.y.min(lowest - NAME_HEIGHT);
        name.y = lowest;
    }
}
