//! `H`: a number that differs from job to job and never changes for one job.
//!
//! FNV-1a over the job's name, a zero byte, the field and the position in its list; the two halves of the hash are
//! folded, because the low bits alone of a short name are not spread well. The constants and the order of the bytes
//! are part of the file format of every job that uses `H`: changing them moves the jobs.
//!
//! Linear in the length of the name. It is not a defence against somebody who chooses names to collide.
//!
//! Source: [The FNV Non-Cryptographic Hash Algorithm](https://datatracker.ietf.org/doc/html/draft-eastlake-fnv-17).

use crate::unit::Unit;

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Chooses one of `choices` numbers, `0..choices`, for a job's field. The same arguments always give the same number.
///
/// `position` is that of the item in its list: the two `H` of `H,H` differ.
///
/// # Panics
/// If `choices` is 0: there is nothing to choose from.
///
/// # Example
/// ```
/// use mainspring_cron::{Unit, spread};
///
/// assert_eq!(spread("backup", Unit::Minute, 0, 60), 12);
/// assert!(spread("backup", Unit::Minute, 0, 60) != spread("report", Unit::Minute, 0, 60));
/// ```
pub fn spread(job_name: &str, unit: Unit, position: u16, choices: u16) -> u16 {
    assert!(0 < choices, "a number is chosen out of at least one");
    let tail = [0, field_number(unit)].into_iter().chain(position.to_be_bytes());
    let hash = job_name
        .bytes()
        .chain(tail)
        .fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let folded = (hash >> 32) ^ (hash & 0xffff_ffff);
    u16::try_from(folded % u64::from(choices)).expect("a remainder of a u16 fits")
}

/// Fixed by hand, so that reordering the enum moves no job.
fn field_number(unit: Unit) -> u8 {
    match unit {
        Unit::Second => 0,
        Unit::Minute => 1,
        Unit::Hour => 2,
        Unit::DayOfMonth => 3,
        Unit::Month => 4,
        Unit::DayOfWeek => 5,
        Unit::Year => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_names_use_every_minute_about_equally() {
        let mut counts = [0; 60];
        for index in 0..6000 {
            counts[usize::from(spread(&format!("job-{index}"), Unit::Minute, 0, 60))] += 1;
        }
        assert!(counts.iter().all(|&count| (60..=140).contains(&count)), "{counts:?}");
    }
}
