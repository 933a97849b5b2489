//! A PostgreSQL of the test's own: in a new folder, behind a socket there, and gone with the test.
//!
//! ```text
//!  initdb, once ─▶ a copy ─▶ postgres -D DIR -k DIR (no TCP, no flushes) ─▶ pgbouncer, if asked ─▶ SIGKILL
//! ```
//!
//! Where PostgreSQL is not installed the test says so and is skipped, unless `CI` is set.
//!
//! Cost: a second to begin.
//!
//! Does not run as root, which PostgreSQL refuses: as the user `postgres` then.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Where Debian has the programs of version 15.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// Any will do: it is a part of the socket's name.
const PORT: &str = "5432";

/// How often the database is asked whether it is there. `psql` takes a few milliseconds.
const MAX_TRIES: u32 = 3_000;

/// How long it has before it is asked again.
const PAUSE: Duration = Duration::from_millis(10);

/// A database server.
pub(crate) struct Database {
    directory: PathBuf,
    server: Option<Child>,
    pooler: Option<Child>,
    user: Option<(u32, u32)>,
    /// What it is told beyond, as `fsync=on`.
    settings: Vec<String>,
    /// Of its socket, and of TCP where a setting says that it listens.
    port: String,
    /// What it is a copy of. Its folder goes with the last copy.
    template: Option<Arc<Database>>,
}

static TEMPLATE: Mutex<Weak<Database>> = Mutex::new(Weak::new());

impl Database {
    /// Starts one; `None` where there is none.
    pub(crate) fn start() -> Option<Database> {
        Database::start_with(&[])
    }

    /// The same with settings, such as `fsync=on`, which the later of two wins.
    pub(crate) fn start_with(settings: &[String]) -> Option<Database> {
        Database::start_at(PORT, settings)
    }

    /// The same under a port.
    pub(crate) fn start_at(port: &str, settings: &[String]) -> Option<Database> {
        if !Path::new(PROGRAMS).join("initdb").exists() {
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL 15 is not installed");
            eprintln!("skipped: PostgreSQL 15 is not installed (apt-get install postgresql-15)");
            return None;
        }
        let user = nix::unistd::Uid::effective().is_root().then(|| {
            let user = nix::unistd::User::from_name("postgres").unwrap().expect("the package makes it");
            (user.uid.as_raw(), user.gid.as_raw())
        });
        let mut database = Database::unmade(user, port, settings.to_vec());
        let template = Database::template(user);
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(template.directory.join("data")).arg(&database.directory);
        assert!(copy.status().unwrap().success());
        database.template = Some(template);
        database.begin();
        Some(database)
    }

    /// What `initdb` makes, with an empty database, for all of this process to copy: a tenth of its time.
    fn template(user: Option<(u32, u32)>) -> Arc<Database> {
        let mut cached = TEMPLATE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = cached.upgrade() {
            return template;
        }
        let template = Database::unmade(user, PORT, Vec::new());
        let made = template
            .command("initdb")
            .args([
                "--auth=trust",
                "--username=mainspring",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "-D",
            ])
            .arg(template.directory.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut single = template.command("postgres");
        single.arg("--single").arg("-D").arg(template.directory.join("data")).arg("postgres");
        single.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut single = single.spawn().unwrap();
        single.stdin.take().unwrap().write_all(b"CREATE DATABASE mainspring\n").unwrap();
        assert!(single.wait().unwrap().success());
        let template = Arc::new(template);
        *cached = Arc::downgrade(&template);
        template
    }

    /// One with a new folder, and nothing in it.
    fn unmade(user: Option<(u32, u32)>, port: &str, settings: Vec<String>) -> Database {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("mainspring-pg-{}-{count}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        if let Some((uid, gid)) = user {
            chown(&directory, Some(uid), Some(gid)).unwrap();
        }
        Database {
            directory,
            server: None,
            pooler: None,
            user,
            settings,
            port: port.to_owned(),
            template: None,
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(Path::new(PROGRAMS).join(program));
        command.current_dir(&self.directory).env("PGUSER", "mainspring").stdin(Stdio::null());
        if let Some((uid, gid)) = self.user {
            command.gid(gid).uid(uid);
        }
        command
    }

    /// Starts the server, after [`kill`](Database::kill) too.
    pub(crate) fn begin(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.directory.join("log")).unwrap();
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.directory.join("data")).arg("-k").arg(&self.directory);
        command.args([
            "-p",
            &self.port,
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
            "-c",
            "max_connections=40",
        ]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        self.server = Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        for _ in 0..MAX_TRIES {
            // A look at the socket costs less than a process that finds none.
            if self.socket().exists() && self.psql("postgres", "SELECT 1").status.success() {
                return;
            }
            thread::park_timeout(PAUSE);
        }
        panic!("the database does not answer: {}", fs::read_to_string(self.directory.join("log")).unwrap());
    }

    /// Ends the server at once with all its sessions, and writes nothing more: when it begins again it has to
    /// read its log, as after a crash. Of a server that got SIGKILL some sessions go on for a moment.
    pub(crate) fn kill(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGQUIT);
        self.server.take().expect("it runs").wait().unwrap();
    }

    /// Starts a standby of it, which no commit waits for, and waits until it follows.
    pub(crate) fn follower(&self) -> Database {
        let mut standby = Database::unmade(self.user, &self.port, self.settings.clone());
        let mut copy = self.command("pg_basebackup");
        copy.arg("-h").arg(&self.directory).args(["-p", &self.port, "-c", "fast", "-X", "stream"]);
        // `-R`: what is written there is a standby, and follows the one that was copied.
        let copied =
            copy.args(["--no-sync", "-R", "-D"]).arg(standby.directory.join("data")).output().unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        standby.begin();
        let is_followed = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        assert!((0..MAX_TRIES).any(|_| self.ask(is_followed) == "1"), "the standby follows");
        standby
    }

    /// The same, and has each commit wait until the standby has it too.
    pub(crate) fn standby(&self) -> Database {
        let standby = self.follower();
        self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.ask("SELECT pg_reload_conf()");
        let is_followed = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        assert!((0..MAX_TRIES).any(|_| self.ask(is_followed) == "1"), "the standby follows");
        // The checkpointer tells the sessions that there is something to wait for. It may have begun with the
        // first request before it read the settings, and has read them when it begins with the second.
        self.ask("CHECKPOINT");
        self.ask("CHECKPOINT");
        standby
    }

    /// Has a standby get all that the database has, and then nothing more.
    pub(crate) fn stop_following(&self, database: &Database) {
        let place = database.ask("SELECT pg_current_wal_flush_lsn()");
        let has_it = format!("SELECT '{place}' <= pg_last_wal_replay_lsn()");
        assert!((0..MAX_TRIES).any(|_| self.ask(&has_it) == "t"), "the standby gets what there is");
        self.ask("ALTER SYSTEM SET primary_conninfo = ''");
        self.ask("SELECT pg_reload_conf()");
        let is_fed = "SELECT count(*) FROM pg_stat_wal_receiver";
        assert!((0..MAX_TRIES).any(|_| self.ask(is_fed) == "0"), "the standby gets nothing more");
    }

    /// Makes a standby a database that takes writes, and follows no other.
    pub(crate) fn promote(&self) {
        let data = self.directory.join("data");
        let done = self.command("pg_ctl").args(["promote", "--wait", "-D"]).arg(data).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let is_writable = || self.ask("SELECT pg_is_in_recovery()") == "f";
        assert!((0..MAX_TRIES).any(|_| is_writable()), "it was promoted");
    }

    /// Stops all sessions and the server where they are, or has them go on.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let server = self.server.as_ref().expect("it runs");
        let pid = nix::unistd::Pid::from_raw(i32::try_from(server.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Asks it something by `psql`.
    pub(crate) fn psql(&self, database: &str, sql: &str) -> Output {
        let mut command = self.command("psql");
        command.arg("-h").arg(&self.directory);
        command
            .args(["-p", &self.port, "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql])
            .output()
            .unwrap()
    }

    /// A session of `psql` that does this, and then sleeps until it is killed.
    pub(crate) fn session(&self, sql: &str) -> Child {
        let mut command = self.command("psql");
        command.arg("-h").arg(&self.directory).args(["-p", &self.port, "-qAtX", "-d", "mainspring"]);
        command.args(["-c", &format!("{sql}; SELECT pg_sleep(3600)")]).stdout(Stdio::null()).spawn().unwrap()
    }

    /// The same, where it must go well.
    pub(crate) fn ask(&self, sql: &str) -> String {
        let output = self.psql("mainspring", sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Has it do what is too long for an argument.
    pub(crate) fn script(&self, sql: &str) {
        let file = self.directory.join("script.sql");
        fs::write(&file, sql).unwrap();
        self.ask(&format!("\\i {}", file.display()));
    }

    /// How a program connects.
    pub(crate) fn url(&self) -> String {
        let (socket, port) = (self.directory.display(), &self.port);
        format!("host={socket} port={port} user=mainspring dbname=mainspring")
    }

    /// The same where the socket of another before it is in that folder.
    pub(crate) fn url_at(socket: &Path) -> String {
        format!("host={} port={PORT} user=mainspring dbname=mainspring", socket.display())
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join(format!(".s.PGSQL.{}", self.port))
    }

    /// Starts a pooler in transaction mode before it, and says how a program connects to that; `None` where
    /// there is none.
    pub(crate) fn pooled(&mut self) -> Option<String> {
        let program = Path::new("/usr/sbin/pgbouncer");
        if !program.exists() {
            assert!(std::env::var_os("CI").is_none(), "pgbouncer is not installed");
            eprintln!("skipped: pgbouncer is not installed (apt-get install pgbouncer)");
            return None;
        }
        let pool = self.directory.join("pool");
        fs::create_dir(&pool).unwrap();
        let users = pool.join("users");
        fs::write(&users, "\"mainspring\" \"\"\n").unwrap();
        let settings = format!(
            "[pgbouncer]\nunix_socket_dir = {}\nlisten_port = {PORT}\n\
             auth_type = any\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 4\n\
             [databases]\nmainspring = host={} port={PORT} user=mainspring\n",
            pool.display(),
            users.display(),
            self.directory.display()
        );
        fs::write(pool.join("settings.ini"), settings).unwrap();
        if let Some((uid, gid)) = self.user {
            chown(&pool, Some(uid), Some(gid)).unwrap();
        }
        let log = fs::File::create(pool.join("log")).unwrap();
        let mut command = Command::new(program);
        command.arg(pool.join("settings.ini")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        if let Some((uid, gid)) = self.user {
            command.gid(gid).uid(uid);
        }
        self.pooler = Some(command.spawn().unwrap());
        for _ in 0..MAX_TRIES {
            let mut command = self.command("psql");
            command.arg("-h").arg(&pool).args(["-p", PORT, "-qAtX", "-d", "mainspring", "-c", "SELECT 1"]);
            if command.output().unwrap().status.success() {
                return Some(Database::url_at(&pool));
            }
        }
        panic!("the pooler does not answer: {}", fs::read_to_string(pool.join("log")).unwrap());
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(mut pooler) = self.pooler.take() {
            let _ = pooler.kill();
            let _ = pooler.wait();
        }
        if self.server.is_some() {
            // At once, with all its children: SIGQUIT is the immediate shutdown.
            self.signal(nix::sys::signal::Signal::SIGCONT);
            self.signal(nix::sys::signal::Signal::SIGQUIT);
        }
        if let Some(mut server) = self.server.take() {
            let _ = server.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}
