//! The listener behind a real nginx, below a base path: with the path kept, with the path taken away, and by
//! a socket in a folder. Where nginx is not installed the test says so.

use std::fs;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use mainspring_web::scope::Scope;

use crate::neighbour::{Neighbour, free_port, is_installed};
use crate::program::{BOUND, Running};
use crate::site::{Answer, Site, read_answer, read_head, read_until};
use crate::test_server::{IDLE, TestServer, folder, write};

const BASE: &str = "/tools/mainspring/";

/// A proxy.
struct Nginx(Neighbour);

impl Nginx {
    /// Starts nginx in front of an address. `also` are further places of its server.
    fn start(folder: &Path, port: u16, upstream: &str, also: &str) -> Nginx {
        let text = format!(
            "daemon off; master_process off; pid {0}/nginx.pid; error_log {0}/nginx.log;\n\
             events {{ worker_connections 64; }}\n\
             http {{\n\
               access_log off;\n\
               client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi;\n\
               uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;\n\
               server {{ listen 127.0.0.1:{port};\n\
                 location {BASE} {{\n\
                   proxy_pass {upstream};\n\
                   proxy_http_version 1.1; proxy_set_header Connection '';\n\
                   proxy_set_header Host $http_host;\n\
                 }}\n\
                 {also}\n\
               }}\n\
             }}\n",
            folder.display()
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, text).unwrap();
        let log = folder.join("nginx.log");
        let mut command = Command::new("nginx");
        command.args([
            "-p",
            folder.to_str().unwrap(),
            "-c",
            file.to_str().unwrap(),
            "-e",
            log.to_str().unwrap(),
        ]);
        Nginx(Neighbour::start(&mut command, port, &log))
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.0.port)
    }

    fn connect(&self, path: &str, headers: &str) -> BufReader<TcpStream> {
        let mut stream = self.0.connect().unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        // In one piece: a server that has seen enough of it answers and closes.
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes()).unwrap();
        BufReader::new(stream)
    }

    fn get(&self, path: &str, token: &str) -> Answer {
        let headers = format!("Host: {}\r\nAuthorization: Bearer {token}\r\n", self.host());
        read_answer(&mut self.connect(path, &headers))
    }
}

fn has_nginx() -> bool {
    is_installed("nginx", "-v", "proxies")
}

fn try_proxy(name: &str, listen: &str, upstream: impl Fn(&TestServer, &str) -> String) {
    let folder = folder(name);
    write(&folder.join("jobs.toml"), IDLE);
    let port = free_port();
    let url = format!("--public-url=http://127.0.0.1:{port}{BASE}");
    let listen = listen.replace("FOLDER", folder.to_str().unwrap());
    let served = TestServer::start_in(folder.clone(), &[&format!("--listen={listen}"), &url]);
    let opened = served.ask(&["open", "--print"]).stdout;
    assert!(opened.starts_with(&format!("http://127.0.0.1:{port}{BASE}#code=")), "{opened}");
    let nginx = Nginx::start(&folder, port, &upstream(&served, &listen), "");
    let token = served.ask(&["token", "add", "mara", "--scope", Scope::Look.name()]).stdout.trim().to_owned();
    let page = nginx.get(BASE, "");
    let text = String::from_utf8(page.body.clone()).unwrap();
    assert_eq!(page.status, 200, "{page:?}");
    let asset = text.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(asset.starts_with("assets/"), "addresses are relative: {asset}");
    assert_eq!(nginx.get(&format!("{BASE}{asset}"), "").status, 200);
    let status = nginx.get(&format!("{BASE}api/v1/status"), &token);
    assert_eq!((status.status, status.json()["jobs"].as_u64()), (200, Some(1)), "{status:?}");
    assert_eq!(nginx.get(&format!("{BASE}api/v1/status"), "").status, 401);
    // What happens comes at once: nginx does not gather it.
    let headers = format!("Host: {}\r\nAuthorization: Bearer {token}\r\n", nginx.host());
    let mut stream = nginx.connect(&format!("{BASE}api/v1/events"), &headers);
    assert_eq!(read_head(&mut stream).0, 200);
    read_until(&mut stream, &["event: hello"]);
    let evil = read_answer(&mut nginx.connect(BASE, "Host: evil.example\r\n"));
    assert_eq!(evil.status, 421, "the proxy hands on the host that was asked");
    drop(stream);
    drop(nginx);
    served.stop();
}

#[test]
fn a_proxy_that_keeps_what_stands_before_the_path() {
    if has_nginx() {
        let port = free_port();
        try_proxy("proxy-kept", &format!("127.0.0.1:{port}"), |_, listen| format!("http://{listen}"));
    }
}

#[test]
fn a_proxy_that_takes_what_stands_before_the_path_away() {
    if has_nginx() {
        let port = free_port();
        try_proxy("proxy-taken", &format!("127.0.0.1:{port}"), |_, listen| format!("http://{listen}/"));
    }
}

#[test]
fn a_proxy_that_comes_by_a_socket_in_a_folder() {
    if has_nginx() {
        let upstream = |_: &TestServer, listen: &str| format!("http://{listen}:{BASE}");
        try_proxy("proxy-socket", "unix:FOLDER/web.sock", upstream);
    }
}

/// Spellings by which proxies and servers have been made to disagree about a path.
fn spellings(path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap();
    let inside =
        ["/", "./", "x/../", "%2e/", "..;/", "x/..;/", ".;/", "%2f", "..%2f", "..%5c", "%252e/", ";x/"];
    let behind = ["/", "//", "/.", "/x/..", ";x", "%20", "%00", "%2f", "%3f", "%23", ".json"];
    let private = format!("s-{}/", "0123456789".repeat(4));
    let whole = [
        path.to_uppercase(),
        path.replace('/', "%2f"),
        path.replace('e', "%65"),
        path.replace('e', "%2565"),
        path.replace('/', "\\"),
        format!("{private}{path}"),
        format!("{}{path}", BASE.trim_start_matches('/')),
    ];
    let inside = inside.iter().map(|odd| format!("{folder}/{odd}{name}"));
    let behind = behind.iter().map(|odd| format!("{path}{odd}"));
    inside.chain(behind).chain(whole).collect()
}

#[test]
fn a_path_that_a_proxy_with_tls_refuses_has_no_other_spelling() {
    if !has_nginx() {
        return;
    }
    let folder = folder("proxy-spellings");
    write(&folder.join("jobs.toml"), IDLE);
    let (port, listen) = (free_port(), free_port());
    // TLS is the proxy's; here a browser is not asked.
    let options =
        [format!("--listen=127.0.0.1:{listen}"), format!("--public-url=https://127.0.0.1:{port}{BASE}")];
    let served = TestServer::start_in(folder.clone(), &options.each_ref().map(String::as_str));
    let refused = "api/v1/export";
    let also = format!("location {BASE}{refused} {{ deny all; }}");
    let nginx = Nginx::start(&folder, port, &format!("http://127.0.0.1:{listen}"), &also);
    let token = served.ask(&["token", "add", "mara", "--scope", Scope::Look.name()]).stdout.trim().to_owned();
    assert_eq!(nginx.get(&format!("{BASE}api/v1/status"), &token).status, 200);
    assert_eq!(nginx.get(&format!("{BASE}{refused}"), &token).status, 403);
    for odd in spellings(refused) {
        let status = nginx.get(&format!("{BASE}{odd}"), &token).status;
        assert!((400..500).contains(&status), "{odd}: {status}");
    }
    drop(nginx);
    served.stop();
}

#[test]
fn a_command_trusts_the_authorities_of_a_file_that_it_is_given_or_that_the_machine_names() {
    if !has_nginx() {
        return;
    }
    let folder = folder("proxy-authority");
    write(&folder.join("jobs.toml"), IDLE);
    let [port, tls, listen] = [free_port(), free_port(), free_port()];
    let options =
        [format!("--listen=127.0.0.1:{listen}"), format!("--public-url=https://127.0.0.1:{tls}{BASE}")];
    let served = TestServer::start_in(folder.clone(), &options.each_ref().map(String::as_str));
    let [key, certificate, token] = ["key.pem", "own.pem", "token"].map(|name| folder.join(name));
    let [key, certificate, token] = [&key, &certificate, &token].map(|path| path.to_str().unwrap());
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=proxy"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", key, "-out", certificate])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let also =
        format!("listen 127.0.0.1:{tls} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};");
    let nginx = Nginx::start(&folder, port, &format!("http://127.0.0.1:{listen}"), &also);
    write(Path::new(token), &served.ask(&["token", "add", "mara", "--scope", Scope::Look.name()]).stdout);
    fs::set_permissions(token, fs::Permissions::from_mode(0o600)).unwrap();
    let url = format!("https://127.0.0.1:{tls}{BASE}");
    let ask = |variables: &[(&str, &str)], more: &[&str]| {
        let args = [&["list", "--url", &url, "--token-file", token], more].concat();
        let (status, lines, errors) = Running::any_with(variables, &args).end();
        (status.code(), lines.join("\n"), errors)
    };
    let named = [("SSL_CERT_FILE", certificate)];
    for answer in [ask(&[], &["--ca-file", certificate]), ask(&named, &[])] {
        assert!(answer.0 == Some(0) && answer.1.contains("idle"), "{answer:?}");
    }
    let unknown = ask(&[], &[]);
    assert!(unknown.0 == Some(3) && unknown.2.contains("--ca-file FILE"), "{unknown:?}");
    let none = ask(&named, &["--ca-file", token]);
    assert!(none.0 == Some(1) && none.2.contains("it holds no certificate"), "{none:?}");
    drop(nginx);
    served.stop();
}

#[test]
fn a_user_whom_the_proxy_signed_in_acts_under_their_name() {
    let folder = folder("proxy-users");
    let secret = "5e2a7c90d1b44f3f8a6e0c9b7d215e43";
    let users = folder.join("users");
    write(&users, &format!("secret {secret}\neverybody look\ngroup ops operate\n"));
    fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
    write(&folder.join("jobs.toml"), IDLE);
    let options = ["--listen=127.0.0.1:0", "--behind-proxy=127.0.0.0/8", "--proxy-users"];
    let served = TestServer::start_in(folder, &[&options[..], &[users.to_str().unwrap()]].concat());
    let address = served.ask(&["open", "--print"]).stdout;
    let host = address.trim().trim_start_matches("http://").split('/').next().unwrap().to_owned();
    let site = Site { served, host };
    let (known, user) = (("X-Mainspring-Proxy-Secret", secret), ("X-Forwarded-User", "mara@example.com"));
    let ops = ("X-Forwarded-Groups", "cooks,ops");
    let own = ("Sec-Fetch-Site", "same-origin");
    let run = |headers: &[(&str, &str)]| site.send("POST", "/api/v1/jobs/idle/run", headers, "{}").status;
    assert_eq!(site.send("GET", "/api/v1/jobs", &[known, user], "").status, 200);
    assert_eq!(site.send("GET", "/api/v1/jobs", &[user], "").status, 401, "without the secret");
    assert_eq!(site.send("GET", "/api/v1/jobs", &[("X-Mainspring-Proxy-Secret", "x"), user], "").status, 401);
    assert_eq!(run(&[known, user, own]), 403, "everybody only looks");
    // A page of another site could have made the browser ask. A program is told how to ask.
    let unsaid = site.send("POST", "/api/v1/jobs/idle/run", &[known, user, ops], "{}");
    let told = unsaid.json()["detail"].to_string();
    assert!(unsaid.status == 403 && told.contains(&format!("sends {}: {}", own.0, own.1)), "{unsaid:?}");
    assert_eq!(run(&[known, user, ops, own]), 202);
    // A token of the same name is another.
    let token = site.token("mara", Scope::Operate);
    let mara = ("X-Forwarded-User", "mara");
    assert_eq!(run(&[known, mara, ops, own]), 202);
    assert_eq!(site.post("/api/v1/jobs/idle/pause", &token, "{}").status, 200);
    let audit = site.served.json(&["audit", "--json"]);
    let rows = audit["audit"]["rows"].as_array().unwrap();
    let actors: Vec<&str> = rows.iter().map(|row| row["actor"].as_str().unwrap()).collect();
    assert_eq!(actors, ["token mara", "proxy user mara", "proxy user mara@example.com"], "{audit}");
    let told = site.get("/api/v1/audit?actor=token%20mara", &token).json();
    assert_eq!(told["items"].as_array().unwrap().len(), 1, "{told}");
    site.stop();
    let alone = ["serve", "--listen", "--proxy-users", users.to_str().unwrap(), "jobs.toml"];
    assert_eq!(crate::program::mainspring(&alone).code, 2, "a secret alone names nobody");
}
