//! Handlers of axum that submit in the request: who is answered "accepted" gets a mail, whatever happens.

use std::error::Error;
use std::time::Duration;

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use mainspring_embed::{Jobs, Options, Run};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::unbounded_channel;

#[derive(Serialize, Deserialize)]
struct User {
    id: u32,
    name: String,
}

async fn sign_up(State(jobs): State<Jobs>, Json(user): Json<User>) -> Result<StatusCode, StatusCode> {
    let welcome = jobs.once("welcome").key(format!("welcome {}", user.id)).payload(&user);
    welcome.submit_async().await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(StatusCode::ACCEPTED) // The mail is on disk.
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("sign-up-{}", std::process::id()));
    let (outbox, mut sent) = unbounded_channel();
    let send = move |_: Run, user: User| std::future::ready(outbox.send(user.name));
    let runtime = tokio::runtime::Handle::current();
    let jobs = Jobs::open(&folder)?
        .spawner(move |future| drop(runtime.spawn(future)))
        .async_handler(Options::new("welcome").retry(3), send)
        .start()?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/users", post(sign_up)).with_state(jobs.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });

    // A browser that asks twice signs up once.
    for _ in 0..2 {
        let body = serde_json::to_string(&User { id: 17, name: "Ada".to_owned() })?;
        let head = "POST /users HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json";
        let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        assert!(answer.starts_with("HTTP/1.1 202 Accepted"), "{answer}");
    }
    println!("hello, {}", sent.recv().await.ok_or("no mail")?);
    tokio::task::spawn_blocking(move || jobs.shutdown(Duration::from_secs(10))).await??;
    Ok(std::fs::remove_dir_all(folder)?)
}

#[test]
fn a_request_submits_what_is_on_disk_when_it_is_answered() {
    main().unwrap();
}
