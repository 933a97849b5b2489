//! Texts of errors, and that the errors can be handed on.

use std::error::Error;
use std::io;

use mainspring_job::{
    Action, JobName, KeyError, OnceId, Policies, Refusal, RunKey, StoreError, Timetable, Trigger,
};

type AnyError = Box<dyn Error + Send + Sync>;

/// An error and its causes, as programs show them.
fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[test]
fn a_cause_is_said_once() {
    let error = StoreError::Io(Box::new(io::Error::from(io::ErrorKind::NotFound)));
    assert_eq!(with_causes(&error), "the store cannot be used: entity not found");
}

#[test]
fn every_error_is_handed_on() {
    let errors: [AnyError; 8] = [
        Box::new(JobName::new("").unwrap_err()),
        Box::new(Action::new("x".repeat(100), "").unwrap_err()),
        Box::new("overlap=sikp".parse::<Policies>().unwrap_err()),
        Box::new("backup".parse::<RunKey>().unwrap_err()),
        Box::new("once-".parse::<OnceId>().unwrap_err()),
        Box::new(Timetable::new(Vec::<Trigger>::new()).unwrap_err()),
        Box::new(Refusal::NotReady),
        Box::new(StoreError::Busy("locked".to_owned())),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.ends_with('.') && !text.starts_with(char::is_uppercase), "{text}");
    }
}

#[test]
fn a_key_is_read_back_from_its_text() {
    for text in ["backup@2026-11-21T03:00:00Z", "user@host@2026-11-21T03:00:00.5Z#2"] {
        assert_eq!(text.parse::<RunKey>().map(|key| key.to_string()), Ok(text.to_owned()));
    }
    for text in ["", "backup", "@2026-11-21T03:00:00Z", "backup@noon", "backup@2026-11-21T03:00:00Z#x"] {
        assert_eq!(text.parse::<RunKey>(), Err(KeyError::Run), "{text}");
    }
}

#[test]
fn a_character_that_may_not_stand_in_a_name_is_shown_as_it_is() {
    for (text, shown) in [("ü", "`ü` may"), ("日", "`日` may"), ("\u{1b}", "`\\u{1b}` may")] {
        let message = JobName::new(text).unwrap_err().to_string();
        assert!(message.starts_with(shown), "{message}");
    }
}
