//! Mainspring's own part in the comparison, as a program of a user would have it.
//!
//! Cost: a process.
//!
//! Has no option but that a run is tried again whose program died, as with the rivals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use mainspring_embed::{Handler, HandlerError, Jobs, Run};

use crate::{BULK, SUBMITTERS};

const EMPTY: Handler<usize> = Handler::new("empty");

/// How often it is asked whether all has been recorded.
const LOOK: Duration = Duration::from_millis(5);

/// Between two submissions whose latency is measured.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts the jobs. Returns them, how many have run, and when each began.
fn start(url: &str) -> (Jobs, Arc<AtomicUsize>, Receiver<Instant>) {
    let run_count = Arc::new(AtomicUsize::new(0));
    let (sender, started) = channel();
    let counter = Arc::clone(&run_count);
    let empty = move |_: &Run, _: usize| {
        counter.fetch_add(1, Ordering::Relaxed);
        sender.send(Instant::now()).map_err(HandlerError::because)
    };
    let at_least_once = EMPTY.with(|options| options.retry(3).retry_abandoned());
    (Jobs::connect(url).unwrap().handler(at_least_once, empty).start().unwrap(), run_count, started)
}

/// Submits so many.
fn submit(jobs: &Jobs, mode: &str, count: usize) {
    match mode {
        "bulk" => {
            for first in (0..count).step_by(BULK) {
                let many = (first..(first + BULK).min(count)).map(|number| jobs.once(EMPTY).payload(&number));
                jobs.submit_all(many).into_iter().for_each(|submitted| assert!(submitted.unwrap().is_new));
            }
        }
        _ => thread::scope(|scope| {
            for first in 0..SUBMITTERS {
                scope.spawn(move || {
                    for number in (first..count).step_by(SUBMITTERS) {
                        jobs.submit(EMPTY, &number).unwrap();
                    }
                });
            }
        }),
    }
}

/// Works as one of several processes until it is killed, and says when it does and when it has submitted.
pub(crate) fn take_part(url: &str, mode: &str, count: usize) {
    let (jobs, _, _started) = start(url);
    println!("works");
    submit(&jobs, mode, count);
    println!("submitted");
    loop {
        thread::park();
    }
}

/// Measures, and prints what [the header](super) says.
pub(crate) fn measure(url: &str, mode: &str, count: usize) {
    let (jobs, run_count, started) = start(url);
    if mode == "latency" {
        for number in 0..count {
            let submitted = Instant::now();
            jobs.submit(EMPTY, &number).unwrap();
            print!("{} ", (started.recv().unwrap() - submitted).as_secs_f64() * 1e3);
            thread::sleep(PAUSE);
        }
        return;
    }
    let began = Instant::now();
    submit(&jobs, mode, count);
    while run_count.load(Ordering::Relaxed) < count {
        thread::sleep(LOOK);
    }
    // Ends are recorded in their order: when a later run is on record, all are.
    let last = jobs.submit(EMPTY, &count).unwrap();
    while jobs.runs_of(last.job(), 1).unwrap().iter().all(|run| run.state.is_open()) {
        thread::sleep(LOOK);
    }
    println!("{}", began.elapsed().as_secs_f64());
}
