//! `H`: a number that differs from job to job and never changes for one job.
//!
//! FNV-1a over the job's name, a zero byte, the field and the position in its list. The two halves of the
//! hash are combined, because the low bits of the hash of a short name are not spread well. The constants and
//! the order of the bytes are part of the file format: changing them would move every job that uses `H`.
//!
//! Linear in the length of the name. Names can be chosen so that they collide.
//!
//! Source: [The FNV Non-Cryptographic Hash
//! Algorithm](https://datatracker.ietf.org/doc/html/draft-eastlake-fnv-17).

use crate::unit::Unit;

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Chooses a number of `0..choices` for a job's field: the value of `H`. The same arguments give the same
/// number in every version of this crate and on every machine.
///
/// `position` is the index of the item in its list, so that the two `H` of `H,H` differ. Linear in the length
/// of the name. The numbers are spread evenly over names that were not chosen to collide.
///
/// # Panics
/// If `choices` is 0.
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
