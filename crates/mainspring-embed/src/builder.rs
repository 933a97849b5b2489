//! The configuration of a program before its jobs run: a folder, its jobs, its handlers.
//!
//! ```text
//! Jobs::open(folder) ─▶ job, handler, .. ─▶ start ─▶ Jobs
//! ```
//!
//! What is wrong with a definition is kept, and told by `start`: so a chain of definitions has no `?` in it.
//!
//! Cost: a box for each handler.
//!
//! Does not start a thread: [`Jobs`](crate::Jobs) does.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::fs::File;
use std::sync::Arc;

use mainspring_action::body::{Body, HandlerBody};
use mainspring_file::definition::Definition;
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::written::group_table;
use mainspring_job::{Action, Definitions, Group, Hooks, Job, JobName, MAX_BATCH_OPERATIONS, Work, circle};
use serde::de::DeserializeOwned;

use crate::around::{Layers, Next};
use crate::catalogue::{Entry, Reads};
use crate::error::Error;
use crate::future::{BoxFuture, Spawner};
use crate::handler::DefinedBy;
use crate::handler_error::HandlerError;
use crate::jobs::{JobStorage, Jobs};
use crate::notice::Notify;
use crate::options::Options;
use crate::parts::Parts;
use crate::registry::{Handler, Registry};
use crate::run::Run;
use crate::simulation::ManualClock;
use crate::when::When;

/// How many functions run at a time, unless told: most handlers wait for something else than a processor.
const USUAL_THREADS: usize = 8;

/// The most threads: each has a stack, and a program with more has another design.
const MAX_THREADS: usize = 1_024;
const _: () = assert!(0 < USUAL_THREADS);
const _: () = assert!(USUAL_THREADS <= MAX_THREADS);

/// How many futures run at a time, unless told: as many as the server's processes.
const USUAL_FUTURES: usize = 1_000;

/// Jobs that are being defined.
#[must_use = "nothing runs before start is called"]
pub struct Builder {
    pub(crate) storage: JobStorage,
    pub(crate) parts: Parts,
    /// What each job wants told.
    notify: Vec<Notify>,
    pub(crate) wrong: Option<Error>,
    layers: Layers,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("registry", &self.parts.registry).finish_non_exhaustive()
    }
}

impl Jobs {
    /// Jobs in memory, whose time a test moves: handlers run on the thread that moves the clock.
    pub fn simulated(clock: &ManualClock) -> Builder {
        Builder::new(JobStorage::Simulated(clock.clone()))
    }
}

impl Builder {
    pub(crate) fn new(storage: JobStorage) -> Builder {
        let parts = Parts {
            registry: Registry::default(),
            catalogue: Arc::default(),
            definitions: Definitions::new(JobSource::Program.source(), Vec::new()),
            thread_max: USUAL_THREADS,
            ahead: MAX_BATCH_OPERATIONS,
            spawner: None,
            future_max: USUAL_FUTURES,
            log: None,
            beside: None,
        };
        Builder { storage, parts, notify: Vec::new(), wrong: None, layers: Layers::default() }
    }

    /// Defines a job with a schedule, and the function that carries its runs out. It may be submitted to as
    /// well. Its name is at most 128 characters long.
    pub fn job<F, E>(self, options: impl Into<Options>, trigger: impl Into<When>, function: F) -> Builder
    where
        F: Fn(&Run) -> Result<(), E> + Send + Sync + 'static,
        E: Into<HandlerError>,
    {
        let handler = Handler::Function(Box::new(move |run, _| function(run).map_err(Into::into)));
        self.add(&options.into(), Some(&trigger.into()), Reads::any(), handler)
    }

    /// The same with a future, which the [`spawner`](Self::spawner) gets.
    pub fn async_job<F, R, E>(
        self,
        options: impl Into<Options>,
        trigger: impl Into<When>,
        function: F,
    ) -> Builder
    where
        F: Fn(Run) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<HandlerError>,
    {
        let make = move |run, _: &HandlerBody| Ok(boxed(function(run)));
        self.add(&options.into(), Some(&trigger.into()), Reads::any(), Handler::Future(Box::new(make)))
    }

    /// Defines a handler for what is submitted: a function of the run and of the payload. By a
    /// [`Handler`](crate::Handler) it says the type of the payload once, for itself and for submissions.
    pub fn handler<T, F, E>(self, name: impl DefinedBy<T>, function: F) -> Builder
    where
        T: DeserializeOwned + 'static,
        F: Fn(&Run, T) -> Result<(), E> + Send + Sync + 'static,
        E: Into<HandlerError>,
    {
        let mut options = name.options();
        let form = Arc::new(options.form());
        let reads = Reads::of::<T>(&form);
        let handler = Handler::Function(Box::new(move |run, body| {
            let payload = form.read(body)?;
            function(run, payload).map_err(Into::into)
        }));
        self.add(&options, None, reads, handler)
    }

    /// The same with a future, which the [`spawner`](Self::spawner) gets.
    pub fn async_handler<T, F, R, E>(self, name: impl DefinedBy<T>, function: F) -> Builder
    where
        T: DeserializeOwned + 'static,
        F: Fn(Run, T) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<HandlerError>,
    {
        let mut options = name.options();
        let form = Arc::new(options.form());
        let reads = Reads::of::<T>(&form);
        let handler = Handler::Future(Box::new(move |run, body| {
            let payload = form.read(body)?;
            Ok(boxed(function(run, payload)))
        }));
        self.add(&options, None, reads, handler)
    }

    /// Puts code around each call of a function of this program, jobs and handlers alike, whether they are
    /// defined before or after. What is put first is outermost. It calls [`Next::call`], and returns what
    /// that returned or something else; or it does not call it, and the handler is not called. It runs on the
    /// handler's thread. A panic goes through it.
    ///
    /// # Example
    /// ```
    /// # use mainspring_embed::{HandlerError, Jobs, ManualClock, Run};
    /// # use std::time::{Duration, Instant};
    /// # let closed = || false;
    /// # let builder = Jobs::simulated(&ManualClock::at("2026-01-01T00:00:00Z".parse()?));
    /// let builder = builder.around(move |run, next| {
    ///     if closed() {
    ///         return Err(HandlerError::again_in(Duration::from_secs(60)));
    ///     }
    ///     let began = Instant::now();
    ///     let ended = next.call();
    ///     println!("{} took {:?}: {}", run.key(), began.elapsed(), ended.is_ok());
    ///     ended
    /// });
    /// # builder.handler("warm-up", |_: &Run, (): ()| Ok::<(), HandlerError>(())).start()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn around<F>(mut self, around: F) -> Builder
    where
        F: Fn(&Run, Next<'_>) -> Result<(), HandlerError> + Send + Sync + 'static,
    {
        self.layers.functions.push(Arc::new(around));
        self
    }

    /// The same around each future. It gets the future of the handler, and returns one that awaits it, as
    /// `move |run, inner| inner.instrument(tracing::info_span!("run", key = %run.key()))`. It is called by
    /// the program's runtime.
    pub fn async_around<F, R>(mut self, around: F) -> Builder
    where
        F: Fn(Run, BoxFuture<Result<(), HandlerError>>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.layers.futures.push(Arc::new(move |run, inner| Box::pin(around(run, inner))));
        self
    }

    /// How many functions run at a time, each on a thread of its own: 8 unless told, and from 1 to 1024.
    pub fn threads(mut self, count: usize) -> Builder {
        self.parts.thread_max = count.clamp(1, MAX_THREADS);
        self
    }

    /// How many runs are started here before a thread is free for them: as many as ended within the last
    /// quarter of a second, and at most this. [`MAX_BATCH_OPERATIONS`] unless told; 0 for none.
    ///
    /// A thread that is done takes the next at once, and asks no database for it. With short functions
    /// several times as many run in a second. Only runs are started so that are tried again when the program
    /// dies, see [`Options::retry_abandoned`](crate::Options::retry_abandoned). One that has waited for a
    /// second is given back, and is another attempt when it begins. A timeout counts from when it begins.
    pub fn ahead(mut self, count: usize) -> Builder {
        self.parts.ahead = count.min(MAX_BATCH_OPERATIONS);
        self
    }

    /// Hands futures to the program's runtime, at most so many at a time as [`futures`](Self::futures) says.
    /// It is called by a thread of the jobs, which is in no runtime. So it takes a handle with it:
    /// `let runtime = tokio::runtime::Handle::current();`, and then
    /// `move |future| drop(runtime.spawn(future))`. A run whose spawner panics has failed.
    pub fn spawner(mut self, spawn: impl Fn(BoxFuture<()>) + Send + Sync + 'static) -> Builder {
        self.parts.spawner = Some(Spawner::new(spawn));
        self
    }

    /// How many futures run at a time: 1000 unless told, and at least one.
    pub fn futures(mut self, count: usize) -> Builder {
        self.parts.future_max = count.max(1);
        self
    }

    /// Where the log goes: what starts and ends, and what is wrong. Nowhere, unless told.
    pub fn log_to(mut self, log: File) -> Builder {
        self.parts.log = Some(log);
        self
    }

    /// Takes over what the folder holds, and begins.
    ///
    /// # Errors
    /// When a definition is wrong, or the store cannot be used.
    pub fn start(mut self) -> Result<Jobs, Error> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        self.finish()?;
        let Builder { storage, mut parts, layers, .. } = self;
        let is_known = |job: &Job| parts.catalogue.get(job.name.as_str()).is_some();
        debug_assert!(parts.definitions.jobs.iter().all(is_known), "each job has a handler of its name");
        if parts.registry.has_futures() && parts.spawner.is_none() {
            let reason = "futures need a spawner, which hands them to the program's runtime";
            return Err(Error::definition("async_handler", reason));
        }
        parts.registry = parts.registry.map(|handler| layers.around(handler));
        Jobs::start(storage, parts)
    }

    fn add(mut self, options: &Options, when: Option<&When>, reads: Reads, handler: Handler) -> Builder {
        if let Err(error) = self.try_add(options, when, reads, handler) {
            self.wrong.get_or_insert(error);
        }
        self
    }

    fn try_add(
        &mut self,
        options: &Options,
        when: Option<&When>,
        reads: Reads,
        handler: Handler,
    ) -> Result<(), Error> {
        let (name, group) = (options.job_name()?, options.job_group()?);
        options.check()?;
        let body =
            HandlerBody { name: options.name.clone(), version: options.version, payload: String::new() };
        let mut work = Work::new(Action::new("", "").expect("two empty texts are short"));
        work = work.with_policies(options.policies.clone());
        (work.group, work.priority) = (group.as_ref().map(|group| group.name.clone()), options.priority);
        match when {
            Some(when) => self.add_job(name, when, body, &work, options, group.as_ref())?,
            None => options.check_handler()?,
        }
        // What several say of one group holds all together.
        let groups = &mut self.parts.definitions.groups;
        groups.extend(group.filter(|group| !groups.contains(group)));
        self.parts.registry.add(&options.name, handler);
        let entry = Entry { version: options.version, work, reads };
        match Arc::make_mut(&mut self.parts.catalogue).add(&options.name, entry) {
            true => Ok(()),
            false => Err(options.wrong("the name is taken by another job or handler")),
        }
    }

    fn add_job(
        &mut self,
        name: JobName,
        when: &When,
        body: HandlerBody,
        work: &Work,
        options: &Options,
        group: Option<&Group>,
    ) -> Result<(), Error> {
        let timetable = when.timetable(&name).map_err(|error| options.wrong(error))?;
        let mut definition = Definition::of(name, timetable, Body::Handler(body));
        definition.policies.clone_from(&work.policies);
        definition.group.clone_from(&work.group);
        definition.labels.clone_from(&options.labels);
        (definition.priority, definition.max_runs) = (work.priority, options.max_runs);
        let mut job = definition.job(&JobSource::Program.source()).map_err(Error::Action)?;
        when.check_text(&job.text).map_err(|error| options.wrong(error))?;
        if let Some(group) = group {
            writeln!(job.text, "group = \"{}\"", group.name).expect("a string can be written");
            job.text.push_str(&group_table(group));
        }
        self.notify.push(options.notify.clone());
        self.parts.definitions.jobs.push(job);
        Ok(())
    }

    /// Gives jobs the hooks whose handlers may have been defined after them, and checks that what is followed
    /// is there, and that no circle of jobs follow each other.
    fn finish(&mut self) -> Result<(), Error> {
        let jobs = &mut self.parts.definitions.jobs;
        assert_eq!(jobs.len(), self.notify.len(), "each job says what it wants told");
        for (job, notify) in jobs.iter_mut().zip(&self.notify) {
            if !notify.is_empty() {
                job.hooks = Some(Hooks::new(notify.hook(&self.parts.catalogue)?));
            }
        }
        let jobs = &self.parts.definitions.jobs;
        let followed_by = |job: &Job| job.timetable.follows().map(|after| after.job.clone()).collect();
        let follows: BTreeMap<JobName, Vec<JobName>> =
            jobs.iter().map(|job| (job.name.clone(), followed_by(job))).collect();
        for job in jobs {
            if let Some(name) = follows[&job.name].iter().find(|name| !follows.contains_key(*name)) {
                let reason = format!("it follows `{name}`, and there is no such job with a schedule");
                return Err(Error::definition(job.name.as_str(), reason));
            }
        }
        let Some(names) = circle(&follows) else { return Ok(()) };
        let names: Vec<&str> = names.iter().map(JobName::as_str).collect();
        let reason = format!("these jobs follow each other in a circle: {}", names.join(", "));
        Err(Error::definition(names[0], reason))
    }
}

fn boxed<E: Into<HandlerError>>(
    future: impl Future<Output = Result<(), E>> + Send + 'static,
) -> BoxFuture<Result<(), HandlerError>> {
    Box::pin(async move { future.await.map_err(Into::into) })
}
