//! The shipped files for Caddy in Debian's Caddy, as they are but for addresses. Where it is not installed or
//! unpacked the test says so.
//!
//! The site is one of HTTP, because no authority gives a certificate to a test; and no other Caddy of the
//! machine is asked for its administration.

use std::path::Path;
use std::process::Command;

use mainspring_web::scope::Scope;

use crate::neighbour::{Neighbour, free_port, unpacked};
use crate::nginx_example::{ExampleSite, FORGED, JOBS, OWN, RUN, SECRET, users};
use crate::site::{read_head, read_until, resolved};
use crate::test_server::{IDLE, TestServer, folder, write};

const PLAIN: &str = include_str!("../../../examples/caddy/Caddyfile");
const USERS: &str = include_str!("../../../examples/caddy/Caddyfile.users");

/// Starts both in a folder, with a file of a person; `None` without Caddy.
fn start(folder: &Path, file: &str, args: &[&str]) -> Option<ExampleSite> {
    let [program] = unpacked(["usr/bin/caddy"], "the examples for Caddy")?;
    write(&folder.join("jobs.toml"), IDLE);
    let (port, listen) = (free_port(), free_port());
    let options =
        [format!("--listen=127.0.0.1:{listen}"), format!("--public-url=http://127.0.0.1:{port}/mainspring/")];
    let options = options.iter().map(String::as_str).chain(args.iter().copied()).collect::<Vec<_>>();
    let served = TestServer::start_in(folder.to_owned(), &options);
    assert_eq!(file.matches("\ncron.example {").count(), 1);
    let site = file.replace("\ncron.example {", &format!("\nhttp://127.0.0.1:{port} {{"));
    let site = site.replace("127.0.0.1:7411", &format!("127.0.0.1:{listen}"));
    let path = folder.join("Caddyfile");
    write(&path, &format!("{{\n\tadmin off\n}}\n{site}"));
    let mut command = Command::new(program);
    // As the unit of Debian's package starts it.
    command.args(["run", "--environ", "--config"]).arg(&path).env("HOME", folder);
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").env("MAINSPRING_PROXY_SECRET", SECRET);
    let proxy = Neighbour::start(&mut command, port, &folder.join("caddy.log"));
    Some(ExampleSite { proxy, served })
}

#[test]
fn below_a_path_of_caddy_the_page_a_submission_and_a_stream_work_as_pasted() {
    let Some(site) = start(&folder("caddy-example"), PLAIN, &[]) else { return };
    let moved = site.answer("GET", "/mainspring", &[], "");
    assert!(moved.status == 302 && moved.header("location") == Some("/mainspring/"), "{moved:?}");
    let page = site.answer("GET", "/mainspring/", &[], "");
    assert!(page.status == 200 && String::from_utf8_lossy(&page.body).contains("<title>"), "{page:?}");
    let added = site.served.ask(&["token", "add", "mara", "--scope", Scope::Operate.name()]);
    let bearer = format!("Bearer {}", added.stdout.trim());
    let known = [("Authorization", bearer.as_str())];
    let mut stream = site.ask("GET", "/mainspring/api/v1/events", &known, "");
    assert_eq!(read_head(&mut stream).0, 200);
    read_until(&mut stream, &["event: hello"]);
    let submitted = site.answer("POST", RUN, &known, "{}");
    let run = resolved(RUN, submitted.header("location").unwrap_or_else(|| panic!("{submitted:?}")));
    assert_eq!((submitted.status, site.answer("GET", &run, &known, "").status), (202, 200), "{submitted:?}");
    read_until(&mut stream, &["idle", "succeeded"]);
    drop(stream);
    site.stop();
}

#[test]
fn users_whom_caddy_knows_act_under_their_names_and_in_their_groups() {
    let (folder, options) = users("caddy-users");
    // A second user, in no group, with the same password.
    let hash = USERS.lines().find_map(|line| line.trim().strip_prefix("mara $")).unwrap();
    let file = USERS.replace(&format!("mara ${hash}"), &format!("mara ${hash}\n\t\t\teve ${hash}"));
    let Some(site) = start(&folder, &file, &options.each_ref().map(String::as_str)) else { return };
    // The words of mara:change-me and eve:change-me as a browser sends them.
    let mara = ("Authorization", "Basic bWFyYTpjaGFuZ2UtbWU=");
    let eve = ("Authorization", "Basic ZXZlOmNoYW5nZS1tZQ==");
    assert_eq!(site.answer("GET", JOBS, &[], "").status, 401);
    assert_eq!(site.answer("GET", JOBS, &[eve], "").status, 200);
    assert_eq!(site.answer("GET", JOBS, &FORGED, "").status, 401);
    assert_eq!(site.answer("POST", RUN, &[&[eve, OWN][..], &FORGED].concat(), "{}").status, 403);
    let submitted = site.answer("POST", RUN, &[mara, OWN], "{}");
    assert_eq!(submitted.status, 202, "{submitted:?}");
    site.served.says(&["audit"], 0, "proxy user mara");
    site.stop();
}
