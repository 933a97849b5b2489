//! A table that grows at its end, lies in one piece and in huge pages, and is not copied once it is large:
//! the only unsafe code of this crate.
//!
//! ```text
//!   small   [ E E E E . . . . ]         the global allocator; when full, copied to twice as much
//!   large   [ E E E E E E | . . . . ]   mapped, in pages of 2 MiB; when full, the kernel moves it: it changes what addresses
//!                                       stand for, 2 MiB at a time, and copies nothing
//! ```
//!
//! A vector reads as fast and grows worse. Its memory comes in pages of 4 KiB, so that filling it with a
//! million timers takes ten thousand page faults, and a random access walks the processor's tables of pages
//! as well; and growing copies all of it, or moves it page by page. A table of pages moves nothing, and each
//! access costs seven instructions more.
//!
//! [`prefetch`](Table::prefetch) asks for the memory of an element that will be needed soon.
//!
//! Cost: access one comparison; push O(1) amortised, at worst a copy of less than 2 MiB, or the kernel's time
//! to clear a page of 2 MiB. Memory: up to a page too much, which is of 2 MiB in large tables. Address space:
//! up to twice as much. Only Linux maps; elsewhere, and where the kernel refuses to, all tables are as small
//! ones.
//!
//! What fresh memory costs differs from run to run, and more than all else that a queue does when it is
//! filled. Of 41 bytes, which is a timer, on a virtual machine: 8 to 10 ns in huge pages that a process has
//! just given back, 39 to 81 in huge pages that the hypervisor has never given memory to, 22 to 32 in pages
//! of 4 KiB. A program cannot tell them apart, and asking for pages ahead (`MADV_POPULATE_WRITE`) takes as
//! long. BENCHMARKS.md has the figures.
//!
//! It does not shrink by itself.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// The room of a table's first element, and the step in which small tables grow.
const FIRST_BYTES: usize = 4 << 10;
/// A huge page, on all common processors. A table of this size is mapped.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// What a processor reads from memory at a time: no element whose size divides it lies in two of them.
const LINE_BYTES: usize = 64;

/// A growing table. See the [module](self).
pub(crate) struct Table<E> {
    /// Has room for `capacity` elements. Those before `len` are initialised.
    block: Block,
    len: u32,
    capacity: usize,
    elements: PhantomData<E>,
}

impl<E> Table<E> {
    const ALIGN: usize = if align_of::<E>() < LINE_BYTES { LINE_BYTES } else { align_of::<E>() };

    /// Makes an empty table. Allocates nothing.
    pub(crate) const fn new() -> Table<E> {
        const { assert!(size_of::<E>() != 0) };
        const { assert!(Self::ALIGN <= FIRST_BYTES) };
        Table { block: Block::empty(Self::ALIGN), len: 0, capacity: 0, elements: PhantomData }
    }

    /// How many elements there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The element at an index, if there is one.
    #[inline(always)]
    #[expect(unsafe_code, reason = "reads through a pointer")]
    pub(crate) fn find(&self, index: u32) -> Option<&E> {
        // SAFETY: the place is in the block and initialised, because the index is below `len`; the table is
        // borrowed for as long as the element is.
        (index < self.len).then(|| unsafe { self.start().add(index as usize).as_ref() })
    }

    /// The same, to change it.
    #[inline(always)]
    #[expect(unsafe_code, reason = "writes through a pointer")]
    pub(crate) fn find_mut(&mut self, index: u32) -> Option<&mut E> {
        // SAFETY: as in `find`; and no other code has the table, because it is borrowed to be changed.
        (index < self.len).then(|| unsafe { self.start().add(index as usize).as_mut() })
    }

    /// The element at an index that the table gave.
    #[inline(always)]
    pub(crate) fn at(&self, index: u32) -> &E {
        self.find(index).unwrap_or_else(|| absent(index))
    }

    /// The same, to change it.
    #[inline(always)]
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut E {
        self.find_mut(index).unwrap_or_else(|| absent(index))
    }

    /// Asks for the memory of an element that will be needed soon: all its lines. An index without an element
    /// does no harm.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u32) {
        let element = self.start().as_ptr().wrapping_add(index as usize).cast::<u8>();
        (0..size_of::<E>()).step_by(LINE_BYTES).for_each(|line| prefetch(element.wrapping_add(line)));
    }

    #[inline(always)]
    fn start(&self) -> NonNull<E> {
        self.block.start.cast()
    }

    /// Appends an element.
    ///
    /// # Panics
    /// There are 2^32 - 1, or their size is more than an address can say.
    #[inline]
    #[expect(unsafe_code, reason = "writes behind the last element")]
    pub(crate) fn push(&mut self, element: E) {
        if self.len as usize == self.capacity {
            self.grow();
        }
        // SAFETY: the place is in the block, because `len` is below the capacity; what is behind `len` is not
        // initialised, and nothing is lost with it.
        unsafe { self.start().add(self.len as usize).write(element) };
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        assert!(self.len < u32::MAX, "a table has names of 32 bits");
        let least = (self.len as usize + 1).checked_mul(size_of::<E>());
        let double = self.block.bytes.checked_mul(2);
        self.resize(least.max(double).expect("a table fits into the address space"));
    }

    /// Takes the last element out if it is as asked.
    #[expect(unsafe_code, reason = "reads the last element out of the table")]
    pub(crate) fn pop_if(&mut self, condition: impl FnOnce(&E) -> bool) -> Option<E> {
        let last = self.len.checked_sub(1)?;
        if !condition(self.at(last)) {
            return None;
        }
        self.len = last;
        // SAFETY: the element was there; now it is behind `len`, where it is not read again.
        Some(unsafe { self.start().add(last as usize).read() })
    }

    /// Gives back the memory behind the last element.
    pub(crate) fn shrink_to_fit(&mut self) {
        if block_bytes(self.used_bytes()) < self.block.bytes {
            self.resize(self.used_bytes());
        }
    }

    /// Gives back memory behind the last element where that is a huge page, or half of a small table. Room
    /// for as many elements again is kept, up to a huge page.
    pub(crate) fn shrink(&mut self) {
        let (used, all) = (self.used_bytes(), self.block.bytes);
        let remaining = used + used.min(HUGE_PAGE_BYTES);
        let least = if self.block.is_mapped { HUGE_PAGE_BYTES } else { all.div_ceil(2) };
        if least.max(1) <= all.saturating_sub(block_bytes(remaining)) {
            self.resize(remaining);
        }
    }

    fn used_bytes(&self) -> usize {
        self.len as usize * size_of::<E>()
    }

    fn resize(&mut self, bytes: usize) {
        self.block.resize(bytes, self.used_bytes());
        self.capacity = self.block.bytes / size_of::<E>();
        assert!(self.len as usize <= self.capacity, "what there is has room");
    }

    /// All elements.
    #[expect(unsafe_code, reason = "a slice from a pointer")]
    pub(crate) fn as_slice(&self) -> &[E] {
        // SAFETY: `len` elements from the start on are initialised and in one block, which is aligned for
        // them even if it is empty.
        unsafe { NonNull::slice_from_raw_parts(self.start(), self.len as usize).as_ref() }
    }
}

#[cold]
#[inline(never)]
fn absent(index: u32) -> ! {
    panic!("a table has no element {index}")
}

impl<E: Clone> Clone for Table<E> {
    fn clone(&self) -> Table<E> {
        let mut copy = Table::new();
        self.as_slice().iter().for_each(|element| copy.push(element.clone()));
        copy
    }
}

impl<E: core::fmt::Debug> core::fmt::Debug for Table<E> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_list().entries(self.as_slice()).finish()
    }
}

impl<E> Drop for Table<E> {
    #[expect(unsafe_code, reason = "drops the elements")]
    fn drop(&mut self) {
        let elements = NonNull::slice_from_raw_parts(self.start(), self.len as usize);
        // SAFETY: they are initialised, and the table is gone after this.
        unsafe { elements.drop_in_place() };
    }
}

/// Memory without a meaning.
struct Block {
    /// Belongs to this block alone: `bytes` of it, or none if there are none.
    start: NonNull<u8>,
    bytes: usize,
    align: usize,
    /// Whether it was mapped by `map`, and not allocated.
    is_mapped: bool,
}

// SAFETY: memory of the allocator or of a mapping may be used and given back by any thread, by one at a time:
// a block is changed through `&mut` alone. Whether what lies in it may be sent and shared is said by
// `Table`'s `PhantomData<E>`.
#[expect(unsafe_code, reason = "a pointer is not sent by itself")]
unsafe impl Send for Block {}
// SAFETY: as above; there is nothing in a `&Block` but an address.
#[expect(unsafe_code, reason = "a pointer is not shared by itself")]
unsafe impl Sync for Block {}

/// The size of the block for so many bytes: whole pages.
fn block_bytes(bytes: usize) -> usize {
    let page_bytes = if bytes < HUGE_PAGE_BYTES { FIRST_BYTES } else { HUGE_PAGE_BYTES };
    bytes.checked_next_multiple_of(page_bytes).expect("a table fits into the address space")
}

impl Block {
    const fn empty(align: usize) -> Block {
        let start =
            NonNull::without_provenance(core::num::NonZeroUsize::new(align).expect("no alignment is 0"));
        Block { start, bytes: 0, align, is_mapped: false }
    }

    fn allocate(bytes: usize, align: usize) -> Block {
        if bytes == 0 {
            return Block::empty(align);
        }
        if HUGE_PAGE_BYTES <= bytes
            && let Some(start) = sys::map(bytes)
        {
            return Block { start, bytes, align, is_mapped: true };
        }
        let layout = Block::layout(bytes, align);
        // SAFETY: the size is not 0.
        #[expect(unsafe_code, reason = "memory without a type")]
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Block { start, bytes, align, is_mapped: false }
    }

    fn layout(bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(bytes, align).expect("a table fits into the address space")
    }

    /// Takes another size, and the first `used` bytes with it, which must fit into both sizes.
    fn resize(&mut self, bytes: usize, used: usize) {
        let bytes = block_bytes(bytes);
        assert!(used <= self.bytes.min(bytes), "what is used fits");
        if self.is_mapped
            && HUGE_PAGE_BYTES <= bytes
            && let Some(start) = sys::remap(self.start, self.bytes, bytes)
        {
            (self.start, self.bytes) = (start, bytes);
            return;
        }
        let new = Block::allocate(bytes, self.align);
        // SAFETY: `used` bytes are in both blocks, which are two different ones.
        #[expect(unsafe_code, reason = "bytes that may be of any type, and uninitialised between elements")]
        unsafe {
            self.start.copy_to_nonoverlapping(new.start, used);
        }
        *self = new;
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.is_mapped {
            sys::unmap(self.start, self.bytes);
        } else if self.bytes != 0 {
            // SAFETY: allocated by `allocate` with this layout, and not used after this.
            #[expect(unsafe_code, reason = "gives back what `alloc` gave")]
            unsafe {
                dealloc(self.start.as_ptr(), Block::layout(self.bytes, self.align));
            }
        }
    }
}

/// Asks for a line of memory.
#[inline(always)]
fn prefetch<E>(element: *const E) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch of any address is allowed, also of one that is not there; the instruction is in all
    // processors of this architecture.
    #[expect(unsafe_code, reason = "an instruction of the processor")]
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(element.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = element;
}

/// Mappings: all sizes are multiples of huge pages and not 0, and so are the borders on which they begin.
#[cfg(all(target_os = "linux", not(miri)))]
#[expect(unsafe_code, reason = "system calls on memory")]
mod sys {
    use core::ptr::{self, NonNull};

    use super::HUGE_PAGE_BYTES;

    /// Maps memory of zeros, in huge pages if the system has them.
    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let start = reserve(bytes)?;
        advise(start, bytes);
        Some(start)
    }

    /// Moves a mapping of `map` to another address, with another size; what is in it stays in it. If that
    /// cannot be done, it stays.
    pub(super) fn remap(old: NonNull<u8>, old_bytes: usize, bytes: usize) -> Option<NonNull<u8>> {
        if bytes <= old_bytes {
            unmap_range(old.as_ptr().wrapping_add(bytes), old_bytes - bytes);
            return Some(old);
        }
        let start = reserve(bytes)?;
        if move_to(old, old_bytes, start, bytes) == libc::MAP_FAILED {
            // The target is left as it is: see `move_to`. What is lost is address space, at most as much as
            // the table is to have.
            return None;
        }
        advise(start, bytes);
        Some(start)
    }

    /// Moves a mapping onto memory that was reserved for it. If that fails, the old one stays, and the target
    /// must not be touched again, not even to be unmapped: MREMAP_FIXED unmaps the target before it moves
    /// anything (`mremap_to` in the kernel's mm/mremap.c), and what fails after that, for want of memory for
    /// page tables, does not map it again. Another thread may have mapped something there since.
    fn move_to(old: NonNull<u8>, old_bytes: usize, to: NonNull<u8>, bytes: usize) -> *mut libc::c_void {
        #[cfg(test)]
        if failing::SHALL_FAIL.take() {
            return failing::move_to(to, bytes);
        }
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: the caller owns all of the old mapping and uses its address no more; it is one mapping to
        // the kernel too, because it was made as one and grown by this call alone. What is at the new address
        // is ours: no one else has its address. If the call fails, the kernel has moved back what it had
        // moved of the old mapping, so that it is as it was; the target is ours no more.
        unsafe { libc::mremap(old.as_ptr().cast(), old_bytes, bytes, flags, to.as_ptr()) }
    }

    /// Gives a mapping of `map` or `remap` back.
    pub(super) fn unmap(start: NonNull<u8>, bytes: usize) {
        unmap_range(start.as_ptr(), bytes);
    }

    /// Maps memory on the border of a huge page.
    fn reserve(bytes: usize) -> Option<NonNull<u8>> {
        let room = bytes.checked_add(HUGE_PAGE_BYTES)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that is there.
        let found = unsafe { libc::mmap(ptr::null_mut(), room, protection, flags, -1, 0) };
        if found == libc::MAP_FAILED {
            return None;
        }
        let found: *mut u8 = found.cast();
        let before = found.align_offset(HUGE_PAGE_BYTES);
        unmap_range(found, before);
        unmap_range(found.wrapping_add(before + bytes), room - before - bytes);
        NonNull::new(found.wrapping_add(before))
    }

    fn advise(start: NonNull<u8>, bytes: usize) {
        // Without huge pages it is slower, not wrong: an error says nothing of use.
        // SAFETY: the range is a mapping of ours; the advice changes nothing of what is in it.
        let _ = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
    }

    fn unmap_range(start: *mut u8, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // SAFETY: the range is of a mapping of ours, by `reserve` and its callers, and its addresses are used
        // no more.
        let result = unsafe { libc::munmap(start.cast(), bytes) };
        // The kernel may lack memory to split a mapping in two: the rest stays reserved, and is not touched.
        debug_assert_eq!(result, 0, "a mapping is given back");
    }

    /// The kernel at its worst: it unmaps the target before it fails to move, and another thread maps
    /// something there.
    #[cfg(test)]
    pub(super) mod failing {
        use core::cell::Cell;
        use core::ptr::{self, NonNull};

        use super::HUGE_PAGE_BYTES;

        std::thread_local! {
            /// The next move fails.
            pub(in super::super) static SHALL_FAIL: Cell<bool> = const { Cell::new(false) };
            static FOREIGN: Cell<*mut libc::c_void> = const { Cell::new(ptr::null_mut()) };
        }

        /// What the other thread writes there.
        const MARK: u8 = 0xA5;

        pub(super) fn move_to(to: NonNull<u8>, bytes: usize) -> *mut libc::c_void {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            // SAFETY: the range was reserved for the mapping that is not moved; nothing is in it. Its first
            // byte can be written.
            let foreign = unsafe { libc::mmap(to.as_ptr().cast(), bytes, protection, flags, -1, 0) };
            // SAFETY: as above.
            unsafe { foreign.cast::<u8>().write(MARK) };
            FOREIGN.set(foreign);
            libc::MAP_FAILED
        }

        /// Whether what the other thread mapped is still there.
        pub(in super::super) fn is_foreign_mapped() -> bool {
            let foreign = FOREIGN.get();
            // SAFETY: an asynchronous msync changes nothing; it fails where nothing is mapped. What is mapped
            // there can be read: by the other thread, or else by the table.
            unsafe {
                libc::msync(foreign, HUGE_PAGE_BYTES, libc::MS_ASYNC) == 0
                    && foreign.cast::<u8>().read() == MARK
            }
        }
    }
}

/// Nothing is mapped.
#[cfg(not(all(target_os = "linux", not(miri))))]
mod sys {
    use core::ptr::NonNull;

    pub(super) fn map(_bytes: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(super) fn remap(_old: NonNull<u8>, _old_bytes: usize, _bytes: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(super) fn unmap(_start: NonNull<u8>, _bytes: usize) {
        unreachable!("nothing was mapped")
    }
}

#[cfg(test)]
mod tests;
