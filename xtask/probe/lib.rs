//! The machine's part around the program of the example `no_std`: an allocator and a panic handler.
#![no_std]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};

#[path = "../../crates/mainspring-queue/examples/no_std/pulse.rs"]
pub mod pulse;

struct Nowhere;

// SAFETY: it gives no memory, so that there is none to misuse or to take back.
unsafe impl GlobalAlloc for Nowhere {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Nowhere = Nowhere;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
