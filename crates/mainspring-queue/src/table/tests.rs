//! The table's tests.

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::*;

const COUNT: u32 = 700_000;

fn is_intact(table: &Table<u64>, count: u32) -> bool {
    table.len() == count && (0..count).all(|index| *table.at(index) == u64::from(index) * 3)
}

#[test]
fn what_was_pushed_stays_while_the_table_grows_and_shrinks() {
    let mut table = Table::new();
    let mut sizes = Vec::new();
    for index in 0..COUNT {
        table.push(u64::from(index) * 3);
        if sizes.last() != Some(&table.block.bytes) {
            sizes.push(table.block.bytes);
            assert!(is_intact(&table, index + 1));
        }
    }
    assert_eq!(sizes, (12..24).map(|bit| 1 << bit).collect::<Vec<usize>>());
    for count in [COUNT - 1, 262_145, 262_144, 262_143, 1_000, 1, 0] {
        while count < table.len() {
            assert_eq!(table.pop_if(|_| true), Some(u64::from(table.len()) * 3));
        }
        table.shrink_to_fit();
        assert!(is_intact(&table, count));
        assert!(table.block.bytes <= block_bytes(count as usize * 8), "{count}");
    }
    table.push(0);
    assert!(is_intact(&table, 1));
}

#[test]
fn a_table_that_loses_its_end_little_by_little_shrinks_in_large_steps() {
    let mut table = Table::new();
    (0..COUNT).for_each(|index| table.push(u64::from(index) * 3));
    let mut sizes = Vec::new();
    while table.pop_if(|_| true).is_some() {
        table.shrink();
        assert!(table.used_bytes() <= table.block.bytes);
        if sizes.last() != Some(&table.block.bytes) {
            sizes.push(table.block.bytes);
            assert!(is_intact(&table, table.len()));
        }
    }
    assert!(sizes.len() < 20, "{sizes:?}");
    assert_eq!(table.block.bytes, 0);
    table.shrink();
    table.push(0);
    assert!(is_intact(&table, 1));
}

#[test]
fn a_large_table_of_linux_is_mapped_on_the_border_of_a_huge_page() {
    let mut table = Table::new();
    (0..COUNT).for_each(|index| table.push(u64::from(index)));
    if cfg!(all(target_os = "linux", not(miri))) {
        assert!(table.block.is_mapped);
        assert_eq!(table.block.start.addr().get() % HUGE_PAGE_BYTES, 0);
    }
    let copy = table.clone();
    assert_eq!(copy.as_slice(), table.as_slice());
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn a_mapping_that_cannot_be_moved_is_copied_and_nobody_elses_is_touched() {
    let mut table = Table::new();
    (0..COUNT / 2).for_each(|index| table.push(u64::from(index) * 3));
    sys::failing::SHALL_FAIL.set(true);
    (COUNT / 2..COUNT).for_each(|index| table.push(u64::from(index) * 3));
    assert!(!sys::failing::SHALL_FAIL.get(), "it was to move");
    assert!(is_intact(&table, COUNT));
    assert!(sys::failing::is_foreign_mapped(), "what another thread has mapped is still there");
}

#[test]
fn there_is_nothing_behind_the_end() {
    let mut table: Table<u8> = Table::new();
    assert_eq!((table.find(0), table.find(u32::MAX)), (None, None));
    assert_eq!(table.find_mut(0), None);
    assert_eq!(table.pop_if(|_| true), None);
    assert!(table.as_slice().is_empty());
    table.prefetch(0);
    table.push(7);
    table.prefetch(u32::MAX);
    assert_eq!((table.find(0), table.find(1), table.find(u32::MAX)), (Some(&7), None, None));
    assert_eq!(table.pop_if(|element| *element == 8), None);
    assert_eq!(table.pop_if(|element| *element == 7), Some(7));
}

#[test]
#[should_panic(expected = "a table has no element 1")]
fn an_index_of_nothing_is_a_panic() {
    let mut table = Table::new();
    table.push("one");
    table.at(1);
}

#[test]
fn each_element_is_dropped_once() {
    let witness = Rc::new(());
    let mut table = Table::new();
    (0..1_000).for_each(|_| table.push(Rc::clone(&witness)));
    drop(table.pop_if(|_| true));
    assert_eq!(Rc::strong_count(&witness), 1_000);
    let copy = table.clone();
    assert_eq!(Rc::strong_count(&witness), 1_999);
    drop((table, copy));
    assert_eq!(Rc::strong_count(&witness), 1);
}

#[test]
fn elements_of_any_size_and_alignment_lie_as_they_must() {
    #[repr(align(256))]
    struct Wide([u8; 300]);
    let mut table = Table::new();
    (0..200_u8).for_each(|number| table.push(Wide([number; 300])));
    for (element, number) in table.as_slice().iter().zip(0..) {
        assert_eq!(core::ptr::from_ref(element).addr() % 256, 0);
        assert_eq!(element.0, [number; 300]);
    }
    let mut large: Table<[u8; 10_000]> = Table::new();
    (0..300).for_each(|_| large.push([9; 10_000]));
    assert!(large.as_slice().iter().all(|element| *element == [9; 10_000]));
}
