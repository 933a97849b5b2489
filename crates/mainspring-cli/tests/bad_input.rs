//! Every command rejects bad input: it ends with a code that its help has, says why in a sentence, and
//! changes nothing.
//!
//! | mistake | is made of |
//! |---|---|
//! | unknown option; option without its value, or with a value of another kind; missing or wrong argument | the definition of the command line |
//! | no server, no folder, a file in its place, a folder that may not be read; no such job | the row of the command |
//!
//! A new command without a row fails the test.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use clap::builder::ValueParser;
use clap::{Arg, CommandFactory};
use mainspring_cli::cli::Cli;
use nix::unistd::Uid;

use crate::program::root;
use crate::test_server::{IDLE, TestServer, folder, write};

/// The number of a user that is not ours, where we are root: root may read any folder.
const OTHER_USER: u32 = 65534;

/// Options of which every text has a meaning: of this one, that of a command.
const ANY_TEXT: [&str; 1] = ["--notify"];

/// What no argument of a certain kind is.
const NONSENSE: &str = "\u{1}nonsense";

/// Beyond what any of these commands needs, in seconds; reached only by one that continues instead of ending.
const BOUND_SECONDS: &str = "60";

/// Where commands look that are given no data directory: nothing is there, and nothing can be made.
const NO_DATA: &str = "/dev/null/mainspring";

/// How many commands run at a time.
const THREADS: usize = 4;

/// What a command is tried with.
struct Row {
    /// Its words.
    command: &'static str,
    /// Arguments with which it is understood, options first.
    good: &'static [&'static str],
    /// How it ends at a data directory without a server; `None` if it has nothing to do with one.
    alone: Option<i32>,
    /// Arguments that name a job, run or token which there is not, and how that ends at a server.
    missing: &'static [(&'static [&'static str], i32)],
}

impl Row {
    /// How it ends where the data directory is none.
    fn no_folder(&self) -> i32 {
        if self.finds() { 1 } else { self.alone.unwrap() }
    }

    /// How it ends at a data directory that it may not read.
    fn no_right(&self) -> i32 {
        match self.alone {
            Some(3) => 7,
            _ => self.no_folder(),
        }
    }

    /// Whether it prints what is wrong as its result.
    fn finds(&self) -> bool {
        self.command == "doctor"
    }
}

const fn row(command: &'static str, good: &'static [&'static str], alone: Option<i32>) -> Row {
    Row { command, good, alone, missing: &[] }
}

const fn naming(
    command: &'static str,
    good: &'static [&'static str],
    alone: Option<i32>,
    missing: &'static [(&'static [&'static str], i32)],
) -> Row {
    Row { command, good, alone, missing }
}

const DEAD: &str = "nobody@2026-01-01T00:00:00Z";

const ROWS: &[Row] = &[
    row("serve", &["examples/jobs.toml"], None),
    row("list", &[], Some(3)),
    naming("show", &["idle"], Some(3), &[(&["nobody"], 4), (&["a b"], 4), (&[""], 4)]),
    naming("history", &["idle"], Some(3), &[(&["nobody"], 4), (&["a b"], 4), (&["--group", "nobody"], 0)]),
    naming("logs", &["idle"], Some(3), &[(&["nobody"], 4), (&[DEAD], 4)]),
    naming("run", &["idle"], Some(3), &[(&["nobody"], 4), (&["--wait", "nobody"], 4), (&["a b"], 4)]),
    naming("at", &["+1h", "--", "true"], Some(3), &[]),
    naming("every", &["1h", "--", "true"], Some(3), &[]),
    naming("pause", &["idle"], Some(3), &[(&["nobody"], 4), (&["a b"], 4)]),
    naming("resume", &["idle"], Some(3), &[(&["nobody"], 4), (&["a b"], 4)]),
    naming("cancel", &["idle"], Some(3), &[(&["nobody"], 4), (&[DEAD], 4), (&["a b"], 4)]),
    naming("remove", &["idle"], Some(3), &[(&["nobody"], 4), (&["a b"], 4)]),
    naming(
        "backfill",
        &["--yes", "idle", "2026-01-01 00:00", "2026-01-02 00:00"],
        Some(3),
        &[
            (&["--yes", "nobody", "2026-01-01 00:00", "2026-01-02 00:00"], 4),
            (&["--yes", "idle", "2026-01-02 00:00", "2026-01-01 00:00"], 2),
        ],
    ),
    naming("rewind", &["--yes", "idle"], Some(3), &[(&["--yes", "nobody"], 4)]),
    naming("dead list", &["idle"], Some(3), &[(&["nobody"], 4)]),
    naming("dead retry", &[DEAD], Some(3), &[(&[DEAD], 4), (&["nobody"], 4)]),
    naming("dead drop", &[DEAD], Some(3), &[(&[DEAD], 4), (&["nobody"], 4)]),
    naming("apply", &["examples/jobs.toml"], Some(3), &[(&["no/such/file.toml"], 1), (&["/"], 1)]),
    row("export", &[], Some(3)),
    row("status", &[], Some(3)),
    naming("open", &[], Some(3), &[(&[], 5)]),
    naming("token add", &["--scope", "look", "mara"], None, &[(&["--scope", "look", "a b"], 2)]),
    row("token list", &[], None),
    naming("token remove", &["mara"], None, &[(&["nobody"], 4)]),
    naming("audit", &["idle"], Some(3), &[]),
    // Without a terminal it does not ask any server.
    row("top", &[], Some(2)),
    // It says what it finds, and that is no error of its own.
    row("doctor", &[], Some(0)),
    row("health", &[], Some(3)),
    row("check", &["examples/jobs.toml"], None),
    row("import", &["examples/crontab"], None),
    row("crontab", &["--root", "/dev/null", "-l"], None),
    row("next", &["0 3 * * *"], None),
    row("explain", &["0 3 * * *"], None),
    row("translate", &["--to", "oncalendar", "0 3 * * *"], None),
    row(
        "simulate",
        &["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z", "examples/crontab"],
        None,
    ),
    row("store copy", &["sqlite:no/such/folder", "postgres://nobody@localhost/none"], None),
    row("store migrate", &["--preview"], None),
    row("completions", &["bash"], None),
    row("man", &[], None),
];

/// A command line, how it has to end, and what is tried by it.
struct Case {
    args: Vec<String>,
    codes: Vec<i32>,
    what: String,
    is_foreign: bool,
}

/// All commands that do something, by their words.
fn commands() -> BTreeMap<String, clap::Command> {
    fn collect(prefix: &str, command: &clap::Command, all: &mut BTreeMap<String, clap::Command>) {
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = format!("{prefix}{}", command.get_name());
            match command.has_subcommands() {
                true => collect(&format!("{name} "), command, all),
                false => drop(all.insert(name, command.clone())),
            }
        }
    }
    let mut all = BTreeMap::new();
    let mut cli = Cli::command();
    cli.build();
    collect("", &cli, &mut all);
    all
}

#[test]
fn every_argument_has_a_help_text() {
    for (name, command) in commands() {
        let mute = command.get_arguments().find(|arg| !arg.is_hide_set() && arg.get_help().is_none());
        assert!(mute.is_none(), "{name}: {mute:?}");
    }
}

/// Whether any text will do, as far as the command line is concerned.
fn takes_anything(arg: &Arg) -> bool {
    let kind = arg.get_value_parser().type_id();
    let text = [ValueParser::string(), ValueParser::path_buf()].map(|parser| parser.type_id());
    text.contains(&kind) || kind == TypeId::of::<String>()
}

fn words(row: &Row, args: &[&str]) -> Vec<String> {
    row.command.split(' ').chain(args.iter().copied()).map(str::to_owned).collect()
}

/// The mistakes that the command line itself finds.
fn misunderstood(row: &Row, command: &clap::Command) -> Vec<Case> {
    let case = |what: String, args: Vec<String>| Case { args, codes: vec![2], what, is_foreign: false };
    // What follows `--` is another program's.
    let (before, after) =
        row.good.split_at(row.good.iter().position(|arg| *arg == "--").unwrap_or(row.good.len()));
    let with = |more: &[&str]| words(row, &[before, more, after].concat());
    let mut cases = vec![case("an unknown option".into(), with(&["--no-such-option"]))];
    if command.get_arguments().any(Arg::is_required_set) {
        cases.push(case("nothing".into(), words(row, &[])));
    }
    let positional_count = command.get_positionals().filter(|arg| !arg.is_last_set()).count();
    let takes_many =
        command.get_positionals().any(|arg| arg.get_num_args().is_some_and(|count| 1 < count.max_values()));
    if !takes_many {
        let surplus = vec!["surplus"; positional_count + 1];
        cases.push(case("too many arguments".into(), with(&surplus)));
    }
    let options =
        command.get_opts().filter(|arg| arg.get_num_args().is_none_or(|count| 0 < count.min_values()));
    for option in options {
        let name = format!("--{}", option.get_long().unwrap());
        cases.push(case(format!("{name} without a value"), words(row, &[&name])));
        if !takes_anything(option) && !ANY_TEXT.contains(&name.as_str()) {
            let nonsense = format!("{name}={NONSENSE}");
            cases.push(case(format!("{name} with nonsense"), with(&[&nonsense])));
        }
    }
    // The arguments come last.
    let first = before.len().saturating_sub(positional_count);
    for (index, arg) in command.get_positionals().filter(|arg| !arg.is_last_set()).enumerate() {
        if !takes_anything(arg) && first + index < before.len() {
            let mut args = row.good.to_vec();
            args[first + index] = NONSENSE;
            cases.push(case(format!("{} that is nonsense", arg.get_id()), words(row, &args)));
        }
    }
    cases
}

/// Runs the program in the root of the repository, as ourselves or as another user.
fn ran(program: &Path, case: &Case) -> (Option<i32>, String, String) {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", BOUND_SECONDS]).arg(program).args(&case.args).current_dir(root());
    command.env("TZ", "UTC").env("MAINSPRING_DATA", NO_DATA).env_remove("COLUMNS").stdin(Stdio::null());
    if case.is_foreign {
        command.uid(OTHER_USER).gid(OTHER_USER).current_dir("/");
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// What is wrong with how a command line ended.
fn complaint(program: &Path, case: &Case, documented: &[i32]) -> Option<String> {
    let (code, stdout, stderr) = ran(program, case);
    let mut wrong = Vec::new();
    let code = code.unwrap_or(-1);
    if !case.codes.contains(&code) {
        wrong.push(format!("ended with {code} and not {:?}", case.codes));
    }
    if !documented.contains(&code) {
        wrong.push(format!("its help does not have the code {code}"));
    }
    let finds = case.args[0] == "doctor" && code == 1;
    if finds && !stdout.contains("BAD ") {
        wrong.push("nothing that is BAD".to_owned());
    }
    if code != 0 && !finds {
        let first = stderr.lines().next().unwrap_or_default();
        let is_said = match code {
            // The command line has its usage below the sentence.
            2 => first.starts_with("error: ") || first.starts_with("mainspring: ") || first.contains("Usage"),
            _ => first.starts_with("mainspring: ") && stderr.lines().count() == 1,
        };
        if !is_said {
            wrong.push("no clear sentence".to_owned());
        }
        if !stdout.is_empty() {
            wrong.push("something on standard output".to_owned());
        }
    }
    if stderr.contains("panicked") {
        wrong.push("a panic".to_owned());
    }
    let text = || format!("{} ({:?}): {}: {stdout}{stderr}", case.what, case.args, wrong.join(", "));
    (!wrong.is_empty()).then(text)
}

/// The exit codes that a help lists.
fn documented(command: &clap::Command, whole: &clap::Command) -> Vec<i32> {
    let of = |command: &clap::Command| {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let rows = help.split_once("Exit codes:").map_or(String::new(), |(_, rows)| rows.to_owned());
        rows.lines().filter_map(|row| row.split_whitespace().next()?.parse().ok()).collect::<Vec<i32>>()
    };
    let own = of(command);
    if own.is_empty() { of(whole) } else { own }
}

/// Everything in a folder: name, size, content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => {
                found.insert(entry.path(), Vec::new());
                found.extend(content(&entry.path()));
            }
            kind if kind.is_file() => drop(found.insert(entry.path(), fs::read(entry.path()).unwrap())),
            _ => drop(found.insert(entry.path(), Vec::new())),
        }
    }
    found
}

/// Tries all, and fails with all that is wrong.
fn try_all(program: &Path, cases: &[(Case, Vec<i32>)]) {
    let complaints: Vec<String> = thread::scope(|scope| {
        let chunk = cases.len().div_ceil(THREADS).max(1);
        let threads: Vec<_> = cases
            .chunks(chunk)
            .map(|cases| {
                scope.spawn(move || {
                    let complaints =
                        cases.iter().filter_map(|(case, documented)| complaint(program, case, documented));
                    complaints.collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), cases.len(), complaints.join("\n"));
}

/// Each row with its command and the codes that it may end with.
fn table() -> Vec<(&'static Row, clap::Command, Vec<i32>)> {
    let mut commands = commands();
    let cli = Cli::command();
    let of = |row: &'static Row| {
        let command = commands.remove(row.command);
        let command = command.unwrap_or_else(|| panic!("there is no command `{}`", row.command));
        let whole = cli.find_subcommand(row.command.split(' ').next().unwrap()).unwrap().clone();
        let documented = documented(&command, &whole);
        (row, command, documented)
    };
    let table = ROWS.iter().map(of).collect();
    assert!(commands.is_empty(), "a new command needs a row: {:?}", commands.keys());
    table
}

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_mainspring"))
}

#[test]
fn each_command_says_what_it_does_not_understand() {
    let mut cases = Vec::new();
    for (row, command, documented) in table() {
        // What clap finds ends with 2, whatever else a command may end with.
        let codes = if documented.is_empty() { vec![0, 2] } else { documented };
        cases.extend(misunderstood(row, &command).into_iter().map(|case| (case, codes.clone())));
    }
    assert!(250 < cases.len(), "{} cases", cases.len());
    try_all(&program(), &cases);
}

#[test]
fn each_command_says_that_there_is_no_server_and_makes_nothing() {
    let own = folder("bad-places");
    let (empty, file) = (own.join("empty"), own.join("file"));
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o700)).unwrap();
    write(&file, "no folder\n");
    let mut cases = Vec::new();
    for (row, _, documented) in table().into_iter().filter(|(row, ..)| row.alone.is_some()) {
        let places = [
            (empty.clone(), "an empty folder", vec![row.alone.unwrap()]),
            (own.join("none"), "no folder", vec![row.no_folder()]),
            (file.clone(), "a file in its place", vec![1, row.no_folder()]),
        ];
        for (path, what, codes) in places {
            let args = words(row, &[&["--data", path.to_str().unwrap()], row.good].concat());
            cases.push((Case { args, codes, what: what.to_owned(), is_foreign: false }, documented.clone()));
        }
    }
    let before = content(&own);
    try_all(&program(), &cases);
    assert_eq!(content(&own), before);
    let _ = fs::remove_dir_all(&own);
}

#[test]
fn each_command_says_that_it_may_not_read_the_folder() {
    let own = folder("bad-rights");
    let closed = own.join("closed");
    fs::create_dir(&closed).unwrap();
    let is_root = Uid::effective().is_root();
    let program = if is_root {
        // The other user cannot reach the folder that it was built in.
        let copy = own.join("mainspring");
        assert!(Command::new("cp").args([&program(), &copy]).status().unwrap().success());
        chown(&closed, Some(0), Some(0)).unwrap();
        copy
    } else {
        program()
    };
    fs::set_permissions(&closed, fs::Permissions::from_mode(if is_root { 0o700 } else { 0o000 })).unwrap();
    let mut cases = Vec::new();
    for (row, _, documented) in table().into_iter().filter(|(row, ..)| row.alone.is_some()) {
        let good: Vec<&str> = row.good.iter().copied().filter(|arg| !arg.starts_with("examples/")).collect();
        let file = (good.len() < row.good.len()).then(|| root().join(row.good[row.good.len() - 1]));
        let file: Vec<&str> = file.iter().map(|path| path.to_str().unwrap()).collect();
        let args = words(row, &[&["--data", closed.to_str().unwrap()], &good[..], &file].concat());
        // Of a file that this user cannot reach either, that may be said first.
        let codes = if file.is_empty() { vec![row.no_right()] } else { vec![1, 7] };
        let case =
            Case { args, codes, what: "a folder that may not be read".to_owned(), is_foreign: is_root };
        cases.push((case, documented));
    }
    try_all(&program, &cases);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read_dir(&closed).unwrap().count(), 0);
    let _ = fs::remove_dir_all(&own);
}

#[test]
fn each_command_says_that_there_is_no_such_job_and_changes_nothing() {
    let served = TestServer::start("bad-names", IDLE);
    let data = served.data();
    let known =
        || [&["export"][..], &["list", "--json"], &["history", "--json"]].map(|args| served.ask(args).stdout);
    let before = known();
    let mut cases = Vec::new();
    for (row, _, documented) in table() {
        for (args, code) in row.missing {
            let args = words(row, &[&["--data", &data], *args].concat());
            let what = "something that is not there".to_owned();
            cases.push((Case { args, codes: vec![*code], what, is_foreign: false }, documented.clone()));
        }
    }
    try_all(&program(), &cases);
    assert_eq!(known(), before);
    served.stop();
}
