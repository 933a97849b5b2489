//! Explains the figures in sentences.
//!
//! | the best by | decides |
//! |---|---|
//! | ns by operation | unless another is nearly as fast and its worst operation, or its memory, much smaller |
//!
//! Cost: none. It does not decide for the reader: the table stands above.

use std::time::Duration;

use super::features::Features;
use super::replay::Outcome;
use crate::table::{group, three_digits};

/// A queue this much slower than the fastest counts as nearly as fast.
const NEARLY: f64 = 1.25;

/// A worst operation, or memory, that is larger by this counts as much larger.
const MUCH: f64 = 3.0;

/// A worst operation shorter than this, in us, harms no program.
const WORST_US_HARMLESS: f64 = 100.0;

const _: () = assert!(1.0 < NEARLY);
const _: () = assert!(NEARLY < MUCH);

/// Less memory than this, in bytes, harms no program, and cannot be measured well.
const MEMORY_BYTES_HARMLESS: u64 = 1 << 20;

/// Says which queue suits, and why. `outcomes` are in order, fastest first.
pub fn sentences(features: &Features, tick: Duration, outcomes: &[(String, Outcome)]) -> Vec<String> {
    let mut sentences = describe(features, tick);
    let Some((fastest, best)) = outcomes.first() else {
        sentences.push("No queue could replay the trace.".to_owned());
        return sentences;
    };
    sentences.push(format!(
        "Take {fastest}: {} ns by operation, the worst one {} us{}.",
        three_digits(best.operation_ns),
        three_digits(best.worst_us),
        reason(fastest, features).map_or(String::new(), |reason| format!("; {reason}"))
    ));
    let near =
        || outcomes.iter().skip(1).filter(|(_, other)| other.operation_ns <= best.operation_ns * NEARLY);
    let calmer = near()
        .filter(|(_, other)| best.worst_us > WORST_US_HARMLESS && other.worst_us * MUCH < best.worst_us);
    if let Some((name, other)) = calmer.min_by(|left, right| left.1.worst_us.total_cmp(&right.1.worst_us)) {
        sentences.push(format!(
            "{name} is nearly as fast, and its worst operation takes {} us: take it if a pause hurts.",
            three_digits(other.worst_us)
        ));
    }
    let leaner = near().filter(|(_, other)| {
        best.memory_bytes > MEMORY_BYTES_HARMLESS
            && other.memory_bytes as f64 * MUCH < best.memory_bytes as f64
    });
    if let Some((name, other)) = leaner.min_by_key(|(_, other)| other.memory_bytes) {
        let kibibytes = group((other.memory_bytes / 1_024) as i64);
        sentences.push(format!("{name} is nearly as fast in {kibibytes} KiB: take it if memory is dear."));
    }
    let least = outcomes.iter().map(|(_, outcome)| outcome.wakeup_count).min().unwrap_or_default();
    if best.wakeup_count as f64 > least as f64 * 1.05 {
        sentences.push(format!(
            "It wakes {} times where {} would do; each wake-up of a thread costs some 25 us of CPU.",
            group(best.wakeup_count as i64),
            group(least as i64)
        ));
    }
    sentences
}

fn describe(features: &Features, tick: Duration) -> Vec<String> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let [short, middle, long] =
        features.delay_ticks.map(|ticks| tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX)));
    let mut sentences = vec![format!(
        "{} timers, at most {} at once; {} are cancelled; delays are {short:?} to {long:?}, half of them below {middle:?}.",
        group(features.scheduled_count as i64),
        group(features.pending_count_max as i64),
        percent(features.cancelled_share),
    )];
    if features.same_delay_share > 0.5 {
        sentences.push(format!("{} of the delays are one and the same.", percent(features.same_delay_share)));
    }
    if features.reset_share > 0.1 {
        sentences.push(format!(
            "{} of the deadlines are set by a reset, and {} of the resets are to a later time.",
            percent(features.reset_share),
            percent(features.later_share)
        ));
    }
    sentences
}

/// Why a queue of that family is fast at such a trace, where that is known.
fn reason(name: &str, features: &Features) -> Option<String> {
    let is_lazy = name.contains("Lazy");
    let is_wheel = name.starts_with("wheel::");
    let reason = if is_lazy && features.reset_share > 0.5 && features.later_share > 0.5 {
        "resets to a later time are one store there, corrected when the old time comes"
    } else if is_lazy && features.cancelled_share > 0.5 {
        "most timers are cancelled, and a cancel is one store there"
    } else if is_wheel && features.same_delay_share > 0.5 {
        "equal delays all go to one slot of a wheel, in order"
    } else if is_wheel && features.pending_count_max >= 1_000 {
        "with so many pending timers a wheel's O(1) counts"
    } else if !is_wheel && features.pending_count_max < 1_000 {
        "so few pending timers fit in a cache whatever the structure, and nothing has to cascade"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(operation_ns: f64, worst_us: f64) -> Outcome {
        Outcome { operation_ns, worst_us, wakeup_count: 1, fired_count: 1, fingerprint: 1, memory_bytes: 1 }
    }

    #[test]
    fn a_calm_queue_that_is_nearly_as_fast_is_named_too() {
        let outcomes = [
            ("wheel::Bitmap".to_owned(), outcome(10.0, 9_000.0)),
            ("heap::Lazy".to_owned(), outcome(12.0, 50.0)),
        ];
        let text = sentences(&Features::default(), Duration::from_millis(1), &outcomes).join("\n");
        assert!(text.contains("Take wheel::Bitmap"), "{text}");
        assert!(text.contains("heap::Lazy is nearly as fast"), "{text}");
    }

    #[test]
    fn no_queue_is_no_advice() {
        let text = sentences(&Features::default(), Duration::from_millis(1), &[]).join("\n");
        assert!(text.contains("No queue"), "{text}");
    }
}
