//! The shipped files for nginx in Debian's nginx with its own configuration and its default site, but for
//! addresses and paths, and installed as the documents say. Where nginx is not installed the test says so.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use mainspring_web::scope::Scope;

use crate::neighbour::{Neighbour, free_port, is_installed};
use crate::program::BOUND;
use crate::site::{Answer, read_answer, read_head, read_until, resolved};
use crate::test_server::{IDLE, TestServer, folder, skipped, write};

const LOCATION: &str = include_str!("../../../examples/nginx/mainspring.conf");
const USERS: &str = include_str!("../../../examples/nginx/users.conf");
const GROUPS: &str = include_str!("../../../examples/nginx/groups.conf");
const IDENTITY: &str = include_str!("../../../examples/nginx/identity.conf");
const NEIGHBOURS: &str = include_str!("../../../docs/neighbours.md");
pub(crate) const SECRET: &str = "5e2a7c90d1b44f3f8a6e0c9b7d215e43";

/// What is skipped.
const WHAT: &str = "the examples for nginx";

/// A site of a proxy, and the server behind it.
pub(crate) struct ExampleSite {
    pub(crate) proxy: Neighbour,
    pub(crate) served: TestServer,
}

/// What a person puts into Debian's folder of nginx.
#[derive(Default)]
struct Files<'f> {
    /// The file snippets/mainspring.conf.
    snippet: &'f str,
    /// The file conf.d/mainspring-groups.conf.
    groups: &'f str,
    /// Where the identity proxy is.
    identity: &'f str,
}

/// A copy of Debian's folder of nginx with its own paths, and its default site at this port, into whose block
/// the manual's line comes.
fn debian_folder(folder: &Path, port: u16) -> PathBuf {
    let own = folder.join("nginx");
    assert!(Command::new("cp").args(["-rL", "/etc/nginx"]).arg(&own).status().unwrap().success());
    let change = |name: &str, changes: &[(&str, &str)]| {
        let mut text = fs::read_to_string(own.join(name)).unwrap();
        for (default, ours) in changes {
            assert!(text.contains(default), "{default} in Debian's {name}");
            text = text.replace(default, ours);
        }
        fs::write(own.join(name), text).unwrap();
    };
    let (paths, logs) = (format!("{}/", own.display()), format!("{}/", folder.display()));
    change(
        "nginx.conf",
        &[("/etc/nginx/", &paths), ("/var/log/nginx/", &logs), ("/run/nginx", &format!("{logs}nginx"))],
    );
    let line = NEIGHBOURS.split('`').find(|text| text.starts_with("include snippets/")).unwrap();
    let listen = format!("listen 127.0.0.1:{port} default_server;\n\t{line}");
    let of_6 = "listen [::]:80 default_server;";
    change("sites-enabled/default", &[(of_6, ""), ("listen 80 default_server;", &listen)]);
    own
}

impl ExampleSite {
    /// Starts both in a folder. The files have the paths of Debian.
    fn start(folder: &Path, files: &Files<'_>, args: &[&str]) -> ExampleSite {
        write(&folder.join("jobs.toml"), IDLE);
        let (port, listen) = (free_port(), free_port());
        let options = [
            format!("--listen=127.0.0.1:{listen}"),
            format!("--public-url=http://127.0.0.1:{port}/mainspring/"),
        ];
        let options = options.iter().map(String::as_str).chain(args.iter().copied()).collect::<Vec<_>>();
        let served = TestServer::start_in(folder.to_owned(), &options);
        let own = debian_folder(folder, port);
        let snippet = files.snippet.replace("127.0.0.1:7411", &format!("127.0.0.1:{listen}"));
        let snippet = snippet.replace("127.0.0.1:4180", files.identity);
        let snippet = snippet.replace("/etc/nginx/", &format!("{}/", own.display()));
        fs::write(own.join("snippets/mainspring.conf"), snippet).unwrap();
        fs::write(own.join("conf.d/mainspring-groups.conf"), files.groups).unwrap();
        if !files.identity.is_empty() || !files.groups.is_empty() {
            install_secrets(&own);
        }
        let log = folder.join("nginx.log");
        let mut command = Command::new("nginx");
        command.arg("-c").arg(own.join("nginx.conf")).arg("-e").arg(&log).args(["-g", "daemon off;"]);
        ExampleSite { proxy: Neighbour::start(&mut command, port, &log), served }
    }

    /// Asks the site, by a path from its root.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> BufReader<TcpStream> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.proxy.port);
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        if !body.is_empty() {
            text.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        let mut stream = self.proxy.connect().unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        BufReader::new(stream)
    }

    pub(crate) fn answer(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        read_answer(&mut self.ask(method, path, headers, body))
    }

    /// The page, a submission and a stream work below `/mainspring/`, to which the proxy moves who leaves the
    /// slash out, by this status. Returns the words of a program that may run jobs.
    pub(crate) fn works_below_its_path(&self, moves: u16) -> String {
        let moved = self.answer("GET", "/mainspring", &[], "");
        let target = moved.header("location").unwrap_or_default();
        let own = format!("http://127.0.0.1:{}", self.proxy.port);
        let path = target.strip_prefix(&own).unwrap_or(target);
        assert_eq!((moved.status, path), (moves, "/mainspring/"), "{moved:?}");
        let page = self.answer("GET", "/mainspring/", &[], "");
        assert!(page.status == 200 && String::from_utf8_lossy(&page.body).contains("<title>"), "{page:?}");
        let added = self.served.ask(&["token", "add", "mara", "--scope", Scope::Operate.name()]);
        let bearer = format!("Bearer {}", added.stdout.trim());
        let known = [("Authorization", bearer.as_str())];
        let mut stream = self.ask("GET", "/mainspring/api/v1/events", &known, "");
        assert_eq!(read_head(&mut stream).0, 200);
        read_until(&mut stream, &["event: hello"]);
        let submitted = self.answer("POST", RUN, &known, "{}");
        let run = resolved(RUN, submitted.header("location").unwrap_or_else(|| panic!("{submitted:?}")));
        assert!(submitted.status == 202 && run.starts_with("/mainspring/"), "{run}: {submitted:?}");
        let found = self.answer("GET", &run, &known, "");
        assert_eq!((found.status, found.json()["job"].as_str()), (200, Some("idle")), "{found:?}");
        // It is told while it happens: the proxy does not gather it.
        read_until(&mut stream, &["idle", "succeeded"]);
        bearer
    }

    /// Users whom the proxy knows by these headers act under their names, mara in a group that may run jobs.
    pub(crate) fn knows_its_users(&self, mara: (&str, &str), eve: (&str, &str)) {
        assert_eq!(self.answer("GET", JOBS, &[], "").status, 401);
        assert_eq!(self.answer("GET", JOBS, &[eve], "").status, 200);
        assert_eq!(self.answer("GET", JOBS, &FORGED, "").status, 401);
        assert_eq!(self.answer("POST", RUN, &[&[eve, OWN][..], &FORGED].concat(), "{}").status, 403);
        let submitted = self.answer("POST", RUN, &[mara, OWN], "{}");
        assert_eq!(submitted.status, 202, "{submitted:?}");
        let run = resolved(RUN, submitted.header("location").unwrap());
        assert_eq!(self.answer("GET", &run, &[mara], "").status, 200);
        self.served.says(&["audit"], 0, "proxy user mara");
    }

    pub(crate) fn stop(self) {
        drop(self.proxy);
        self.served.stop();
    }
}

/// Whether Debian's nginx is there and may become its user.
fn may_start() -> bool {
    if !is_installed("nginx", "-v", WHAT) {
        return false;
    }
    let is_root = nix::unistd::Uid::effective().is_root();
    if !is_root {
        skipped(WHAT, "only root can start nginx with Debian's configuration");
    }
    is_root
}

#[test]
fn below_a_path_the_page_a_submission_and_a_stream_work_as_pasted() {
    if !may_start() {
        return;
    }
    let files = Files { snippet: LOCATION, ..Files::default() };
    let site = ExampleSite::start(&folder("nginx-example"), &files, &[]);
    let bearer = site.works_below_its_path(301);
    let known = [("Authorization", bearer.as_str())];
    // More than the megabyte that nginx takes by itself reaches the server, which says what is wrong.
    let long = format!("{{\"note\": \"{}\"}}", "x".repeat(2 << 20));
    let refused = site.answer("POST", "/mainspring/api/v1/jobs/idle/pause", &known, &long);
    assert!(refused.header("content-type").is_some_and(|kind| kind.contains("json")), "{refused:?}");
    site.stop();
}

/// The secret and the passwords of mara (tea) and eve (salt), as the manual has a person install them.
fn install_secrets(own: &Path) {
    let secret = NEIGHBOURS.lines().find(|line| line.starts_with("proxy_set_header X-Mainspring")).unwrap();
    assert!(secret.contains(SECRET) && USERS.contains(secret), "{secret}");
    let passwords: String = [("mara", "tea"), ("eve", "salt")]
        .map(|(user, password)| {
            let hash = Command::new("openssl").args(["passwd", "-6", password]).output().unwrap();
            format!("{user}:{}", String::from_utf8(hash.stdout).unwrap())
        })
        .concat();
    let files = [
        ("mainspring-secret", "600", "root", secret),
        ("mainspring-passwords", "640", "www-data", &passwords),
    ];
    for (name, mode, group, text) in files {
        let mut command = Command::new("install");
        command.args(["-m", mode, "-g", group, "/dev/stdin"]).arg(own.join(name)).stdin(Stdio::piped());
        let mut install = command.spawn().unwrap();
        install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(install.wait().unwrap().success(), "{name}");
    }
}

/// A folder with the file of `--proxy-users`, and the options that name it.
pub(crate) fn users(name: &str) -> (PathBuf, [String; 3]) {
    let (folder, lines) = (folder(name), NEIGHBOURS.split("/etc/mainspring/users <<'END'\n").nth(1).unwrap());
    let users = folder.join("users");
    write(&users, lines.split("END\n").next().unwrap());
    fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
    let options =
        ["--behind-proxy=127.0.0.0/8".to_owned(), "--proxy-users".to_owned(), users.display().to_string()];
    (folder, options)
}

/// What a browser on a page of ours sends.
pub(crate) const OWN: (&str, &str) = ("Sec-Fetch-Site", "same-origin");
/// What it must not be believed.
pub(crate) const FORGED: [(&str, &str); 2] = [("X-Forwarded-User", "mara"), ("X-Forwarded-Groups", "ops")];
pub(crate) const JOBS: &str = "/mainspring/api/v1/jobs";
pub(crate) const RUN: &str = "/mainspring/api/v1/jobs/idle/run";

#[test]
fn users_whom_nginx_knows_act_under_their_names_and_in_their_groups() {
    if !may_start() {
        return;
    }
    let (folder, options) = users("nginx-users");
    let files = Files { snippet: USERS, groups: GROUPS, identity: "" };
    let site = ExampleSite::start(&folder, &files, &options.each_ref().map(String::as_str));
    // The words of mara:tea and eve:salt as a browser sends them.
    let (mara, eve) = (("Authorization", "Basic bWFyYTp0ZWE="), ("Authorization", "Basic ZXZlOnNhbHQ="));
    site.knows_its_users(mara, eve);
    site.stop();
}

/// An identity proxy that answers as oauth2-proxy documents: 202 with who it is, or 401.
fn identity_proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let head = read_request_head(&mut reader);
            assert!(head.starts_with("GET /oauth2/auth "), "{head}");
            let known = [("mara", "ops,admins"), ("eve", "")];
            let found = known.iter().find(|(user, _)| head.contains(&format!("_oauth2_proxy={user}\r\n")));
            let answer = match found {
                Some((user, groups)) => {
                    format!("202 Accepted\r\nX-Auth-Request-User: {user}\r\nX-Auth-Request-Groups: {groups}")
                }
                None => "401 Unauthorized".to_owned(),
            };
            let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    };
    thread::Builder::new().name("identity".to_owned()).spawn(serve).unwrap();
    address
}

pub(crate) fn read_request_head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && 0 < reader.read_line(&mut head).unwrap() {}
    head
}

#[test]
fn users_whom_an_identity_proxy_knows_act_under_their_names_and_in_their_groups() {
    if !may_start() {
        return;
    }
    let (folder, options) = users("nginx-identity");
    let identity = identity_proxy();
    let files = Files { snippet: IDENTITY, groups: "", identity: &identity };
    let site = ExampleSite::start(&folder, &files, &options.each_ref().map(String::as_str));
    let (mara, eve) = (("Cookie", "_oauth2_proxy=mara"), ("Cookie", "_oauth2_proxy=eve"));
    let sent = site.answer("GET", "/mainspring/?job=a", &FORGED, "");
    let place = format!("/oauth2/sign_in?rd=http://127.0.0.1:{}/mainspring/?job=a", site.proxy.port);
    assert!(sent.status == 302 && sent.header("location").unwrap().ends_with(&place), "{sent:?}");
    assert_eq!(site.answer("GET", JOBS, &[eve], "").status, 200);
    assert_eq!(site.answer("POST", RUN, &[&[eve, OWN][..], &FORGED].concat(), "{}").status, 403);
    let submitted = site.answer("POST", RUN, &[mara, OWN], "{}");
    assert_eq!(submitted.status, 202, "{submitted:?}");
    site.served.says(&["audit"], 0, "proxy user mara");
    site.stop();
}
