//! A span of tracing for each run: the feature `tracing`.
//!
//! Cost: that of a span, which a subscriber may turn off by its target `mainspring_embed` or its level.
//!
//! Does not tell of starts and ends: the log of the jobs does.

use tracing::{Instrument, Span, info_span};

use crate::builder::Builder;
use crate::run::Run;

impl Builder {
    /// Has each call of a function and each poll of a future in a span `run`, with the fields `job`, `run`
    /// (the [key](Run::key)) and `attempt`. It is an [`around`](Self::around), and outermost if it is put
    /// first. Needs the feature `tracing`.
    pub fn spans(self) -> Builder {
        let functions = self.around(|run, next| span_of(run).in_scope(|| next.call()));
        functions.async_around(|run, future| future.instrument(span_of(&run)))
    }
}

fn span_of(run: &Run) -> Span {
    info_span!("run", job = %run.job(), run = %run.key(), attempt = run.attempt())
}
