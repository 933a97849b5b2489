//! A game at 60 frames a second, whose timers count the game's time: a slow frame makes none late, and a
//! replay of the same frames does the same.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mainspring::{Simulation, Tick};

const FRAMES_A_SECOND: u64 = 60;

/// Plays so many frames, and tells what happened in which.
fn play(frames: u64) -> Result<Vec<(u32, &'static str)>, Box<dyn std::error::Error>> {
    let time = Simulation::new();
    let timers = time.engine().callbacks();
    let (frame, events) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
    let happen = {
        let (frame, events) = (Arc::clone(&frame), Arc::clone(&events));
        move |what| events.lock().expect("no timer panics").push((frame.load(Relaxed), what))
    };
    let (spawn, explode, regain) = (happen.clone(), happen.clone(), happen);
    let spawning = timers.every(Duration::from_millis(500), move |_| spawn("an enemy comes"))?;
    let bomb = timers.after(Duration::from_millis(750), move |_| explode("the bomb explodes"))?;
    timers.after(Duration::from_millis(250), move |_| regain("the shield is back"))?;
    for number in 1..=frames {
        let began = Instant::now();
        frame.store(u32::try_from(number)?, Relaxed);
        if number == 30 {
            assert!(bomb.cancel(), "the player has cut the wire");
        }
        // Input, movement and drawing come here.
        time.advance_to(Tick::new(number * 1_000 / FRAMES_A_SECOND));
        std::thread::sleep((Duration::from_secs(1) / 60).saturating_sub(began.elapsed()));
    }
    spawning.cancel();
    let happened = events.lock().expect("no timer panics").clone();
    Ok(happened)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let happened = play(65)?;
    for (frame, what) in &happened {
        println!("frame {frame}: {what}");
    }
    assert_eq!(happened, [(15, "the shield is back"), (30, "an enemy comes"), (60, "an enemy comes")]);
    assert_eq!(play(65)?, happened, "a replay");
    Ok(())
}
