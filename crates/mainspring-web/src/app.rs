//! The state that all handlers share: connections to the loop, who may ask, what is known of jobs already.
//!
//! | field | guard | held |
//! |---|---|---|
//! | `tokens`, `sessions`, `clicks` | a mutex each | for a look-up, never over a wait |
//! | `clicking` | a place for each identity | while the loop is asked for a run |
//! | `defining` | a mutex | while the loop is asked for a job and its change |
//! | `pool`, `catalogue`, `feed`, `computations`, `room`, `pace`, `connections` | their own | see there |
//!
//! Cost: none of its own.
//!
//! Does not know HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::body::Bytes;
use jiff::tz::TimeZone;
use mainspring_exec::clock::Moment;
use mainspring_job::RunKey;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::message::note;
use mainspring_server::protocol::{Request, Response};

use crate::assets::Assets;
use crate::bulk::Bulk;
use crate::catalogue::Catalogue;
use crate::computation::Computations;
use crate::connections::Connections;
use crate::event_stream::EventStream;
use crate::lock::locked;
use crate::memory_budget::MemoryBudget;
use crate::meter::Meter;
use crate::pace::Pace;
use crate::pool::{Actor, Pool, asking_for};
use crate::problem::{Code, Problem};
use crate::repeats::Repeats;
use crate::scope::Scope;
use crate::sessions::{Identity, Principal, Sessions};
use crate::settings::Settings;
use crate::shares::Shares;
use crate::tokens::{Tokens, path};

/// How long a click is remembered, so that the same again is the same run: longer than a browser tries again.
pub const CLICK_LIFE: Duration = Duration::from_secs(150);

/// The most clicks of an identity in that time that are remembered.
const MAX_CLICKS_OF_IDENTITY: usize = 1_000;

/// What is shared.
#[derive(Debug)]
pub struct App {
    /// How the server is reached.
    pub settings: Settings,
    /// Where its data are.
    pub data: DataDirectory,
    /// The zone of the server.
    pub zone: TimeZone,
    /// The way to the loop.
    pub pool: Arc<Pool>,
    /// The page.
    pub assets: Assets,
    /// What is known of jobs.
    pub catalogue: Catalogue,
    /// What happens.
    pub feed: Arc<EventStream>,
    /// What is done to many at once.
    pub bulk: Bulk,
    /// What computes for long.
    pub computations: Computations,
    /// For long bodies and answers.
    pub budget: Arc<MemoryBudget>,
    /// One definition is compared with `If-Match` and changed before the next is looked at.
    pub defining: tokio::sync::Mutex<()>,
    /// How fast each may change something.
    pub pace: Pace,
    /// The connections that are open.
    pub connections: Arc<Connections>,
    /// What is counted.
    pub meter: Meter,
    /// The description of the API, from when it is served.
    pub description: OnceLock<Bytes>,
    tokens: Mutex<Tokens>,
    /// The lines about a file of tokens that cannot be believed.
    no_tokens: Mutex<Repeats>,
    sessions: Mutex<Sessions>,
    /// Runs that were asked for, by job and the moment that the browser named.
    clicks: Mutex<HashMap<(String, String), Click>>,
    /// One click of an identity leads to its run before its next is looked at: two of the same may come
    /// together.
    pub clicking: Shares<1>,
}

#[derive(Debug)]
struct Click {
    owner: Identity,
    run: RunKey,
    at: Moment,
}

impl App {
    /// A app that has not been asked anything.
    ///
    /// # Errors
    ///
    /// When the file of tokens cannot be believed.
    pub fn new(
        settings: Settings,
        data: DataDirectory,
        zone: TimeZone,
        pool: Arc<Pool>,
    ) -> std::io::Result<App> {
        Ok(App {
            tokens: Mutex::new(Tokens::open(path(&data))?),
            no_tokens: Mutex::default(),
            sessions: Mutex::new(Sessions::default()),
            clicks: Mutex::new(HashMap::new()),
            clicking: Shares::default(),
            catalogue: Catalogue::new(zone.clone(), Arc::clone(&pool)),
            feed: Arc::new(EventStream::new(Moment::now().wall)),
            bulk: Bulk::default(),
            computations: Computations::default(),
            budget: Arc::default(),
            defining: tokio::sync::Mutex::default(),
            pace: Pace::default(),
            connections: Arc::default(),
            meter: Meter::default(),
            description: OnceLock::new(),
            assets: Assets::default(),
            settings,
            data,
            zone,
            pool,
        })
    }

    /// What somebody may do here: less where nothing may be changed, or nothing defined.
    pub fn allowed(&self, who: Principal) -> Principal {
        Principal { scope: who.scope.min(self.settings.most().0), ..who }
    }

    /// Whose token it is.
    ///
    /// # Errors
    ///
    /// When the file of tokens cannot be believed any more.
    pub fn who_has(&self, token: &str) -> Result<Option<Principal>, String> {
        let mut tokens = locked(&self.tokens);
        tokens.refresh().map_err(|error| {
            let line =
                format!("mainspring: no token is good, because {}: {error}", path(&self.data).display());
            locked(&self.no_tokens).say(&line, Moment::now());
            "no token is good now: see the log of the server".to_owned()
        })?;
        let found = tokens.find(token).cloned();
        Ok(found.map(|token| {
            let scope = token.scope;
            self.allowed(Principal { identity: Identity::Token(token), scope })
        }))
    }

    /// Whose session a cookie is. One of a token ends with it.
    pub fn who_is(&self, cookie: &str, now: Moment) -> Option<Principal> {
        let who = locked(&self.sessions).find(cookie, now)?.clone();
        self.has(&who.identity).then_some(who)
    }

    /// Whether an identity is there still: that of a token ends with it.
    pub fn has(&self, identity: &Identity) -> bool {
        let Identity::Token(token) = identity else { return true };
        let mut tokens = locked(&self.tokens);
        tokens.refresh().is_ok() && tokens.has(token)
    }

    /// Begins a session for who has a token or a code. Returns its cookie.
    ///
    /// # Errors
    ///
    /// 401 for what is not known, 429 after too many of these within a minute.
    pub async fn sign_in(&self, proof: SignIn, now: Moment) -> Result<String, Problem> {
        // The proof first: a client that guesses keeps no client out that has a good one.
        let found = match proof {
            SignIn::Token(token) => {
                self.who_has(&token).map_err(|why| Problem::new(Code::UNAUTHENTICATED, why))?
            }
            SignIn::Code(code) => {
                let answer = self.pool.ask(Actor::default(), Request::Redeem { code }).await;
                let is_good = matches!(answer, Ok(Response::LoginCode(_)));
                // No more, because other users may read the code in the arguments of a browser.
                is_good.then(|| self.allowed(Principal { identity: Identity::Local, scope: Scope::Operate }))
            }
        };
        let Some(who) = found else {
            if !locked(&self.sessions).count_wrong_try(now) {
                return Err(Problem::new(Code::UNAUTHENTICATED, "the code or token is not known"));
            }
            let text = "too many wrong tries to sign in: check the token, or wait a minute";
            return Err(Problem::new(Code::TOO_MANY, text).again_after(60));
        };
        note(&format!("{} signed in over HTTP", who.identity));
        let cookie = locked(&self.sessions).begin(who, now);
        cookie.map_err(|error| Problem::new(Code::FAILED, format!("no session can be begun: {error}")))
    }

    /// Ends a session.
    pub fn sign_out(&self, cookie: &str) {
        locked(&self.sessions).end(cookie);
    }

    /// The run that a click has led to, if it was seen before.
    pub fn clicked(&self, job: &str, at: &str, now: Moment) -> Option<RunKey> {
        let mut clicks = locked(&self.clicks);
        clicks.retain(|_, click| now.since(click.at) < CLICK_LIFE);
        clicks.get(&(job.to_owned(), at.to_owned())).map(|click| click.run.clone())
    }

    /// Remembers a click.
    pub fn click(&self, owner: &Identity, (job, at): (&str, &str), run: &RunKey, now: Moment) {
        let mut clicks = locked(&self.clicks);
        if clicks.values().filter(|click| click.owner == *owner).count() < MAX_CLICKS_OF_IDENTITY {
            let click = Click { owner: owner.clone(), run: run.clone(), at: now };
            clicks.insert((job.to_owned(), at.to_owned()), click);
        }
    }

    /// Asks the loop for a change, in somebody's name, with what they say about it.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn change(
        &self,
        who: &Principal,
        comment: Option<String>,
        request: Request,
    ) -> Result<Response, Problem> {
        self.pace.turn(&who.identity).await;
        let actor = Actor { name: Some(who.identity.to_string()), comment };
        let of = request.row().target.map(str::to_owned);
        let owner = Some(who.identity.clone());
        let answer = asking_for(owner, self.pool.ask(actor, request)).await;
        self.catalogue.touch(of.as_deref());
        answer
    }
}

/// With what somebody signs in.
#[derive(Clone, PartialEq, Eq)]
pub enum SignIn {
    /// One of the file.
    Token(String),
    /// One of `mainspring open`.
    Code(String),
}
