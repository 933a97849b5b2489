//! An axis: where a value lies, in pixels, and which values are written beside it.
//!
//! Logarithmic axes are worked out here and not by the plotting library, whose labels are wrong for ranges
//! that begin far from 1 and rounded for values below it.
//!
//! Cost: none. It does not draw.
//!
//! Source: issues 654 and 671 of plotters-rs/plotters for what goes wrong otherwise.

use crate::table::group;

/// An axis from one pixel to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    min: f64,
    max: f64,
    is_log: bool,
    from: f64,
    to: f64,
}

/// A written value.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its place on the axis.
    pub pixel: i32,
    /// The value as text.
    pub label: String,
}

/// From this ratio of the largest to the least on, a linear axis shows nothing of the least.
const LOG_RATIO: f64 = 12.0;

impl Axis {
    /// An axis for bars: from 0, or logarithmic from below the least where the values differ much.
    pub fn for_bars(values: &[f64], from: i32, to: i32) -> Axis {
        let max = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().filter(|&value| value > 0.0).fold(f64::MAX, f64::min);
        let (from, to) = (f64::from(from), f64::from(to));
        let is_log = max > least * LOG_RATIO;
        if !is_log {
            // Without any value there is nothing to show, but a range all the same.
            let max = if max > 0.0 { max * 1.05 } else { 1.0 };
            return Axis { min: 0.0, max, is_log, from, to };
        }
        Axis { min: decade_below(least * 0.7), max: max * 1.15, is_log, from, to }
    }

    /// A logarithmic axis that holds all values.
    pub fn log(values: &[f64], from: i32, to: i32) -> Axis {
        let positive = || values.iter().copied().filter(|&value| value > 0.0);
        let (least, max) =
            (positive().fold(f64::MAX, f64::min), positive().fold(f64::MIN_POSITIVE, f64::max));
        let min = if least == f64::MAX { 1.0 } else { least / 1.25 };
        let max = max.max(min * 2.0) * 1.25;
        Axis { min, max, is_log: true, from: f64::from(from), to: f64::from(to) }
    }

    /// A linear axis.
    pub fn linear(min: f64, max: f64, from: i32, to: i32) -> Axis {
        Axis { min, max, is_log: false, from: f64::from(from), to: f64::from(to) }
    }

    /// Whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.is_log
    }

    /// Where a value lies. What is outside lies at the end.
    pub fn pixel(&self, value: f64) -> i32 {
        debug_assert!(self.min < self.max, "an axis has a length");
        debug_assert!(!self.is_log || 0.0 < self.min, "a logarithm is one of a positive number");
        let part = if self.is_log {
            (value.max(self.min) / self.min).ln() / (self.max / self.min).ln()
        } else {
            (value - self.min) / (self.max - self.min)
        };
        (self.from + part.clamp(0.0, 1.0) * (self.to - self.from)).round() as i32
    }

    /// The values to write.
    pub fn ticks(&self) -> Vec<Tick> {
        let values = if self.is_log { self.log_ticks() } else { self.linear_ticks() };
        debug_assert!(values.is_sorted(), "ticks go along the axis");
        values.into_iter().map(|value| Tick { pixel: self.pixel(value), label: label(value) }).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.max / self.min).log10();
        // Few decades need more than their ends.
        let steps: &[f64] = if decades < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let mut values = Vec::new();
        let mut decade = decade_below(self.min);
        while decade <= self.max {
            values.extend(steps.iter().map(|step| step * decade).filter(|value| self.holds(*value)));
            decade *= 10.0;
        }
        values
    }

    fn holds(&self, value: f64) -> bool {
        // A decade that was reached by multiplying may miss its own value by a rounding.
        self.min * 0.999_999 <= value && value <= self.max
    }

    fn linear_ticks(&self) -> Vec<f64> {
        /// More labels than this run into each other.
        const TICK_COUNT: f64 = 6.0;
        let rough = (self.max - self.min) / TICK_COUNT;
        let decade = decade_below(rough);
        let steps = [1.0, 2.0, 5.0, 10.0];
        let step = steps.map(|step| step * decade).into_iter().find(|step| rough <= *step).unwrap_or(rough);
        let first = (self.min / step).ceil() as i64;
        let last = (self.max / step).floor() as i64;
        (first..=last).map(|count| count as f64 * step).collect()
    }
}

fn decade_below(value: f64) -> f64 {
    10_f64.powi(value.log10().floor() as i32)
}

/// A value as short as it can be read: `0.5`, `20`, `1,000`, `10 M`.
pub fn label(value: f64) -> String {
    if value >= 999_999.5 {
        let millions = (value / 1e5).round() / 10.0;
        return format!("{millions} M");
    }
    if value >= 10.0 || value == 0.0 {
        group(value.round() as i64)
    } else {
        format!("{}", (value * 1e6).round() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_axis_that_begins_far_from_one_has_labels() {
        let labels = |axis: Axis| axis.ticks().into_iter().map(|tick| tick.label).collect::<Vec<_>>();
        assert_eq!(
            labels(Axis::log(&[1_000.0, 10_000_000.0], 0, 100)),
            ["1,000", "10,000", "100,000", "1 M", "10 M"]
        );
        assert_eq!(labels(Axis::log(&[300.0, 700.0], 0, 100)), ["500"]);
        assert!(!labels(Axis::log(&[0.02, 0.05], 0, 100)).is_empty());
    }

    #[test]
    fn bars_begin_at_zero_unless_the_values_differ_much() {
        let near = Axis::for_bars(&[10.0, 30.0], 100, 200);
        assert!(!near.is_log());
        assert_eq!(near.pixel(0.0), 100);
        let far = Axis::for_bars(&[10.0, 3_000.0], 100, 200);
        assert!(far.is_log());
        assert!(far.pixel(10.0) > 100);
        assert_eq!(Axis::for_bars(&[0.0, 0.0], 100, 200).pixel(0.0), 100);
    }

    #[test]
    fn pixels_stay_on_the_axis() {
        let axis = Axis::log(&[1.0, 100.0], 300, 50);
        assert_eq!(axis.pixel(0.0), 300);
        assert_eq!(axis.pixel(1e9), 50);
    }
}
