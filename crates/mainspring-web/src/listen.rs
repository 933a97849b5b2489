//! The thread that listens: sockets, connections and their limits.
//!
//! ```text
//! bind, before the server begins ─▶ thread: accept ─▶ a place among the connections ─▶ hyper ─▶ router
//!                                       └─ the loop has ended: streams say so, GOODBYE for the rest
//! ```
//!
//! Cost: one thread; a task for each connection.
//!
//! Does not encrypt, and does not bind where others could connect without a proxy: see
//! [`settings`](crate::settings).

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::tz::TimeZone;
use mainspring_exec::clock::Moment;
use mainspring_host::socket::{self, StaleSocket};
use mainspring_server::activation::{ActivatedSockets, Listening};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::protocol::{Request, Response};
use mainspring_server::server::listener::Listener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::computation::MAX_THREADS;
use crate::connections::{Connections, Origin};
use crate::event_stream::REST;
use crate::openapi::document;
use crate::pool::{Actor, CONNECTIONS, Connection, Pool};
use crate::proxy_users::MAX_NAME_BYTES;
use crate::repeats::Repeats;
use crate::router::{router, serve};
use crate::settings::{Address, Settings};
use crate::write_timeout::WriteTimeout;

/// How long the headers of a request may take to come, and a connection may be idle.
const HEADER_PATIENCE: Duration = Duration::from_secs(10);

/// The mode of a socket in a folder: for a proxy in the group of the folder or of the server.
const SOCKET_MODE: u32 = 0o660;

/// The longest headers.
const MAX_HEADER_BYTES: usize = 16 << 10;

const _: () =
    assert!(8 * MAX_NAME_BYTES < MAX_HEADER_BYTES, "the name of a user has room beside other headers");

/// The most headers of a request.
const MAX_HEADERS: usize = 64;

/// How long streams and answers have after the end of the loop.
const GOODBYE: Duration = Duration::from_secs(5);

/// How long nothing is accepted after the operating system had no descriptor.
const ACCEPT_REST: Duration = Duration::from_secs(1);

/// Sockets that are bound, and what serves on them. They outlast it, so that no connection is refused between
/// one that serves and the next: it waits to be accepted.
#[derive(Debug)]
pub struct Sockets {
    sockets: Vec<Listening>,
    addresses: Vec<String>,
    settings: Settings,
    /// The threads that serve, and those that are ending.
    serving: Vec<JoinHandle<()>>,
}

/// The sockets that an address stands for.
fn bind(address: &Address, settings: &Settings, handed: &ActivatedSockets) -> io::Result<Vec<Listening>> {
    match address {
        Address::Tcp(wanted) => Ok(vec![Listening::Tcp(std::net::TcpListener::bind(wanted)?)]),
        Address::Handed(name) => {
            let named = handed.others().iter().filter(|socket| socket.is_named(name.as_deref()));
            let sockets =
                named.map(|socket| socket.socket().try_clone()).collect::<io::Result<Vec<Listening>>>()?;
            if sockets.is_empty() {
                let text =
                    "the service manager handed over no such socket: start its unit, mainspring-http.socket";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            for socket in &sockets {
                if let Listening::Tcp(listener) = socket {
                    settings.check_port(listener.local_addr()?).map_err(invalid)?;
                }
            }
            Ok(sockets)
        }
        Address::Unix(path) => {
            let listener = socket::listen(path, SOCKET_MODE, StaleSocket::Unanswered)?;
            Ok(vec![Listening::Unix(listener)])
        }
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Makes a socket one that the thread waits for beside others. Returns what people type to reach it, if it is
/// at a port.
fn shown(socket: &Listening) -> io::Result<Option<String>> {
    match socket {
        Listening::Tcp(listener) => {
            listener.set_nonblocking(true)?;
            Ok(Some(format!("http://{}/", listener.local_addr()?)))
        }
        Listening::Unix(listener) => listener.set_nonblocking(true).map(|()| None),
    }
}

impl Sockets {
    /// Binds all addresses. `handed` are the sockets of the service manager.
    ///
    /// # Errors
    ///
    /// What is missing in the settings, or which address cannot be had.
    pub fn bind(settings: Settings, handed: &ActivatedSockets) -> io::Result<Sockets> {
        settings.check().map_err(invalid)?;
        let mut sockets = Vec::new();
        let mut addresses: Vec<String> = settings.public_url.iter().map(ToString::to_string).collect();
        for address in &settings.addresses {
            let failed = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
            };
            for socket in bind(address, &settings, handed).map_err(failed)? {
                addresses.extend(shown(&socket).map_err(failed)?);
                sockets.push(socket);
            }
        }
        Ok(Sockets { sockets, addresses, settings, serving: Vec::new() })
    }

    /// Serves on a thread of its own, from now on until the loop has ended to which what is returned here is
    /// given.
    ///
    /// # Errors
    ///
    /// When the file of tokens cannot be believed, or the operating system has no descriptor or thread.
    pub fn serve(&mut self, data: DataDirectory, zone: TimeZone) -> io::Result<Listener> {
        let sockets =
            self.sockets.iter().map(Listening::try_clone).collect::<io::Result<Vec<Listening>>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_THREADS)
            .build()?;
        let inside = runtime.enter();
        let mut streams = Vec::new();
        let mut connect = || {
            let (ours, theirs) = UnixStream::pair()?;
            streams.push(theirs);
            Connection::new(ours)
        };
        let connections = (0..CONNECTIONS).map(|_| connect()).collect::<io::Result<Vec<Connection>>>()?;
        // One more, over which changes are waited for.
        let watch = connect()?;
        let app = Arc::new(App::new(self.settings.clone(), data, zone, Pool::new(connections))?);
        drop(inside);
        // A server may change between owner and standby for years.
        self.serving.retain(|thread| !thread.is_finished());
        let thread = thread::Builder::new()
            .name("web".to_owned())
            .spawn(move || listen(&runtime, &app, sockets, watch))?;
        self.serving.push(thread);
        Ok(Listener { streams, addresses: self.addresses.clone() })
    }

    /// Waits until the threads have ended, which they do within seconds after the loop.
    pub fn finish(self) {
        // A panic of a thread is on standard error.
        self.serving.into_iter().for_each(|thread| drop(thread.join()));
    }
}

fn listen(runtime: &Runtime, app: &Arc<App>, sockets: Vec<Listening>, watch: Connection) {
    runtime.block_on(async {
        app.description.get_or_init(|| Bytes::from(document().to_string()));
        let router = router(app);
        let mut accepting = Vec::new();
        for socket in sockets {
            accepting.push(tokio::spawn(accept(Arc::clone(app), router.clone(), socket)));
        }
        // It ends when the loop does.
        watch_changes(app, watch).await;
        accepting.iter().for_each(tokio::task::JoinHandle::abort);
        app.feed.end();
        app.connections.end_idle();
        let _ = timeout(GOODBYE, app.connections.wait_for_none()).await;
    });
}

/// Asks for changes while there are streams, and notices the end of the loop.
async fn watch_changes(app: &Arc<App>, mut watch: Connection) {
    loop {
        while app.feed.stream_count() == 0 {
            app.catalogue.end_watch();
            if watch.until_end(app.feed.listeners.notified()).await.is_none() {
                return;
            }
        }
        match watch.ask(Actor::default(), Request::Watch).await {
            Ok(Response::Changes(changes)) => {
                app.catalogue.note(&changes);
                app.feed.tell(&changes);
            }
            _ => return,
        }
        sleep(REST).await;
    }
}

async fn accept(app: Arc<App>, router: Router, socket: Listening) {
    match socket {
        Listening::Tcp(listener) => {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            let mut refused = Repeats::default();
            loop {
                match listener.accept().await {
                    Ok((stream, from)) if app.settings.takes(from.ip()) => {
                        let _ = stream.set_nodelay(true);
                        begin(&app, &router, Origin::Address(from.ip()), stream);
                    }
                    Ok((_, from)) => say_refused(&mut refused, from.ip()),
                    Err(_) => sleep(ACCEPT_REST).await,
                }
            }
        }
        Listening::Unix(listener) => {
            let Ok(listener) = tokio::net::UnixListener::from_std(listener) else { return };
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let user = stream.peer_cred().map(|credentials| Origin::User(credentials.uid()));
                        begin(&app, &router, user.unwrap_or(Origin::Unknown), stream);
                    }
                    Err(_) => sleep(ACCEPT_REST).await,
                }
            }
        }
    }
}

fn say_refused(refused: &mut Repeats, from: IpAddr) {
    let line = format!(
        "mainspring: a connection from {from} was refused: it is not in the network of --behind-proxy"
    );
    refused.say(&line, Moment::now());
}

/// Serves one connection on a task of its own.
fn begin<S>(app: &Arc<App>, router: &Router, origin: Origin, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (app, router) = (Arc::clone(app), router.clone());
    let slot = Connections::enter(&app.connections, origin);
    let served = slot.clone();
    let task = tokio::spawn(async move {
        let _occupied = served.occupy();
        let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
            let busy = served.begin_request();
            let (app, router, slot) = (Arc::clone(&app), router.clone(), served.clone());
            async move {
                let answer = serve(&app, router, slot, request.map(Body::new)).await;
                // A stream is an answer that is being sent for hours.
                Ok::<_, Infallible>(answer.map(|body| with_guard(body, busy)))
            }
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .max_buf_size(MAX_HEADER_BYTES)
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
        // What went wrong with a connection is the other side's business.
        let _ = serving.await;
    });
    slot.set_task(task.abort_handle());
}

/// A body that holds something until it is sent, or dropped.
fn with_guard(
    body: Body,
    guard: impl Send + 'static,
) -> impl hyper::body::Body<Data = Bytes, Error = axum::Error> {
    body.map_err(move |error| {
        let _held = &guard;
        error
    })
}
