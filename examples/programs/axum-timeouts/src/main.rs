//! An API with axum whose timeouts are Mainspring's: a layer of tower for slow answers, and hyper's own for
//! slow headers. tokio's timers are off. It asks itself something fast and something that never ends, then
//! sends half of a request, and ends.

use std::time::Duration;

use axum::error_handling::HandleErrorLayer;
use axum::http::StatusCode;
use axum::{BoxError, Router, routing::get};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use mainspring::Futures;
use mainspring::adapter::tower::TimeoutLayer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceBuilder;

type Error = Box<dyn std::error::Error>;

async fn refuse(error: BoxError) -> (StatusCode, String) {
    let is_late = error.is::<mainspring::Elapsed>();
    let status = if is_late { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::INTERNAL_SERVER_ERROR };
    (status, error.to_string())
}

/// Each route has its timeout.
fn api(timers: &Futures) -> Router {
    let within = |timeout| {
        let layer = TimeoutLayer::new(timers.clone(), timeout);
        ServiceBuilder::new().layer(HandleErrorLayer::new(refuse)).layer(layer)
    };
    let fast = get(async || "done").layer(within(Duration::from_secs(60)));
    let stuck = get(std::future::pending::<()>).layer(within(Duration::from_millis(20)));
    Router::new().route("/fast", fast).route("/stuck", stuck)
}

async fn serve(listener: TcpListener, timers: Futures) -> std::io::Result<()> {
    let api = api(&timers);
    loop {
        let (stream, _) = listener.accept().await?;
        let mut server = http1::Builder::new();
        server.timer(timers.clone()).header_read_timeout(Duration::from_millis(200));
        let service = TowerToHyperService::new(api.clone());
        tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let timers = mainspring::global()?.futures();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener, timers));
    let whole = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n");
    for (request, expected) in [
        (whole("/fast"), "HTTP/1.1 200 OK"),
        (whole("/stuck"), "HTTP/1.1 504 Gateway Timeout"),
        ("GET /fast HTTP/1.1\r\nHo".to_owned(), ""),
    ] {
        let (mut stream, mut answer) = (TcpStream::connect(address).await?, String::new());
        stream.write_all(request.as_bytes()).await?;
        // The server closes the connection, in each of the cases.
        stream.read_to_string(&mut answer).await?;
        let status = answer.lines().next().unwrap_or_default();
        println!("{:?}: {status:?}", request.lines().next().unwrap_or_default());
        assert_eq!(status, expected);
    }
    Ok(())
}
