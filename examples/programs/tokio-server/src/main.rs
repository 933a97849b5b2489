//! A line server on tokio, whose requests and idle connections have timeouts by Mainspring. tokio's own
//! timers are off. It asks itself something fast and something slow, then nothing, and ends.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const IDLE: Duration = Duration::from_millis(200);
const REQUEST: Duration = Duration::from_millis(50);

/// Does what a line asks for. `sleep N` takes so many milliseconds.
async fn answer(line: &str) -> String {
    if let Some(wait) = line.strip_prefix("sleep ").and_then(|wait| wait.parse().ok()) {
        mainspring::sleep(Duration::from_millis(wait)).await;
    }
    format!("done: {line}\n")
}

async fn serve(stream: TcpStream) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    // An elapsed timeout is an `io::Error` too, by which a silent connection is closed.
    while let Ok(Some(line)) = mainspring::timeout(IDLE, lines.next_line()).await? {
        let answered = mainspring::timeout(REQUEST, answer(&line)).await;
        writer.write_all(answered.as_deref().unwrap_or("too slow\n").as_bytes()).await?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    let mut client = TcpStream::connect(address).await?;
    client.write_all(b"ping\nsleep 5000\nsleep 1\n").await?;
    let mut answers = String::new();
    // The server closes the connection, which then is silent.
    client.read_to_string(&mut answers).await?;
    print!("{answers}");
    assert_eq!(answers, "done: ping\ntoo slow\ndone: sleep 1\n");
    Ok(())
}
