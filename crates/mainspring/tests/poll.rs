//! Behaviour peculiar to the driver that waits for sockets and timers at once.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mainspring::clock::{Clock, Manual, Monotonic};
use mainspring::driver::poll::{Interest, Ready, Serve, SourceId};
use mainspring::driver::{Driver, Fire, FiredTimer, FiringPanic, Poll, Timers};
use mainspring_queue::{RedBlackTree, Tick};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use slow_headers::server::{Server, ServerDriver};

#[path = "../examples/slow_headers/main.rs"]
mod slow_headers;

/// Longer than any of these tests should take; when it is over they fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

type PollDriver = Poll<RedBlackTree<u32>, UnixStream>;

/// What a loop has said.
enum LoopEvent {
    Fired(u32),
    Ready(Ready<UnixStream>),
}

/// Hands everything that a loop says to one closure. If that panics, unasked, the loop ends.
struct Listen<F> {
    hear: F,
    driver: Arc<PollDriver>,
    panics: Vec<String>,
}

/// What a handler says that panics because the test wants it to.
const ASKED: &str = "this one panics";

impl<F> Listen<F> {
    fn note_panic(&mut self, message: &str) {
        if message != ASKED {
            self.panics.push(message.to_owned());
            self.driver.stop();
        }
    }
}

impl<F: FnMut(LoopEvent) + Send> Fire<u32> for Listen<F> {
    fn fire(&mut self, fired: FiredTimer<u32>) {
        assert!(fired.deadline <= fired.now, "never early");
        (self.hear)(LoopEvent::Fired(fired.payload));
    }

    fn panicked(&mut self, panic: &FiringPanic) {
        self.note_panic(&panic.message);
    }
}

impl<F: FnMut(LoopEvent) + Send> Serve<u32, UnixStream> for Listen<F> {
    fn ready(&mut self, ready: Ready<UnixStream>) {
        (self.hear)(LoopEvent::Ready(ready));
    }

    fn source_panicked(&mut self, _: SourceId, message: &str) {
        self.note_panic(message);
    }
}

fn listen<F: FnMut(LoopEvent)>(driver: &Arc<PollDriver>, hear: F) -> Listen<F> {
    Listen { hear, driver: Arc::clone(driver), panics: Vec::new() }
}

/// Runs a loop on this thread until the closure stops it.
fn run(driver: &Arc<PollDriver>, hear: impl FnMut(LoopEvent) + Send) {
    let mut listen = listen(driver, hear);
    driver.run(&mut listen).unwrap();
    assert_eq!(listen.panics, [] as [String; 0]);
}

fn driver(clock: impl Clock) -> Arc<PollDriver> {
    Arc::new(Poll::new(RedBlackTree::new(), Arc::new(clock)).unwrap())
}

/// Registers one end of a pair of sockets, and returns the other.
fn register(driver: &PollDriver, interest: Interest) -> (SourceId, UnixStream) {
    let (source, peer) = UnixStream::pair().unwrap();
    source.set_nonblocking(true).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    (driver.sources().register(source, interest).unwrap(), peer)
}

fn read_all(mut source: &UnixStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // It ends with "would block", or with the end.
    let _ = source.read_to_end(&mut bytes);
    bytes
}

#[test]
fn a_readable_source_is_handed_out_with_its_id() {
    let driver = driver(Monotonic::new());
    let (_silent, _peer) = register(&driver, Interest::Readable);
    let (id, mut peer) = register(&driver, Interest::Readable);
    peer.write_all(b"hello").unwrap();
    let mut heard = Vec::new();
    let hear = |said| {
        let LoopEvent::Ready(ready) = said else { unreachable!("there is no timer") };
        heard.push((ready.id, ready.is_readable, ready.is_writable, read_all(&ready.source)));
        driver.stop();
    };
    run(&driver, hear);
    assert_eq!(heard, [(id, true, false, b"hello".to_vec())]);
}

#[test]
fn sockets_and_timers_share_a_loop() {
    let driver = driver(Monotonic::new());
    let (id, mut peer) = register(&driver, Interest::Readable);
    driver.schedule(driver_after(&driver, 5), 1).unwrap();
    let mut heard = Vec::new();
    let hear = |said| match said {
        LoopEvent::Fired(name) => {
            heard.push(format!("timer {name}"));
            // What fires makes a source ready, and what is ready makes a timer fire.
            peer.write_all(b"!").unwrap();
            if name == 2 {
                driver.stop();
            }
        }
        LoopEvent::Ready(ready) => {
            heard.push(format!("source {}", ready.id));
            read_all(&ready.source);
            driver.schedule(driver_after(&driver, 5), 2).unwrap();
        }
    };
    run(&driver, hear);
    assert_eq!(heard, ["timer 1".to_owned(), format!("source {id}"), "timer 2".to_owned()]);
}

fn driver_after(driver: &PollDriver, delay_ms: u64) -> Tick {
    Timers::<u32>::clock(driver).after(Duration::from_millis(delay_ms))
}

#[test]
fn an_earlier_timer_from_another_thread_ends_the_wait() {
    let driver = driver(Monotonic::new());
    let (_id, _peer) = register(&driver, Interest::Readable);
    driver.schedule(Tick::MAX, 1).unwrap();
    let (told, is_told) = channel();
    driver.start(listen(&driver, move |_| told.send(()).unwrap())).unwrap();
    for name in 2..50 {
        driver.schedule(driver_after(&driver, u64::from(name % 3)), name).unwrap();
        is_told.recv_timeout(PATIENCE).expect("the loop does not sleep past it");
    }
    assert_eq!(Driver::<u32>::shutdown(&*driver).len(), 1);
}

#[test]
fn timers_fire_after_the_events_of_a_round() {
    let driver = driver(Manual::stepped());
    let mut peers: Vec<_> = (0..10).map(|_| register(&driver, Interest::Readable).1).collect();
    peers.iter_mut().for_each(|peer| peer.write_all(b"!").unwrap());
    let mut heard = String::new();
    let hear = |said| match said {
        LoopEvent::Fired(_) => {
            heard.push('t');
            if heard.len() == 20 {
                driver.stop();
            }
        }
        LoopEvent::Ready(ready) => {
            heard.push('s');
            read_all(&ready.source);
            driver.schedule(Tick::ZERO, 0).unwrap();
        }
    };
    run(&driver, hear);
    assert_eq!(heard, "sssssssssstttttttttt");
}

#[test]
fn what_a_handler_schedules_sends_no_notification() {
    // A leaping clock continues at once where nothing is ready, and stands where it is for one wait if there
    // is a notification.
    let driver = driver(Manual::leaping());
    let (_id, mut peer) = register(&driver, Interest::Readable);
    peer.write_all(b"!").unwrap();
    driver.schedule(Tick::new(1_000), 0).unwrap();
    let hear = |said| match said {
        LoopEvent::Ready(ready) => {
            read_all(&ready.source);
            driver.schedule(Tick::new(5), 0).unwrap();
        }
        LoopEvent::Fired(_) => driver.stop(),
    };
    run(&driver, hear);
    let counts = Timers::<u32>::counts(&*driver);
    assert_eq!((counts.fired, counts.wakeups), (1, 2), "one for the socket, one for the timer");
}

#[test]
fn a_source_that_is_deregistered_within_a_round_is_not_handed_out_in_it() {
    let driver = driver(Monotonic::new());
    let (ids, mut peers): (Vec<_>, Vec<_>) = (0..10).map(|_| register(&driver, Interest::Readable)).unzip();
    peers.iter_mut().for_each(|peer| peer.write_all(b"!").unwrap());
    let mut heard = Vec::new();
    let hear = |said| match said {
        LoopEvent::Ready(ready) => {
            heard.push(ready.id);
            let back = ids.iter().filter_map(|&id| driver.sources().deregister(id)).count();
            assert_eq!(back, 10);
            // Another round, to see whether anything is left.
            driver.schedule(Tick::ZERO, 0).unwrap();
        }
        LoopEvent::Fired(_) => driver.stop(),
    };
    run(&driver, hear);
    assert_eq!(heard.len(), 1);
    assert!(driver.sources().is_empty());
}

#[test]
fn a_source_that_nobody_is_interested_in_any_more_is_left_out_of_the_rest_of_a_round() {
    let driver = driver(Monotonic::new());
    let (ids, mut peers): (Vec<_>, Vec<_>) = (0..10).map(|_| register(&driver, Interest::Readable)).unzip();
    peers.iter_mut().for_each(|peer| peer.write_all(b"!").unwrap());
    let mut heard = 0;
    let hear = |said| match said {
        LoopEvent::Ready(_) => {
            heard += 1;
            assert!(ids.iter().all(|&id| driver.sources().modify(id, Interest::Writable).unwrap()));
            driver.schedule(Tick::ZERO, 0).unwrap();
        }
        LoopEvent::Fired(_) => driver.stop(),
    };
    run(&driver, hear);
    assert_eq!(heard, 1);
}

#[test]
fn stop_leaves_out_the_rest_of_a_round() {
    let driver = driver(Monotonic::new());
    let mut peers: Vec<_> = (0..10).map(|_| register(&driver, Interest::Readable).1).collect();
    peers.iter_mut().for_each(|peer| peer.write_all(b"!").unwrap());
    let mut heard = 0;
    let hear = |_| {
        heard += 1;
        driver.stop();
    };
    run(&driver, hear);
    assert_eq!(heard, 1);
    assert!(driver.schedule(Tick::ZERO, 0).is_err());
}

#[test]
fn timers_that_never_end_do_not_starve_a_source() {
    let driver = driver(Monotonic::new());
    let (_id, mut peer) = register(&driver, Interest::Readable);
    peer.write_all(b"!").unwrap();
    driver.schedule(Tick::ZERO, 0).unwrap();
    let mut fired_count = 0;
    let mut has_heard = false;
    let hear = |said| match said {
        LoopEvent::Fired(_) if fired_count == 100_000 => driver.stop(),
        LoopEvent::Fired(_) => {
            fired_count += 1;
            driver.schedule(Tick::ZERO, 0).unwrap();
        }
        LoopEvent::Ready(_) => {
            has_heard = true;
            driver.stop();
        }
    };
    run(&driver, hear);
    assert!(has_heard, "it gets its turn");
}

#[test]
fn a_stale_id_reaches_no_other_source() {
    let driver = driver(Monotonic::new());
    let sources = driver.sources();
    let mut stale = BTreeSet::new();
    for _ in 0..100 {
        // The descriptors are those of the sources before.
        let (id, _peer) = register(&driver, Interest::Readable);
        assert!(stale.iter().all(|&id| sources.deregister(id).is_none()));
        assert!(stale.iter().all(|&id| !sources.modify(id, Interest::Nothing).unwrap()));
        assert!(stale.iter().all(|&id| sources.source(id).is_none()));
        assert_eq!(sources.len(), 1);
        assert!(sources.deregister(id).is_some());
        assert!(stale.insert(id), "no id is given twice");
    }
}

#[test]
fn a_source_is_told_again_until_nobody_is_interested() {
    let driver = driver(Monotonic::new());
    let (id, mut peer) = register(&driver, Interest::Readable);
    peer.write_all(b"!").unwrap();
    let mut heard = Vec::new();
    let hear = |said| match said {
        LoopEvent::Ready(ready) => {
            heard.push((ready.is_readable, ready.is_writable));
            match heard.len() {
                1 => (),
                2 => assert!(driver.sources().modify(id, Interest::Both).unwrap()),
                3 => assert!(driver.sources().modify(id, Interest::Writable).unwrap()),
                _ => {
                    assert!(driver.sources().modify(id, Interest::Nothing).unwrap());
                    // The other end is gone, and still there is no interest.
                    peer.shutdown(std::net::Shutdown::Both).unwrap();
                    driver.schedule(driver_after(&driver, 20), 0).unwrap();
                }
            }
        }
        LoopEvent::Fired(_) => driver.stop(),
    };
    run(&driver, hear);
    assert_eq!(heard, [(true, false), (true, false), (true, true), (false, true)]);
    assert!(Timers::<u32>::counts(&*driver).wakeups < 10, "the loop does not spin");
}

#[test]
fn nothing_due_and_nothing_ready_wakes_nobody() {
    let clock = Manual::stepped();
    let driver = driver(clock.clone());
    let (id, mut peer) = register(&driver, Interest::Readable);
    driver.schedule(Tick::new(1_000), 0).unwrap();
    let (told, is_told) = channel();
    driver
        .start(listen(&driver, move |said| {
            if let LoopEvent::Ready(ready) = &said {
                read_all(&ready.source);
            }
            told.send(()).unwrap_or(());
        }))
        .unwrap();
    while clock.wait_count() == 0 {
        thread::yield_now();
    }
    for name in 1..100 {
        let later = driver.schedule(Tick::new(1_000 + u64::from(name)), name).unwrap();
        driver.reset(later, Tick::new(5_000)).unwrap();
        assert_eq!(driver.cancel(later), Some(name));
        assert!(driver.sources().modify(id, Interest::Readable).unwrap());
        // Time moves, and nothing is due.
        clock.advance(Duration::from_millis(1));
    }
    assert_eq!(Timers::<u32>::counts(&*driver).wakeups, 0);
    peer.write_all(b"!").unwrap();
    is_told.recv_timeout(PATIENCE).unwrap();
    while clock.wait_count() == 1 {
        thread::yield_now();
    }
    clock.advance_to(Tick::new(1_000));
    is_told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(Timers::<u32>::counts(&*driver).wakeups, 2, "one for the socket, one for the timer");
    Driver::<u32>::shutdown(&*driver);
}

#[test]
fn a_source_whose_handler_panics_is_deregistered_and_harms_no_other() {
    let driver = driver(Monotonic::new());
    let (bad, mut bad_peer) = register(&driver, Interest::Readable);
    bad_peer.write_all(b"!").unwrap();
    let (good, mut good_peer) = register(&driver, Interest::Readable);
    let mut heard = Vec::new();
    let hear = |said| match said {
        LoopEvent::Ready(ready) if ready.id == bad => {
            good_peer.write_all(b"!").unwrap();
            panic!("{ASKED}");
        }
        LoopEvent::Ready(ready) => {
            heard.push(ready.id);
            driver.stop();
        }
        LoopEvent::Fired(_) => unreachable!("there is no timer"),
    };
    run(&driver, hear);
    assert_eq!(heard, [good]);
    assert!(driver.sources().source(bad).is_none());
    assert_eq!(read_all(&bad_peer), [], "its source is closed");
}

#[test]
fn shutdown_closes_the_sources_that_nobody_else_holds() {
    let driver = driver(Monotonic::new());
    let (kept, mut kept_peer) = register(&driver, Interest::Readable);
    let (_, lost_peer) = register(&driver, Interest::Readable);
    driver.start(listen(&driver, |_| ())).unwrap();
    let kept = driver.sources().source(kept).unwrap();
    assert!(Driver::<u32>::shutdown(&*driver).is_empty());
    assert_eq!(read_all(&lost_peer), []);
    kept_peer.write_all(b"still open").unwrap();
    assert_eq!(read_all(&kept), b"still open");
    let refused = driver.sources().register(kept, Interest::Readable);
    assert!(refused.is_err(), "a driver that was shut down takes no source");
}

#[test]
fn sources_can_be_taken_out_and_one_is_registered_once() {
    let driver = driver(Monotonic::new());
    let (ids, _peers): (Vec<_>, Vec<_>) = (0..10).map(|_| register(&driver, Interest::Both)).unzip();
    let again = driver.sources().register(driver.sources().source(ids[0]).unwrap(), Interest::Both);
    assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
    let back = driver.sources().deregister_all();
    assert_eq!(back.iter().map(|&(id, _)| id).collect::<Vec<_>>(), ids);
    for (_, source) in back {
        driver.sources().register(source, Interest::Both).expect("it is free to be registered again");
    }
}

/// Connects so many clients, of which every second one dawdles; returns the prompt ones, then the slow ones.
fn connect(driver: &ServerDriver, address: SocketAddr, count: u64) -> (Vec<TcpStream>, Vec<TcpStream>) {
    // The standard library lets 128 connections wait to be accepted; the system tries others again a second
    // later.
    const WAITING_MAX: u64 = 64;
    let mut clients = (Vec::new(), Vec::new());
    for number in 0..count {
        while scheduled(driver) + WAITING_MAX <= number {
            thread::yield_now();
        }
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        if number % 2 == 0 {
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            clients.0.push(client);
        } else {
            client.write_all(b"GET / HTT").unwrap();
            clients.1.push(client);
        }
    }
    clients
}

/// How many connections have been accepted: each has a timer.
fn scheduled(driver: &ServerDriver) -> u64 {
    driver.counts().scheduled
}

fn status(client: &mut TcpStream) -> String {
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn of_a_thousand_clients_the_slow_half_gets_a_408_and_the_prompt_half_does_not_wait() {
    const CLIENTS: u64 = 1_000;
    // Both ends of each connection are in this process.
    let (_, limit) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!(2 * CLIENTS + 100 < limit, "this test needs more descriptors: ulimit -Hn");
    setrlimit(Resource::RLIMIT_NOFILE, limit, limit).unwrap();
    let clock = Manual::stepped();
    let (driver, address) = Server::start(Arc::new(clock.clone()), Duration::from_millis(60_000)).unwrap();
    let (mut prompt, mut slow) = connect(&driver, address, CLIENTS);
    // Time stands still until the prompt ones have been served.
    for client in &mut prompt {
        assert_eq!(status(client), "HTTP/1.1 200 OK");
    }
    while scheduled(&driver) < CLIENTS {
        thread::yield_now();
    }
    clock.advance_to(Tick::new(59_999));
    for client in &mut slow {
        client.set_nonblocking(true).unwrap();
        let early = client.read(&mut [0]).expect_err("nobody is answered 408 early");
        assert_eq!(early.kind(), ErrorKind::WouldBlock);
        client.set_nonblocking(false).unwrap();
    }
    clock.advance_to(Tick::new(60_000));
    for client in &mut slow {
        assert_eq!(status(client), "HTTP/1.1 408 Request Timeout");
    }
    assert!(driver.shutdown().is_empty());
    let counts = driver.counts();
    assert_eq!((counts.scheduled, counts.cancelled, counts.fired), (1_000, 500, 500));
}

#[test]
fn the_example_does_what_it_claims_on_the_real_clock() {
    slow_headers::main().unwrap();
}
