//! Quantities of Kubernetes: `512Mi`, `1.5G`, `500m`.
//!
//! Cost: one look.
//!
//! Source: [Quantity](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/).

/// Suffixes and what they stand for.
const SUFFIXES: [(&str, f64); 16] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 0.001),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("", 1.0),
];

const _: () = assert!(SUFFIXES[SUFFIXES.len() - 1].0.is_empty(), "every text ends with it");

fn quantity(text: &str) -> Option<f64> {
    SUFFIXES.iter().find_map(|(suffix, unit)| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(number * unit).filter(|value| (0.0..1e18).contains(value))
    })
}

/// A quantity of memory in bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 1e18")]
pub(super) fn bytes(text: &str) -> Option<u64> {
    quantity(text).map(|value| value as u64)
}

/// A quantity of processors in per cent of one, at least 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 1e6")]
pub(super) fn percent(text: &str) -> Option<u32> {
    // What is no fraction of a binary number is not a bit more than it is: 70m are 7.
    let percent = (quantity(text)? * 100.0 - 1e-6).ceil();
    (percent <= 1e6).then_some(percent.max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        assert_eq!(bytes("512Mi"), Some(512 << 20));
        assert_eq!(bytes("1.5G"), Some(1_500_000_000));
        assert_eq!(bytes("128974848"), Some(128_974_848));
        assert_eq!(bytes("lots"), None);
        assert_eq!(bytes("1e3k"), Some(1_000_000));
        assert_eq!(bytes("0.5Ei"), Some(1 << 59));
        assert_eq!(percent("500m"), Some(50));
        assert_eq!(percent("250000000n"), Some(25));
        assert_eq!(percent("250000u"), Some(25));
        assert_eq!(percent("70m"), Some(7));
        assert_eq!(percent("71m"), Some(8));
        assert_eq!(percent("2"), Some(200));
        assert_eq!(percent("0"), Some(1));
    }
}
