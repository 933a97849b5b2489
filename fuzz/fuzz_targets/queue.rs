//! Any bytes are a script; every structure must agree with the oracle on it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainspring_queue::contract::{Script, Token, run};
use mainspring_queue::wheel::{Bitmap, Cascading, Chunked, Hierarchical, Overflow, Rounds, Simple};
use mainspring_queue::{RedBlackTree, SkipList, TimerQueue, heap};

fn hold<Q: TimerQueue<Token>>(script: &Script, queue: Q) {
    if let Err(difference) = run(script, queue) {
        panic!("{difference}\n{script}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let script = Script::from_bytes(bytes);
    hold(&script, heap::Quaternary::new());
    hold(&script, heap::Lazy::new());
    hold(&script, RedBlackTree::new());
    hold(&script, SkipList::new());
    hold(&script, Simple::new(100));
    hold(&script, Rounds::new(5, 7));
    hold(&script, Hierarchical::new(&[4, 4, 4]));
    hold(&script, Overflow::new(3, 7));
    hold(&script, Cascading::new());
    hold(&script, Bitmap::new());
    hold(&script, Chunked::new());
});
