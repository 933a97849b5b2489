//! The shipped files for Caddy in Debian's Caddy, as they are but for addresses. Where it is not installed or
//! unpacked the test says so.
//!
//! The site is one of HTTP, because no authority gives a certificate to a test; and no other Caddy of the
//! machine is asked for its administration.

use std::path::Path;
use std::process::Command;

use crate::neighbour::{Neighbour, free_port, unpacked};
use crate::nginx_example::{ExampleSite, SECRET, users};
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
    site.works_below_its_path(302);
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
    site.knows_its_users(mara, eve);
    site.stop();
}
