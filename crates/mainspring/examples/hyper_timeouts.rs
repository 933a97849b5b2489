//! A server by hyper whose timeouts run on a Mainspring engine: one for slow headers, one for slow answers.

use std::convert::Infallible;
use std::time::Duration;

use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use mainspring::front::Futures;
use mainspring::preset;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers `/` at once and anything else never: a 504.
async fn answer(
    futures: Futures,
    request: Request<Incoming>,
) -> Result<Response<Full<&'static [u8]>>, Infallible> {
    let work = async {
        if request.uri().path() != "/" {
            std::future::pending::<()>().await;
        }
        Response::new(Full::new(b"done".as_slice()))
    };
    let late = Response::builder().status(504).body(Full::default());
    Ok(futures.timeout(Duration::from_millis(20), work).await.unwrap_or(late.expect("504 is a status")))
}

async fn exchange(futures: &Futures, request: &str) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut client = TcpStream::connect(listener.local_addr()?).await?;
    let (stream, _) = listener.accept().await?;
    let (timers, service) = (futures.clone(), futures.clone());
    let service = service_fn(move |request| answer(service.clone(), request));
    let mut server = http1::Builder::new();
    server.timer(timers).header_read_timeout(Duration::from_millis(40)).keep_alive(false);
    let served = tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
    client.write_all(request.as_bytes()).await?;
    let mut reply = String::new();
    client.read_to_string(&mut reply).await?;
    let _ = served.await?;
    Ok(reply.lines().next().unwrap_or("(closed without an answer)").to_owned())
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let futures = Futures::new(engine.handle().clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK"),
        ("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 504 Gateway Timeout"),
        ("GET / HTTP/1.1\r\nHost", "(closed without an answer)"),
    ] {
        let reply = runtime.block_on(exchange(&futures, request))?;
        println!("{request:?}: {reply}");
        assert_eq!(reply, expected);
    }
    Ok(())
}
