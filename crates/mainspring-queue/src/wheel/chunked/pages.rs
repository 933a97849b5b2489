//! A table that grows by a page at a time and never moves what it holds.
//!
//! ```text
//!   pages  [ -> [ E; COUNT ] ] [ -> [ E; COUNT ] ] [ -> [ E; COUNT ] ]        index = page x COUNT + place
//! ```
//!
//! Cost: access one look into the list of pages, which is small and warm; growth a page's worth of work, and now and then a copy
//! of the list: 8 bytes for each page. A vector has the cheaper access and copies all of itself when it is full.
//! Segments that double in length copy nothing either, and their index arithmetic cost twice as much as this one
//! (measured: 28 instructions more for each pair of schedule and cancel). Memory: up to a page too much.
//!
//! It does not shrink but from its end.

use alloc::boxed::Box;
use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(super) struct Pages<E, const COUNT: usize> {
    pages: Vec<Box<Page<E, COUNT>>>,
}

/// Elements of 32 bytes must not lie across two cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Page<E, const COUNT: usize>([E; COUNT]);

impl<E, const COUNT: usize> Pages<E, COUNT> {
    pub(super) const fn new() -> Pages<E, COUNT> {
        const { assert!(COUNT.is_power_of_two()) };
        Pages { pages: Vec::new() }
    }

    /// How many elements there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.pages.len() * COUNT
    }

    /// The element at an index, if there is one.
    #[inline]
    pub(super) fn find(&self, index: u32) -> Option<&E> {
        let page = self.pages.get(index as usize / COUNT)?;
        Some(&page.0[index as usize % COUNT])
    }

    /// The same, to change it.
    #[inline]
    pub(super) fn find_mut(&mut self, index: u32) -> Option<&mut E> {
        let page = self.pages.get_mut(index as usize / COUNT)?;
        Some(&mut page.0[index as usize % COUNT])
    }

    /// The element at an index that the structure itself gave.
    #[inline]
    pub(super) fn at(&self, index: u32) -> &E {
        &self.pages[index as usize / COUNT].0[index as usize % COUNT]
    }

    /// The same, to change it.
    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut E {
        &mut self.pages[index as usize / COUNT].0[index as usize % COUNT]
    }

    /// Adds a page of what `make` gives.
    #[cold]
    pub(super) fn grow(&mut self, make: impl Fn() -> E) {
        self.pages.push(Box::new(Page(core::array::from_fn(|_| make()))));
    }

    /// Gives back the last page if all in it is as asked.
    pub(super) fn shrink_if(&mut self, condition: impl Fn(&E) -> bool) -> Option<impl Iterator<Item = E>> {
        let page = self.pages.pop_if(|page| page.0.iter().all(condition))?;
        self.pages.shrink_to_fit();
        Some(page.0.into_iter())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        self.pages.iter().flat_map(|page| page.0.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_moves_nothing() {
        let mut pages: Pages<u64, 4> = Pages::new();
        assert_eq!(pages.find(0), None);
        pages.grow(|| 0);
        let first: *const u64 = pages.at(0);
        (0..1_000).for_each(|_| pages.grow(|| 7));
        assert_eq!(first, core::ptr::from_ref(pages.at(0)));
        assert_eq!((pages.len(), *pages.at(3), *pages.at(4), pages.find(4_004)), (4_004, 0, 7, None));
    }

    #[test]
    fn a_page_is_given_back_when_all_of_it_may() {
        let mut pages: Pages<u64, 2> = Pages::new();
        (0..3).for_each(|_| pages.grow(|| 0));
        *pages.at_mut(3) = 1;
        while pages.shrink_if(|element| *element == 0).is_some() {}
        assert!(pages.iter().copied().eq([0, 0, 0, 1]));
    }
}
