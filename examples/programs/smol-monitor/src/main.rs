//! A monitor on smol: it asks each of its services once a round, gives up on those that do not answer in
//! time, and sees which came back. smol's own timers are not used. It watches services of its own for three
//! rounds, and ends.

use std::net::SocketAddr;
use std::time::Duration;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};

type Error = Box<dyn std::error::Error>;

const ROUND: Duration = Duration::from_millis(100);

struct Service {
    name: &'static str,
    address: SocketAddr,
    timeout: Duration,
}

/// What a service says of itself.
async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"how are you\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.trim().to_owned())
}

async fn look(service: &Service) -> String {
    match mainspring::timeout(service.timeout, ask(service.address)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => error.kind().to_string(),
        Err(elapsed) => elapsed.to_string(),
    }
}

/// Answers all but the first, which stays open in silence.
async fn recover(listener: TcpListener) -> std::io::Result<()> {
    let (_silent, _) = listener.accept().await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        stream.read_exact(&mut [0; 12]).await?;
        stream.write_all(b"well\n").await?;
    }
}

fn main() -> Result<(), Error> {
    smol::block_on(async {
        let recovering = TcpListener::bind("127.0.0.1:0").await?;
        // Closed at once, so that it refuses.
        let gone = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let services = [
            Service { name: "shop", address: recovering.local_addr()?, timeout: Duration::from_millis(200) },
            Service { name: "mail", address: gone, timeout: Duration::from_secs(60) },
        ];
        smol::spawn(recover(recovering)).detach();
        let mut rounds = mainspring::interval(ROUND)?;
        let mut seen = Vec::new();
        for round in 1..=3 {
            rounds.tick().await;
            for service in &services {
                let state = look(service).await;
                println!("round {round}: {}: {state}", service.name);
                seen.push(state);
            }
        }
        let late = mainspring::timeout(Duration::ZERO, std::future::pending::<()>()).await;
        let late = late.expect_err("it is pending").to_string();
        assert_eq!(seen[0], late, "the first is asked in vain");
        assert!(seen.iter().skip(1).step_by(2).all(|state| state == "connection refused"), "{seen:?}");
        assert!(seen.iter().skip(2).step_by(2).all(|state| state == "well" || *state == late), "{seen:?}");
        Ok(())
    })
}
