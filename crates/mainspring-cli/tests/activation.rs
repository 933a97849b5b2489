//! Sockets that a service manager hands over: they are tests' own, and a shell puts them where systemd does.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Running, mainspring, root};
use crate::test_server::{IDLE, folder, write};

/// What the shell does before it becomes the program: descriptor 0 becomes 3, for this process.
const HANDS_OVER: &str = "exec 3<&0 </dev/null; export LISTEN_PID=$$ LISTEN_FDS=1";

/// Starts `serve` with a socket and its name.
fn serve(socket: impl Into<OwnedFd>, name: &str, shell_text: &str, args: &[&str]) -> Running {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{shell_text}; exec \"$0\" serve \"$@\""), env!("CARGO_BIN_EXE_mainspring")]);
    shell.args(args).current_dir(root()).env("TZ", "UTC").env("LISTEN_FDNAMES", name);
    shell.stdin(Stdio::from(socket.into())).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::reading(shell.spawn().unwrap())
}

/// A folder with a data directory in it, and a file of jobs.
fn place(name: &str) -> (PathBuf, String, String) {
    let folder = folder(name);
    let (data, jobs) = (folder.join("data"), folder.join("jobs.toml"));
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    write(&jobs, IDLE);
    let [data, jobs] = [data, jobs].map(|path| path.to_str().unwrap().to_owned());
    (folder, data, jobs)
}

fn control(data: &str, mode: u32) -> UnixListener {
    let path = Path::new(data).join("mainspring.sock");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    listener
}

#[track_caller]
fn refuses(running: Running, code: i32, part: &str) {
    let (status, lines, errors) = running.end();
    assert_eq!(status.code(), Some(code), "{lines:#?} {errors}");
    assert!(errors.contains(part), "{part} in {errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn a_command_that_came_before_the_server_is_answered_over_the_socket_that_was_handed_over() {
    let (folder, data, jobs) = place("activation-control");
    let listener = control(&data, 0o600);
    for round in 0..2 {
        // As the first command does, which makes systemd start the server.
        let mut early = UnixStream::connect(Path::new(&data).join("mainspring.sock")).unwrap();
        early.write_all(b"{\"id\":7,\"command\":\"run\",\"job\":\"idle\",\"wait\":false}\n").unwrap();
        let handed = listener.try_clone().unwrap();
        let mut running = serve(handed, "control", HANDS_OVER, &["--data", &data, &jobs]);
        running.wait_for(&[", data in "]);
        let mut answer = String::new();
        BufReader::new(early).read_line(&mut answer).unwrap();
        assert!(answer.starts_with("{\"id\":7,\"planned\":{\"run\":\"idle@"), "{answer}");
        let ran = mainspring(&["run", "idle", "--wait", "--data", &data]);
        assert_eq!(ran.code, 0, "round {round}: {}", ran.stderr);
        let (status, lines, errors) = running.stop();
        assert_eq!((status.code(), errors.as_str()), (Some(0), ""), "{lines:#?}");
        // systemd listens on: the next command starts the next server.
        assert!(Path::new(&data).join("mainspring.sock").exists());
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_control_socket_for_others_than_its_owner_is_refused() {
    let (folder, data, jobs) = place("activation-mode");
    let path = Path::new(&data).join("mainspring.sock");
    for mode in [0o666, 0o660, 0o602] {
        let _ = fs::remove_file(&path);
        let listener = control(&data, mode);
        let running = serve(listener, "control", HANDS_OVER, &["--data", &data, &jobs]);
        refuses(running, 7, "SocketMode=0600");
    }
    // What systemd-socket-activate makes: others may not write, and so not connect.
    let _ = fs::remove_file(&path);
    let mut running = serve(control(&data, 0o644), "", HANDS_OVER, &["--data", &data, &jobs]);
    running.wait_for(&[", data in "]);
    let (status, ..) = running.stop();
    assert_eq!(status.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn sockets_that_are_meant_for_another_process_are_left_alone() {
    let (folder, data, jobs) = place("activation-other");
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let of_another = "exec 3<&0 </dev/null; export LISTEN_PID=1 LISTEN_FDS=1";
    let mut running = serve(port, "http", of_another, &["--data", &data, &jobs]);
    running.wait_for(&[", data in "]);
    assert_eq!(mainspring(&["list", "--data", &data]).code, 0);
    let (status, ..) = running.stop();
    assert_eq!(status.code(), Some(0));
    assert!(!Path::new(&data).join("mainspring.sock").exists(), "it was the server's own");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_does_not_listen_is_refused() {
    let (folder, data, jobs) = place("activation-pair");
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let running = serve(ours, "control", HANDS_OVER, &["--data", &data, &jobs]);
    refuses(running, 2, "Accept=no");
    let pipe = Command::new("true").stdout(Stdio::piped()).spawn().unwrap().stdout.unwrap();
    let running = serve(pipe, "control", HANDS_OVER, &["--data", &data, &jobs]);
    refuses(running, 2, "expected a stream socket");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "nothing was begun");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_page_is_served_at_the_port_that_was_handed_over() {
    use std::io::Read;
    use std::net::TcpStream;

    let (folder, data, jobs) = place("activation-http");
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    let args = ["--listen=systemd:http", "--data", &data, &jobs];
    let mut running = serve(port, "http", HANDS_OVER, &args);
    running.wait_for_error(&format!("the page is at http://{address}/"));
    running.wait_for(&[", data in "]);
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(format!("GET /livez HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_port_that_nothing_would_listen_on_is_refused() {
    let (folder, data, jobs) = place("activation-unused");
    let port = || TcpListener::bind("127.0.0.1:0").unwrap();
    let running = serve(port(), "http", HANDS_OVER, &["--data", &data, &jobs]);
    refuses(running, 2, "nothing here listens there");
    let args = ["--listen=systemd:page", "--data", &data, &jobs];
    refuses(serve(port(), "http", HANDS_OVER, &args), 2, "(`http`), and nothing here listens there");
    let none = "exec </dev/null";
    refuses(serve(port(), "", none, &["--listen=systemd", "--data", &data, &jobs]), 2, "no such socket");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_port_for_other_machines_needs_a_proxy_though_systemd_has_bound_it() {
    let (folder, data, jobs) = place("activation-open");
    let port = TcpListener::bind("0.0.0.0:0").unwrap();
    let args = ["--listen=systemd", "--data", &data, &jobs];
    refuses(serve(port, "http", HANDS_OVER, &args), 2, "--behind-proxy");
    let _ = fs::remove_dir_all(&folder);
}
