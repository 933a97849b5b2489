//! A server of a pool whose jobs are spread over several shards.
//!
//! ```text
//!              ┌─ each second: who owns what? ─▶ balance ─▶ take: a loop on a thread ─┐ leaves, or
//!  main thread ┴─ signals, loops that ended ◀─────────────────────────────────────────┘ has no lease
//!  clients, listener, inbox ─▶ router ─▶ loops here, or other servers
//! ```
//!
//! A loop for each shard, and not one for all: the loop with its planner stays what it is where there is one
//! shard; each commits over a session of its own, so that the database works for several at a time; and
//! what one shard loses or waits for is nothing to the others.
//!
//! Each loop has a folder of its own in the data directory, `shard-N`, for its socket. The output is in one
//! folder: a run has one loop. All loops read the files; each takes the jobs that belong to its shard.
//!
//! Cost: for each shard three threads, a keeper and two sessions of the database; for the server three
//! sessions, of which one asks each second and one each quarter of a second, and one more from when a shard
//! is first asked for whose owner does not answer.
//!
//! Does not spread the jobs: `mainspring store shards` does.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use mainspring_job::{OutputKeeper, Owner, Shard, Store, StoreError};
use mainspring_postgres::{Identity, Inbox, Location, Outputs, PostgresStore, Shards};

use super::inbox;
use super::tables::Tables;
use balance::{Step, decide};
use loops::{LINKS, Links, Local, Loops};
use mainspring_exec::clock::{Moment, boot_time};
use mainspring_exec::notifier::{Notifications, Notifier, pair};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::log::Style;
use mainspring_server::protocol::MAX_REQUEST_BYTES;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::program_calls::calls;
use mainspring_server::server::{Host, Server, Serving, ShardFilter, Stores, standby};
use mainspring_server::signals::Signals;
use mainspring_server::supervisor;
use mainspring_server::waiting::wait_for;
use pool::Pool;
use router::Router;

mod balance;
mod loops;
mod merge;
mod pool;
mod reply;
mod route;
mod router;
mod watch;

/// How often a server looks who owns what.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How often it gives a shard up for another server.
const LEAVE_INTERVAL: Duration = Duration::from_secs(10);

/// How long a loop has to say whether it can leave.
const LEAVE_WAIT: Duration = Duration::from_secs(1);

/// How often it is looked whether all loops have ended that are to.
const END_INTERVAL: Duration = Duration::from_millis(50);

/// How many clients are answered at once. A loop takes 64 connections, and each of them may have one to each.
const MAX_CLIENTS: usize = 48;

/// How long a client, or the listener, may be silent before what it holds is let go of.
const REST_WAIT: Duration = Duration::from_secs(30);

/// Makes what a loop serves, for its folder.
pub(super) type MakeServing<'m> = dyn Fn(DataDirectory, ShardFilter) -> Result<Serving, Error> + Sync + 'm;

/// What is given to a server of the pool.
pub(super) struct PoolConfig<'g> {
    pub(super) location: &'g Location,
    pub(super) data: &'g DataDirectory,
    pub(super) style: Style,
    pub(super) owner: Owner,
    pub(super) identity: Identity,
    /// How many shards there are.
    pub(super) count: u16,
    /// The control socket, if the service manager made it.
    pub(super) control: Option<UnixListener>,
    /// What listens over HTTP, if anything does.
    pub(super) listener: Listener,
}

/// A loop of this server.
struct Running<'s> {
    thread: ScopedJoinHandle<'s, Result<(), Error>>,
}

/// What ends the threads that answer.
struct Ending<'e>(&'e AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn setup(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Setup { what, source }
}

/// Serves until a signal asks to stop.
pub(super) fn serve(given: PoolConfig<'_>, make: &MakeServing<'_>) -> Result<(), Error> {
    let PoolConfig { location, data, style, owner, identity, count, control, listener: web } = given;
    let mut signals = Signals::register().map_err(setup("signals"))?;
    let is_own = control.is_none();
    let listener = control.map_or_else(|| standby::listen(data), Ok)?;
    listener.set_nonblocking(true).map_err(setup("the control socket"))?;
    let pool = Arc::new(Pool {
        location: location.clone(),
        count,
        name: owner.name.clone(),
        server: identity.server.clone(),
        loops: Loops::default(),
        tables: Tables::new(location, data).map_err(Error::Store)?,
        turns: AtomicUsize::new(0),
    });
    standby::note(style, &format!("{location}: the jobs are spread over {count} shards"));
    let mut listening = Vec::new();
    for stream in web.streams {
        listening.push(stream.try_clone().map_err(setup("a socket pair"))?);
        let mut router = Router::of_listener(&pool);
        let answer = move || drop(answer_all(&mut router, &stream, usize::MAX));
        thread::Builder::new().name("a listener".to_owned()).spawn(answer).map_err(setup("a thread"))?;
    }
    let (notifier, ended) = pair().map_err(setup("a socket pair"))?;
    let is_over = AtomicBool::new(false);
    let (owner, identity, addresses) = (&owner, &identity, &web.addresses);
    let part = Supervisor { pool: &pool, style, data, owner, identity, addresses, make, notifier: &notifier };
    let result = thread::scope(|scope| {
        let _ending = Ending(&is_over);
        let (over, listener, of_inbox, of_clients) =
            (&is_over, &listener, Arc::clone(&pool), Arc::clone(&pool));
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        thread("inbox")
            .spawn_scoped(scope, move || work_inbox(&of_inbox, style, over))
            .map_err(setup("a thread for the inbox"))?;
        thread("clients")
            .spawn_scoped(scope, move || accept(listener, &of_clients, over))
            .map_err(setup("a thread for clients"))?;
        part.go_on(scope, &mut signals, &ended)
    });
    // The listener ends what it answers.
    for stream in listening {
        let _ = stream.shutdown(Shutdown::Both);
    }
    if is_own {
        let _ = std::fs::remove_file(data.socket());
    }
    standby::note(style, "stopped");
    result
}

/// Whether a loop ended because its shard is another's, or may be.
fn is_loss(error: &Error) -> bool {
    use StoreError::{Busy, Fenced, Held, Unknown};
    matches!(error, Error::Store(Fenced | Busy | Unknown | Held { .. }))
}

/// What begins and ends loops.
struct Supervisor<'p> {
    pool: &'p Arc<Pool>,
    style: Style,
    data: &'p DataDirectory,
    owner: &'p Owner,
    identity: &'p Identity,
    /// Where people find this server over HTTP.
    addresses: &'p [String],
    make: &'p MakeServing<'p>,
    /// Wakes the main thread when a loop has ended.
    notifier: &'p Notifier,
}

impl<'p> Supervisor<'p> {
    /// Takes and gives up shards until a signal asks to stop, or a loop cannot go on. No loop is left then.
    fn go_on<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        signals: &mut Signals,
        ended: &Notifications,
    ) -> Result<(), Error>
    where
        'p: 's,
    {
        let mut running = BTreeMap::new();
        let result = self.take_turns(scope, &mut running, signals, ended);
        supervisor::tell(supervisor::STOPPING);
        let finished = self.finish(running);
        result.and(finished)
    }

    fn take_turns<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        running: &mut BTreeMap<Shard, Running<'s>>,
        signals: &mut Signals,
        ended: &Notifications,
    ) -> Result<(), Error>
    where
        'p: 's,
    {
        let mut looking = Shards::new(&self.pool.location).map_err(Error::Store)?;
        let (mut left, mut said) = (None, String::new());
        loop {
            signals.clear_child();
            let _ = signals.is_reload_asked();
            if 0 < signals.stop_requests() {
                return Ok(());
            }
            ended.clear();
            self.reap(running)?;
            // While the database does not answer, the leases of the loops say what may go on.
            if let Ok(look) = looking.look(self.identity, &self.owner.name) {
                let owned = running.keys().copied().collect();
                let step = decide(&look, &self.identity.server, &owned);
                self.pool.loops.set_look(look);
                match step {
                    Step::Take(wanted) => {
                        for shard in wanted {
                            running.insert(shard, self.begin(scope, shard)?);
                        }
                    }
                    Step::Leave => {
                        let is_time = |at: Moment| LEAVE_INTERVAL <= Moment::now().since(at);
                        if left.is_none_or(is_time) && self.leave(running) {
                            left = Some(Moment::now());
                        }
                    }
                    Step::Rest => {}
                }
                let state = format!("{} of {} shards", running.len(), self.pool.count);
                if state != said {
                    supervisor::tell(&format!("{}\nSTATUS={state}", supervisor::READY));
                    said = state;
                }
            }
            supervisor::tell(supervisor::ALIVE);
            let readable: Vec<BorrowedFd<'_>> = signals.fds().into_iter().chain([ended.as_fd()]).collect();
            wait_for(&readable, &[], Some(LOOK_INTERVAL)).map_err(setup("polling"))?;
        }
    }

    /// Begins a loop, which asks for the shard itself.
    fn begin<'s>(&'s self, scope: &'s Scope<'s, '_>, shard: Shard) -> Result<Running<'s>, Error>
    where
        'p: 's,
    {
        let work = move || {
            let ended = self.run(shard);
            self.pool.loops.remove(shard);
            self.notifier.notify();
            ended
        };
        let thread = thread::Builder::new().name(format!("shard {}", shard.0));
        let thread = thread.spawn_scoped(scope, work);
        Ok(Running { thread: thread.map_err(|source| Error::Setup { what: "a thread", source })? })
    }

    /// A loop from its beginning to its end.
    fn run(&self, shard: Shard) -> Result<(), Error> {
        let shard_filter = ShardFilter { shard, count: self.pool.count };
        let opened = PostgresStore::open(&self.pool.location, self.identity.clone());
        let mut store = opened.map_err(passing).map_err(Error::Store)?.among(shard_filter.count);
        let asked = boot_time();
        let lease = store.acquire(shard, self.owner).map_err(Error::Store)?;
        let folder = self.data.directory().join(format!("shard-{}", shard.0));
        let data = DataDirectory::find(Some(&folder)).with_output(self.data.output());
        data.make()?;
        let (caller, calls) = calls().map_err(setup("a socket pair"))?;
        let (ours, theirs) = pairs().map_err(setup("a socket pair"))?;
        let serving = (self.make)(data.clone(), shard_filter)?;
        let listener = Listener { streams: theirs, addresses: self.addresses.to_vec() };
        let serving = Serving { host: Host::Pool { calls }, listener, control: None, ..serving };
        let reader = Box::new(store.reader().map_err(Error::Store)?);
        let outputs: Box<dyn OutputKeeper> =
            Box::new(Outputs::new(&self.pool.location).map_err(Error::Store)?);
        let stores = Stores { store: Box::new(store), reader: Some(reader), outputs: Some(outputs), asked };
        let server = Server::prepare(serving, stores, lease)?;
        let links = Links::new(ours).map_err(setup("a socket pair"))?;
        self.pool.loops.add(shard, Local { data, links, caller });
        server.run()
    }

    /// Lets go of loops that have ended.
    fn reap(&self, running: &mut BTreeMap<Shard, Running<'_>>) -> Result<(), Error> {
        let over: Vec<Shard> =
            running.iter().filter(|(_, one)| one.thread.is_finished()).map(|(shard, _)| *shard).collect();
        for shard in over {
            let Some(one) = running.remove(&shard) else { continue };
            match one.thread.join() {
                // It has left, or another server was faster.
                Ok(Ok(()) | Err(Error::Store(StoreError::Held { .. }))) => {}
                Ok(Err(error)) if is_loss(&error) => {
                    standby::note(self.style, &format!("shard {}: {error}", shard.0));
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    let source = io::Error::other(format!("the loop of shard {} has panicked", shard.0));
                    return Err(Error::Setup { what: "a loop", source });
                }
            }
        }
        Ok(())
    }

    /// Ends all loops and waits for them. A signal that came while a loop began it has not heard: it is told
    /// as soon as it can be.
    fn finish(&self, running: BTreeMap<Shard, Running<'_>>) -> Result<(), Error> {
        while running.values().any(|one| !one.thread.is_finished()) {
            for shard in self.pool.loops.here() {
                self.pool.loops.get(shard).iter().for_each(|local| local.caller.end());
            }
            wait_for(&[], &[], Some(END_INTERVAL)).map_err(setup("polling"))?;
        }
        let mut result = Ok(());
        for one in running.into_values() {
            let ended = one.thread.join().unwrap_or(Ok(()));
            if !ended.as_ref().is_err_and(is_loss) {
                result = result.and(ended);
            }
        }
        result
    }

    /// Has the first loop end in which nothing runs. Says whether there is one.
    fn leave(&self, running: &BTreeMap<Shard, Running<'_>>) -> bool {
        running.keys().rev().any(|shard| {
            let Some(local) = self.pool.loops.get(*shard) else { return false };
            local.caller.leave().recv_timeout(LEAVE_WAIT) == Ok(true)
        })
    }
}

/// Our ends of the connections of a loop's listener, and its own.
fn pairs() -> io::Result<(Vec<UnixStream>, Vec<UnixStream>)> {
    let pairs = (0..LINKS).map(|_| UnixStream::pair()).collect::<io::Result<Vec<_>>>()?;
    Ok(pairs.into_iter().unzip())
}

/// Whatever a database says while it comes back.
pub(super) fn passing(error: StoreError) -> StoreError {
    match error {
        StoreError::Io(_) => StoreError::Busy,
        other => other,
    }
}

/// Does what is asked of the shards of this server through the database, until it ends.
fn work_inbox(pool: &Pool, style: Style, is_over: &AtomicBool) {
    let Ok(mut inbox) = Inbox::of_owner(&pool.location) else { return };
    let of = |shard: Option<Shard>| {
        let here = pool.loops.here();
        let shard = shard.or_else(|| {
            let turn = pool.turns.fetch_add(1, Ordering::Relaxed);
            here.iter().nth(turn % here.len().max(1)).copied()
        });
        Some(pool.loops.get(shard?)?.data.clone())
    };
    while !is_over.load(Ordering::SeqCst) {
        let here: Vec<Shard> = pool.loops.here().into_iter().collect();
        if !here.is_empty() {
            // Whatever the database says passes, or the loops are told it too.
            let _ = inbox::turn(&mut inbox, &here, of, style);
        }
        inbox.wait(inbox::INTERVAL);
    }
}

/// Takes clients until the server ends. The database may keep the main thread waiting.
fn accept(listener: &UnixListener, pool: &Arc<Pool>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::SeqCst) {
        if wait_for(&[listener.as_fd()], &[], Some(LOOK_INTERVAL)).is_err() {
            return;
        }
        while let Ok((client, _)) = listener.accept() {
            serve_client(pool, client);
        }
    }
}

/// Serves a client on a thread of its own.
fn serve_client(pool: &Arc<Pool>, client: UnixStream) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    // A client too many is hung up on.
    if MAX_CLIENTS <= COUNT.fetch_add(1, Ordering::SeqCst) {
        COUNT.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    let mut router = Router::of_client(pool);
    let serve = move || {
        // A client that has gone is told nothing.
        let _ = client.set_nonblocking(false);
        let _ = answer_all(&mut router, &client, MAX_REQUEST_BYTES);
        COUNT.fetch_sub(1, Ordering::SeqCst);
    };
    if thread::Builder::new().name("a client".to_owned()).spawn(serve).is_err() {
        COUNT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers what comes over a connection until its other end closes it.
fn answer_all(router: &mut Router, stream: &UnixStream, most: usize) -> io::Result<()> {
    stream.set_read_timeout(Some(REST_WAIT))?;
    stream.set_write_timeout(Some(REST_WAIT))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let left = most.saturating_sub(line.len()) as u64;
        match reader.by_ref().take(left).read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                router.answer(&line, stream)?;
                line.clear();
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                router.rest();
            }
            Err(error) => return Err(error),
        }
    }
}
