//! The shipped files for nginx in Debian's nginx, as they are but for addresses and paths. Where nginx is not
//! installed the test says so.

use std::fs;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use mainspring_web::scope::Scope;

use crate::neighbour::{Neighbour, free_port, is_installed};
use crate::program::BOUND;
use crate::site::{Answer, read_answer, read_head, read_until, resolved};
use crate::test_server::{IDLE, TestServer, folder, write};

const LOCATION: &str = include_str!("../../../examples/nginx/mainspring.conf");
const USERS: &str = include_str!("../../../examples/nginx/users.conf");
const GROUPS: &str = include_str!("../../../examples/nginx/groups.conf");
const SECRET: &str = "5e2a7c90d1b44f3f8a6e0c9b7d215e43";

/// A site of nginx, and the server behind it.
struct ExampleSite {
    nginx: Neighbour,
    served: TestServer,
}

impl ExampleSite {
    /// Starts both in a folder. `location` and `groups` are files of a person, with the paths of Debian.
    fn start(folder: &Path, location: &str, groups: &str, args: &[&str]) -> ExampleSite {
        write(&folder.join("jobs.toml"), IDLE);
        let (port, listen) = (free_port(), free_port());
        let options = [
            format!("--listen=127.0.0.1:{listen}"),
            format!("--public-url=http://127.0.0.1:{port}/mainspring/"),
        ];
        let options = options.iter().map(String::as_str).chain(args.iter().copied()).collect::<Vec<_>>();
        let served = TestServer::start_in(folder.to_owned(), &options);
        let location = location.replace("127.0.0.1:7411", &format!("127.0.0.1:{listen}"));
        let location = location.replace("/etc/nginx/", &format!("{}/", folder.display()));
        let text = format!(
            "daemon off; master_process off; pid {0}/nginx.pid; error_log {0}/nginx.log;\n\
             events {{ worker_connections 64; }}\n\
             http {{\n\
               access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;\n\
               fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;\n\
               {groups}\n\
               server {{ listen 127.0.0.1:{port};\n{location}\n}}\n\
             }}\n",
            folder.display()
        );
        let (file, log) = (folder.join("nginx.conf"), folder.join("nginx.log"));
        fs::write(&file, text).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder).arg("-c").arg(&file).arg("-e").arg(&log);
        ExampleSite { nginx: Neighbour::start(&mut command, port, &log), served }
    }

    /// Asks the site, by a path from its root.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> BufReader<TcpStream> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.nginx.port);
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        if !body.is_empty() {
            text.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        let mut stream = self.nginx.connect().unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        BufReader::new(stream)
    }

    fn answer(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        read_answer(&mut self.ask(method, path, headers, body))
    }

    fn stop(self) {
        drop(self.nginx);
        self.served.stop();
    }
}

#[test]
fn below_a_path_the_page_a_submission_and_a_stream_work_as_pasted() {
    if !is_installed("nginx", "-v", "the example for nginx") {
        return;
    }
    let site = ExampleSite::start(&folder("nginx-example"), LOCATION, "", &[]);
    let moved = site.answer("GET", "/mainspring", &[], "");
    let target = moved.header("location").unwrap_or_default().to_owned();
    assert!(moved.status == 301 && target.ends_with("/mainspring/"), "{moved:?}");
    let page = site.answer("GET", "/mainspring/", &[], "");
    assert!(page.status == 200 && String::from_utf8_lossy(&page.body).contains("<title>"), "{page:?}");
    let added = site.served.ask(&["token", "add", "mara", "--scope", Scope::Operate.name()]);
    let bearer = format!("Bearer {}", added.stdout.trim());
    let known = [("Authorization", bearer.as_str())];
    let mut stream = site.ask("GET", "/mainspring/api/v1/events", &known, "");
    assert_eq!(read_head(&mut stream).0, 200);
    read_until(&mut stream, &["event: hello"]);
    let asked = "/mainspring/api/v1/jobs/idle/run";
    let submitted = site.answer("POST", asked, &known, "{}");
    let run = resolved(asked, submitted.header("location").unwrap_or_else(|| panic!("{submitted:?}")));
    assert!(submitted.status == 202 && run.starts_with("/mainspring/"), "{run}: {submitted:?}");
    let found = site.answer("GET", &run, &known, "");
    assert_eq!((found.status, found.json()["job"].as_str()), (200, Some("idle")), "{found:?}");
    // It is told while it happens: nginx does not gather it.
    read_until(&mut stream, &["idle", "succeeded"]);
    // More than the megabyte that nginx takes by itself reaches the server, which says what is wrong.
    let long = format!("{{\"note\": \"{}\"}}", "x".repeat(2 << 20));
    let refused = site.answer("POST", "/mainspring/api/v1/jobs/idle/pause", &known, &long);
    assert!(refused.header("content-type").is_some_and(|kind| kind.contains("json")), "{refused:?}");
    drop(stream);
    site.stop();
}

#[test]
fn users_whom_nginx_knows_act_under_their_names_and_in_their_groups() {
    if !is_installed("nginx", "-v", "the example for nginx with users") {
        return;
    }
    let folder = folder("nginx-users");
    fs::write(folder.join("mainspring-passwords"), "mara:{PLAIN}tea\neve:{PLAIN}salt\n").unwrap();
    let secret = format!("proxy_set_header X-Mainspring-Proxy-Secret \"{SECRET}\";\n");
    assert!(USERS.contains(secret.trim()), "the example has the line");
    fs::write(folder.join("mainspring-secret"), secret).unwrap();
    let users = folder.join("users");
    write(&users, &format!("secret {SECRET}\neverybody look\ngroup ops operate\n"));
    fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
    let options = ["--behind-proxy=127.0.0.0/8", "--proxy-users", users.to_str().unwrap()];
    let site = ExampleSite::start(&folder, USERS, GROUPS, &options);
    let (jobs, run) = ("/mainspring/api/v1/jobs", "/mainspring/api/v1/jobs/idle/run");
    // The words of mara:tea and eve:salt as a browser sends them.
    let (mara, eve) = (("Authorization", "Basic bWFyYTp0ZWE="), ("Authorization", "Basic ZXZlOnNhbHQ="));
    let own = ("Sec-Fetch-Site", "same-origin");
    assert_eq!(site.answer("GET", jobs, &[], "").status, 401);
    assert_eq!(site.answer("GET", jobs, &[eve], "").status, 200);
    let forged = [("X-Forwarded-User", "mara"), ("X-Forwarded-Groups", "ops")];
    assert_eq!(site.answer("GET", jobs, &forged, "").status, 401);
    assert_eq!(site.answer("POST", run, &[&[eve, own][..], &forged].concat(), "{}").status, 403);
    let submitted = site.answer("POST", run, &[mara, own], "{}");
    assert_eq!(submitted.status, 202, "{submitted:?}");
    assert_eq!(
        site.answer("GET", &resolved(run, submitted.header("location").unwrap()), &[mara], "").status,
        200
    );
    site.served.says(&["audit"], 0, "proxy user mara");
    site.stop();
}
