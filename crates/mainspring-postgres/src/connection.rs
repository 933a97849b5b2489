//! One session of the database, which is made again when it has ended.
//!
//! ```text
//!  call ─▶ session, or a new one ─▶ statement with its values ─▶ rows
//!              └─ no answer within CALL_TIMEOUT: it is given up, and the next call begins with a new session
//! ```
//!
//! The [runtime](super::call_runtime) is this connection's own: it runs while a call waits. Between calls
//! nothing is read, so that a session that ended meanwhile is noticed by the next call.
//!
//! A connection may listen to a channel: `wait` ends when there was a notification there. A pooler in
//! transaction mode passes on none, and then the wait is over when its time is.
//!
//! Cost: a round trip for each call; three for a new session.
//!
//! Does not try again: what may be tried again is known to the caller.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use mainspring_job::StoreError;
use tokio::sync::Notify;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Row, Socket};

use super::call_runtime::CallRuntime;
use super::fault::{CallProgress, LOST, ends_session, lost, mapped};
use super::location::{Location, OF_OWNER, OF_READER};
use super::tls;
use super::value::Value;

/// How long an answer is waited for. Three tries fit into the time that an owner has without a renewal. What
/// the database was doing it continues: the next try of a batch finds it done, or waits for its lock.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a step of the schema may take: it may build an index.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(600);

const _: () = assert!(CALL_TIMEOUT.as_secs() < SCRIPT_TIMEOUT.as_secs());

/// What a session may do: nothing where it is on a replica, and only look where it takes no writes.
const LOOK: &str = "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'replica'
    WHEN pg_catalog.current_setting('transaction_read_only') = 'on' THEN 'read only' ELSE '' END";

/// What people are told of a replica, which may lack what was acknowledged.
const REPLICA: &str =
    "the database is a replica (pg_is_in_recovery is true): promote it, or name its primary in the address";

/// The same of a database that only shows what it has.
const READ_ONLY: &str = "the database takes no writes (transaction_read_only is on): see what sets \
    default_transaction_read_only for it or for its role";

/// Ends a wait for a notification from another thread, or begins it again. A clone is a reference count for
/// each.
#[derive(Clone, Debug, Default)]
pub struct WaitNotifier {
    over: Arc<Notify>,
    again: Arc<Notify>,
}

impl WaitNotifier {
    /// Ends the wait that is under way, or the next one.
    pub fn notify(&self) {
        self.over.notify_one();
    }

    /// The wait that is under way, or the next one, begins again: there is nothing new at this moment.
    pub(super) fn begin_again(&self) {
        self.again.notify_one();
    }

    /// Whether a wait is over, else it begins again.
    async fn is_over(&self) -> bool {
        let (mut over, mut again) = (pin!(self.over.notified()), pin!(self.again.notified()));
        poll_fn(|context| {
            if over.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            again.as_mut().poll(context).map(|()| false)
        })
        .await
    }
}

/// Why there is no session.
enum NoSession {
    /// Nothing answered in time.
    Silence,
    Error(tokio_postgres::Error),
    /// There was one that is not to be used.
    Unfit(&'static str),
}

impl NoSession {
    /// As the network or the database says it.
    fn words(&self) -> String {
        match self {
            NoSession::Silence => LOST.to_owned(),
            NoSession::Error(error) => {
                let cause = || std::error::Error::source(error).map(ToString::to_string);
                tls::words(error).or_else(cause).unwrap_or_else(|| error.to_string())
            }
            NoSession::Unfit(why) => (*why).to_owned(),
        }
    }
}

impl From<tokio_postgres::Error> for NoSession {
    fn from(error: tokio_postgres::Error) -> NoSession {
        NoSession::Error(error)
    }
}

/// A session, and how to make another.
pub(super) struct Connection {
    location: Location,
    /// What is asked of each session.
    session: &'static str,
    /// A pooler refuses what is asked of a session when it begins.
    is_pooled: bool,
    /// What each session listens to, if anything.
    channel: Option<&'static str>,
    listener: Listener,
    client: Option<Client>,
    /// Whether the last call failed over a session that had answered before, and not for want of time.
    was_stale: bool,
    /// How long a call may take.
    patience: Duration,
    runtime: CallRuntime,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("location", &self.location).finish_non_exhaustive()
    }
}

impl Connection {
    /// A connection that is made by its first call.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub(super) fn new(location: &Location, session: &'static str) -> Result<Connection, StoreError> {
        Ok(Connection {
            location: location.clone(),
            session,
            is_pooled: false,
            channel: None,
            listener: Listener::default(),
            client: None,
            was_stale: false,
            patience: CALL_TIMEOUT,
            runtime: CallRuntime::new().map_err(|error| StoreError::Io(error.into()))?,
        })
    }

    /// A connection that is there, so that people see what is wrong with the address.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub(super) fn opened(location: &Location, session: &'static str) -> Result<Connection, StoreError> {
        let mut connection = Connection::new(location, session)?;
        connection.open()?;
        Ok(connection)
    }

    /// The same for calls that take as long as a step of the schema, such as counting all rows.
    pub(super) fn patient(self) -> Connection {
        Connection { patience: SCRIPT_TIMEOUT, ..self }
    }

    /// Whether the session is there that the last call had: a transaction of several calls is lost with it.
    pub(super) fn is_open(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Whether the last call met a session that had ended since the call before: a new one may answer.
    pub(super) fn was_stale(&self) -> bool {
        self.was_stale
    }

    /// A connection that listens.
    ///
    /// # Errors
    /// The same.
    pub(super) fn listening(location: &Location, channel: &'static str) -> Result<Connection, StoreError> {
        Ok(Connection { channel: Some(channel), ..Connection::new(location, OF_OWNER)? })
    }

    /// Hears only what says this from now on.
    pub(super) fn hear(&self, wanted: String) {
        *self.listener.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    /// Whether a pooler stands before the database, as far as the session has shown it.
    pub(super) fn is_pooled(&self) -> bool {
        self.is_pooled
    }

    /// What ends the wait from another thread.
    pub(super) fn notifier(&self) -> WaitNotifier {
        self.listener.notifier.clone()
    }

    /// Whether something has come on the channel since the last call, or may have.
    pub(super) fn was_told(&self) -> bool {
        // It is set before the wait is ended, and by this thread's own runtime.
        self.listener.has_news.swap(false, Ordering::Relaxed) || self.is_pooled
    }

    /// Waits for a notification on the channel, at most so long. Returns whether there may have been
    /// something: a new session knows nothing of before.
    pub(super) fn wait(&mut self, longest: Duration) -> bool {
        if self.client.as_ref().is_none_or(Client::is_closed) && self.connect().is_ok() {
            return true;
        }
        let notifier = &self.listener.notifier;
        while let Some(is_over) = self.runtime.wait(longest, notifier.is_over()) {
            if is_over {
                return true;
            }
        }
        false
    }

    /// Connects now, so that people see what is wrong with the address.
    ///
    /// # Errors
    /// What the database says, in words; `Busy` where that may pass.
    fn open(&mut self) -> Result<(), StoreError> {
        let Err(lack) = self.connect() else { return Ok(()) };
        if let NoSession::Error(error) = &lack {
            // Somebody looks on: what the network says is worth more than that it may pass.
            match mapped("connect", error, CallProgress::Unsent) {
                StoreError::Busy(_) => {}
                other => return Err(other),
            }
        }
        Err(StoreError::Io(format!("{}: {}", self.location, lack.words()).into()))
    }

    /// Does one statement.
    ///
    /// # Errors
    /// See [`fault`](super::fault); `Unknown` if it may have been done.
    pub(super) fn call(&mut self, what: &str, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let is_new = self.client.as_ref().is_none_or(Client::is_closed);
        self.was_stale = false;
        if is_new {
            // Whatever a new session is refused for: while the owner has its lease, that may pass.
            if let Err(lack) = self.connect() {
                return Err(StoreError::Busy(format!("{}: {}", self.location, lack.words())));
            }
        }
        let Some(client) = &self.client else { return Err(lost(CallProgress::Unsent)) };
        let bound: Vec<(&(dyn ToSql + Sync), Type)> = values.iter().map(Value::bound).collect();
        match self.runtime.wait(self.patience, client.query_typed(sql, &bound)) {
            Some(Ok(rows)) => Ok(rows),
            Some(Err(error)) => {
                if ends_session(&error) {
                    self.client = None;
                    self.was_stale = !is_new;
                }
                Err(mapped(what, &error, CallProgress::Sent))
            }
            None => {
                self.client = None;
                Err(lost(CallProgress::Sent))
            }
        }
    }

    /// Does several statements without values, in one transaction if they say so.
    ///
    /// # Errors
    /// The same.
    pub(super) fn script(&mut self, what: &str, sql: &str) -> Result<(), StoreError> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            self.open()?;
        }
        let Some(client) = &self.client else { return Err(lost(CallProgress::Unsent)) };
        // A transaction that failed is open still: the session goes, and it with it.
        let failed = match self.runtime.wait(SCRIPT_TIMEOUT, client.batch_execute(sql)) {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) => mapped(what, &error, CallProgress::Sent),
            None => lost(CallProgress::Sent),
        };
        self.client = None;
        Err(failed)
    }

    /// Makes a session.
    fn connect(&mut self) -> Result<(), NoSession> {
        match self.try_connect() {
            Err(NoSession::Error(error)) if !self.is_pooled && is_refused(&error) => {
                self.is_pooled = true;
                self.try_connect()
            }
            other => other,
        }
    }

    /// Tries each host, and returns what is wrong with the last of them. Each has its share of the time: a
    /// host that says nothing at all, as its machine has lost its power, does not keep the session from the
    /// next.
    fn try_connect(&mut self) -> Result<(), NoSession> {
        let configs = self.location.configs((!self.is_pooled).then_some(self.session));
        assert!(!configs.is_empty(), "`Location::parse` refuses what names no host");
        let share = CALL_TIMEOUT / u32::try_from(configs.len()).unwrap_or(u32::MAX).max(1);
        let mut failed = NoSession::Silence;
        for config in &configs {
            match self.try_host(config, share) {
                Err(NoSession::Error(error)) if is_refused(&error) => return Err(error.into()),
                Err(lack) => failed = lack,
                Ok(()) => return Ok(()),
            }
        }
        Err(failed)
    }

    fn try_host(&mut self, config: &Config, longest: Duration) -> Result<(), NoSession> {
        self.client = None;
        let listen = self.channel.filter(|_| !self.is_pooled).map(|channel| format!("LISTEN {channel}"));
        self.listener.has_news.store(true, Ordering::Relaxed);
        let listener = self.listener.clone();
        let tls = self.location.tls();
        let made = self.runtime.wait(longest, async {
            let client = match tls {
                Some(tls) => begin(config, tls, listener).await?,
                None => begin(config, NoTls, listener).await?,
            };
            let rows = client.query_typed(LOOK, &[]).await?;
            Ok::<_, tokio_postgres::Error>((client, rows))
        });
        let (client, rows) = made.ok_or(NoSession::Silence)??;
        match rows.first().map_or("", |row| row.get(0)) {
            "replica" => return Err(NoSession::Unfit(REPLICA)),
            "read only" if self.session != OF_READER => return Err(NoSession::Unfit(READ_ONLY)),
            _ => {}
        }
        if let Some(listen) = listen {
            self.runtime.wait(CALL_TIMEOUT, client.batch_execute(&listen)).ok_or(NoSession::Silence)??;
        }
        self.client = Some(client);
        Ok(())
    }
}

/// Whether it is what pgbouncer says of a parameter that it does not pass on.
fn is_refused(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|refused| refused.message().contains("startup parameter"))
}

/// What is to be done with notifications. A clone is a reference count for each.
#[derive(Clone, Default)]
struct Listener {
    /// Is notified when something comes.
    notifier: WaitNotifier,
    /// Something came, or a session began that knows nothing of before.
    has_news: Arc<AtomicBool>,
    /// What a notification says that is for us; empty: each is.
    wanted: Arc<Mutex<String>>,
}

impl Listener {
    /// Nothing comes any more: what is missed until there is another session is told of by none.
    fn is_over(&self) {
        self.has_news.store(true, Ordering::Relaxed);
        self.notifier.notify();
    }

    fn hear(&self, payload: &str) {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.is_empty() || *wanted == payload {
            self.has_news.store(true, Ordering::Relaxed);
            self.notifier.notify();
        }
    }
}

/// Makes a session, in the clear or not.
async fn begin<T>(config: &Config, tls: T, listener: Listener) -> Result<Client, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut session) = config.connect(tls).await?;
    // It ends with the client; each call says what it failed with.
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| session.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message {
                listener.hear(notification.payload());
            }
        }
        // Who waits for what it tells makes another.
        listener.is_over();
    });
    Ok(client)
}
