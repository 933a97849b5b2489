//! The facts that hold for a request, as values: its row in the table of [`Request`](super::Request).
//!
//! | fact | decides |
//! |---|---|
//! | [`Power`] | the scope of a token, whether changes are counted, whether the socket may ask |
//! | [`Effect`] | what is refused while the disk is nearly full, and what the audit log leaves out |
//! | [`Answers`] | whether a client waits, and for what |
//! | [`Backend`] | who can answer beside the loop |
//!
//! Cost: none.
//!
//! Does not answer: the loop does, in `server/requests.rs`.

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It changes nothing.
    Looks,
    /// It runs, pauses or ends what is defined already.
    Operates,
    /// It says what is run as the server's user, or takes that away for good.
    Defines,
    /// It is for a person at the machine of the server: signing in.
    Local,
    /// The server's own listener alone may ask it.
    Listener,
}

impl Power {
    /// Whether jobs or runs are changed with it.
    pub const fn changes(self) -> bool {
        matches!(self, Power::Operates | Power::Defines)
    }

    /// Whether it may come from another machine: over HTTP, or through the database of a pool.
    pub const fn is_remote(self) -> bool {
        !matches!(self, Power::Local | Power::Listener)
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing but an answer; with the power to change something it tells what that would change.
    Tells,
    /// What is there changes.
    Changes,
    /// New work comes, for which the disk needs room.
    Adds,
}

/// Which answers come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// One answer, at once.
    One,
    /// The lines of an output.
    Lines {
        /// Whether those that come later are wanted too.
        follows: bool,
    },
    /// The end of a run, when it comes.
    End,
}

/// What can answer, from the least on: each has all that those before it have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backend {
    /// The folder of a store that no server has.
    Folder,
    /// A store that a pool shares: each server of it, whichever plans.
    Pool,
    /// The loop that owns the jobs.
    Owner,
}

/// The facts that hold for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'r> {
    /// What the audit log and the metrics call it: the word of its command, where that has not two meanings.
    pub word: &'static str,
    /// What it may do.
    pub power: Power,
    /// The name of the one job, run or one-shot job that it changes: the target in the audit log.
    pub target: Option<&'r str>,
    /// What becomes of it.
    pub effect: Effect,
    /// Which answers come.
    pub answers: Answers,
    /// The least that can answer.
    pub backend: Backend,
    /// Whether the audit log keeps that it changed something.
    pub is_audited: bool,
    /// What it says about itself for the audit log.
    pub note: &'r str,
}

impl<'r> Row<'r> {
    const fn new(word: &'static str, power: Power, target: Option<&'r str>) -> Row<'r> {
        let is_audited = power.changes();
        let effect = if is_audited { Effect::Changes } else { Effect::Tells };
        let (answers, backend) = (Answers::One, Backend::Owner);
        Row { word, power, target, effect, answers, backend, is_audited, note: "" }
    }

    /// One that changes nothing.
    pub(super) const fn looks(word: &'static str) -> Row<'r> {
        Row::new(word, Power::Looks, None)
    }

    /// One that operates.
    pub(super) const fn operates(word: &'static str, target: Option<&'r str>) -> Row<'r> {
        Row::new(word, Power::Operates, target)
    }

    /// One that defines.
    pub(super) const fn defines(word: &'static str, target: Option<&'r str>) -> Row<'r> {
        Row::new(word, Power::Defines, target)
    }

    /// One for the machine of the server.
    pub(super) const fn local(word: &'static str) -> Row<'r> {
        Row::new(word, Power::Local, None)
    }

    /// One of the server's own listener.
    pub(super) const fn of_listener(word: &'static str) -> Row<'r> {
        Row::new(word, Power::Listener, None)
    }

    /// New work comes with it.
    pub(super) const fn adds(self) -> Row<'r> {
        debug_assert!(matches!(self.effect, Effect::Changes), "what adds changes something");
        Row { effect: Effect::Adds, ..self }
    }

    /// The same, if it only tells what it would change.
    pub(super) const fn previews(self, is_preview: bool) -> Row<'r> {
        debug_assert!(self.power.changes(), "what only looks previews nothing");
        if is_preview { Row { effect: Effect::Tells, is_audited: false, ..self } } else { self }
    }

    /// What it makes is all that is kept of it: there may be thousands a second.
    pub(super) const fn unaudited(self) -> Row<'r> {
        debug_assert!(self.is_audited, "what changes nothing is not audited anyway");
        Row { is_audited: false, ..self }
    }

    pub(super) const fn noted(self, note: &'r str) -> Row<'r> {
        Row { note, ..self }
    }

    /// The lines of an output are its answers.
    pub(super) const fn lines(self, follows: bool) -> Row<'r> {
        Row { answers: Answers::Lines { follows }, ..self }
    }

    /// The end of a run is its last answer, if that is waited for.
    pub(super) const fn ends(self, waits: bool) -> Row<'r> {
        debug_assert!(!waits || matches!(self.backend, Backend::Owner), "the loop alone tells an end");
        if waits { Row { answers: Answers::End, ..self } } else { self }
    }

    /// The store alone can answer it.
    pub(super) const fn by(self, backend: Backend) -> Row<'r> {
        debug_assert!(matches!(self.power, Power::Looks), "what changes something is planned by the owner");
        Row { backend, ..self }
    }
}
