//! A watchdog around a call that blocks: whatever it is, something else must be able to end it.

use std::error::Error;
use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

const SILENCE: Duration = Duration::from_millis(5);

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let _silent = TcpStream::connect(listener.local_addr()?)?;
    let (mut stream, mut buffer) = (listener.accept()?.0, [0; 64]);
    // Begin.
    let watched = stream.try_clone()?;
    let watchdog = mainspring::after(SILENCE, move || watched.shutdown(Shutdown::Both).unwrap_or(()))?;
    let length = stream.read(&mut buffer)?;
    let was_silent = !watchdog.cancel();
    // End.
    println!("watchdog: {length} bytes were read, the watchdog barked: {was_silent}");
    assert_eq!((length, was_silent), (0, true));
    Ok(())
}
