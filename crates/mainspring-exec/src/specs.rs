//! From what a job names to what is started: users and limits are looked up here.
//!
//! ```text
//! ProcessBody ─▶ process ─▶ ProcessSpec     the user's entry, HOME, SHELL and PATH, the kernel's numbers of limits
//! WebhookBody ─▶ webhook_specs
//! ```
//!
//! Cost: a look-up of the user per start.
//!
//! Does not read secrets: the start does, so that their values are held for as short as possible.
//!
//! Source: the environment is that of crontab(5) of Debian's cron 3.0pl1.

use mainspring_job::{Policies, Signal as PolicySignal};
use nix::sys::signal::Signal;
use thiserror::Error;

use crate::attributes::Attributes;
use crate::spec::{KillSequence, ProcessSpec, shell_of};
use mainspring_action::body::{MailBody, ProcessBody};
use mainspring_action::names::{DEFAULT_OUTPUT_BYTES, DEFAULT_PATH, Fate};
use mainspring_host::accounts::users::Users;
use mainspring_host::accounts::{Account, Refusal};

/// Says why an action cannot be carried out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// It names what this version does not know: a newer version wrote it.
    #[error("the action cannot be read: {0}")]
    Unknown(String),
    /// The server cannot become its user.
    #[error("cannot run as user {0}: {1}")]
    User(String, Refusal),
}

/// The process as the executor starts it, as one of these users.
///
/// # Errors
///
/// When the server cannot become the user, a limit is not known, or nothing is named that could run.
pub fn process(body: ProcessBody, users: &Users, policies: &Policies) -> Result<ProcessSpec, SpecError> {
    let account = match &body.user {
        None => users.ourselves().clone(),
        Some(user) => {
            let refused = |refusal| SpecError::User(user.clone(), refusal);
            users.account(user).map_err(refused)?
        }
    };
    if body.shell.is_none() && body.run.is_empty() {
        return Err(SpecError::Unknown("it names no program".to_owned()));
    }
    let on_lease_loss = Fate::of("on_lease_loss", body.on_lease_loss.as_deref(), Fate::Kill);
    let on_lease_loss = on_lease_loss.map_err(SpecError::Unknown)?;
    Ok(ProcessSpec {
        directory: body.cwd.clone().unwrap_or_else(|| account.home.clone()),
        environment: environment(&body, &account),
        account,
        attributes: Attributes::of(&body).map_err(SpecError::Unknown)?,
        timeout: policies.timeout.after,
        kill: kill_sequence(policies),
        output_bytes_max: body.output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES),
        on_lease_loss,
        body,
    })
}

/// The mailer as a process, with the mail as its input.
///
/// # Errors
///
/// When the server cannot become its user.
pub fn mail(
    body: &MailBody,
    output: &str,
    users: &Users,
    policies: &Policies,
) -> Result<ProcessSpec, SpecError> {
    let sendmail = body.sendmail.to_string_lossy().into_owned();
    let usual = ["-i".to_owned(), "-oem".to_owned()];
    let process_body = ProcessBody {
        run: [sendmail].into_iter().chain(usual).chain(body.to.iter().cloned()).collect(),
        user: body.user.clone(),
        cwd: Some("/".into()),
        ..ProcessBody::default()
    };
    let mut spec = process(process_body, users, policies)?;
    spec.body.stdin = Some(body.message(output, &spec.environment));
    Ok(spec)
}

/// What cron gives every command.
fn environment(body: &ProcessBody, account: &Account) -> Vec<(String, String)> {
    let home = account.home.to_string_lossy().into_owned();
    let user = account.name.clone();
    let of_user = [("HOME", home), ("USER", user.clone()), ("LOGNAME", user)];
    let of_clean = [("SHELL", shell_of(body).to_owned()), ("PATH", DEFAULT_PATH.to_owned())];
    let usual = of_user.into_iter().chain(of_clean.into_iter().filter(|_| !body.inherit_env));
    usual.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn kill_sequence(policies: &Policies) -> KillSequence {
    let kill = policies.timeout.kill;
    let signal = match kill.signal {
        PolicySignal::Int => Signal::SIGINT,
        PolicySignal::Hup => Signal::SIGHUP,
        PolicySignal::Quit => Signal::SIGQUIT,
        PolicySignal::Usr1 => Signal::SIGUSR1,
        PolicySignal::Usr2 => Signal::SIGUSR2,
        PolicySignal::Kill => Signal::SIGKILL,
        // Term, and whatever is not known here: the usual way to ask.
        _ => Signal::SIGTERM,
    };
    KillSequence { signal, wait: kill.grace }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_clean_environment_is_that_of_cron() {
        let ourselves = Account { name: "alice".into(), home: "/home/alice".into(), identity: None };
        let body = ProcessBody {
            run: vec!["env".into()],
            env: vec![("A".into(), "1".into())],
            ..Default::default()
        };
        let spec = process(body, &Users::new(ourselves), &Policies::default()).unwrap();
        let all = spec.environment.iter().chain(&spec.body.env);
        let names: Vec<&str> = all.map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["HOME", "USER", "LOGNAME", "SHELL", "PATH", "A"]);
        assert_eq!(spec.directory, PathBuf::from("/home/alice"));
    }

    #[test]
    fn a_body_that_names_no_program_is_refused() {
        let ourselves = Account { name: "alice".into(), home: "/".into(), identity: None };
        // Nothing keeps the database from having one.
        let refused = process(ProcessBody::default(), &Users::new(ourselves), &Policies::default());
        assert!(matches!(refused, Err(SpecError::Unknown(why)) if why == "it names no program"));
    }

    #[test]
    fn a_process_is_ended_with_the_lease_unless_it_says_otherwise() {
        let of = |word: Option<&str>| {
            let ourselves = Account { name: "alice".into(), home: "/".into(), identity: None };
            let on_lease_loss = word.map(str::to_owned);
            let body = ProcessBody { run: vec!["env".into()], on_lease_loss, ..Default::default() };
            process(body, &Users::new(ourselves), &Policies::default()).map(|spec| spec.on_lease_loss)
        };
        assert_eq!(of(None).unwrap(), Fate::Kill);
        assert_eq!(of(Some("kill")).unwrap(), Fate::Kill);
        assert_eq!(of(Some("leave")).unwrap(), Fate::Leave);
        // A newer version wrote it.
        assert!(matches!(of(Some("stay")), Err(SpecError::Unknown(_))));
    }
}
