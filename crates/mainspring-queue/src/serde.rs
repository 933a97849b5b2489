//! Ticks as numbers for serde: the feature `serde`.
//!
//! A tick means something to one clock only, so what is written is for a program with the same clock, or its
//! origin and resolution.
//!
//! Cost: none.

use serde_core::de::{Deserialize, Deserializer};
use serde_core::ser::{Serialize, Serializer};

use crate::tick::Tick;

/// As its number.
impl Serialize for Tick {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

impl<'de> Deserialize<'de> for Tick {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tick, D::Error> {
        u64::deserialize(deserializer).map(Tick::new)
    }
}
