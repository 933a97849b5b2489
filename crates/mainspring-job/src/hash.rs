//! A hash in place of a random number: the same for the same job and time, on every machine and after every
//! restart.
//!
//! FNV-1a over the name, a zero byte, the purpose and the numbers, then the finaliser of MurmurHash3, because
//! FNV leaves the low bits of numbers that differ by one too alike. Both are part of the meaning of jitter:
//! changing them moves jobs.
//!
//! Source: [The FNV Non-Cryptographic Hash
//! Algorithm](https://datatracker.ietf.org/doc/html/draft-eastlake-fnv-17),
//! [MurmurHash3](https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp), `fmix64`.

use std::time::Duration;

use jiff::Timestamp;

use crate::run::RunKey;

/// Tells apart what is hashed for one run, so that its jitter and its spread are not the same number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Jitter,
    Spread,
    Retry { attempt: u32 },
}

/// The number for a run and a purpose.
pub(crate) fn hash(key: &RunKey, purpose: Purpose) -> u64 {
    let (kind, number) = match purpose {
        Purpose::Jitter => (0_u8, 0),
        Purpose::Spread => (1, 0),
        Purpose::Retry { attempt } => (2, attempt),
    };
    let name = key.job.as_str().bytes().chain([0, kind]);
    let nominal = key.nominal.as_nanosecond().to_be_bytes();
    let bytes = name.chain(nominal).chain(number.to_be_bytes()).chain(key.series.to_be_bytes());
    mixed(fnv(bytes))
}

/// The number for a text: the same in every version and on every machine, and spread evenly over texts that
/// were not chosen to collide. Linear in the length of the text.
pub fn text_hash(text: &str) -> u64 {
    mixed(fnv(text.bytes()))
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// A moment in `[from, from + range]`, the same for the same run and purpose.
pub(crate) fn placed(from: Timestamp, range: Duration, key: &RunKey, purpose: Purpose) -> Timestamp {
    let offset_ns = u128::from(hash(key, purpose)) % (range.as_nanos() + 1);
    let offset = Duration::from_nanos(u64::try_from(offset_ns).expect("a remainder of a u64 fits one"));
    from.saturating_add(offset).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::JobName;

    #[test]
    fn offsets_fill_the_range_evenly_and_never_change() {
        let key = |index: i64| {
            RunKey::new(JobName::new("backup").unwrap(), Timestamp::from_second(index * 60).unwrap())
        };
        let range = Duration::from_secs(9);
        let mut counts = [0; 10];
        for index in 0..10_000 {
            let from = Timestamp::UNIX_EPOCH;
            let at = placed(from, range, &key(index), Purpose::Jitter);
            counts[usize::try_from(at.as_second()).unwrap()] += 1;
        }
        assert!(counts[..9].iter().all(|count| (1_000..1_250).contains(count)), "{counts:?}");
        // These numbers stand for all jobs with jitter in the field.
        let seen =
            [Purpose::Jitter, Purpose::Spread, Purpose::Retry { attempt: 1 }].map(|why| hash(&key(1), why));
        assert_eq!(seen, SEEN);
    }

    const SEEN: [u64; 3] =
        [15_632_292_758_260_328_466, 17_635_425_736_443_780_548, 1_270_584_502_308_811_962];
}
