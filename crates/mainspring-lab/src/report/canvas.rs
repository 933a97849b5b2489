//! The canvas of the plots: shapes and texts at pixels, as SVG.
//!
//! A text's own width is the browser's affair: texts are anchored at their ends, so that no estimate can cut
//! one off.
//!
//! Cost: none. It does not know what a plot is.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE};

use super::palette::{INK, Mark};

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// The size of axis labels.
pub const SMALL: u32 = 13;

/// The size of headings.
pub const LARGE: u32 = 17;

/// A sheet.
pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Draws on a new white sheet.
///
/// # Panics
/// Never: a sheet in memory takes everything.
pub fn draw(width: u32, height: u32, on: impl FnOnce(&Canvas<'_>)) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        let canvas = Canvas { area };
        canvas.rectangle((0, 0), (width as i32, height as i32), WHITE);
        on(&canvas);
        canvas.area.present().expect("a sheet in memory takes everything");
    }
    // Scales with the page, and keeps its own size elsewhere.
    svg.replacen("<svg ", "<svg role=\"img\" style=\"max-width:100%;height:auto\" ", 1)
}

impl Canvas<'_> {
    /// A filled rectangle.
    pub fn rectangle(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) {
        let shape = Rectangle::new([from, to], colour.filled());
        self.area.draw(&shape).expect("a sheet in memory takes everything");
    }

    /// A line through points.
    pub fn line(&self, points: &[(i32, i32)], colour: RGBColor, width: u32) {
        let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: width };
        let shape = PathElement::new(points.to_vec(), style);
        self.area.draw(&shape).expect("a sheet in memory takes everything");
    }

    /// A point.
    pub fn mark(&self, at: (i32, i32), mark: Mark, colour: RGBColor) {
        let (x, y) = at;
        let drawn = match mark {
            Mark::Disc => self.area.draw(&Circle::new(at, 4, colour.filled())),
            Mark::Square => {
                self.area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], colour.filled()))
            }
            Mark::Triangle => {
                self.area.draw(&Polygon::new([(x - 5, y + 4), (x + 5, y + 4), (x, y - 5)], colour.filled()))
            }
        };
        drawn.expect("a sheet in memory takes everything");
    }

    /// A text, vertically centred on its place.
    pub fn text(&self, at: (i32, i32), text: &str, size: u32, anchor: Anchor) {
        self.styled(at, text, style(size, anchor, &INK));
    }

    /// A text of a colour.
    pub fn coloured_text(&self, at: (i32, i32), text: &str, anchor: Anchor, colour: RGBColor) {
        self.styled(at, text, style(SMALL, anchor, &colour));
    }

    /// A text that reads upwards, centred on its place.
    pub fn upward_text(&self, at: (i32, i32), text: &str) {
        self.styled(at, text, style(SMALL, Anchor::Middle, &INK).transform(FontTransform::Rotate270));
    }

    fn styled(&self, at: (i32, i32), text: &str, style: TextStyle<'_>) {
        let shape = Text::new(text.to_owned(), at, style);
        self.area.draw(&shape).expect("a sheet in memory takes everything");
    }
}

fn style(size: u32, anchor: Anchor, colour: &RGBColor) -> TextStyle<'_> {
    let position = match anchor {
        Anchor::Start => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::End => HPos::Right,
    };
    let font = ("sans-serif", size).into_font();
    TextStyle::from(font).color(colour).pos(Pos::new(position, VPos::Center))
}
