//! The figures of the durable server, each with its answers checked.
//!
//! | figure | how |
//! |---|---|
//! | submissions a second | over the socket: one client that waits for each answer, 32 such clients, one client that sends 1,000 at a time; beside `beanstalkd -f 0` if it is installed |
//! | lateness | 10,000 jobs due over one minute: due to the first thing that their processes do; beside it a thread that sleeps and spawns |
//! | looks | 10,000 jobs with 100,000 open runs: `status`, `show`, `history`, `list` |
//! | 64 browsers | 10,000 jobs, and what the browsers add to the time of an answer of the loop |
//! | a million pending | memory, and the time from the start of the process to its first answer |
//!
//! `cargo xtask bench-serve` builds the server and runs this; words after it choose figures: `submit`,
//! `late`, `look`, `browsers`, `million`.
//!
//! Cost: about three minutes, and a gigabyte of disk.
//!
//! Does not compare what the two servers do beyond keeping a job: one knows history, keys and policies, the
//! other tubes.
//!
//! Source: the protocol of
//! [beanstalkd](https://github.com/beanstalkd/beanstalkd/blob/master/doc/protocol.txt).

mod browsers;
mod clock;
mod late;
mod look;
mod marks;
mod million;
mod server;
mod submit;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if marks::is_mark(&arguments) {
        return ExitCode::SUCCESS;
    }
    let Some((program, wanted)) = arguments.split_first() else {
        eprintln!("usage: bench_serve SERVER [submit] [late] [million] [look] [browsers]");
        return ExitCode::from(2);
    };
    match run(&PathBuf::from(program), wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-serve: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(program: &Path, wanted: &[String]) -> Result<(), String> {
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    println!("| figure | value |\n|---|---|");
    if is_wanted("submit") {
        submit::measure(program)?;
    }
    if is_wanted("late") {
        late::measure(program)?;
    }
    if is_wanted("look") {
        look::measure(program)?;
    }
    if is_wanted("browsers") {
        browsers::measure(program)?;
    }
    if is_wanted("million") {
        million::measure(program)?;
    }
    Ok(())
}
