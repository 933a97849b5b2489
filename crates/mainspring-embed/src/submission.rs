//! Something to be done once: built up, and on disk when it is submitted.
//!
//! Cost: a JSON document, and a wait for the disk that all submissions of the same moment share.
//!
//! Does not keep the payload as a value: what a handler gets is read from the document, also without a
//! restart.

use std::marker::PhantomData;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_action::body::{Body, HandlerBody};
use mainspring_job::{
    Command, Holder, JobName, MAX_BATCH_OPERATIONS, OnceId, Policies, Refusal, Reply, RunState, Submission,
    Work,
};
use mainspring_server::polling::wait_for;
use mainspring_server::server::unawaited::is_again;
use serde::Serialize;

use crate::client::{Client, name_of, strange};
use crate::error::Error;
use crate::handler::{Accepts, AnyPayload, Handler, HandlerName};

/// A submission that is being built, of a payload that `P` accepts.
#[derive(Debug)]
#[must_use = "nothing is submitted before submit is called"]
pub struct Once<'c, P = AnyPayload> {
    pub(crate) client: &'c Client,
    handler: String,
    due: Due,
    name: Option<String>,
    key: Option<String>,
    period: Option<Duration>,
    payload: Option<Result<String, serde_json::Error>>,
    policies: Option<Policies>,
    batch: Option<String>,
    after_batch: Option<String>,
    priority: Option<i8>,
    accepts: PhantomData<P>,
}

/// The shortest period in which a key counts once: a shorter one would be that of one submission.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Due {
    After(Duration),
    At(Timestamp),
}

/// What was submitted, or what was there already: with its key, or with its name and due time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubmittedJob {
    /// Its id, which withdraws it while it waits. `None`: it was there already without a key, and is not
    /// waiting any more.
    pub id: Option<OnceId>,
    /// Its name: that of its run in the history.
    pub name: Option<JobName>,
    /// The state of its run. `None`: it waits. One that was withdrawn is cancelled, and keeps its key.
    pub state: Option<RunState>,
    /// Whether it is new. A second submission with the same key changes nothing while the first waits, runs,
    /// or is kept in the history.
    pub is_new: bool,
}

impl Client {
    /// Begins a submission to a handler: something to be done once.
    pub fn once<H: HandlerName>(&self, handler: H) -> Once<'_, H::Payload> {
        Once {
            client: self,
            handler: handler.into_name(),
            due: Due::After(Duration::ZERO),
            name: None,
            key: None,
            period: None,
            payload: None,
            policies: None,
            batch: None,
            after_batch: None,
            priority: None,
            accepts: PhantomData,
        }
    }

    /// Submits something to be done once, now: `jobs.once(handler).payload(payload).submit()`.
    ///
    /// # Errors
    /// See [`Once::submit`].
    pub fn submit<T: Serialize>(&self, handler: Handler<T>, payload: &T) -> Result<SubmittedJob, Error> {
        self.once(handler).payload(payload).submit()
    }

    /// Submits many, each for itself: one that is refused keeps no other back. The results are in the order
    /// of what was given. They share the waits for the disk, a batch of the store at a time.
    pub fn submit_all<'c, P>(
        &self,
        many: impl IntoIterator<Item = Once<'c, P>>,
    ) -> Vec<Result<SubmittedJob, Error>> {
        let mut many = many.into_iter().peekable();
        let mut results = Vec::new();
        while many.peek().is_some() {
            let begin = |once: Once<'c, P>| {
                let submission = once.submission()?;
                Ok((self.begin(Command::Submit(submission.clone()))?, submission))
            };
            let begun: Vec<Result<_, Error>> = many.by_ref().take(MAX_BATCH_OPERATIONS).map(begin).collect();
            results.extend(begun.into_iter().map(|begun| {
                let (begun, submission) = begun?;
                submitted(wait_for(begun), &submission)
            }));
        }
        results
    }
}

impl SubmittedJob {
    /// The name of its run in the history, for [`Jobs::runs_of`](crate::Jobs::runs_of).
    pub fn job(&self) -> &str {
        self.name.as_ref().map_or("", JobName::as_str)
    }
}

impl<'c, P> Once<'c, P> {
    /// An idempotency key, of this handler: a second submission to it with the same key is answered with the
    /// first, if it has the same payload. Another handler may have the same key. With the handler's name and
    /// a slash it is at most 256 bytes long.
    pub fn key(self, key: impl Into<String>) -> Once<'c, P> {
        Once { key: Some(key.into()), ..self }
    }

    /// Has the [`key`](Self::key) count once in each period: that in which the submission is due. Periods of
    /// this length follow each other from 1970 on, in UTC, and a second is the shortest. So with
    /// `Duration::from_secs(86_400)` it is once a day, while the history has that day's run. Without a key
    /// this does nothing.
    pub fn once_in(self, period: Duration) -> Once<'c, P> {
        Once { period: Some(period.max(SHORTEST_PERIOD)), ..self }
    }

    /// A name for people, of at most 128 characters; one is made, unless told. No two that wait have the
    /// same.
    pub fn name(self, name: impl Into<String>) -> Once<'c, P> {
        Once { name: Some(name.into()), ..self }
    }

    /// It is due this long from now; at once, unless told.
    pub fn after(self, delay: Duration) -> Once<'c, P> {
        Once { due: Due::After(delay), ..self }
    }

    /// It is due at this time.
    pub fn at(self, due: Timestamp) -> Once<'c, P> {
        Once { due: Due::At(due), ..self }
    }

    /// What the handler gets: at most 256 KiB as JSON, with the handler's name, where each quotation mark and
    /// each backslash counts twice. What is longer belongs elsewhere, and its place in the payload.
    pub fn payload<T: Serialize + ?Sized>(self, payload: &T) -> Once<'c, P>
    where
        P: Accepts<T>,
    {
        Once { payload: Some(serde_json::to_string(payload)), ..self }
    }

    /// Other policies than those of the handler.
    pub fn policies(self, policies: Policies) -> Once<'c, P> {
        Once { policies: Some(policies), ..self }
    }

    /// It is a member of a batch of this name, of at most 128 characters, for what comes
    /// [`after_batch`](Self::after_batch). It is one until it has ended for good, retries included; a dead
    /// letter has ended. A handler may add members while it is one.
    pub fn batch(self, name: impl Into<String>) -> Once<'c, P> {
        Once { batch: Some(name.into()), ..self }
    }

    /// It begins when it is due and no member of that batch waits or runs any more, however they ended:
    /// the callback of a batch. Submitted after its members, or it finds none and begins at once; in one
    /// call of `submit_all`, or one transaction, it may be the last. What is a member of the batch itself is
    /// refused. Members of two batches that wait for each other's batch wait until one is cancelled; `show`
    /// names what each waits for.
    pub fn after_batch(self, name: impl Into<String>) -> Once<'c, P> {
        Once { after_batch: Some(name.into()), ..self }
    }

    /// Another priority than that of the handler.
    pub fn priority(self, priority: i8) -> Once<'c, P> {
        Once { priority: Some(priority), ..self }
    }

    /// Submits it. It is on disk when this returns.
    ///
    /// # Errors
    /// When there is no such handler, the payload is too long ([`Error::Action`]) or cannot be written, the
    /// handler could not read it ([`Error::Unreadable`]), another submission has the key or the name
    /// ([`Error::Taken`]), a batch has no name or is its own ([`Error::Definition`]), the disk is full, or
    /// the jobs are shut down. It is not submitted then.
    pub fn submit(self) -> Result<SubmittedJob, Error> {
        wait_for(self.submit_async())
    }

    /// The same for a thread that must not wait, such as one that polls futures.
    ///
    /// # Errors
    /// See [`submit`](Self::submit). A future that is dropped before it is ready may have submitted it or
    /// not.
    pub async fn submit_async(self) -> Result<SubmittedJob, Error> {
        let (client, submission) = (self.client, self.submission()?);
        let replied = client.begin(Command::Submit(submission.clone()))?.await;
        submitted(replied, &submission)
    }

    /// The delay after which it is due, unless that is a time.
    pub(crate) fn delay(&self) -> Option<Duration> {
        match self.due {
            Due::After(delay) => Some(delay),
            Due::At(_) => None,
        }
    }

    /// The key without the handler's name, with the begin of its period.
    ///
    /// # Errors
    /// When the jobs are shut down.
    pub(crate) fn own_key(&self) -> Result<Option<String>, Error> {
        Ok(self.key_at(self.due()?))
    }

    fn key_at(&self, due: Timestamp) -> Option<String> {
        let (Some(key), Some(period)) = (&self.key, self.period) else { return self.key.clone() };
        let period_ns = i128::try_from(period.as_nanos()).unwrap_or(i128::MAX);
        let begin_ns = due.as_nanosecond().div_euclid(period_ns).saturating_mul(period_ns);
        let begin = Timestamp::from_nanosecond(begin_ns).unwrap_or(Timestamp::MIN);
        debug_assert!(begin <= due, "a period begins before what is due in it");
        Some(format!("{key}@{begin}"))
    }

    fn due(&self) -> Result<Timestamp, Error> {
        match self.due {
            Due::At(due) => Ok(due),
            Due::After(delay) => Ok(self.client.target.now()?.checked_add(delay).unwrap_or(Timestamp::MAX)),
        }
    }

    pub(crate) fn submission(self) -> Result<Submission, Error> {
        let Some(entry) = self.client.catalogue.get(&self.handler) else {
            return Err(Error::NoHandler(self.handler));
        };
        let due = self.due()?;
        let key = self.key_at(due);
        let payload = self.payload.transpose().map_err(Error::Payload)?.unwrap_or_default();
        let key = key.map(|key| format!("{}/{key}", self.handler));
        let body = HandlerBody { name: self.handler, version: entry.version, payload };
        entry.reads.check(&body)?;
        let action = Body::Handler(body).encode().map_err(Error::Action)?;
        let usual = &entry.work;
        let mut policies = self.policies.unwrap_or_else(|| usual.policies.clone());
        for (policy, name) in [("after-batch", self.after_batch), ("batch", self.batch)] {
            let Some(name) = name else { continue };
            policies.set(policy, &name).map_err(|error| Error::definition(&name, error))?;
        }
        let mut work = Work::new(action).with_policies(policies);
        (work.group, work.priority) = (usual.group.clone(), self.priority.unwrap_or(usual.priority));
        let mut submission = Submission::new(due, work);
        submission.name = self.name.as_deref().map(name_of).transpose()?;
        submission.key = key;
        Ok(submission)
    }
}

fn submitted(replied: Result<Reply, Error>, submission: &Submission) -> Result<SubmittedJob, Error> {
    match replied {
        Ok(Reply::Submitted { id, name }) => {
            Ok(SubmittedJob { id: Some(id), name: Some(name), state: None, is_new: true })
        }
        Ok(Reply::Duplicate(holder)) => Ok(known(*holder)),
        Err(Error::Refused(Refusal::Taken(holder))) if is_again(&holder, submission) => Ok(known(*holder)),
        Err(Error::Refused(Refusal::Taken(holder))) => Err(Error::Taken(holder)),
        Ok(other) => Err(strange(&other)),
        Err(error) => Err(error),
    }
}

/// One that was there already.
fn known(holder: Holder) -> SubmittedJob {
    SubmittedJob { id: holder.id, name: Some(holder.name), state: holder.state, is_new: false }
}
