//! The page inside the program.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use mainspring_embed::{Every, Run};

use super::*;

#[test]
fn the_page_is_served_while_the_jobs_run_and_tells_nothing_without_a_sign_in() {
    let folder = folder("page");
    let socket = folder.join("page.sock");
    let jobs = Jobs::open(folder)
        .unwrap()
        .job("tick", Every::hours(1), |_: &Run| -> Done { Ok(()) })
        .page(format!("unix:{}", socket.display()))
        .start()
        .unwrap();
    let ask = |path: &str| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let page = ask("/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<html"), "{page}");
    let refused = ask("/api/v1/jobs");
    assert!(refused.starts_with("HTTP/1.1 401") && !refused.contains("tick"), "{refused}");
    jobs.shutdown(LONG).unwrap();
    assert!(UnixStream::connect(&socket).is_err(), "it ends with the jobs");
    let wrong = Jobs::open(super::folder("page-2")).unwrap().page("0.0.0.0:7411").start().unwrap_err();
    assert!(wrong.to_string().contains("--behind-proxy"), "{wrong}");
}
