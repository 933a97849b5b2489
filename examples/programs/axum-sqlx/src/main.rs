//! Sign-ups over HTTP with axum and sqlx: an account and its welcome mail are one transaction of PostgreSQL.
//!
//! ```text
//! DATABASE_URL=postgres://app@localhost/app cargo run, then: curl -d ada localhost:3000/accounts
//! ```

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
    let welcome = app.jobs.once(WELCOME).key(&name).after(Duration::from_secs(60)).payload(&name);
    welcome.submit_in(|sql, text| sqlx::query(sql).bind(text).execute(&mut *transaction))?.await?;
    transaction.commit().await?;
    Ok(())
}

async fn sign_up(State(app): State<App>, name: String) -> Result<StatusCode, (StatusCode, String)> {
    let created = create(&app, name).await;
    created.map_err(|error| (StatusCode::CONFLICT, error.to_string())).map(|()| StatusCode::CREATED)
}

async fn welcome(run: Run, name: String) -> Result<(), Error> {
    println!("welcome, {name}: the mail's message id is {}", run.key());
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::var("DATABASE_URL")?;
    let pool = PgPool::connect(&url).await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS account (name text PRIMARY KEY)").execute(&pool).await?;
    let runtime = tokio::runtime::Handle::current();
    let jobs = Jobs::connect(&url)?.spawner(move |future| drop(runtime.spawn(future)));
    let jobs = jobs.async_handler(WELCOME.with(|options| options.retry(5)), welcome);
    let jobs = tokio::task::spawn_blocking(|| jobs.start()).await??;
    let app = Router::new().route("/accounts", post(sign_up)).with_state(App { pool, jobs: jobs.clone() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, app).with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) }).await?;
    tokio::task::spawn_blocking(move || jobs.shutdown(Duration::from_secs(30))).await??;
    Ok(())
}
