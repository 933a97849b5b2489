//! There is one way to each path and each server: a user who prepared a folder decides about that folder
//! alone.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::thread;

use crate::served::IDLE;
use crate::trial_fixture::TrialFixture;

/// Commands that ask a server, each with what follows `--data`.
const ASKS: [(&str, &[&str]); 12] = [
    ("at", &["+0s", "--", "/bin/sh", "bob/report.sh"]),
    ("run", &["idle"]),
    ("pause", &["idle"]),
    ("resume", &["idle"]),
    ("cancel", &["idle"]),
    ("apply", &["jobs.toml"]),
    ("audit", &[]),
    ("list", &[]),
    ("logs", &["idle", "-f"]),
    ("status", &[]),
    ("health", &[]),
    ("open", &["--print"]),
];

#[test]
fn no_command_of_roots_goes_by_a_link_of_bobs_to_another_server() {
    let Some(fixture) = TrialFixture::new("way") else { return };
    let server = fixture.serve(IDLE);
    fixture.bob(
        "mkdir ms; ln -s $T/data/mainspring.sock ms; ln -s $T/data whole; echo 'id > proof' > report.sh",
    );
    for (first, rest) in ASKS {
        for data in ["bob/ms", "bob/whole"] {
            let said = fixture.mainspring(&[&[first, "--data", data], rest].concat());
            assert_eq!(said.code, Some(7), "{first} {data}: {said:?}");
            assert!(said.stderr.contains("belongs to user 65534"), "{first} {data}: {said:?}");
        }
    }
    let asked = fixture.ask(&["audit"]);
    assert!(!asked.text().contains("uid 0"), "{asked:?}");
    // Root's own links are root's choice.
    fixture.root("ln -s data own");
    assert_eq!(fixture.mainspring(&["run", "idle", "--data", "own"]).code, Some(0));
    server.stop();
}

#[test]
fn a_socket_is_not_made_where_another_user_decides() {
    let Some(fixture) = TrialFixture::new("listen") else { return };
    fixture.write("victim", "", 0o600);
    fixture.write("jobs.toml", IDLE, 0o644);
    fixture.bob("mkdir web; ln -s $T/victim web/page.sock; mkdir open; chmod 1777 open; ln -s $T/mine way");
    fixture.root("mkdir mine; chmod 755 mine");
    for place in ["bob/web", "bob/open", "bob/way"] {
        for name in ["page.sock", "new.sock"] {
            let listen = format!("--listen=unix:{}/{name}", fixture.text(place));
            let said = fixture.mainspring(&["serve", "--data", "data", &listen, "jobs.toml"]);
            assert!(said.code == Some(1) && said.stderr.contains("belongs to user"), "{place}: {said:?}");
        }
    }
    let mode = fs::metadata(fixture.path("victim")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert!(!fixture.path("bob/web/new.sock").exists() && !fixture.path("mine/new.sock").exists());
}

#[test]
fn no_file_of_bobs_says_which_database_has_roots_jobs() {
    let Some(fixture) = TrialFixture::new("store-file") else { return };
    fixture.write("store", "postgres://127.0.0.1:1/x", 0o600);
    fixture.bob("echo postgres://127.0.0.1:1/x > store; ln -s $T/store link; : > ca.pem; mkfifo fifo");
    for file in ["bob/store", "bob/link", "bob/fifo"] {
        let said = fixture.mainspring(&["serve", "--data", "data", "--store-file", file]);
        assert!(said.code != Some(0) && !said.stderr.contains("127.0.0.1"), "{file}: {said:?}");
        let is_told =
            ["belongs to user 65534", "no regular file"].iter().any(|why| said.stderr.contains(why));
        assert!(is_told, "{file}: {said:?}");
    }
    let authorities =
        format!("postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert={}", fixture.text("bob/ca.pem"));
    let said = fixture.mainspring(&["serve", "--data", "data", "--store", &authorities]);
    assert!(said.stderr.contains("belongs to user 65534"), "{said:?}");
}

#[test]
fn what_a_false_server_says_is_no_argument_of_the_browser() {
    let Some(fixture) = TrialFixture::new("browser") else { return };
    fs::create_dir(fixture.path("ms")).unwrap();
    let path = fixture.path("ms/mainspring.sock");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let pages = ["--help", "file:///etc/passwd", "javascript:1", "http://a.example/"];
    let server = thread::Builder::new()
        .spawn(move || {
            for page in pages {
                let (mut stream, _) = listener.accept().unwrap();
                let said =
                    format!("{{\"id\":1,\"login_code\":{{\"code\":\"c\",\"addresses\":[\"{page}\"]}}}}\n");
                // The client may have gone.
                let _ = stream.write_all(said.as_bytes());
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
        })
        .unwrap();
    // As bob: for root no browser is started.
    fixture.bob("mkdir bin; printf '#!/bin/sh\\necho \"$@\" >> opened\\n' > bin/xdg-open; chmod 755 bin/xdg-open; : > opened");
    for page in pages {
        let said = fixture.bob("DISPLAY=:0 PATH=$PWD/bin:$PATH $T/mainspring open --data $T/ms");
        assert_eq!(said.code == Some(0), page.starts_with("http://"), "{page}: {said:?}");
    }
    server.join().unwrap();
    assert_eq!(fixture.read("bob/opened"), "http://a.example/#code=c\n");
}
