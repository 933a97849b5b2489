//! A value that is written as text is read back equal.

use mainspring_job::{Cause, JobName, Policies, RunKey, RunState};

#[test]
fn names_keys_states_and_policies_are_text() {
    let name: JobName = "backup".parse().unwrap();
    let key = RunKey { series: 2, ..RunKey::new(name.clone(), "2026-11-21T03:00:00Z".parse().unwrap()) };
    let policies: Policies = "overlap=queue-one jitter=30s".parse().unwrap();
    assert_eq!(serde_json::to_string(&name).unwrap(), r#""backup""#);
    assert_eq!(serde_json::to_string(&key).unwrap(), r#""backup@2026-11-21T03:00:00Z#2""#);
    assert_eq!(serde_json::to_string(&policies).unwrap(), r#""overlap=queue-one jitter=30s""#);
    assert_eq!(serde_json::from_str::<JobName>(r#""backup""#).unwrap(), name);
    assert_eq!(serde_json::from_str::<RunKey>(r#""backup@2026-11-21T03:00:00Z#2""#).unwrap(), key);
    assert_eq!(serde_json::from_str::<Policies>(r#""overlap=queue-one jitter=30s""#).unwrap(), policies);
    assert_eq!(serde_json::from_str::<RunState>(r#""timed_out""#).unwrap(), RunState::TimedOut);
    assert_eq!(
        serde_json::to_string(&(RunState::TimedOut, Cause::CatchUp)).unwrap(),
        r#"["timed_out","catch_up"]"#
    );
    assert_eq!(serde_json::from_str::<Cause>(r#""catch_up""#).unwrap(), Cause::CatchUp);
}

#[test]
fn a_wrong_text_is_an_error_with_its_reason() {
    let error = serde_json::from_str::<Policies>(r#""overlap=sikp""#).unwrap_err().to_string();
    assert!(error.starts_with("`sikp` is no overlap: expected skip,"), "{error}");
    let error = serde_json::from_str::<RunState>(r#""runs""#).unwrap_err().to_string();
    assert!(error.starts_with("there is no state `runs`"), "{error}");
    let error = serde_json::from_str::<JobName>("7").unwrap_err().to_string();
    assert!(error.contains("expected the name of a job"), "{error}");
}
