//! Work in proportion to what a client sent or asked for, such as the check of a file: each on a thread
//! beside the listener's.
//!
//! ```text
//! handler ─▶ the turn of its identity, in order of arrival ─▶ one of MAX_THREADS threads ─▶ handler
//! ```
//!
//! An identity computes one thing at a time, so that many requests of one delay those of another by no more
//! than one each. The listener answers other requests meanwhile.
//!
//! Cost: a thread while something is computed, and for some seconds after it.
//!
//! Does not end a computation that its client has given up: each has a bound of its own.

use tokio::task::spawn_blocking;

use crate::problem::{Code, Problem};
use crate::sessions::Identity;
use crate::shares::Shares;

/// How many compute at a time: two, so that one file of hundreds of thousands of lines leaves a thread to the
/// others, and few enough that memory for what they make is bounded.
pub const MAX_THREADS: usize = 2;

/// The turns of the identities that compute, or wait to.
#[derive(Debug, Default)]
pub struct Computations(Shares<1>);

impl Computations {
    /// Runs `work` when its identity has its turn, and answers what it made.
    ///
    /// # Errors
    ///
    /// 500 when the work panicked: the panic is in the log.
    pub async fn run<T: Send + 'static>(
        &self,
        identity: &Identity,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.0.enter(Some(identity)).await;
        let computed = spawn_blocking(move || {
            // The turn ends with the work, not with the client.
            let _turn = turn;
            work()
        });
        computed.await.map_err(|_| Problem::new(Code::FAILED, "the computation broke off"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::locked;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    #[test]
    fn a_computation_of_one_identity_delays_neither_the_listener_nor_another() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().max_blocking_threads(MAX_THREADS).build().unwrap();
        let computations = Arc::new(Computations::default());
        let of = |name: &str| Identity::Proxy(name.to_owned());
        let (release, wait) = channel::<()>();
        runtime.block_on(async {
            let (held, first, second) = (Arc::clone(&computations), of("mara"), of("mara"));
            let slow = tokio::spawn(async move { held.run(&first, move || wait.recv().is_ok()).await });
            let queued = Arc::clone(&computations);
            let next = tokio::spawn(async move { queued.run(&second, || 2).await });
            // Both have asked for their turn, and the second thread is free for another identity.
            tokio::task::yield_now().await;
            assert_eq!(computations.run(&of("ada"), || 3).await, Ok(3));
            assert!(!next.is_finished(), "one at a time");
            release.send(()).unwrap();
            assert_eq!(slow.await.unwrap(), Ok(true));
            assert_eq!(next.await.unwrap(), Ok(2));
            assert_eq!(computations.run(&of("ada"), || 4).await, Ok(4));
        });
        assert_eq!(locked(&computations.0.0).len(), 1, "turns that are over are forgotten");
    }
}
