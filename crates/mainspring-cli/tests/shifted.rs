//! A server under a clock that is set while it runs, as those see it who ask over HTTP.
//!
//! The clock is that of libfaketime, as in `live`.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use mainspring_web::scope::Scope;

use crate::live::faketime_or_skip;
use crate::program::Running;
use crate::site::{Site, read_until};
use crate::test_server::{TestServer, folder, write};

#[test]
fn a_clock_that_is_set_forward_is_told_over_http() {
    let jobs = "[jobs.tick]\nevery = '1s'\nmisfire = 'none'\nrun = ['true']\n";
    let Some(mut shifted) = ShiftedServer::after("forward", "+0", jobs) else { return };
    assert_eq!(shifted.finding("clock_jumped"), None);
    shifted.set("+7200");
    let finding = shifted.finding("clock_jumped").unwrap();
    let told = finding["text"].as_str().unwrap().to_lowercase();
    assert!(told.starts_with("the clock was set forward by "), "{finding}");
    assert_eq!(finding["level"], "warning");
    let metrics = String::from_utf8(shifted.site.get("/metrics", &shifted.token).body).unwrap();
    let line = "mainspring_clock_jumps_total{direction=\"forward\"} ";
    let count = metrics.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    assert_ne!(count, "0");
    // The job has run at times that the clock does not show any more, so that it rests: said once.
    shifted.set("+3600");
    assert!(shifted.finding("behind").is_some());
    assert_eq!(shifted.finding("clock_jumped"), None);
    shifted.site.stop();
}

#[test]
fn a_clock_that_is_set_back_is_told_over_http() {
    // Nothing of the job is planned since it was defined, so that it does not rest.
    let jobs = "[jobs.yearly]\ncron = '0 0 1 1 *'\nrun = ['true']\n";
    let Some(mut shifted) = ShiftedServer::after("back", "-10800", jobs) else { return };
    shifted.set("+0");
    shifted.set("-7200");
    assert_eq!(shifted.finding("behind"), None);
    let finding = shifted.finding("clock_jumped").unwrap();
    let told = finding["text"].as_str().unwrap().to_lowercase();
    assert!(told.starts_with("the clock was set back by "), "{finding}");
    assert_eq!(finding["level"], "warning");
    shifted.site.stop();
}

/// A server with a clock that can be set, and its events.
struct ShiftedServer {
    site: Site,
    token: String,
    shift: PathBuf,
    events: BufReader<TcpStream>,
}

impl ShiftedServer {
    /// Starts it with a clock that is off by so many seconds, if the library is there.
    fn after(name: &str, offset: &str, jobs: &str) -> Option<ShiftedServer> {
        let library = faketime_or_skip()?;
        let folder = folder(&format!("clock-http-{name}"));
        let (shift, file) = (folder.join("shift"), folder.join("jobs.toml"));
        std::fs::write(&shift, offset).unwrap();
        write(&file, jobs);
        let shell = format!(
            "export LD_PRELOAD={} FAKETIME_TIMESTAMP_FILE={} FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1",
            library.display(),
            shift.display()
        );
        let data = folder.join("data");
        let args =
            ["serve", "--data", data.to_str().unwrap(), "--listen=127.0.0.1:0", file.to_str().unwrap()];
        let mut running = Running::after(&shell, &args);
        running.wait_for(&[", data in "]);
        let site = Site::of(TestServer { folder, running });
        let token = site.token("mara", Scope::Look);
        let mut stream = site.connect();
        write!(
            stream,
            "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
            site.host
        )
        .unwrap();
        let mut shifted = ShiftedServer { site, token, shift, events: BufReader::new(stream) };
        shifted.until("event: reset");
        Some(shifted)
    }

    /// Sets the clock, and waits until the server has seen it.
    fn set(&mut self, offset: &str) {
        // Renamed, so that it is there as a whole.
        write(&self.shift, offset);
        self.until("event: clock.jumped");
    }

    fn until(&mut self, part: &str) {
        read_until(&mut self.events, &[part]);
    }

    /// What the server says of itself under this code, if it does.
    fn finding(&self, code: &str) -> Option<serde_json::Value> {
        let health = self.site.get("/api/v1/health", &self.token).json();
        let findings = health["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["code"] == code).cloned()
    }
}
