//! Layers of tower and spans of tracing around handlers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_embed::{HandlerError, Jobs, ManualClock, Run, RunState};
use tower::timeout::TimeoutLayer;
use tower::util::MapRequestLayer;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

use super::Done;

fn clock() -> ManualClock {
    ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())
}

#[test]
fn a_layer_of_tower_sees_each_run_of_a_future_and_may_end_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (clock, seen) = (clock(), Arc::new(Mutex::new(Vec::new())));
    let notes = Arc::clone(&seen);
    let layer = MapRequestLayer::new(move |call: mainspring_embed::RunCall| {
        notes.lock().unwrap().push(call.run().job().to_string());
        call
    });
    let jobs = Jobs::simulated(&clock)
        .spawner(|_| panic!("a simulation polls by itself"))
        .layer(layer)
        .layer(TimeoutLayer::new(Duration::from_millis(1)))
        .async_handler("quick", |_: Run, (): ()| async { Done::Ok(()) })
        .async_handler("stuck", |_: Run, (): ()| std::future::pending::<Done>())
        .async_handler("later", |_: Run, (): ()| async {
            Err::<(), _>(HandlerError::again_in(Duration::from_secs(60)))
        })
        .start()
        .unwrap();
    for name in ["quick", "stuck", "later"] {
        jobs.once(name).name(name).submit().unwrap();
    }
    runtime.block_on(clock.advance_async(Duration::ZERO));
    let state = |name: &str| jobs.runs_of(name, 1).unwrap()[0].state;
    assert_eq!(["quick", "stuck"].map(state), [RunState::Succeeded, RunState::Failed]);
    assert_eq!(state("later"), RunState::Scheduled, "what a handler wants passes through the layers");
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    assert_eq!(seen, ["later", "quick", "stuck"]);
}

/// Notes each span and each event in one, as text.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0 += &format!(" {field}={value:?}");
    }
}

impl Notes {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = Text(span.metadata().name().to_owned());
        span.record(&mut text);
        self.note(text.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        self.note("enter".to_owned());
    }

    fn exit(&self, _: &Id) {
        self.note("exit".to_owned());
    }
}

#[test]
fn each_run_has_a_span_with_its_job_its_key_and_its_attempt() {
    let (clock, notes) = (clock(), Notes::default());
    let (function, future) = (notes.clone(), notes.clone());
    let jobs = Jobs::simulated(&clock)
        .spawner(|_| panic!("a simulation polls by itself"))
        .spans()
        .handler("function", move |_: &Run, (): ()| -> Done {
            function.note("called".to_owned());
            Ok(())
        })
        .async_handler("future", move |_: Run, (): ()| {
            let future = future.clone();
            async move {
                future.note("polled".to_owned());
                Done::Ok(())
            }
        })
        .start()
        .unwrap();
    for (name, told) in [("function", "called"), ("future", "polled")] {
        let submitted = jobs.once(name).name(name).submit().unwrap();
        with_default(notes.clone(), || clock.advance(Duration::ZERO));
        let run = &jobs.runs_of(submitted.job(), 1).unwrap()[0];
        let said = std::mem::take(&mut *notes.0.lock().unwrap());
        assert_eq!(said[0], format!("run job={name} run={} attempt=1", run.key));
        assert_eq!(said[1..4], ["enter", told, "exit"]);
    }
}
