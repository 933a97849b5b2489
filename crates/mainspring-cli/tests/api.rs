//! The API of a real server, held to what its documents promise beyond each route's answer.

use mainspring_web::scope::Scope;
use serde_json::json;

use crate::site::{Site, read_head};
use crate::test_server::IDLE;

/// How many streams one identity may have.
const STREAMS: usize = 12;

#[test]
fn who_is_told_to_wait_for_a_stream_has_started_no_run() {
    let site = Site::start("api-places", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let open: Vec<_> = (0..STREAMS)
        .map(|_| {
            let mut stream = site.stream("/api/v1/events", &token);
            assert_eq!(read_head(&mut stream).0, 200);
            stream
        })
        .collect();
    let run = json!({ "command": "run", "job": "idle", "wait": true }).to_string();
    assert_eq!(site.post("/api/v1/requests", &token, &run).status, 429);
    assert_eq!(site.get("/api/v1/runs", &token).json()["items"], json!([]), "nothing has happened");
    drop(open);
    site.stop();
}
