//! A page in a browser, in WebAssembly: a search that waits until the typing pauses, notices that go by
//! themselves, and the seconds. There is no thread: all timers are one `setTimeout` of the page.
//!
//! ```text
//! cargo build --release --target wasm32-unknown-unknown     then serve page.html, page.js and browser_page.wasm
//! node run.mjs target/wasm32-unknown-unknown/release/browser_page.wasm      the same without a browser
//! ```
#![cfg(target_family = "wasm")]

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use mainspring::clock::Manual;
use mainspring::driver::{PerWorker, per_worker::Worker};
use mainspring::front::RunTasks;
use mainspring::queue::wheel::Chunked;
use mainspring::{Engine, Task, Tick, Timer};

const PAUSE: Duration = Duration::from_millis(300);

/// What the page shows, with a number.
#[repr(u32)]
enum Row {
    Seconds,
    Searches,
    Notices,
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    safe fn show(row: u32, number: u32);
}

struct Page {
    /// The time of the page, which tells it with each call.
    clock: Manual,
    worker: Worker<Chunked<Task>>,
    engine: Engine,
    search: Option<Timer>,
    search_count: Arc<AtomicU32>,
    notice_count: Arc<AtomicU32>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::new(Page::open().expect("the engine takes timers"));
}

impl Page {
    fn open() -> Result<Page, Box<dyn std::error::Error>> {
        let clock = Manual::stepped();
        let driver = Arc::new(PerWorker::new(1, Chunked::new, clock.clone()));
        let worker = driver.worker().ok_or("its only worker is taken")?;
        let engine = Engine::from_driver(driver);
        let mut seconds = 0;
        engine.callbacks().every(Duration::from_secs(1), move |_| {
            seconds += 1;
            show(Row::Seconds as u32, seconds);
        })?;
        let (search_count, notice_count) = (Arc::default(), Arc::default());
        Ok(Page { clock, worker, engine, search: None, search_count, notice_count })
    }

    fn at<T>(now_ms: f64, act: impl FnOnce(&mut Page) -> T) -> T {
        PAGE.with_borrow_mut(|page| {
            page.clock.advance_to(Tick::new(now_ms as u64));
            act(page)
        })
    }
}

/// Fires what is due. Tells when it wants to be called again, or -1 if nothing is pending.
#[unsafe(no_mangle)]
pub extern "C" fn turn(now_ms: f64) -> f64 {
    Page::at(now_ms, |page| {
        while page.worker.fire_due(&mut RunTasks) {}
        page.worker.next_wakeup().map_or(-1.0, |tick| tick.get() as f64)
    })
}

/// A key was pressed in the search: it begins when none has been for a while.
#[unsafe(no_mangle)]
pub extern "C" fn typed(now_ms: f64) {
    Page::at(now_ms, |page| {
        if page.search.as_ref().is_some_and(|search| search.reset(PAUSE)) {
            return;
        }
        let count = Arc::clone(&page.search_count);
        let search = move |_| show(Row::Searches as u32, count.fetch_add(1, Relaxed) + 1);
        page.search = Some(page.engine.callbacks().after(PAUSE, search).expect("the engine takes timers"));
    });
}

/// Shows so many notices; each goes after a time of its own, of a minute at most.
#[unsafe(no_mangle)]
pub extern "C" fn notify(now_ms: f64, new_count: u32) {
    Page::at(now_ms, |page| {
        show(Row::Notices as u32, page.notice_count.fetch_add(new_count, Relaxed) + new_count);
        for number in 0..new_count {
            let count = Arc::clone(&page.notice_count);
            let hide = move |_| show(Row::Notices as u32, count.fetch_sub(1, Relaxed) - 1);
            let delay = Duration::from_millis(u64::from(1_000 + number % 59_000));
            page.engine.callbacks().after(delay, hide).expect("the engine takes timers");
        }
    });
}

/// Ends all timers, and tells how many were pending.
#[unsafe(no_mangle)]
pub extern "C" fn close() -> u32 {
    PAGE.with_borrow(|page| page.engine.shutdown().len() as u32)
}
