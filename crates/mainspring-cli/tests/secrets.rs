//! No answer to a question over HTTP holds a secret: each route that is asked with GET, as the table has
//! them, of a server that knows every kind of secret. The cookie of a session goes to no other server.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use mainspring_web::route::Route;
use mainspring_web::routes::ROUTES;
use mainspring_web::scope::Scope;
use serde_json::json;

use crate::site::{Site, read_head, read_until};
use crate::test_server::{IDLE, TestServer, folder, write};

/// The secrets that stand in a file of their own, each under its name.
const IN_FILES: &[(&str, &str)] = &[
    ("of-a-process", "PROCESS-5e2a7c90d1b44f3f8a6e"),
    ("of-a-process-by-path", "BYPATH-0c9b7d215e435e2a7c90"),
    ("of-a-webhook-url", "INURL-d1b44f3f8a6e0c9b7d21"),
    ("of-a-webhook-header", "INHEADER-5e435e2a7c90d1b44f3f"),
    ("of-a-webhook-body", "INBODY-8a6e0c9b7d215e435e2a"),
    ("that-signs", "SIGNING-7c90d1b44f3f8a6e0c9b"),
];

/// A file of variables, and the secret of a proxy, which stand between other words.
const ENV_FILE: &str = "ENVFILE-7d215e435e2a7c90d1b4";
const OF_PROXY: &str = "9f1c7c90d1b44f3f8a6e0c9b7d215eaa";

/// Answers each request with all that it said, as a careless service does.
fn echo(listener: &TcpListener) {
    for stream in listener.incoming().map_while(Result::ok) {
        let said = echoed(&stream);
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{said}", said.len());
        // A client that has gone needs no answer.
        let _ = (&stream).write_all(answer.as_bytes());
    }
}

fn echoed(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut said = String::new();
    while !said.ends_with("\r\n\r\n") && 0 < reader.read_line(&mut said).unwrap() {}
    let length = said
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    said + &String::from_utf8(body).unwrap()
}

fn private(path: &Path, text: &str) {
    write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Two jobs that have all of them and tell all that they know.
fn jobs(folder: &Path, address: &str) -> String {
    let file = |name: &str| folder.join(name).display().to_string();
    format!(
        "[jobs.process]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\ndead_letters = 'always'\n\
         shell = 'echo \"it is $PW.\"; cat \"$PW_FILE\"; echo \"$PW\" >&2; exit 3'\nenv_file = '{}'\n\
         secrets = {{ PW = '{}', PW_FILE = {{ path = '{}' }} }}\n\
         [jobs.hook]\nat = 2100-01-01T00:00:00Z\n\
         [jobs.hook.webhook]\nurl = 'http://{address}/{{secret.URL}}?job={{job}}'\nmethod = 'POST'\n\
         headers = {{ Authorization = 'Bearer {{secret.HEADER}}' }}\nbody = 'it is {{secret.BODY}}'\n\
         signing_secret = '{}'\n\
         secrets = {{ URL = '{}', HEADER = '{}', BODY = '{}' }}\n",
        file("env"),
        file("of-a-process"),
        file("of-a-process-by-path"),
        file("that-signs"),
        file("of-a-webhook-url"),
        file("of-a-webhook-header"),
        file("of-a-webhook-body"),
    )
}

/// A path of the table with what stands for its names.
fn filled(route: &Route, values: &BTreeMap<&str, String>) -> String {
    let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
        // A new route with a new name needs a line among the values.
        Some(name) => values.get(name).unwrap_or_else(|| panic!("{}: what is {name}?", route.path)).clone(),
        None => part.to_owned(),
    };
    route.path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// What is answered, head and all; of a stream what is said until it ends or waits.
fn answered(site: &Site, token: &str, path: &str) -> String {
    let mut stream = site.connect();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n", site.host)
        .unwrap();
    let mut reader = BufReader::new(stream);
    let (status, text) = read_head(&mut reader);
    assert_eq!(status, 200, "{path}: {text}");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let Some(length) = length else {
        return text + &read_until(&mut reader, &["event: end", "event: hello"]);
    };
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8_lossy(&body)
}

#[test]
fn no_answer_holds_a_secret() {
    let folder = folder("secrets");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // It ends with the tests.
    let _echo = thread::Builder::new().spawn(move || echo(&listener)).unwrap();
    for (name, secret) in IN_FILES {
        private(&folder.join(name), &format!("{secret}\n"));
    }
    private(&folder.join("env"), &format!("QUIET={ENV_FILE}\n"));
    private(&folder.join("users"), &format!("secret {OF_PROXY}\neverybody look\n"));
    write(&folder.join("jobs.toml"), &jobs(&folder, &address));
    let users = folder.join("users").display().to_string();
    let args = ["--listen=127.0.0.1:0", "--behind-proxy=127.0.0.0/8", "--proxy-users", &users];
    let site = Site::of(TestServer::start_in(folder.clone(), &args));
    let token = site.token("mara", Scope::Operate);
    site.served.says(&["run", "process", "--wait"], 1, "");
    site.served.says(&["run", "hook", "--wait"], 0, "");
    site.served.says(&["at", "--name", "later", "2100-01-01T00:00:00Z", "--", "true"], 0, "later");
    let once = json!({ "job": "hook", "at": "2100-01-01T00:00:00Z" });
    assert_eq!(site.post("/api/v1/once", &token, &once.to_string()).status, 201);
    let many = json!({ "do": "pause", "of": "jobs", "ids": ["hook"], "note": "so", "expected": 1 });
    let action = site.post("/api/v1/actions", &token, &many.to_string());
    assert_eq!(action.status, 202, "{action:?}");
    let href = action.json()["href"].as_str().unwrap().to_owned();
    let cookie = site.cookie(&json!({ "token": token })).unwrap();
    let code = site.served.ask(&["open", "--print"]).stdout;
    let tokens = fs::read_to_string(folder.join("data/tokens")).unwrap();
    let mut secrets: Vec<String> = IN_FILES.iter().map(|(_, secret)| (*secret).to_owned()).collect();
    secrets.extend([ENV_FILE, OF_PROXY, &token].map(str::to_owned));
    secrets.push(cookie.split_once('=').unwrap().1.to_owned());
    secrets.push(code.trim().split_once("#code=").unwrap().1.to_owned());
    secrets.extend(tokens.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned));
    assert!(secrets.iter().all(|secret| 8 <= secret.len()), "{secrets:?}");
    let index = site.get("/", &token).body;
    let index = String::from_utf8(index).unwrap();
    let asset =
        index.split('"').find(|part| part.starts_with("assets/")).unwrap().split('/').collect::<Vec<_>>();
    let mut values = BTreeMap::from([
        ("hash", asset[1].to_owned()),
        ("name", asset[2].to_owned()),
        ("series", "0".to_owned()),
    ]);
    let mut seen = String::new();
    for job in ["process", "hook"] {
        // One that is over: the output of one that waits has no end.
        let runs = site.get(&format!("/api/v1/runs?job={job}"), &token).json();
        let over = runs["items"].as_array().unwrap().iter().find(|run| run["state"] != "scheduled").unwrap();
        values.insert("job", job.to_owned());
        values.insert("nominal", over["nominal"].as_str().unwrap().to_owned());
        for route in ROUTES.iter().filter(|route| route.method == "GET") {
            let id = if route.path.contains("/once/") { "later" } else { href.rsplit('/').next().unwrap() };
            values.insert("id", id.to_owned());
            let path = filled(route, &values);
            let text = answered(&site, &token, &path);
            for secret in &secrets {
                assert!(!text.contains(secret.as_str()), "GET {path} tells {secret}: {text}");
            }
            seen.push_str(&text);
        }
    }
    // It was looked at what tells of them: the jobs wrote them, and the definitions name their files.
    for part in ["it is ***", "Bearer ***", "of-a-webhook-header", "of-a-process-by-path", "that-signs"] {
        assert!(seen.contains(part), "{part}");
    }
    let (_, lines, errors) = site.served.running.stop();
    let log = lines.join("\n") + &errors;
    assert!(secrets.iter().all(|secret| !log.contains(secret.as_str())), "{log}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_cookie_of_the_page_is_for_a_path_that_no_other_server_of_the_host_is_asked_for() {
    let site = Site::start("secrets-cookie", IDLE, &[]);
    let proof = json!({ "token": site.token("mara", Scope::Look) }).to_string();
    let part = format!("/s-{}/", "0123456789".repeat(4));
    let own = ("Sec-Fetch-Site", "same-origin");
    let begun = site.send("POST", &format!("{part}api/v1/session"), &[own], &proof);
    let told = begun.header("set-cookie").unwrap();
    assert!(begun.status == 204 && told.contains(&format!("; Path={part};")), "{told}");
    let cookie = ("Cookie", told.split(';').next().unwrap());
    for path in ["api/v1/status", "api/v1/jobs/idle", "metrics"] {
        assert_eq!(site.send("GET", &format!("{part}{path}"), &[cookie], "").status, 200, "{path}");
        assert_eq!(site.send("GET", &format!("{part}{path}"), &[], "").status, 401, "{path}");
    }
    let ended = site.send("DELETE", &format!("{part}api/v1/session"), &[cookie, own], "");
    let told = ended.header("set-cookie").unwrap();
    assert!(told.contains(&format!("; Path={part}; Max-Age=0")), "{told}");
    assert_eq!(site.send("GET", &format!("{part}api/v1/status"), &[cookie], "").status, 401);
    site.stop();
}
