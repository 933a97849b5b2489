//! Colours that people with any kind of colour vision tell apart, and marks that need no colour.
//!
//! Cost: none. It does not have more than eight colours, because there are no more: what is not named is
//! grey.
//!
//! Source: Okabe and Ito, "Color Universal Design".

use plotters::style::RGBColor;

use crate::subject::Kind;
use crate::subjects::queues::DEFAULT;
use crate::subjects::{engines, named};

/// Text and axes.
pub const INK: RGBColor = RGBColor(34, 34, 34);

/// What stands back.
pub const GREY: RGBColor = RGBColor(150, 150, 150);

/// Lines of a grid.
pub const GRID: RGBColor = RGBColor(225, 225, 225);

/// Mainspring's own queues and engines.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);

/// The default.
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);

/// Other timer libraries.
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);

/// Structures of std.
pub const GREEN: RGBColor = RGBColor(0, 158, 115);

/// Others' runtimes.
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);

/// Presets of Mainspring.
pub const SKY: RGBColor = RGBColor(86, 180, 233);

/// What a bar of a subject is filled with: by where it comes from, the default apart.
pub fn of_kind(subject: &str) -> RGBColor {
    if is_default(subject) {
        return VERMILION;
    }
    let Some(subject) = named(subject) else { return GREY };
    KINDS.into_iter().find(|(kind, ..)| *kind == Some(subject.kind)).map_or(GREY, |(.., colour)| colour)
}

/// Whether a subject is what a user gets without reading.
pub fn is_default(subject: &str) -> bool {
    [DEFAULT, engines::DEFAULT].contains(&subject)
}

/// The legend of [`of_kind`]: a kind, its name, its colour. The default is of no kind.
pub const KINDS: [(Option<Kind>, &str, RGBColor); 7] = [
    (None, "default", VERMILION),
    (Some(Kind::Ours), "ours", BLUE),
    (Some(Kind::Preset), "preset", SKY),
    (Some(Kind::Std), "std", GREEN),
    (Some(Kind::Library), "library", ORANGE),
    (Some(Kind::Foreign), "other runtime", PURPLE),
    (Some(Kind::Floor), "floor", INK),
];

/// A colour and a mark for a curve, the `place`th that is named. The default's colour and the floor's are
/// no other's.
pub fn of_curve(subject: &str, place: usize) -> (RGBColor, Mark) {
    const COLOURS: [RGBColor; 6] = [BLUE, ORANGE, GREEN, PURPLE, SKY, GREY];
    const MARKS: [Mark; 3] = [Mark::Disc, Mark::Square, Mark::Triangle];
    // With each turn of the colours the marks move on, so that 18 curves differ in one or the other.
    let mark = MARKS[(place + place / COLOURS.len()) % MARKS.len()];
    let colour = match named(subject).map(|subject| subject.kind) {
        _ if is_default(subject) => VERMILION,
        Some(Kind::Floor) => INK,
        _ => COLOURS[place % COLOURS.len()],
    };
    (colour, mark)
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A filled circle.
    Disc,
    /// A filled square.
    Square,
    /// A filled triangle.
    Triangle,
}
