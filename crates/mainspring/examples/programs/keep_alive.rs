//! A connection that is closed when it has been silent for a while.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

const SILENCE: Duration = Duration::from_millis(5);

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut peer = TcpStream::connect(listener.local_addr()?)?;
    let (mut stream, mut buffer, mut byte_count) = (listener.accept()?.0, [0; 1], 0);
    peer.write_all(b"alive")?;
    // Begin.
    let watched = stream.try_clone()?;
    let silence = mainspring::after(SILENCE, move || watched.shutdown(Shutdown::Both).unwrap_or(()))?;
    while stream.read(&mut buffer)? > 0 && silence.reset(SILENCE) {
        byte_count += 1;
    }
    // End.
    println!("keep-alive: closed after {byte_count} signs of life");
    assert!(byte_count <= 5);
    Ok(())
}
