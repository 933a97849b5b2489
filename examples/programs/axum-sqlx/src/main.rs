//! Sign-ups over HTTP with axum and sqlx: an account and its welcome mail are one transaction of PostgreSQL.
//! It signs somebody up from itself, twice, waits for the mail, and ends.
//!
//! ```text
//! DATABASE_URL=postgres://app@localhost/app cargo run
//! ```

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Router, routing::post};
use mainspring_embed::{Handler, Jobs, Run};
use sqlx::PgPool;

type Error = Box<dyn std::error::Error + Send + Sync>;

const WELCOME: Handler<String> = Handler::new("welcome");

#[derive(Clone)]
struct App {
    pool: PgPool,
    jobs: Jobs,
}

async fn create(app: &App, name: String) -> Result<(), Error> {
    let mut transaction = app.pool.begin().await?;
    sqlx::query("INSERT INTO account (name) VALUES ($1)").bind(&name).execute(&mut *transaction).await?;
    let welcome = app.jobs.once(WELCOME).key(&name).after(Duration::from_millis(100)).payload(&name);
    welcome.submit_in(|sql, text| sqlx::query(sql).bind(text).execute(&mut *transaction))?.await?;
    transaction.commit().await?;
    Ok(())
}

async fn sign_up(State(app): State<App>, name: String) -> Result<StatusCode, (StatusCode, String)> {
    let created = create(&app, name).await;
    created.map_err(|error| (StatusCode::CONFLICT, error.to_string())).map(|()| StatusCode::CREATED)
}

async fn welcome(mails: Sender<String>, run: Run, name: String) -> Result<(), Error> {
    println!("welcome, {name}: the mail's message id is {}", run.key());
    Ok(mails.send(name)?)
}

/// Signs `ada` up twice. Answers what the server said, and to whom mails went.
fn try_out(address: SocketAddr, mails: &Receiver<String>) -> Result<(Vec<String>, String), Error> {
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let (mut stream, mut answer) = (std::net::TcpStream::connect(address)?, String::new());
        let headers = "Host: app\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close";
        write!(stream, "POST /accounts HTTP/1.1\r\n{headers}\r\n\r\nada")?;
        stream.read_to_string(&mut answer)?;
        statuses.push(answer.lines().next().unwrap_or_default().to_owned());
    }
    Ok((statuses, mails.recv_timeout(Duration::from_secs(60))?))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::var("DATABASE_URL")?;
    let pool = PgPool::connect(&url).await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS account (name text PRIMARY KEY)").execute(&pool).await?;
    let runtime = tokio::runtime::Handle::current();
    let jobs = Jobs::connect(&url)?.spawner(move |future| drop(runtime.spawn(future)));
    let (sender, mails) = channel();
    let rules = WELCOME.with(|options| options.retry(5));
    let jobs = jobs.async_handler(rules, move |run, name| welcome(sender.clone(), run, name));
    let jobs = tokio::task::spawn_blocking(|| jobs.start()).await??;
    let state = App { pool: pool.clone(), jobs: jobs.clone() };
    let app = Router::new().route("/accounts", post(sign_up)).with_state(state);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (sender, ended) = tokio::sync::oneshot::channel::<()>();
    let client = tokio::task::spawn_blocking(move || {
        let seen = try_out(address, &mails);
        drop(sender);
        seen.map(|(statuses, mail)| (statuses, mail, mails))
    });
    axum::serve(listener, app).with_graceful_shutdown(async { drop(ended.await) }).await?;
    let (statuses, mail, mails) = client.await??;
    tokio::task::spawn_blocking(move || jobs.shutdown(Duration::from_secs(30))).await??;
    assert_eq!(statuses, ["HTTP/1.1 201 Created", "HTTP/1.1 409 Conflict"]);
    assert_eq!((mail.as_str(), mails.try_recv().ok()), ("ada", None));
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM account").fetch_one(&pool).await?;
    assert_eq!(count, 1);
    Ok(())
}
