//! Batches: a callback begins when all members have ended.

use std::sync::mpsc::channel;

use mainspring_embed::{Error, HandlerError, Options, Run};

use super::*;

#[test]
fn a_callback_begins_when_all_have_ended_also_those_that_failed_or_were_added() {
    let folder = folder("batch");
    let (sender, heard_of) = channel();
    let told = sender.clone();
    let start = || {
        let (sender, told) = (sender.clone(), told.clone());
        let rules = Options::new("part").retry(1).backoff(Duration::from_millis(1));
        let builder = Jobs::open(&folder).unwrap().handler(rules, move |run: &Run, number: u32| {
            // The last is added by another, before that ends.
            if number == 2 && run.attempt() == 1 {
                run.jobs().once("part").batch("import-7").payload(&9_u32).submit().unwrap();
            }
            sender.send(number).unwrap();
            if number == 1 { Err(HandlerError::because("a bad row")) } else { Ok(()) }
        });
        builder.handler("all", move |_: &Run, (): ()| -> Done {
            told.send(100).map_err(|error| error.to_string())
        })
    };
    let jobs = start().start().unwrap();
    let later = jobs.once("part").batch("import-7").payload(&7_u32).after(Duration::from_millis(300));
    later.submit().unwrap();
    let parts = (0..3_u32).map(|number| jobs.once("part").batch("import-7").payload(&number));
    jobs.submit_all(parts).into_iter().for_each(|submitted| drop(submitted.unwrap()));
    let last = jobs.once("all").after_batch("import-7").submit().unwrap();
    assert_eq!(ended(&jobs, &last).state, RunState::Succeeded);
    let mut before: Vec<u32> = heard_of.try_iter().collect();
    assert_eq!(before.pop(), Some(100), "it is the last");
    before.sort_unstable();
    assert_eq!(before, [0, 1, 1, 2, 7, 9], "each has run, and what failed twice");
    let none = jobs.once("all").after_batch("import-7").submit().unwrap();
    assert_eq!(ended(&jobs, &none).state, RunState::Succeeded, "none is left");
    for (wrong, why) in [("two words", "expected a name"), ("own", "expected another name")] {
        let refused = jobs.once("all").batch("own").after_batch(wrong).submit();
        let Err(Error::Definition { reason, .. }) = refused else { panic!("{refused:?}") };
        assert!(reason.contains(why), "{reason}");
    }
}
