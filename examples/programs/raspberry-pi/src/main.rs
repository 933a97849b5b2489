//! A greenhouse on a Raspberry Pi: a light that blinks while the program runs, and a pump that waters each
//! morning and evening for ten minutes.
//!
//! ```text
//! greenhouse /sys/class/gpio             for ever, with gpio17 (light) and gpio27 (pump) exported as outputs
//! greenhouse FOLDER rehearse             two days in a moment, with files of a folder as pins
//!
//! cargo build --release --target aarch64-unknown-linux-gnu     or armv7-unknown-linux-gnueabihf
//! ```

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring::clock::wall::ManualWall;
use mainspring::cron::Schedule;
use mainspring::{Calendar, Callbacks, Engine, Simulation, Timer};

type Error = Box<dyn std::error::Error>;

const BLINK: Duration = Duration::from_secs(5);
const WATERING: Duration = Duration::from_secs(10 * 60);

/// One output, and how often it was switched on.
struct Pin {
    value: File,
    is_on: bool,
    count: u32,
}

impl Pin {
    /// Opens a pin, and switches it off.
    fn open(folder: &Path, name: &str) -> Result<Arc<Mutex<Pin>>, Error> {
        let value = File::options().write(true).open(folder.join(name).join("value"))?;
        value.write_all_at(b"0", 0)?;
        Ok(Arc::new(Mutex::new(Pin { value, is_on: false, count: 0 })))
    }

    fn set(&mut self, is_on: bool) {
        match self.value.write_all_at(if is_on { b"1" } else { b"0" }, 0) {
            Ok(()) => (self.is_on, self.count) = (is_on, self.count + u32::from(is_on)),
            Err(error) => eprintln!("a pin: {error}"),
        }
    }
}

/// Waters at six and at eighteen o'clock, and blinks. What it does continues while `calendar` is there.
fn tend(timers: &Callbacks, calendar: &Calendar, [light, pump]: [Arc<Mutex<Pin>>; 2]) -> Result<(), Error> {
    timers.every(BLINK, move |_| {
        let mut light = light.lock().expect("no timer panics");
        let is_on = !light.is_on;
        light.set(is_on);
    })?;
    let timers = timers.clone();
    let mut end: Option<Timer> = None;
    calendar.schedule(Schedule::parse("0 6,18 * * *", "Europe/Berlin")?, move |_| {
        pump.lock().expect("no timer panics").set(true);
        // What an earlier watering has left to do does not end this one.
        end.take().map(|end| end.cancel());
        let stopped = Arc::clone(&pump);
        let stop = move |_| stopped.lock().expect("no timer panics").set(false);
        match timers.after(WATERING, stop) {
            Ok(timer) => end = Some(timer),
            Err(_) => pump.lock().expect("no timer panics").set(false),
        }
    })?;
    Ok(())
}

fn rehearse(folder: &Path) -> Result<(), Error> {
    for name in ["gpio17", "gpio27"] {
        std::fs::create_dir_all(folder.join(name))?;
        File::create(folder.join(name).join("value"))?;
    }
    let [light, pump] = [Pin::open(folder, "gpio17")?, Pin::open(folder, "gpio27")?];
    let time = Simulation::new();
    let start = "2026-03-28T00:00:00+01:00".parse()?;
    let calendar =
        Calendar::with_wall(time.engine().handle().clone(), ManualWall::new(time.clock().clone(), start));
    tend(&time.engine().callbacks(), &calendar, [Arc::clone(&light), Arc::clone(&pump)])?;
    time.advance(Duration::from_secs(6 * 3_600));
    assert_eq!(std::fs::read_to_string(folder.join("gpio27/value"))?, "1", "six o'clock");
    time.advance(WATERING);
    assert_eq!(std::fs::read_to_string(folder.join("gpio27/value"))?, "0");
    // Of these hours one is lost to daylight saving time, and the pump keeps to the hours of the day.
    time.advance(Duration::from_secs((47 - 6) * 3_600) - WATERING);
    let (light, pump) = (light.lock().expect("no timer panics"), pump.lock().expect("no timer panics"));
    println!("the light blinked {} times, the pump ran {} times", light.count, pump.count);
    assert_eq!((light.count, pump.count, pump.is_on), (47 * 3_600 / 10, 4, false));
    Ok(())
}

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(words.first().ok_or("the name of a folder is missing")?);
    if words.get(1).is_some_and(|word| word == "rehearse") {
        return rehearse(folder);
    }
    let engine = Engine::new()?;
    let calendar = engine.calendar()?;
    tend(&engine.callbacks(), &calendar, [Pin::open(folder, "gpio17")?, Pin::open(folder, "gpio27")?])?;
    loop {
        std::thread::park();
    }
}
