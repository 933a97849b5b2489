//! The delay queue: items that come out once, when they are due, in their order.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use mainspring::driver::Refusal;
use mainspring::{DelayQueue, Simulation, Tick};

use crate::desk::Desk;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn items_come_out_when_they_are_due_in_their_order() {
    let simulation = Simulation::new();
    let queue = simulation.engine().delay_queue();
    for (key, delay) in [("c", 30), ("a", 10), ("b", 20)] {
        assert_eq!(queue.put(key, delay, seconds(delay)), Ok(None));
    }
    assert_eq!(queue.len(), 3);
    simulation.advance(seconds(20));
    assert_eq!([queue.try_recv(), queue.recv(), queue.try_recv()], [Some(("a", 10)), Some(("b", 20)), None]);
    assert_eq!(queue.get(&"c"), Some(30));
    simulation.run_until_idle();
    assert_eq!(queue.recv(), Some(("c", 30)));
    assert!(queue.is_empty());
}

#[test]
fn an_item_is_put_off_replaced_and_removed_by_its_key() {
    let simulation = Simulation::new();
    let queue = simulation.engine().delay_queue();
    queue.put("put off", 1, seconds(10)).unwrap();
    queue.put("replaced", 2, seconds(10)).unwrap();
    queue.put("removed", 3, seconds(10)).unwrap();
    assert!(queue.reset(&"put off", seconds(40)));
    assert_eq!(queue.put("replaced", 4, seconds(20)), Ok(Some(2)));
    assert_eq!(queue.remove(&"removed"), Some(3));
    assert_eq!([queue.remove(&"removed"), queue.remove(&"never")], [None, None]);
    assert!(!queue.reset(&"removed", seconds(1)));
    simulation.advance(seconds(15));
    assert_eq!(queue.try_recv(), None);
    simulation.advance(seconds(15));
    assert_eq!([queue.try_recv(), queue.try_recv()], [Some(("replaced", 4)), None]);
    simulation.run_until_idle();
    assert_eq!(queue.try_recv(), Some(("put off", 1)));
}

#[test]
fn an_item_is_found_by_what_its_key_borrows_as() {
    let simulation = Simulation::new();
    let queue = DelayQueue::new(simulation.engine().handle().clone());
    queue.put("a name".to_owned(), 1, seconds(10)).unwrap();
    assert_eq!(queue.get("a name"), Some(1));
    assert!(queue.reset("a name", seconds(20)));
    simulation.advance(seconds(19));
    assert_eq!(queue.try_recv(), None);
    assert_eq!([queue.remove("a name"), queue.remove("another")], [Some(1), None]);
}

#[test]
fn the_next_item_is_looked_at_and_all_are_removed() {
    let simulation = Simulation::new();
    let queue = simulation.engine().delay_queue();
    assert_eq!((queue.peek(), queue.clear()), (None, 0));
    for (key, delay) in [("c", 30), ("a", 10), ("b", 20)] {
        queue.put(key, delay, seconds(delay)).unwrap();
    }
    assert_eq!((queue.peek(), queue.deadline("a")), (Some("a"), Some(Tick::new(10_000))));
    assert!(queue.reset("a", seconds(25)));
    assert_eq!((queue.peek(), queue.deadline("a")), (Some("b"), Some(Tick::new(25_000))));
    simulation.advance(seconds(20));
    assert_eq!((queue.peek(), queue.deadline("b")), (Some("b"), None), "one that is due comes first");
    queue.compact();
    assert_eq!(queue.clear(), 3, "pending and due");
    assert_eq!((simulation.run_until_idle(), queue.try_recv(), queue.peek()), (0, None, None));
    queue.put("d", 1, seconds(1)).unwrap();
    simulation.run_until_idle();
    assert_eq!(queue.recv(), Some(("d", 1)), "it continues");
}

#[test]
fn a_receiver_that_gives_up_leaves_the_others_to_be_woken() {
    let simulation = Simulation::new();
    let queue = simulation.engine().delay_queue();
    queue.put("item", 7, seconds(1)).unwrap();
    let woken = [(); 3].map(|()| Arc::new(crate::desk::Count::default()));
    let [first, second, third] = woken.clone().map(std::task::Waker::from);
    let mut stays = Box::pin(queue.next());
    assert!(stays.as_mut().poll(&mut Context::from_waker(&first)).is_pending());
    let mut gives_up = Box::pin(queue.next());
    assert!(gives_up.as_mut().poll(&mut Context::from_waker(&second)).is_pending());
    let clone = queue.clone();
    assert!(clone.poll_next(&mut Context::from_waker(&third)).is_pending());
    drop((gives_up, clone));
    drop((second, third));
    assert_eq!(woken.each_ref().map(Arc::strong_count), [3, 1, 1], "wakers of those that gave up are gone");
    simulation.advance(seconds(1));
    assert_eq!(woken.map(|count| count.get()), [1, 0, 0]);
    assert_eq!(stays.as_mut().poll(&mut Context::from_waker(&first)), Poll::Ready(Some(("item", 7))));
}

#[test]
fn a_receiver_that_waits_is_told_when_the_engine_ends() {
    let engine = mainspring::Engine::new().unwrap();
    let queue: DelayQueue<&str, u32> = engine.delay_queue();
    queue.put("soon", 1, Duration::from_millis(1)).unwrap();
    queue.put("never", 2, seconds(3_600)).unwrap();
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| [queue.recv(), queue.recv()]);
        let is_taken = || queue.len() == 1 && queue.try_recv().is_none();
        while !is_taken() {
            std::thread::yield_now();
        }
        drop(engine.shutdown());
        let [_, last] = receiver.join().unwrap();
        assert_eq!(last, None);
    });
    assert_eq!(queue.remove(&"never"), Some(2), "what did not come out is still there");
    assert_eq!(queue.put("late", 3, seconds(1)), Err(Refusal::Stopped));
    drop(engine);
}

#[test]
fn a_task_is_woken_by_the_item_that_it_waits_for() {
    let engine = mainspring::Engine::new().unwrap();
    let queue = engine.delay_queue();
    queue.put(1, "one", Duration::from_millis(2)).unwrap();
    assert_eq!(smol::block_on(queue.next()), Some((1, "one")));
    queue.close();
    assert_eq!(smol::block_on(queue.next()), None);
}

#[test]
fn a_cache_hands_what_expires_to_its_closure_and_drops_all_else_once() {
    struct DropCounter(Arc<AtomicUsize>);
    impl Drop for DropCounter {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let simulation = Simulation::new();
    let drop_count = Arc::new(AtomicUsize::new(0));
    let cache = DelayQueue::with_expired(simulation.engine().handle().clone(), |_, value| drop(value));
    for key in 0..10 {
        cache.put(key, DropCounter(Arc::clone(&drop_count)), seconds(key + 1)).unwrap();
    }
    simulation.advance(seconds(4));
    assert_eq!(drop_count.load(Ordering::SeqCst), 4);
    cache.put(9, DropCounter(Arc::clone(&drop_count)), seconds(60)).unwrap();
    assert_eq!(drop_count.load(Ordering::SeqCst), 5, "the one that was replaced");
    drop(cache);
    simulation.run_until_idle();
    assert_eq!(drop_count.load(Ordering::SeqCst), 11);
}

#[test]
fn the_items_that_become_due_are_a_stream() {
    let desk = Desk::new();
    let mut queue = DelayQueue::new(desk.handle.clone());
    queue.put("late", 2, seconds(20)).unwrap();
    queue.put("early", 1, seconds(10)).unwrap();
    let poll = |queue: &mut DelayQueue<&'static str, u32>| {
        let waker = desk.waker();
        Stream::poll_next(Pin::new(queue), &mut Context::from_waker(&waker))
    };
    assert_eq!(poll(&mut queue), Poll::Pending);
    desk.pass_until(10_000);
    assert_eq!(desk.wake_count(), 1);
    assert_eq!(poll(&mut queue), Poll::Ready(Some(("early", 1))));
    assert_eq!(poll(&mut queue), Poll::Pending);
    queue.close();
    assert_eq!(desk.wake_count(), 2);
    assert_eq!(poll(&mut queue), Poll::Ready(None));
    assert_eq!(queue.remove(&"late"), Some(2), "what is pending is given back");
}

#[test]
fn the_timers_of_a_queue_end_with_its_last_clone() {
    let simulation = Simulation::new();
    let (engine, key) = (simulation.engine(), Arc::new(()));
    let queue = engine.delay_queue();
    queue.put(Arc::clone(&key), 1, seconds(86_400)).unwrap();
    drop(queue.clone());
    assert_eq!((engine.handle().pending_count(), queue.len()), (1, 1));
    drop(queue);
    assert_eq!((engine.handle().pending_count(), Arc::strong_count(&key)), (0, 1));
}

#[test]
fn a_queue_keeps_one_waker_for_each_clone_that_is_polled() {
    let simulation = Simulation::new();
    let queue: DelayQueue<&str, u32> = simulation.engine().delay_queue();
    let woken = [(); 3].map(|()| Arc::new(crate::desk::Count::default()));
    for count in &woken {
        let waker = std::task::Waker::from(Arc::clone(count));
        assert!(queue.poll_next(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(woken.each_ref().map(Arc::strong_count), [1, 1, 2]);
    queue.put("item", 7, seconds(1)).unwrap();
    simulation.advance(seconds(1));
    assert_eq!(woken.map(|count| count.get()), [0, 0, 1]);
}
