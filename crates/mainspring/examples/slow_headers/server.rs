//! An HTTP server on one thread that gives each client so long for its headers: `200 OK`, or `408 Request
//! Timeout`.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use mainspring::clock::Clock;
use mainspring::driver::poll::{AnySource, Interest, Ready, Serve, SourceId};
use mainspring::driver::{Fire, FiredTimer, Poll, TimerId, Timers};
use mainspring_queue::RedBlackTree;

pub(crate) type ServerDriver = Poll<RedBlackTree<SourceId>, AnySource>;

pub(crate) struct Server {
    driver: Arc<ServerDriver>,
    listener: Arc<TcpListener>,
    listening: SourceId,
    header_timeout: Duration,
    clients: HashMap<SourceId, Client>,
}

struct Client {
    stream: Arc<TcpStream>,
    header: Vec<u8>,
    timer: TimerId,
}

impl Server {
    /// Starts a server; returns its driver and where it listens.
    pub(crate) fn start(
        clock: Arc<dyn Clock>,
        header_timeout: Duration,
    ) -> io::Result<(Arc<ServerDriver>, SocketAddr)> {
        let driver = Arc::new(Poll::new(RedBlackTree::new(), clock)?);
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listening = driver.sources().register(listener.clone() as Arc<AnySource>, Interest::Readable)?;
        let server =
            Server { driver: driver.clone(), listener, listening, header_timeout, clients: HashMap::new() };
        driver.start(server)?;
        Ok((driver, address))
    }

    /// Takes all connections that wait.
    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                accepted => self.welcome(accepted?.0)?,
            }
        }
    }

    fn welcome(&mut self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        let stream = Arc::new(stream);
        let id = self.driver.sources().register(stream.clone() as Arc<AnySource>, Interest::Readable)?;
        let deadline = self.driver.clock().after(self.header_timeout);
        let timer = self.driver.schedule(deadline, id).map_err(io::Error::other)?;
        self.clients.insert(id, Client { stream, header: Vec::new(), timer });
        Ok(())
    }

    fn read(&mut self, id: SourceId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let mut chunk = [0; 1_024];
        match (&*client.stream).read(&mut chunk) {
            Ok(0) | Err(_) => drop(self.part_with(id)),
            Ok(byte_count) => client.header.extend_from_slice(&chunk[..byte_count]),
        }
        if self.clients.get(&id).is_some_and(|client| client.header.ends_with(b"\r\n\r\n")) {
            self.answer(id, "200 OK");
        }
    }

    fn answer(&mut self, id: SourceId, status: &str) {
        let Some(client) = self.part_with(id) else { return };
        let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n");
        // The client may have gone; then no client misses the answer.
        let _ = (&*client.stream).write_all(answer.as_bytes());
    }

    fn part_with(&mut self, id: SourceId) -> Option<Client> {
        let client = self.clients.remove(&id)?;
        self.driver.cancel(client.timer);
        self.driver.sources().deregister(id);
        Some(client)
    }
}

impl Fire<SourceId> for Server {
    fn fire(&mut self, fired: FiredTimer<SourceId>) {
        self.answer(fired.payload, "408 Request Timeout");
    }
}

impl Serve<SourceId, AnySource> for Server {
    fn ready(&mut self, ready: Ready<AnySource>) {
        if ready.id != self.listening {
            self.read(ready.id);
        } else if let Err(error) = self.accept() {
            eprintln!("a connection was not accepted: {error}");
        }
    }
}
