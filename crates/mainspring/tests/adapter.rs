//! The adapters, in the real crates that they are for.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use backon::{ConstantBuilder, Retryable};
use mainspring::adapter::tower::{BoxError, TimeoutLayer};
use mainspring::clock::Manual;
use mainspring::driver::Single;
use mainspring::front::future::Elapsed;
use mainspring::front::{Futures, RunTasks, Task};
use mainspring::{Engine, Handle, preset};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower_layer::Layer;
use tower_service::Service;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap()
}

fn futures(engine: &Engine<Task>) -> Futures {
    Futures::new(engine.handle().clone())
}

/// Serves one connection by hyper with a header timeout of an engine, and returns what a client that sends
/// `request` is answered until the server ends the connection.
async fn serve_one(futures: Futures, request: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = async move {
        let (stream, _) = listener.accept().await.unwrap();
        let answer = |_: hyper::Request<hyper::body::Incoming>| {
            ready(Ok::<_, Infallible>(hyper::Response::new(http_body_util::Full::new("answer".as_bytes()))))
        };
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(futures)
            .header_read_timeout(Duration::from_millis(20))
            .keep_alive(false)
            .serve_connection(hyper_util::rt::TokioIo::new(stream), hyper::service::service_fn(answer));
        // A client that dawdles is an error of the connection.
        connection.await.is_ok()
    };
    let served = tokio::spawn(server);
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    served.await.unwrap();
    answer
}

#[test]
fn hyper_serves_who_sends_headers_and_ends_who_dawdles() {
    let engine = preset::mainspring().unwrap();
    runtime().block_on(async {
        let answer = serve_one(futures(&engine), "GET / HTTP/1.1\r\nHost: test\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("answer"), "{answer}");
        let answer = serve_one(futures(&engine), "GET / HTTP/1.1\r\nHost: te").await;
        assert!(!answer.contains("200"), "{answer}");
    });
    assert!(engine.counts().fired >= 1, "the dawdler's timer fired");
}

/// A driver on the test's own thread, and what polls by hand.
fn desk() -> (Arc<Single<Chunked<Task>>>, Futures) {
    let driver = Arc::new(Single::new(Chunked::new(), Arc::new(Manual::leaping())));
    (driver.clone(), Futures::new(Handle::new(driver)))
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Answers at once, never, or with an error.
#[derive(Clone)]
struct Inner;

impl Service<&'static str> for Inner {
    type Response = &'static str;
    type Error = std::fmt::Error;
    type Future = Pin<Box<dyn Future<Output = Result<&'static str, std::fmt::Error>>>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), std::fmt::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: &'static str) -> Self::Future {
        match request {
            "never" => Box::pin(pending()),
            "fail" => Box::pin(ready(Err(std::fmt::Error))),
            _ => Box::pin(ready(Ok(request))),
        }
    }
}

#[test]
fn a_tower_service_with_the_layer_gives_up_and_hands_the_rest_on() {
    let (driver, futures) = desk();
    let mut service = TimeoutLayer::new(futures, Duration::from_secs(10)).layer(Inner);
    let answer: Poll<Result<&str, BoxError>> = poll(pin!(service.call("echo")));
    assert!(matches!(answer, Poll::Ready(Ok("echo"))));
    let Poll::Ready(Err(error)) = poll(pin!(service.call("fail"))) else { panic!("the inner service fails") };
    assert!(error.is::<std::fmt::Error>());
    let mut late = pin!(service.call("never"));
    assert!(poll(late.as_mut()).is_pending());
    driver.run_until(Tick::new(10_000), &mut RunTasks);
    let Poll::Ready(Err(error)) = poll(late.as_mut()) else { panic!("ten seconds have passed") };
    assert!(error.is::<Elapsed>());
}

#[test]
fn a_quinn_timer_is_ready_at_its_deadline_and_moves_by_reset() {
    let (driver, futures) = desk();
    #[expect(clippy::disallowed_methods, reason = "quinn speaks of instants")]
    let now = Instant::now();
    let mut timer: Pin<Box<dyn quinn::AsyncTimer>> =
        Box::pin(mainspring::adapter::quinn::timer(&futures, now + Duration::from_secs(3_600)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(timer.as_mut().poll(&mut context).is_pending());
    timer.as_mut().reset(now + Duration::from_secs(7_200));
    assert!(timer.as_mut().poll(&mut context).is_pending());
    driver.run_until(Tick::new(3_600_000), &mut RunTasks);
    assert!(timer.as_mut().poll(&mut context).is_pending(), "it was moved");
    driver.run_until(Tick::new(7_300_000), &mut RunTasks);
    assert!(timer.as_mut().poll(&mut context).is_ready());
    timer.as_mut().reset(now);
    assert!(timer.as_mut().poll(&mut context).is_ready(), "an instant that has passed is ready at once");
}

#[test]
fn backon_takes_our_sleeps_as_they_are() {
    let engine = preset::mainspring().unwrap();
    let futures = futures(&engine);
    let attempts = AtomicU32::new(0);
    let call = || async {
        let attempt = attempts.fetch_add(1, Ordering::SeqCst);
        if attempt < 3 { Err("busy") } else { Ok(attempt) }
    };
    let policy = ConstantBuilder::default().with_delay(Duration::from_millis(2)).with_max_times(5);
    let outcome = runtime().block_on(call.retry(policy).sleep(move |delay| futures.sleep(delay)));
    assert_eq!(outcome, Ok(3));
    // The driver counts a timer after it has woken the task.
    engine.shutdown();
    assert_eq!(engine.counts().fired, 3);
}
