//! A server whose disk fails reports an error that names the trouble, and nothing acknowledged is lost.
//!
//! A small file system is a tmpfs in a mount namespace of the server's own, which `unshare` of util-linux
//! makes; that takes a privilege, and without it those tests are skipped and say so.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::program::{EndedProgram, Running, ended, mainspring};
use crate::scratch;

mod copy_on_write;

/// How large a page of the store is.
const PAGE_BYTES: usize = 4_096;

/// A folder that goes when the test ends well.
fn folder(name: &str) -> PathBuf {
    let folder = scratch::path(&format!("fault-{name}"));
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A connection that submits one job after the other, far in the future.
struct Submitter {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    acknowledged_count: u64,
}

impl Submitter {
    fn connect(data: &Path) -> Submitter {
        let stream = UnixStream::connect(data.join("mainspring.sock")).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Submitter { stream, reader, acknowledged_count: 0 }
    }

    /// Submits one job, and says whether it was acknowledged; if not, with what the server said, if it said
    /// anything.
    fn submit(&mut self) -> Result<(), String> {
        let body = "x".repeat(4_000);
        let key = format!("k{}", self.acknowledged_count);
        let request = format!(
            "{{\"id\":1,\"command\":\"submit\",\"due\":\"2100-01-01T00:00:00Z\",\"key\":\"{key}\",\"process\":{{\"run\":[\"{body}\"]}}}}\n"
        );
        self.stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut line = String::new();
        self.reader.read_line(&mut line).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&line).map_err(|_| line.clone())?;
        if !answer["submitted"].is_object() {
            return Err(line);
        }
        self.acknowledged_count += 1;
        Ok(())
    }

    /// Submits until something else than an acknowledgement comes.
    fn submit_until_refused(&mut self) -> String {
        // Far more than fits into what these tests give the server.
        for _ in 0..100_000 {
            if let Err(said) = self.submit() {
                return said;
            }
        }
        panic!("{} jobs were acknowledged, and the disk is still not full", self.acknowledged_count)
    }
}

fn serve(data: &Path) -> Running {
    let mut running = Running::any(&["serve", "--data", data.to_str().unwrap()]);
    running.wait_for(&[", data in "]);
    running
}

/// How many jobs are pending in a data directory, told by a server that is started on it.
fn pending_count(data: &Path) -> u64 {
    let running = serve(data);
    let ended = mainspring(&["status", "--json", "--data", data.to_str().unwrap()]);
    let status: Value = serde_json::from_str(&ended.stdout).unwrap();
    let (code, _, errors) = running.stop();
    assert_eq!(code.code(), Some(0), "{errors}");
    status["status"]["pending"].as_u64().unwrap()
}

/// Runs a shell script in a mount namespace of its own. `None`, said loudly, if that is not permitted.
fn in_own_namespace(script: &str, words: &[&str]) -> Option<Child> {
    let try_it = "d=$(mktemp -d) && mount -t tmpfs -o size=1m tmpfs \"$d\" && umount \"$d\" && rmdir \"$d\"";
    let may = Command::new("unshare").args(["-m", "sh", "-c", try_it]).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        let _ = std::io::stderr().write_all(b"SKIPPED: a small file system needs the right to mount one\n");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_mainspring")]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command.spawn().unwrap())
}

/// A server in a namespace, with a small file system as its data directory.
struct Small {
    running: Running,
    /// The data directory as the test sees it: through the server's own root.
    seen: PathBuf,
    /// The same as programs in the server's namespace see it.
    data: PathBuf,
}

impl Small {
    /// Runs a script with the program, the data directory and a third word. `None` if that is not permitted.
    fn start(script: &str, data: &Path, third: &Path) -> Option<Small> {
        fs::create_dir(data).unwrap();
        fs::set_permissions(data, fs::Permissions::from_mode(0o700)).unwrap();
        let child = in_own_namespace(script, &[data.to_str().unwrap(), third.to_str().unwrap()])?;
        let seen = PathBuf::from(format!("/proc/{}/root{}", child.id(), data.display()));
        Some(Small { running: Running::reading(child), seen, data: data.to_owned() })
    }

    /// Runs a command in the server's namespace: the way through another's root is none for it.
    fn ask(&self, words: &[&str]) -> EndedProgram {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.running.pid()));
        command.arg(env!("CARGO_BIN_EXE_mainspring")).args(words).arg("--data").arg(&self.data);
        ended(command.output().unwrap())
    }

    /// The options with which a command asks the listener. Its token is written into a file.
    fn site(&self, token_file: &Path) -> Vec<String> {
        let address = self.ask(&["open", "--print"]).stdout;
        let token = self.ask(&["token", "add", "mara", "--scope", "operate"]).stdout;
        fs::write(token_file, token).unwrap();
        fs::set_permissions(token_file, fs::Permissions::from_mode(0o600)).unwrap();
        let url = address.trim().split('#').next().unwrap();
        ["--url", url, "--token-file", token_file.to_str().unwrap()].map(str::to_owned).to_vec()
    }

    /// Takes all the room that there is.
    fn fill(&self) {
        let mut file = fs::File::create(self.seen.join("filler")).unwrap();
        while file.write_all(&[1; PAGE_BYTES]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.seen.join("filler")).unwrap();
    }

    /// Sends SIGTERM to the server.
    fn stop(&self) {
        let holder = fs::read_to_string(self.seen.join("mainspring.lock")).unwrap();
        let pid = holder.trim().strip_prefix("process ").unwrap().parse().unwrap();
        kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    }
}

/// What is asked over HTTP.
struct Http {
    /// The options with which a command asks.
    site: Vec<String>,
    /// How many submissions were acknowledged.
    acknowledged_count: u64,
}

impl Http {
    fn says(&self, words: &[&str], code: i32, part: &str) {
        let site: Vec<&str> = self.site.iter().map(String::as_str).collect();
        let ended = mainspring(&[words, &site].concat());
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert!(ended.code == code && text.contains(part), "{words:?}: {} {text}", ended.code);
    }

    /// Submits a job, which is acknowledged.
    fn submits(&mut self, key: &str) {
        let (status, _, said) = submit_over_http(&self.site, key);
        assert_eq!(status, 201, "{key}: {said}");
        self.acknowledged_count += 1;
    }

    /// Submits a job, which is refused in these words, and for how long.
    fn submits_in_vain(&self, key: &str, part: &str) {
        let (status, again, said) = submit_over_http(&self.site, key);
        assert_eq!((status, again.as_deref()), (503, Some("1")), "{key}: {said}");
        assert!(said.contains(part), "{key}: {said}");
    }
}

/// Submits one job over HTTP: the status, in how many seconds to try again, and what is said.
fn submit_over_http(site: &[String], key: &str) -> (u16, Option<String>, String) {
    let [_, url, _, token] = site else { panic!("{site:?}") };
    let (host, token) = (url.split('/').nth(2).unwrap(), fs::read_to_string(token).unwrap());
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let body = r#"{"job":"tick","at":"2100-01-01T00:00:00Z"}"#;
    write!(
        stream,
        "POST /api/v1/once HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    )
    .unwrap();
    let answer = crate::site::read_answer(&mut BufReader::new(stream));
    let again = answer.header("retry-after").map(str::to_owned);
    (answer.status, again, String::from_utf8(answer.body).unwrap())
}

#[test]
fn on_a_full_disk_new_work_is_refused_and_all_goes_on_when_there_is_room() {
    let folder = folder("full");
    let (data, saved) = (folder.join("data"), folder.join("saved"));
    let job = "[jobs.tick]\nevery = '1s'\ncwd = '/'\nshell = 'echo tock'\n";
    fs::write(folder.join("jobs.toml"), job).unwrap();
    let script = "mount -t tmpfs -o size=8m,mode=0700 tmpfs \"$2\" || exit 99; \
        head -c 4194304 /dev/zero >\"$2/filler\"; \
        \"$1\" serve --data \"$2\" --listen=127.0.0.1:0 \"$3/../jobs.toml\"; code=$?; cp -r \"$2\" \"$3\"; exit $code";
    let Some(mut small) = Small::start(script, &data, &saved) else { return };
    fs::create_dir(&saved).unwrap();
    small.running.wait_for(&[", data in"]);
    let site = small.site(&folder.join("token"));
    let mut http = Http { site, acknowledged_count: 0 };
    http.submits("before");
    let mut submitter = Submitter::connect(&small.seen);
    let said = submitter.submit_until_refused();
    http.submits_in_vain("full", "the disk is full: new work is refused");
    let refusal: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(refusal["error"]["kind"], "temporary", "{said}");
    assert!(
        refusal["error"]["message"].as_str().unwrap().contains("disk is full: new work is refused"),
        "{said}"
    );
    assert!(30 <= submitter.acknowledged_count, "{}", submitter.acknowledged_count);
    small.running.wait_for(&["scheduled jobs go on with the reserve"]);
    small.running.wait_for(&["end    exit status 0"]);
    let status = small.ask(&["status"]);
    assert!(
        status.stdout.contains("TROUBLE") && status.stdout.contains("new work is refused"),
        "{}",
        status.stdout
    );
    let doctor = small.ask(&["doctor"]);
    assert_eq!(doctor.code, 1, "{}", doctor.stdout);
    assert!(doctor.stdout.contains("BAD      trouble     the disk is full"), "{}", doctor.stdout);
    // Another program takes the rest.
    fs::rename(small.seen.join("filler"), small.seen.join("first")).unwrap();
    small.fill();
    small.running.wait_for(&["nothing can be recorded"]);
    let status = small.ask(&["status"]);
    assert!(status.stdout.contains("nothing can be recorded"), "{} {}", status.stdout, status.stderr);
    let ended = small.ask(&["pause", "tick"]);
    assert_eq!(ended.code, 75, "{}", ended.stderr);
    http.says(&["status"], 0, "nothing can be recorded");
    http.says(&["pause", "tick"], 75, "nothing can be recorded");
    http.says(&["run", "tick"], 75, "nothing can be recorded");
    http.submits_in_vain("stuck", "nothing can be recorded");
    small.free();
    fs::remove_file(small.seen.join("first")).unwrap();
    small.running.wait_for(&["the store has room again: scheduled jobs continue"]);
    small.running.wait_for(&["end    exit status 0"]);
    small.running.wait_for(&["output is kept, and new work taken"]);
    submitter.submit().unwrap();
    http.says(&["pause", "tick"], 0, "");
    // What was refused was not kept: the same key is a new job.
    http.submits("full");
    http.submits("stuck");
    assert_eq!(small.ask(&["doctor"]).stdout.matches("trouble").count(), 0);
    // Those over HTTP are runs of a job, which waits for their time.
    let shown: Value = serde_json::from_str(&small.ask(&["show", "tick", "--json"]).stdout).unwrap();
    assert_eq!(shown["job"]["waiting_count"].as_u64(), Some(http.acknowledged_count), "{shown}");
    small.stop();
    let (status, _, errors) = small.running.end();
    assert_eq!(status.code(), Some(0), "{errors}");
    let saved = saved.join("data");
    fs::set_permissions(&saved, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(pending_count(&saved), submitter.acknowledged_count);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_server_starts_on_a_full_disk() {
    let folder = folder("full-start");
    let data = folder.join("data");
    // Once to make all files, once with the reserve, and once without.
    let script = "mount -t tmpfs -o size=4m,mode=0700 tmpfs \"$2\" || exit 99; \
        \"$1\" serve --data \"$2\" || exit 98; \
        cat /dev/zero >\"$2/first\" 2>/dev/null; \"$1\" serve --data \"$2\" || exit 97; \
        rm -f \"$2/mainspring.reserve\"; cat /dev/zero >\"$2/filler\" 2>/dev/null; exec \"$1\" serve --data \"$2\"";
    let Some(mut small) = Small::start(script, &data, &folder) else { return };
    small.running.wait_for(&[", data in"]);
    small.stop();
    small.running.wait_for(&["stopped"]);
    small.running.wait_for(&[", data in"]);
    small.running.wait_for(&["new work is refused"]);
    small.stop();
    small.running.wait_for(&["stopped"]);
    small.running.wait_for_error("waiting for room on the disk of");
    fs::remove_file(small.seen.join("first")).unwrap();
    small.running.wait_for(&[", data in"]);
    small.stop();
    assert_eq!(small.running.end().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_limit_on_the_size_of_files_is_met_without_loss() {
    let folder = folder("fsize");
    let data = folder.join("data");
    // In blocks of 512 bytes for dash and of 1024 for bash; enough for some hundred jobs.
    let script = "ulimit -f 2000; exec \"$0\" serve --data \"$1\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_mainspring"), data.to_str().unwrap()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains(", data in "), "{line}");
    let mut submitter = Submitter::connect(&data);
    std::thread::scope(|scope| {
        // What is not on disk is not answered.
        let submitting = scope.spawn(|| submitter.submit_until_refused());
        while !line.contains("the disk is full: nothing can be recorded") {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the server ends");
        }
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        submitting.join().unwrap();
    });
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), errors.as_str()), (Some(0), ""));
    assert_eq!(pending_count(&data), submitter.acknowledged_count);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_read_only_data_directory_is_refused_with_its_reason() {
    let folder = folder("readonly");
    let data = folder.join("data");
    let running = serve(&data);
    let mut submitter = Submitter::connect(&data);
    (0..10).for_each(|_| submitter.submit().unwrap());
    running.stop();
    let script = "mount --bind \"$2\" \"$2\" && mount -o remount,bind,ro \"$2\" || exit 99; exec \"$1\" serve --data \"$2\"";
    let Some(child) = in_own_namespace(script, &[data.to_str().unwrap()]) else { return };
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(7), "{errors}");
    assert!(errors.contains(data.to_str().unwrap()) && errors.contains("Read-only"), "{errors}");
    assert_eq!(pending_count(&data), 10);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_damaged_page_is_named_damage() {
    let folder = folder("damage");
    let data = folder.join("data");
    let running = serve(&data);
    let mut submitter = Submitter::connect(&data);
    (0..300).for_each(|_| submitter.submit().unwrap());
    running.stop();
    let store = data.join("mainspring.db");
    let whole = fs::read(&store).unwrap();
    assert!(100 * PAGE_BYTES < whole.len(), "{}", whole.len());
    let ask = |command: &str| mainspring(&[command, "--data", data.to_str().unwrap()]);
    // The first page says that it is a store, the third is the root of a table, and page 50 holds jobs.
    for page in [0, 2, 50] {
        fs::write(&store, &whole).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&store).unwrap();
        file.write_all_at(&[0xa5; PAGE_BYTES], page * PAGE_BYTES as u64).unwrap();
        let doctor = ask("doctor");
        assert!(doctor.stdout.contains("BAD      store"), "page {page}: {}", doctor.stdout);
        assert_eq!(doctor.code, 1);
        if page < 50 {
            let ended = ask("serve");
            assert_eq!(ended.code, 1, "page {page}: {}", ended.stderr);
            assert!(ended.stderr.contains("the store is damaged"), "page {page}: {}", ended.stderr);
        }
    }
    fs::write(&store, &whole).unwrap();
    assert_eq!(pending_count(&data), 300);
    let _ = fs::remove_dir_all(&folder);
}

/// Something that is taken away under a server, and what its log says of that.
struct Loss {
    name: &'static str,
    take: fn(&Path),
    said: &'static [&'static str],
}

const LOSSES: &[Loss] = &[
    Loss {
        name: "store",
        take: |data| ["", "-wal", "-shm"].iter().for_each(|end| remove(data, &format!("mainspring.db{end}"))),
        said: &["the store was removed while it was open: it was written again"],
    },
    Loss {
        name: "log",
        take: |data| remove(data, "mainspring.db-wal"),
        said: &["the store's log was removed while it was open"],
    },
    Loss {
        name: "lock",
        take: |data| remove(data, "mainspring.lock"),
        said: &["the lock of the data directory was removed: it was taken again"],
    },
    Loss {
        name: "folder",
        take: |data| fs::remove_dir_all(data).unwrap(),
        said: &["it was taken again", "it was written again", "the socket was removed: it was made again"],
    },
    Loss {
        name: "socket",
        take: |data| remove(data, "mainspring.sock"),
        said: &["the socket was removed: it was made again"],
    },
];

fn remove(data: &Path, name: &str) {
    fs::remove_file(data.join(name)).unwrap();
}

#[test]
fn what_is_removed_under_a_server_is_noticed_and_nothing_acknowledged_is_lost() {
    for Loss { name, take, said } in LOSSES {
        let folder = folder(&format!("loss-{name}"));
        let data = folder.join("data");
        let mut running = serve(&data);
        let mut submitter = Submitter::connect(&data);
        (0..10).for_each(|_| submitter.submit().unwrap());
        take(&data);
        // Over a connection that is still there.
        (0..10).for_each(|_| submitter.submit().unwrap());
        said.iter().for_each(|part| drop(running.wait_for(&[part])));
        let ended = mainspring(&["doctor", "--data", data.to_str().unwrap()]);
        assert!(ended.code == 0 && ended.stdout.contains("server      process"), "{name}: {}", ended.stdout);
        let second = mainspring(&["serve", "--data", data.to_str().unwrap()]);
        assert_eq!(second.code, 5, "{name}: {}", second.stderr);
        (0..10).for_each(|_| submitter.submit().unwrap());
        assert_eq!(running.stop().0.code(), Some(0), "{name}");
        assert_eq!(pending_count(&data), 30, "{name}");
        let mode = fs::metadata(data.join("mainspring.db")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, mode & 0o044, "{name}: nobody else may write it");
        let _ = fs::remove_dir_all(&folder);
    }
}

#[test]
fn a_server_whose_folder_another_has_ends_and_keeps_what_it_knew() {
    let folder = folder("replaced");
    let data = folder.join("data");
    let first = serve(&data);
    let mut submitter = Submitter::connect(&data);
    (0..10).for_each(|_| submitter.submit().unwrap());
    fs::remove_dir_all(&data).unwrap();
    let second = serve(&data);
    // It is not acknowledged, whether the first has looked around already or not.
    assert!(submitter.submit().is_err());
    let (status, lines, errors) = first.end();
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(errors.contains("another file was put in its place; what it held is in"), "{errors}");
    assert!(lines.iter().any(|line| line.contains("the store failed, and the server stops")), "{lines:#?}");
    assert_eq!(second.stop().0.code(), Some(0));
    let saved = errors.trim().rsplit(' ').next().unwrap();
    fs::rename(saved, data.join("mainspring.db")).unwrap();
    assert_eq!(pending_count(&data), 10);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_folder_that_is_moved_away_is_left_whole() {
    let folder = folder("moved");
    let (data, elsewhere) = (folder.join("data"), folder.join("elsewhere"));
    let running = serve(&data);
    let mut submitter = Submitter::connect(&data);
    (0..10).for_each(|_| submitter.submit().unwrap());
    fs::rename(&data, &elsewhere).unwrap();
    assert!(submitter.submit().is_err());
    let (status, _, errors) = running.end();
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(errors.contains("it was moved away while it was open, and is whole where it is now"), "{errors}");
    assert!(!data.exists());
    assert_eq!(pending_count(&elsewhere), 10);
    let _ = fs::remove_dir_all(&folder);
}
