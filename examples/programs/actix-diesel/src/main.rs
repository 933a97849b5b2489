//! Orders over HTTP with actix-web and diesel: an order and its invoice are one transaction of SQLite. It
//! orders something from itself, waits for the invoice, and ends.

use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::time::Duration;

use actix_web::{App, HttpServer, Responder, error::ErrorInternalServerError, post, web};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::{sql_query, sql_types::Text};
use mainspring_embed::{Handler, Jobs, Run};

type Connections = Pool<ConnectionManager<SqliteConnection>>;
type Error = Box<dyn std::error::Error + Send + Sync>;

const INVOICE: Handler<String> = Handler::new("invoice");

fn order(connections: &Connections, jobs: &Jobs, item: String) -> Result<(), Error> {
    let mut connection = connections.get()?;
    connection.batch_execute("PRAGMA busy_timeout = 5000")?;
    connection.immediate_transaction(|connection| {
        sql_query("INSERT INTO orders (item) VALUES (?)").bind::<Text, _>(&item).execute(connection)?;
        let invoice = jobs.once(INVOICE).payload(&item);
        invoice.submit_in(|sql, text| sql_query(sql).bind::<Text, _>(text).execute(connection))??;
        Ok(())
    })
}

#[post("/orders")]
async fn place(state: web::Data<(Connections, Jobs)>, item: String) -> actix_web::Result<impl Responder> {
    let placed = web::block(move || order(&state.0, &state.1, item)).await?;
    placed.map_err(ErrorInternalServerError).map(|()| "ordered\n")
}

#[actix_web::main]
async fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).ok_or("the name of a folder is missing")?;
    std::fs::create_dir_all(&folder)?;
    let file = format!("{folder}/shop.db");
    let (sender, invoices) = channel();
    let jobs = Jobs::open(format!("{folder}/jobs"))?
        .outbox(&file)
        .handler(INVOICE.with(|options| options.retry(5)), move |_: &Run, item: String| sender.send(item))
        .start()?;
    let connections: Connections = Pool::builder().max_size(2).build(ConnectionManager::new(&file))?;
    let table = "PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS orders (item TEXT NOT NULL)";
    connections.get()?.batch_execute(table)?;
    let state = web::Data::new((connections, jobs.clone()));
    let server = HttpServer::new(move || App::new().app_data(state.clone()).service(place)).workers(1);
    let server = server.bind("127.0.0.1:0")?;
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    let client = std::thread::spawn(move || -> Result<(String, String), Error> {
        let (mut stream, mut answer) = (std::net::TcpStream::connect(address)?, String::new());
        let headers = "Host: shop\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close";
        write!(stream, "POST /orders HTTP/1.1\r\n{headers}\r\n\r\ntea")?;
        stream.read_to_string(&mut answer)?;
        let invoice = invoices.recv_timeout(Duration::from_secs(60))?;
        drop(handle.stop(true));
        Ok((answer, invoice))
    });
    server.await?;
    let (answer, invoice) = client.join().expect("the client does not panic")?;
    jobs.shutdown(Duration::from_secs(30))?;
    println!("invoice for {invoice}");
    assert!(answer.starts_with("HTTP/1.1 200") && invoice == "tea", "{answer}");
    Ok(())
}
