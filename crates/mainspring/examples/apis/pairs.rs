//! Each front's pair of schedule and cancel.

use std::hint::black_box;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mainspring::Engine;
use mainspring::clock::Monotonic;
use mainspring::driver::{FiredTimer, Striped};
use mainspring::front::{Channels, Futures};
use mainspring::{Handle, preset};
use mainspring_queue::wheel::Chunked;
use mainspring_queue::{Tick, TimerQueue};

use crate::{Pair, Row, TIMER_COUNT};

fn places<T>() -> Vec<Option<T>> {
    (0..TIMER_COUNT).map(|_| None).collect()
}

fn row(name: &'static str, start: impl Fn() -> Box<dyn Pair> + Send + Sync + 'static) -> Row {
    Row { name, start: Box::new(start) }
}

pub(crate) fn rows() -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let mut rows = vec![queue_alone(), queue_in_mutex(), raw_handle()?];
    rows.extend(callbacks()?);
    rows.extend(futures()?);
    rows.push(channels()?);
    rows.push(tokio_sleep()?);
    Ok(rows)
}

fn queue_alone() -> Row {
    row("queue alone, per thread", || {
        let mut queue = Chunked::new();
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let id = queue.schedule(Tick::new(delay), place as u64).expect("it is taken");
            if let Some(old) = places[place].replace(id) {
                assert!(queue.cancel(old).is_some(), "no time passes");
            }
        })
    })
}

fn queue_in_mutex() -> Row {
    let queue = Arc::new(Mutex::new(Chunked::new()));
    row("queue behind one mutex", move || {
        let queue = Arc::clone(&queue);
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let id = queue.lock().expect("no panic").schedule(Tick::new(delay), place as u64);
            if let Some(old) = places[place].replace(id.expect("it is taken")) {
                black_box(queue.lock().expect("no panic").cancel(old));
            }
        })
    })
}

fn raw_handle() -> Result<Row, Box<dyn std::error::Error>> {
    let driver = Arc::new(Striped::for_cores(Chunked::new, Arc::new(Monotonic::new())));
    driver.start(|_: FiredTimer<u64>| ())?;
    let engine = Engine::from_driver(driver);
    Ok(row("handle, schedule_at", move || {
        let handle: Handle<u64> = engine.handle().clone();
        let start = handle.clock().now();
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let id = handle.schedule_at(start.after(delay), place as u64).expect("it is taken");
            if let Some(old) = places[place].replace(id) {
                black_box(handle.cancel(old));
            }
        })
    }))
}

fn callbacks() -> Result<[Row; 2], Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let front = engine.callbacks();
    let at = row("callbacks, at", move || {
        let (front, start) = (front.clone(), engine.handle().clock().now());
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let timer = front.at(start.after(delay), move |_| _ = black_box(place)).expect("it is taken");
            if let Some(old) = places[place].replace(timer) {
                black_box(old.cancel());
            }
        })
    });
    let engine = preset::mainspring()?;
    let front = engine.callbacks();
    let after = row("callbacks, after", move || {
        let front = front.clone();
        let _keep = &engine;
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let delay = Duration::from_millis(delay);
            let timer = front.after(delay, move |_| _ = black_box(place)).expect("it is taken");
            if let Some(old) = places[place].replace(timer) {
                black_box(old.cancel());
            }
        })
    });
    Ok([at, after])
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn futures() -> Result<[Row; 2], Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let front = Futures::new(engine.handle().clone());
    let until = row("futures, sleep_until", move || {
        let (front, start) = (front.clone(), engine.handle().clock().now());
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let mut sleep = front.sleep_until(start.after(delay));
            black_box(poll_once(&mut sleep)).is_pending();
            places[place] = Some(sleep);
        })
    });
    let engine = preset::mainspring()?;
    let front = Futures::new(engine.handle().clone());
    let after = row("futures, sleep", move || {
        let front = front.clone();
        let _keep = &engine;
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let mut sleep = front.sleep(Duration::from_millis(delay));
            black_box(poll_once(&mut sleep)).is_pending();
            places[place] = Some(sleep);
        })
    });
    Ok([until, after])
}

fn channels() -> Result<Row, Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let front = Channels::new(engine.handle().clone());
    Ok(row("channels, timer", move || {
        let front = front.clone();
        let _keep = &engine;
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let timer = front.timer(Duration::from_millis(delay)).expect("it is taken");
            if let Some(old) = places[place].replace(timer) {
                black_box(old.stop());
            }
        })
    }))
}

fn tokio_sleep() -> Result<Row, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build()?;
    // Lives as long as the program, as its guards do.
    let runtime: &'static tokio::runtime::Runtime = Box::leak(Box::new(runtime));
    Ok(row("tokio, sleep_until", move || {
        // For the rest of the thread's life.
        std::mem::forget(runtime.enter());
        let start = tokio::time::Instant::now();
        let mut places = places();
        Box::new(move |place: usize, delay: u64| {
            let deadline = start + Duration::from_millis(delay);
            let mut sleep = Box::pin(tokio::time::sleep_until(deadline));
            black_box(poll_once(&mut sleep)).is_pending();
            places[place] = Some(sleep);
        })
    }))
}
