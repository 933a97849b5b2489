//! A tick is written as its number and read back equal.

use mainspring_queue::Tick;

#[test]
fn a_tick_is_a_number() {
    for tick in [Tick::ZERO, Tick::new(7), Tick::new(u64::MAX)] {
        let text = serde_json::to_string(&tick).unwrap();
        assert_eq!(text, tick.get().to_string());
        assert_eq!(serde_json::from_str::<Tick>(&text).unwrap(), tick);
    }
    assert!(serde_json::from_str::<Tick>("-1").is_err());
}
