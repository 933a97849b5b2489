//! The pause of everything with which a server begins, for a person who looks at a restored copy.
//!
//! ```text
//! Pause(All) ─▶ Restore ─▶ Apply ─▶ Begin: nothing starts ─▶ `resume --all`, by a person
//! ```
//!
//! It is the pause that `pause --all` makes, and it stays when the server ends: a second start without
//! `--paused` begins nothing either. A pause of everything that is there already stays as it is, unless it
//! has an end, by which it would end unseen. Pauses of single jobs are left alone. Jobs of files that are not
//! given stay, because the files of a copy may be elsewhere.
//!
//! Cost: a command at the start.
//!
//! Does not hold for a store that servers share: each of them would pause what the others run.

use mainspring_job::{Command, PauseTerms, Scope};

use super::Server;
use super::purpose::Purpose;
use mainspring_exec::clock::Moment;

/// What people read as the reason of the pause.
pub const START_PAUSE_NOTE: &str = "the server was started with --paused";

impl Server {
    /// Pauses everything before anything is planned, if that is asked. `stored` is the pause of the store.
    /// Returns the pause that holds.
    pub(super) fn begin_paused(
        &mut self,
        terms: Option<PauseTerms>,
        stored: Option<PauseTerms>,
    ) -> Option<PauseTerms> {
        let Some(terms) = terms.filter(|_| stored.as_ref().is_none_or(|it| it.until.is_some())) else {
            return stored;
        };
        let purpose = Purpose::Restored { source: START_PAUSE_NOTE.to_owned() };
        self.command(purpose, Command::Pause(Scope::All, terms.clone()));
        Some(terms)
    }

    /// Says at the start that nothing starts, and how it continues.
    pub(super) fn say_pause(&mut self, terms: Option<PauseTerms>, now: Moment) {
        let Some(terms) = terms else { return };
        let until = terms.until.map(|until| format!(" until {until}")).unwrap_or_default();
        let text =
            format!("everything is paused{until}, and nothing starts: `mainspring resume --all` ends that");
        self.note(now.wall, &text);
    }
}
