//! A cache whose entries expire by themselves: no sweep, and no check at each look-up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::driver::{Refusal, Single};
use mainspring::front::callback::Timer;
use mainspring::front::{Callbacks, RunTasks, Task};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

type Entries = Arc<Mutex<HashMap<String, (u32, Timer)>>>;

struct Cache {
    callbacks: Callbacks,
    entries: Entries,
}

impl Cache {
    fn put(&self, key: &str, value: u32, lifetime: Duration) -> Result<(), Refusal> {
        let (entries, expiring) = (Arc::clone(&self.entries), key.to_owned());
        let expire = move |_| drop(entries.lock().expect("nothing panics").remove(&expiring));
        // The entry's lock is held: it cannot expire before it is there.
        let mut entries = self.entries.lock().expect("nothing panics");
        let timer = self.callbacks.after(lifetime, expire)?;
        if let Some((_, replaced)) = entries.insert(key.to_owned(), (value, timer)) {
            replaced.cancel();
        }
        Ok(())
    }

    fn find(&self, key: &str) -> Option<u32> {
        self.entries.lock().expect("nothing panics").get(key).map(|(value, _)| *value)
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = Arc::new(Single::new(Chunked::<Task>::new(), Arc::new(Manual::leaping())));
    let cache = Cache { callbacks: Callbacks::new(Handle::new(driver.clone())), entries: Arc::default() };
    cache.put("short", 1, Duration::from_secs(5))?;
    cache.put("long", 2, Duration::from_secs(60))?;
    cache.put("again", 3, Duration::from_secs(5))?;
    cache.put("again", 4, Duration::from_secs(60))?;
    driver.run_until(Tick::new(10_000), &mut RunTasks);
    let found = ["short", "long", "again"].map(|key| cache.find(key));
    println!("after ten seconds the cache holds short, long, again: {found:?}");
    assert_eq!(found, [None, Some(2), Some(4)]);
    driver.run_until_idle(&mut RunTasks);
    assert_eq!(cache.entries.lock().expect("nothing panics").len(), 0);
    Ok(())
}
