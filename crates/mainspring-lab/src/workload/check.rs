//! The final check of every workload on one thread: the timers that are left fire, not early, and each once.
//!
//! Cost: that of firing them. It does not check what a workload alone knows.

use crate::api::{Due, QueueSubject};
use crate::case::{Failure, SIZE_FULL, SPREAD, ensure};

/// One in so many timers is fired by the check where there are too many to fire them all.
const LARGE_CHECK_PART: u64 = 16;

/// Checks a subject whose pending timers have these deadlines, which are their payloads: up to [`SIZE_FULL`]
/// timers it fires all of them, beyond that the first part, and the rest must be pending.
///
/// # Errors
/// Something was early, was lost, or fired twice.
pub fn check_pending<S: QueueSubject>(
    subject: &mut S,
    deadlines: impl FnOnce() -> Vec<u64>,
    size: u64,
) -> Result<(), Failure> {
    if SIZE_FULL < size {
        return check_first(subject, &deadlines());
    }
    let fired_count = drain(subject)?;
    ensure(fired_count == size, || format!("{fired_count} timers fired instead of {size}"))
}

/// Fires the first [`LARGE_CHECK_PART`] of some timers, and checks that those fired, and no others.
fn check_first<S: QueueSubject>(subject: &mut S, deadlines: &[u64]) -> Result<(), Failure> {
    let size = deadlines.len() as u64;
    let mut counts = vec![0_u64; (SPREAD + subject.granularity()) as usize + 1];
    deadlines.iter().for_each(|&deadline| counts[deadline as usize] += 1);
    let (mut least, mut until) = (0, 0);
    while least < size / LARGE_CHECK_PART {
        until += 1;
        least += counts[until];
    }
    // What is due by `until` has fired when the granularity has passed too; more may have.
    let now = until as u64 + subject.granularity() - 1;
    debug_assert!((now as usize) < counts.len(), "what fires late is counted too");
    let most = least + counts[until + 1..=now as usize].iter().sum::<u64>();
    let mut due = Due::default();
    subject.advance(now, &mut due);
    ensure(due.payload_max <= now, || format!("a timer for {} fired at {now}", due.payload_max))?;
    ensure((least..=most).contains(&due.count), || {
        format!("{} timers fired by {now} instead of {least} to {most}", due.count)
    })?;
    ensure(subject.pending_count() + due.count == size, || {
        format!("{} fired and {} pending are not {size}", due.count, subject.pending_count())
    })
}

/// Fires everything in some jumps, and checks that nothing is early on the way. Payloads are deadlines.
/// Answers how many fired.
///
/// # Errors
/// Something was early, or is still pending when all deadlines have passed.
fn drain<S: QueueSubject>(subject: &mut S) -> Result<u64, Failure> {
    /// Jumps until all deadlines have passed: more would only take longer.
    const JUMP_COUNT: u64 = 64;
    let end = SPREAD + subject.granularity();
    debug_assert!(JUMP_COUNT < end, "the clock gets further");
    let mut due = Due::default();
    for jump in 1..=JUMP_COUNT {
        let now = end * jump / JUMP_COUNT;
        subject.advance(now, &mut due);
        ensure(due.payload_max <= now, || format!("a timer for {} fired at {now}", due.payload_max))?;
    }
    ensure(subject.pending_count() == 0, || {
        format!("{} timers are left after the last deadline", subject.pending_count())
    })?;
    Ok(due.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::subjects::heap_lazy::HeapLazy;

    #[test]
    fn the_check_of_a_part_sees_what_is_early_late_or_lost() {
        let mut random = Random::new(5);
        let deadlines: Vec<u64> = (0..1_600).map(|_| 1 + random.below(SPREAD)).collect();
        let check = |reported: &[u64]| {
            let mut subject = HeapLazy::default();
            for &deadline in &deadlines {
                subject.schedule(deadline, deadline).expect("a heap takes any deadline");
            }
            check_first(&mut subject, reported)
        };
        assert_eq!(check(&deadlines), Ok(()));
        // What is reported is not what is there: a timer more, one less, one that comes sooner than was said,
        // one later.
        let mut first = deadlines.clone();
        let earliest = (0..1_600).min_by_key(|&index| deadlines[index]).expect("there are timers");
        first[earliest] = SPREAD;
        let mut last = deadlines.clone();
        let latest = (0..1_600).max_by_key(|&index| deadlines[index]).expect("there are timers");
        last[latest] = 1;
        let mut more = deadlines.clone();
        more.push(SPREAD);
        for reported in [&first, &last, &more, &deadlines[1..].to_vec()] {
            assert!(matches!(check(reported), Err(Failure::Wrong(_))));
        }
    }
}
