//! Measures a pool of three servers: falls of the planner and of workers, late starts, process jobs a second,
//! and the queries of a pool that is idle or looked at.
//!
//! | figure | from | to |
//! |---|---|---|
//! | takeover | SIGKILL of the owner | the next start record, by another owner, of a job that is due each second |
//! | worker lost | SIGKILL of a worker | the next start record of what ran there, a second after its end |
//! | lateness of records | when a one-shot job is due | its start record, which may come before that |
//! | lateness of processes | when it is due | the first line of its program |
//! | the same beside it | when a thread that sleeps is to spawn that program | its first line |
//! | process jobs | the submission of many | the end of the last; one server and three, and processor time |
//! | idle | | transactions of the database in a second while no client asks for anything |
//! | one page | | the same while Chromium shows the page of a server that does not plan, if it is installed |
//!
//! The moments of records are those of the database: a trigger notes when a start record is inserted. A
//! program reads the clock of the machine, which is the same one here.
//!
//! Cost: 25 s for a fall of each kind, and three minutes for the rest.
//!
//! Does not measure with a database on another machine.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed, and says where")]
#![allow(clippy::disallowed_methods, reason = "it measures in real time")]

#[path = "../../../mainspring-postgres/tests/database.rs"]
#[allow(dead_code, reason = "the tests of the store use the rest")]
mod database;
#[path = "../bench_serve/marks.rs"]
mod marks;
#[path = "../bench_serve/processor.rs"]
mod processor;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use database::Database;
use marks::{MARK, is_mark, percentile};
use processor::{Processor, Took};

/// How many servers there are.
const SERVERS: usize = 3;

/// The most takeovers: an hour of them.
const MAX_TAKEOVERS: usize = 180;

/// How many one-shot jobs are submitted, and over how many seconds they are due.
const JOBS: usize = 1_000;
const SPREAD_S: u64 = 30;

/// How long after the submissions the first is due: the planner looks for them each second.
const AHEAD_S: u64 = 5;

/// How many process jobs are submitted at once.
const PROCESS_JOBS: usize = 8_000;

/// How long a pool rests before it is measured, and how long it is looked at.
const REST: Duration = Duration::from_secs(15);
const IDLE_S: u64 = 20;

/// How often something is asked for that takes a lease at most, and after how long again: a question takes
/// a few milliseconds of a processor, which are those of the pool.
const MAX_TRIES: usize = 10_000;
const LOOK: Duration = Duration::from_millis(20);

const WATCH: &str = "CREATE TABLE public.noted (epoch int8, job text, late_us int8, at int8);
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.assigned IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.assigned IS DISTINCT FROM NEW.assigned) THEN
            INSERT INTO public.noted VALUES ((NEW.document::jsonb ->> 'fence')::int8 >> 40, NEW.job,
                (mainspring.now_ns() - NEW.nominal) / 1000, mainspring.now_ns());
        END IF; RETURN NULL; END $$;
    CREATE TRIGGER note AFTER INSERT OR UPDATE ON mainspring.open_run FOR EACH ROW EXECUTE FUNCTION public.note()";

/// The data directory of a server.
fn data(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("server{index}"))
}

struct Pool {
    program: PathBuf,
    folder: PathBuf,
    servers: Vec<Child>,
    database: Database,
}

fn started(program: &Path, folder: &Path, index: usize) -> Child {
    let log = fs::File::create(folder.join(format!("log{index}"))).unwrap();
    let mut command = Command::new(program);
    command.args(["serve", "--listen=127.0.0.1:0", "--data"]).arg(data(folder, index));
    command.arg("--store-file").arg(folder.join("store")).arg(folder.join("jobs.toml"));
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

impl Pool {
    fn start(program: PathBuf, server_count: usize, jobs: &str) -> Option<Pool> {
        let settings = ["fsync=on", "synchronous_commit=on"].map(str::to_owned);
        let database = Database::start_with(&settings)?;
        let folder =
            std::env::temp_dir().join(format!("mainspring-figures-{}-{server_count}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("jobs.toml"), jobs).unwrap();
        fs::write(folder.join("store"), database.url()).unwrap();
        let servers = (0..server_count).map(|index| started(&program, &folder, index)).collect();
        let pool = Pool { program, folder, servers, database };
        pool.owner();
        Some(pool)
    }

    /// What a question is answered with, empty while the tables are not there.
    fn ask(&self, sql: &str) -> String {
        String::from_utf8_lossy(&self.database.psql("mainspring", sql).stdout).trim().to_owned()
    }

    /// Waits until a question has this answer.
    fn until(&self, sql: &str, answer: &str) {
        let is_so = (0..MAX_TRIES).any(|_| {
            sleep(LOOK);
            self.ask(sql) == answer
        });
        assert!(is_so, "{sql}: {answer}");
    }

    /// Waits for an owner that runs.
    fn owner(&self) -> usize {
        for _ in 0..MAX_TRIES {
            sleep(LOOK);
            let owner = self.ask("SELECT owner FROM mainspring.planner WHERE clock_timestamp() < until");
            let is_it = |server: &Child| owner.starts_with(&format!("process {} on ", server.id()));
            if let Some(index) = self.servers.iter().position(is_it) {
                return index;
            }
        }
        panic!("no server owns the jobs: see {}", self.folder.display());
    }

    /// Waits until a number is there.
    fn number(&self, sql: &str) -> i64 {
        let number = (0..MAX_TRIES).find_map(|try_index| {
            sleep(LOOK * u32::from(0 < try_index));
            self.ask(sql).parse().ok()
        });
        number.expect("it comes")
    }

    /// How long the pool starts nothing when its owner is killed, in milliseconds.
    fn takeover_ms(&mut self) -> i64 {
        let owner = self.owner();
        // It has started something, so what follows is not its beginning.
        let epoch =
            self.number("SELECT n.epoch FROM noted AS n JOIN mainspring.planner AS s USING (epoch) LIMIT 1");
        let killed = self.number("SELECT mainspring.now_ns()");
        self.servers[owner].kill().unwrap();
        self.servers[owner].wait().unwrap();
        let next = self.number(&format!("SELECT min(at) FROM noted WHERE {epoch} < epoch"));
        self.servers[owner] = started(&self.program, &self.folder, owner);
        (next - killed) / 1_000_000
    }

    /// How long what ran at a worker is started nowhere when that is killed, in milliseconds.
    fn loss_ms(&mut self, round: usize) -> i64 {
        let key = format!("long-{round}");
        self.ask(&format!(
            "SELECT mainspring.submit('{{\"process\": {{\"run\": [\"/bin/sleep\", \"60\"]}}, \"policies\": \"retry=3,backoff=1s,on=abandoned\"}}',
                key => '{key}')"
        ));
        let of = |what: &str| {
            format!(
                "SELECT {what} FROM mainspring.once_key AS k JOIN noted AS n ON n.job = k.name
                    JOIN mainspring.open_run AS r ON r.job = k.name JOIN mainspring.worker AS w ON w.id = r.worker
                    WHERE k.key = '{key}'"
            )
        };
        let id = self.number(&of("substring(w.name FROM 'process (\\d+) on')"));
        let killed = self.number("SELECT mainspring.now_ns()");
        let index = self.servers.iter().position(|server| i64::from(server.id()) == id).unwrap();
        self.servers[index].kill().unwrap();
        self.servers[index].wait().unwrap();
        let next = self.number(&format!("{} AND {killed} < n.at LIMIT 1", of("n.at")));
        self.servers[index] = started(&self.program, &self.folder, index);
        (next - killed) / 1_000_000
    }

    /// How many processes that do nothing it starts and ends in a second, and what each takes.
    fn process_rate(&self) -> (i64, Took) {
        let processor = Processor::now();
        let before = self.number("SELECT mainspring.now_ns()");
        let sql = format!(
            "SELECT count(mainspring.submit('{{\"process\": {{\"run\": [\"/bin/true\"]}}}}')) FROM generate_series(1, {PROCESS_JOBS})"
        );
        assert_eq!(self.ask(&sql), PROCESS_JOBS.to_string());
        let left = "SELECT (SELECT count(*) FROM mainspring.inbox) + (SELECT pending + open FROM mainspring.planner)";
        self.until(left, "0");
        let took = self.number("SELECT mainspring.now_ns()") - before;
        (i64::try_from(PROCESS_JOBS).unwrap() * 1_000_000_000 / took, processor.took(PROCESS_JOBS))
    }

    /// How late the start records of one-shot jobs are, and their processes, in microseconds.
    fn lateness_us(&self) -> [Vec<i64>; 2] {
        let (own, marks) = (std::env::current_exe().unwrap(), self.folder.join("marks"));
        let sql = format!(
            "SELECT count(mainspring.submit('{{\"process\": {{\"run\": [{own:?}, \"{MARK}\", {marks:?}]}}}}',
                clock_timestamp() + interval '{AHEAD_S} s' + (i * {SPREAD_S}.0 / {JOBS}) * interval '1 s', key => 'late-' || i))
            FROM generate_series(1, {JOBS}) AS i"
        );
        assert_eq!(self.ask(&sql), JOBS.to_string());
        let open =
            "SELECT (SELECT count(*) FROM mainspring.inbox) + (SELECT count(*) FROM mainspring.pending)";
        sleep(Duration::from_secs(AHEAD_S + SPREAD_S));
        self.until(open, "0");
        let late =
            self.ask("SELECT n.late_us FROM noted AS n JOIN mainspring.once_key AS k ON k.name = n.job AND k.key LIKE 'late-%'");
        self.until("SELECT count(*) FROM mainspring.open_run", "0");
        let records = late.lines().map(|line| line.parse().unwrap()).collect();
        [records, marks::read(&marks, JOBS)]
    }

    /// How many transactions of the pool the database had in a second.
    fn idle_rate(&self) -> f64 {
        let count = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'mainspring'";
        sleep(REST);
        let before = self.number(count);
        sleep(Duration::from_secs(IDLE_S));
        (self.number(count) - before) as f64 / IDLE_S as f64
    }

    /// The same while a browser shows a page; `None` where there is no browser.
    fn page_rate(&self) -> Option<f64> {
        let other = (self.owner() + 1) % SERVERS;
        let mut open = Command::new(&self.program);
        let link = open.args(["open", "--print", "--data"]).arg(data(&self.folder, other)).output().unwrap();
        let mut browser = Command::new("chromium");
        browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]);
        browser.args(["--no-first-run", "--disable-quic", "--remote-debugging-port=0"]);
        browser.arg(format!("--user-data-dir={}", self.folder.join("browser").display()));
        browser.arg(String::from_utf8_lossy(&link.stdout).trim());
        let mut browser =
            browser.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let rate = self.idle_rate();
        let _ = browser.kill();
        let _ = browser.wait();
        Some(rate)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn print(what: &str, unit: &str, mut values: Vec<i64>) {
    values.sort_unstable();
    let [least, half, most, last] =
        [values[0], percentile(&values, 50), percentile(&values, 99), values[values.len() - 1]];
    println!(
        "| {what} | {} | {least} {unit} | {half} {unit} | {most} {unit} | {last} {unit} |",
        values.len()
    );
}

fn usage() -> ExitCode {
    eprintln!("usage: pool_figures SERVER TAKEOVERS, at most {MAX_TAKEOVERS}");
    ExitCode::from(2)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if is_mark(&arguments) {
        return ExitCode::SUCCESS;
    }
    let number = |text: &String| text.parse::<usize>().ok();
    let [program, takeovers] = arguments.as_slice() else { return usage() };
    let Some(takeovers @ 1..=MAX_TAKEOVERS) = number(takeovers) else { return usage() };
    let program = PathBuf::from(program);
    let never = "[jobs.never]\ncron = '0 0 29 2 *'\nrun = ['/bin/true']\n";
    let Some(pool) = Pool::start(program.clone(), SERVERS, never) else { return ExitCode::SUCCESS };
    let rate = pool.idle_rate();
    println!("idle pool of {SERVERS}: {rate:.1} transactions a second");
    match pool.page_rate() {
        Some(rate) => println!("the same with one page open: {rate:.1}"),
        None => println!("the same with one page open: not measured, as chromium is not installed"),
    }
    let (rate, took) = pool.process_rate();
    println!("process jobs a second: {rate} with {SERVERS} servers ({took} in the database and elsewhere)");
    let Some(one) = Pool::start(program.clone(), 1, never) else { return ExitCode::SUCCESS };
    let (rate, took) = one.process_rate();
    println!("the same with one: {rate} ({took})");
    drop(one);
    println!("| what | count | least | p50 | p99 | most |\n|---|---|---|---|---|---|");
    pool.ask(WATCH);
    let [records, processes] = pool.lateness_us();
    print("lateness of a start record", "us", records);
    print("lateness of its process", "us", processes);
    print(
        "lateness of a process that a sleeping thread spawns",
        "us",
        marks::floor(&pool.folder.join("floor"), JOBS, Duration::from_secs(SPREAD_S)),
    );
    drop(pool);
    // What ran at the planner's own worker does not keep the next from starting.
    let often = "[jobs.often]\nevery = '1s'\noverlap = 'allow'\nrun = ['/bin/true']\n";
    let Some(mut pool) = Pool::start(program, SERVERS, often) else { return ExitCode::SUCCESS };
    pool.ask(WATCH);
    let times = (0..takeovers).map(|_| pool.takeover_ms()).collect();
    print("takeover after kill -9", "ms", times);
    let times = (0..takeovers).map(|round| pool.loss_ms(round)).collect();
    print("started elsewhere after kill -9 of a worker", "ms", times);
    ExitCode::SUCCESS
}
