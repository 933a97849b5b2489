//! The shipped file for Apache in Debian's Apache with its own configuration, but for addresses and paths,
//! before people who sign in at a real provider of identities: npm's oidc-provider, with its own pages.
//!
//! ```text
//! browser ─▶ apache2 + mod_auth_openidc ─▶ mainspring
//!        └──▶ oidc-provider ◀──┘
//! ```
//!
//! Where one of them is not installed the test says so.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::neighbour::{Neighbour, free_port, is_installed, unpacked};
use crate::nginx_example::{ExampleSite, FORGED, JOBS, OWN, RUN, users};
use crate::program::{BOUND, root};
use crate::site::{Answer, read_answer, resolved};
use crate::test_server::{IDLE, TestServer, skipped, write};

const EXAMPLE: &str = include_str!("../../../examples/apache/identity.conf");

/// What is skipped.
const WHAT: &str = "the example for Apache";

/// How many pages lie between a person and what was asked for.
const MAX_HOPS: usize = 20;

/// A browser of a person: it keeps cookies, and goes where it is sent.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

impl Browser {
    fn header(&self) -> String {
        self.cookies.iter().map(|(name, value)| format!("{name}={value}; ")).collect()
    }

    /// Asks once.
    fn ask(&mut self, method: &str, url: &str, body: &str) -> Answer {
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let cookies = self.header();
        write!(
            stream,
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookies}\r\nAccept: text/html\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let answer = read_answer(&mut BufReader::new(stream));
        for line in answer.head.lines() {
            let Some((name, value)) = line.split_once(": ") else { continue };
            if name.eq_ignore_ascii_case("set-cookie") {
                let (name, value) = value.split(';').next().unwrap().split_once('=').unwrap();
                self.cookies.insert(name.to_owned(), value.to_owned());
                self.cookies.retain(|_, value| !value.is_empty());
            }
        }
        answer
    }

    /// Asks, and continues to the page that comes of it. Answers its address too.
    fn go(&mut self, method: &str, url: &str, body: &str) -> (String, Answer) {
        let (mut url, mut answer) = (url.to_owned(), self.ask(method, url, body));
        for _ in 0..MAX_HOPS {
            let Some(target) = answer.header("location") else { return (url, answer) };
            let origin = url.match_indices('/').nth(2).map_or(url.len(), |(at, _)| at);
            url = if target.starts_with('/') {
                format!("{}{target}", &url[..origin])
            } else {
                target.to_owned()
            };
            answer = self.ask("GET", &url, "");
        }
        panic!("{url} leads nowhere");
    }

    /// Signs in on the pages of the provider that come before this one, and answers the page.
    fn sign_in(&mut self, user: &str, url: &str) -> (String, Answer) {
        let mut page = self.go("GET", url, "");
        for form in [format!("prompt=login&login={user}&password=x"), "prompt=consent".to_owned()] {
            let text = String::from_utf8(page.1.body).unwrap();
            let action = text.split("action=\"").nth(1).unwrap_or_else(|| panic!("no form: {text}"));
            page = self.go("POST", action.split('"').next().unwrap(), &form);
        }
        page
    }
}

/// A copy of Debian's folder of Apache with the example, installed by the commands that stand in it.
fn apache(folder: &Path, port: u16, example: &str) -> Neighbour {
    let own = folder.join("apache2");
    assert!(Command::new("cp").arg("-a").arg("/etc/apache2").arg(&own).status().unwrap().success());
    let ports = fs::read_to_string(own.join("ports.conf")).unwrap();
    assert_eq!(ports.matches("\nListen 80\n").count(), 1, "{ports}");
    let listen = format!("\nListen 127.0.0.1:{port}\n");
    fs::write(own.join("ports.conf"), ports.replace("\nListen 80\n", &listen)).unwrap();
    fs::write(own.join("conf-available/mainspring.conf"), example).unwrap();
    let secrets: Vec<&str> = EXAMPLE
        .lines()
        .filter_map(|line| line.strip_prefix("#   "))
        .filter(|line| ["Define", "OIDC"].iter().any(|word| line.starts_with(word)))
        .collect();
    let secrets = secrets.join("\n").replace("what the provider gave", "of the provider");
    fs::write(own.join("mainspring-secrets"), secrets).unwrap();
    fs::set_permissions(own.join("mainspring-secrets"), fs::Permissions::from_mode(0o600)).unwrap();
    for program in ["a2enmod", "a2enconf"] {
        let words = EXAMPLE.split(&format!("sudo {program} ")).nth(1).unwrap().lines().next().unwrap();
        let mut command = Command::new(program);
        let enabled = command.args(words.split(' ')).env("APACHE_CONFDIR", &own).output().unwrap();
        assert!(enabled.status.success(), "{program} {words}: {enabled:?}");
    }
    let mut command = Command::new("apache2");
    command.arg("-d").arg(&own).arg("-f").arg(own.join("apache2.conf")).arg("-DFOREGROUND");
    for (name, value) in [("USER", "www-data"), ("GROUP", "www-data")] {
        command.env(format!("APACHE_RUN_{name}"), value);
    }
    for name in ["RUN_DIR", "LOCK_DIR", "LOG_DIR"] {
        command.env(format!("APACHE_{name}"), folder);
    }
    command.env("APACHE_PID_FILE", folder.join("apache.pid")).env("LANG", "C");
    Neighbour::start(&mut command, port, &folder.join("apache.log"))
}

#[test]
fn people_whom_a_provider_of_identities_knows_act_under_their_names_and_in_their_groups() {
    let library = unpacked(["identity/node_modules/oidc-provider/lib/index.js"], WHAT);
    let Some([library]) = library.filter(|_| is_installed("apache2", "-v", WHAT)) else { return };
    if !nix::unistd::Uid::effective().is_root() {
        return skipped(WHAT, "only root can start Apache with Debian's configuration");
    }
    let (folder, options) = users("apache-identity");
    write(&folder.join("jobs.toml"), IDLE);
    let (port, listen, login) = (free_port(), free_port(), free_port());
    let own = format!("http://127.0.0.1:{port}");
    let address = [format!("--listen=127.0.0.1:{listen}"), format!("--public-url={own}/mainspring/")];
    let options: Vec<&str> = address.iter().chain(&options).map(String::as_str).collect();
    let served = TestServer::start_in(folder.clone(), &options);
    let mut provider = Command::new("node");
    provider.arg(root().join("testdata/identity/provider.mjs")).arg(library).arg(login.to_string());
    provider.arg(format!("{own}/mainspring/signed-in"));
    let provider = Neighbour::start(&mut provider, login, &folder.join("provider.log"));
    let example = EXAMPLE
        .replace("/etc/apache2/", &format!("{}/", folder.join("apache2").display()))
        .replace("https://login.example", &format!("http://127.0.0.1:{login}"))
        .replace("https://cron.example", &own)
        .replace("127.0.0.1:7411", &format!("127.0.0.1:{listen}"));
    let site = ExampleSite { proxy: apache(&folder, port, &example), served };

    // A client is believed after the provider has said who it is. What a page asks is refused, not sent on.
    let of_person = [&FORGED[..], &[("Accept", "text/html")]].concat();
    let sent = site.answer("GET", "/mainspring/?job=a", &of_person, "");
    let place = format!("http://127.0.0.1:{login}/auth?");
    assert!(sent.status == 302 && sent.header("location").unwrap().starts_with(&place), "{sent:?}");
    let of_page = [&FORGED[..], &[("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")]].concat();
    assert_eq!(site.answer("GET", JOBS, &of_page, "").status, 401);
    let (mut mara, mut eve) = (Browser::default(), Browser::default());
    let (url, page) = mara.sign_in("mara", &format!("{own}/mainspring/?job=a"));
    assert_eq!((url, page.status), (format!("{own}/mainspring/?job=a"), 200));
    assert!(String::from_utf8_lossy(&page.body).contains("<title>Mainspring"), "{page:?}");
    eve.sign_in("eve", &format!("{own}/mainspring/"));
    let (mara, eve) = (mara.header(), eve.header());
    let (mara, eve) = (("Cookie", mara.as_str()), ("Cookie", eve.as_str()));
    assert_eq!(site.answer("GET", JOBS, &[eve], "").status, 200);
    let forged = [&[eve, OWN, ("OIDC_CLAIM_groups", "ops"), ("REMOTE_USER", "mara")][..], &FORGED].concat();
    assert_eq!(site.answer("POST", RUN, &forged, "{}").status, 403);
    let submitted = site.answer("POST", RUN, &[mara, OWN], "{}");
    assert_eq!(submitted.status, 202, "{submitted:?}");
    let run = resolved(RUN, submitted.header("location").unwrap());
    assert_eq!(site.answer("GET", &run, &[mara], "").status, 200);
    site.served.says(&["audit"], 0, "proxy user mara");
    site.stop();
    drop(provider);
    let _ = fs::remove_dir_all(folder);
}
