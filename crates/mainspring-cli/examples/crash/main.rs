//! Kills the real server with SIGKILL at random moments, round after round, and checks from outside that it
//! kept its word.
//!
//! ```text
//! round:   start the server ── it recovers, jobs run, clients submit ── SIGKILL after a random time
//! at last: start it once more, let everything settle, and compare three things:
//!            what was acknowledged  ×  what the history says  ×  the lines that the jobs themselves wrote
//! ```
//!
//! Every job's command is this program with the argument `effect`: it appends one line to a file, so that
//! what happened is known without asking the server. `cargo xtask crash --rounds N` builds the server and
//! runs this.
//!
//! Cost: about half a second a round, and some seconds in the end.
//!
//! Does not simulate a power cut: what the kernel was given survives. That whole batches are on disk before
//! an answer is tested beside the store.
//!
//! Source: the crash tests of [SQLite](https://www.sqlite.org/testing.html#crash_testing), and
//! [Jepsen](https://jepsen.io/analyses), which judges by a history seen from outside.

mod check;
mod clients;
mod clock;
mod crash_server;
mod dice;
mod effect;
mod jobs;
mod settle;

use std::path::PathBuf;
use std::process::ExitCode;

use check::Verdict;
use clients::Clients;
use crash_server::CrashServer;
use dice::Dice;

/// How many one-shot jobs are submitted in all: of so many the server keeps the history.
const MAX_SUBMISSIONS: u64 = 9_000;

/// How many are submitted in a round at most.
const MAX_SUBMISSIONS_PER_ROUND: u64 = 40;

/// What was asked for on the command line.
struct CrashArgs {
    server: PathBuf,
    rounds: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("effect", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return effect::happen(rest);
    }
    let Some(asked) = read(&arguments) else {
        eprintln!("usage: crash SERVER --rounds N [--seed S]");
        return ExitCode::from(2);
    };
    match run(&asked) {
        Ok(verdict) => {
            for complaint in &verdict.complaints {
                println!("crash: {complaint}");
            }
            println!(
                "crash: rounds {} acknowledged {} lost {} doubled {} early {} (seed {})",
                asked.rounds,
                verdict.acknowledged_count,
                verdict.lost_count,
                verdict.doubled_count,
                verdict.early_count,
                asked.seed
            );
            if verdict.complaints.is_empty() {
                return ExitCode::SUCCESS;
            }
        }
        Err(error) => eprintln!("crash: {error}"),
    }
    eprintln!("again with: cargo xtask crash --rounds {} --seed {}", asked.rounds, asked.seed);
    ExitCode::FAILURE
}

fn read(arguments: &[String]) -> Option<CrashArgs> {
    let (server, options) = arguments.split_first()?;
    let mut asked = CrashArgs {
        server: PathBuf::from(server),
        rounds: 0,
        seed: clock::now_ns().unsigned_abs() % 1_000_000,
    };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let value = options.next()?.parse().ok()?;
        match option.as_str() {
            "--rounds" => asked.rounds = value,
            "--seed" => asked.seed = value,
            _ => return None,
        }
    }
    (1..=MAX_SUBMISSIONS).contains(&asked.rounds).then_some(asked)
}

fn run(asked: &CrashArgs) -> Result<Verdict, String> {
    let mut dice = Dice::new(asked.seed);
    let served = CrashServer::new(&asked.server, asked.seed)?;
    let clients = Clients::start(&served, asked.seed)?;
    let per_round = MAX_SUBMISSIONS_PER_ROUND.min(MAX_SUBMISSIONS / asked.rounds).max(1);
    let began_ns = clock::now_ns();
    for round in 1..=asked.rounds {
        clients.allow(per_round);
        let mut running = served.start()?;
        let gentle = dice.below(10) == 0;
        if gentle {
            clock::sleep_ms(dice.below(400));
            settle::resume(&served)?;
            running.ask_to_stop();
        }
        clock::sleep_us(delay_us(&mut dice));
        running.kill()?;
        if round % 50 == 0 {
            println!("crash: {round} rounds, {} acknowledged", clients.acknowledged_count());
        }
    }
    let (submissions, records) = settle::settle(&served, clients)?;
    let lines = effect::read(&served.effects())?;
    let verdict = check::check(&submissions, &records, &lines, began_ns);
    println!("crash: {}", verdict.summary);
    if verdict.complaints.is_empty() {
        served.remove();
    } else {
        println!("crash: everything is left in {}", served.folder().display());
    }
    Ok(verdict)
}

/// How long a server lives: often so short that it is killed while it starts and recovers.
fn delay_us(dice: &mut Dice) -> u64 {
    let most_ms = match dice.below(20) {
        0..=5 => 40,
        6..=14 => 500,
        15..=18 => 1_500,
        _ => 3_000,
    };
    dice.below(most_ms * 1_000)
}
