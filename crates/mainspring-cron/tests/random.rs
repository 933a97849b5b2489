//! Random expressions from a seed, so that a failure can be repeated.

use jiff::{SignedDuration, Timestamp};

/// xorshift64*: small, fast, and the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number of `0..end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// A moment of the years 1990 to 2090.
    pub(crate) fn moment(&mut self) -> Timestamp {
        let start: Timestamp = "1990-01-01T00:00:00Z".parse().unwrap();
        start + SignedDuration::from_secs(i64::try_from(self.below(100 * 365 * 86_400)).unwrap())
    }

    /// A valid expression of five fields, or six with seconds.
    pub(crate) fn expression(&mut self) -> String {
        let mut fields = vec![
            self.field(0, 59),
            self.field(0, 23),
            self.dates(),
            self.sparse_field(1, 12),
            self.weekdays(),
        ];
        if self.below(8) == 0 {
            fields.insert(0, self.field(0, 59));
        }
        fields.join(" ")
    }

    fn field(&mut self, first: u64, last: u64) -> String {
        let count = 1 + self.below(3) / 2 * self.below(3);
        (0..count.max(1)).map(|_| self.item(first, last)).collect::<Vec<_>>().join(",")
    }

    /// Half of the time every value.
    fn sparse_field(&mut self, first: u64, last: u64) -> String {
        if self.below(2) == 0 { "*".to_owned() } else { self.field(first, last) }
    }

    fn item(&mut self, first: u64, last: u64) -> String {
        let low = first + self.below(last - first + 1);
        let high = low + self.below(last - low + 1);
        match self.below(6) {
            0 => "*".to_owned(),
            1 => format!("*/{}", 1 + self.below(last)),
            2 | 3 => low.to_string(),
            4 => format!("{low}-{high}"),
            _ => format!("{low}-{high}/{}", 1 + self.below(10)),
        }
    }

    fn dates(&mut self) -> String {
        let day = 1 + self.below(31);
        match self.below(12) {
            0 => "L".to_owned(),
            1 => "LW".to_owned(),
            2 => format!("{day}W"),
            3 => format!("L-{}", day - 1),
            4 => format!("L-{}W", day - 1),
            5 => format!("{day},L,{}W", 1 + self.below(31)),
            _ => self.sparse_field(1, 31),
        }
    }

    fn weekdays(&mut self) -> String {
        let day = self.below(8);
        match self.below(12) {
            0 => format!("{day}L"),
            1 => format!("{day}#{}", 1 + self.below(5)),
            2 => format!("{day}#L"),
            3 => format!("{day},{}#{}", self.below(8), 1 + self.below(5)),
            4 => format!("+{day}"),
            _ => self.sparse_field(0, 7),
        }
    }
}
