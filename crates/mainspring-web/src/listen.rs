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

use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::tz::TimeZone;
use mainspring_exec::clock::Moment;
use mainspring_host::socket::{self, StaleSocket};
use mainspring_server::activation::{ActivatedSockets, HandedSocket, Listening};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::message::say;
use mainspring_server::protocol::{Request, Response};
use mainspring_server::server::listener::Listener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::computation::MAX_THREADS;
use crate::connections::{Busy, Connections, Origin};
use crate::event_stream::REST;
use crate::openapi::document;
use crate::pool::{Actor, CONNECTIONS, Connection, Pool};
use crate::proxy_users::MAX_NAME_BYTES;
use crate::repeats::Repeats;
use crate::router::{Peer, router, serve};
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

/// Sockets that are bound. They outlast whatever serves on them, so that no connection is refused between one
/// and the next: it waits to be accepted.
#[derive(Debug)]
pub struct Sockets {
    sockets: Vec<Socket>,
    addresses: Vec<String>,
    settings: Settings,
}

/// Sockets that are bound, and the connections to a loop that does not run yet.
#[derive(Debug)]
pub struct Bound {
    sockets: Vec<Socket>,
    connections: Vec<UnixStream>,
    settings: Settings,
}

#[derive(Debug)]
enum Socket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// A listener that serves.
#[derive(Debug)]
pub struct Serving {
    thread: JoinHandle<()>,
}

/// What an address stands for: each socket, with what people type to reach it.
fn bind(
    address: &Address,
    settings: &Settings,
    handed: &ActivatedSockets,
) -> io::Result<Vec<(Socket, String)>> {
    match address {
        Address::Tcp(wanted) => Ok(vec![at_port(std::net::TcpListener::bind(wanted)?)?]),
        Address::Handed(name) => {
            let named = handed.others().iter().filter(|socket| socket.is_named(name.as_deref()));
            let sockets = named.map(|socket| handed_socket(socket, settings));
            let sockets = sockets.collect::<io::Result<Vec<_>>>()?;
            if sockets.is_empty() {
                let text =
                    "the service manager handed over no such socket: start its unit, mainspring-http.socket";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            Ok(sockets)
        }
        Address::Unix(path) => {
            Ok(vec![in_folder(socket::listen(path, SOCKET_MODE, StaleSocket::Unanswered)?)?])
        }
    }
}

fn handed_socket(socket: &HandedSocket, settings: &Settings) -> io::Result<(Socket, String)> {
    match socket.socket().try_clone()? {
        Listening::Unix(listener) => in_folder(listener),
        Listening::Tcp(listener) => {
            let checked = settings.check_port(listener.local_addr()?);
            checked.map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
            at_port(listener)
        }
    }
}

fn at_port(listener: std::net::TcpListener) -> io::Result<(Socket, String)> {
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    Ok((Socket::Tcp(listener), format!("http://{bound}/")))
}

fn in_folder(listener: std::os::unix::net::UnixListener) -> io::Result<(Socket, String)> {
    listener.set_nonblocking(true)?;
    Ok((Socket::Unix(listener), String::new()))
}

/// Binds all addresses, and makes what the loop is to be given. `handed` are the sockets of the service
/// manager.
///
/// # Errors
///
/// What is missing in the settings, or which address cannot be had.
pub fn prepare(settings: Settings, handed: &ActivatedSockets) -> io::Result<(Bound, Listener)> {
    Sockets::bind(settings, handed)?.prepare()
}

impl Sockets {
    /// Binds all addresses. `handed` are the sockets of the service manager.
    ///
    /// # Errors
    ///
    /// What is missing in the settings, or which address cannot be had.
    pub fn bind(settings: Settings, handed: &ActivatedSockets) -> io::Result<Sockets> {
        settings.check().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let mut sockets = Vec::new();
        let mut addresses: Vec<String> = settings.public_url.iter().map(ToString::to_string).collect();
        for address in &settings.addresses {
            let bound = bind(address, &settings, handed).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
            })?;
            for (socket, shown) in bound {
                sockets.push(socket);
                addresses.extend(Some(shown).filter(|shown| !shown.is_empty()));
            }
        }
        Ok(Sockets { sockets, addresses, settings })
    }

    /// Makes what the next loop is to be given.
    ///
    /// # Errors
    ///
    /// When the operating system has no descriptor.
    pub fn prepare(&self) -> io::Result<(Bound, Listener)> {
        let sockets = self.sockets.iter().map(Socket::try_clone).collect::<io::Result<_>>()?;
        let mut connections = Vec::new();
        let mut streams = Vec::new();
        // One more, over which changes are waited for.
        for _ in 0..=CONNECTIONS {
            let (ours, theirs) = UnixStream::pair()?;
            connections.push(ours);
            streams.push(theirs);
        }
        let bound = Bound { sockets, connections, settings: self.settings.clone() };
        Ok((bound, Listener { streams, addresses: self.addresses.clone() }))
    }
}

impl Socket {
    fn try_clone(&self) -> io::Result<Socket> {
        Ok(match self {
            Socket::Tcp(listener) => Socket::Tcp(listener.try_clone()?),
            Socket::Unix(listener) => Socket::Unix(listener.try_clone()?),
        })
    }
}

impl Bound {
    /// Serves on a thread of its own, until the loop has ended.
    ///
    /// # Errors
    ///
    /// When the file of tokens cannot be believed, or there is no thread.
    pub fn serve(self, data: DataDirectory, zone: TimeZone) -> io::Result<Serving> {
        let Bound { sockets, mut connections, settings } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_THREADS)
            .build()?;
        let (app, watch) = {
            let _inside = runtime.enter();
            let watch = connections.pop().map(Connection::new).transpose()?;
            let connections =
                connections.into_iter().map(Connection::new).collect::<io::Result<Vec<Connection>>>()?;
            assert_eq!(connections.len(), CONNECTIONS, "one is for changes, the others for questions");
            let app = App::new(settings, data, zone, Pool::new(connections))?;
            (app, watch)
        };
        let app = Arc::new(app);
        let thread = thread::Builder::new()
            .name("web".to_owned())
            .spawn(move || listen(&runtime, &app, sockets, watch))?;
        Ok(Serving { thread })
    }
}

impl Serving {
    /// Whether the thread has ended.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until the thread has ended, which it does within seconds after the loop.
    pub fn finish(self) {
        // A panic of the thread is on standard error.
        let _ = self.thread.join();
    }
}

fn listen(runtime: &Runtime, app: &Arc<App>, sockets: Vec<Socket>, watch: Option<Connection>) {
    let connections = Arc::new(Connections::default());
    runtime.block_on(async {
        app.description.get_or_init(|| Bytes::from(document().to_string()));
        let router = router(app);
        let mut accepting = Vec::new();
        for socket in sockets {
            let task = accept(Arc::clone(app), router.clone(), Arc::clone(&connections), socket);
            accepting.push(tokio::spawn(task));
        }
        // It ends when the loop does.
        watch_changes(app, watch).await;
        accepting.iter().for_each(tokio::task::JoinHandle::abort);
        app.feed.end();
        connections.end_idle();
        let _ = timeout(GOODBYE, connections.wait_for_none()).await;
    });
}

/// Asks for changes while there are streams, and notices the end of the loop.
async fn watch_changes(app: &Arc<App>, watch: Option<Connection>) {
    let Some(mut watch) = watch else { return };
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

async fn accept(app: Arc<App>, router: Router, connections: Arc<Connections>, socket: Socket) {
    match socket {
        Socket::Tcp(listener) => {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            let mut refused = Repeats::default();
            loop {
                match listener.accept().await {
                    Ok((stream, from)) if app.settings.takes(from.ip()) => {
                        let _ = stream.set_nodelay(true);
                        let place = Connections::enter(&connections, Origin::Address(from.ip()));
                        begin(&app, &router, Peer { from: Some(from.ip()), place }, stream);
                    }
                    Ok((_, from)) => say_refused(&mut refused, from.ip()),
                    Err(_) => sleep(ACCEPT_REST).await,
                }
            }
        }
        Socket::Unix(listener) => {
            let Ok(listener) = tokio::net::UnixListener::from_std(listener) else { return };
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let user = stream.peer_cred().map(|credentials| Origin::User(credentials.uid()));
                        let place = Connections::enter(&connections, user.unwrap_or(Origin::Unknown));
                        begin(&app, &router, Peer { from: None, place }, stream);
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
    if let Some(line) = refused.add(&line, Moment::now()) {
        say(&format!("{line}\n"));
    }
}

/// Serves one connection on a task of its own.
fn begin<S>(app: &Arc<App>, router: &Router, peer: Peer, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (app, router) = (Arc::clone(app), router.clone());
    let place = peer.place.clone();
    let task = tokio::spawn(async move {
        let _occupied = peer.place.occupy();
        let _counted = ConnectionCount::new(Arc::clone(&app));
        let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
            let busy = peer.place.begin_request();
            let (app, router, peer) = (Arc::clone(&app), router.clone(), peer.clone());
            async move {
                let answer = serve(app, router, peer, request.map(Body::new)).await;
                answer.map(|answer| answer.map(|body| OpenAnswer { body, _busy: busy }))
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
    place.set_task(task.abort_handle());
}

/// Counts a connection in the metrics until it is dropped.
struct ConnectionCount(Arc<App>);

impl ConnectionCount {
    fn new(app: Arc<App>) -> ConnectionCount {
        app.meter.connect();
        ConnectionCount(app)
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.meter.disconnect();
    }
}

/// An answer that is being sent: a stream is one for hours.
struct OpenAnswer {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for OpenAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
