//! `cargo xtask`: see the library.

use std::process::ExitCode;

use xtask::{ci, instructions, simulate, tidy};

const USAGE: &str = "usage: cargo xtask ci | tidy | instructions [--accept] | simulate --histories N [--from SEED]

  ci            the gate: formatting, clippy, documentation and all tests
  tidy          only what a machine can check of STYLE.md and ARCHITECTURE.md
  instructions  fails where the default queue takes 10 % more instructions than are stored; --accept stores them anew
  simulate      histories of jobs beyond those of the tests";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = tidy::workspace_root();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ci"] => ci::run(&root),
        ["instructions"] => instructions::run(&root, instructions::Mode::Compare),
        ["instructions", "--accept"] => instructions::run(&root, instructions::Mode::Accept),
        ["tidy"] => report(&tidy::check(&root)),
        ["simulate", "--histories", histories] => simulate::run(&root, histories, "0"),
        ["simulate", "--histories", histories, "--from", from] => simulate::run(&root, histories, from),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn report(findings: &[tidy::Finding]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy");
        return ExitCode::SUCCESS;
    }
    println!("{} findings", findings.len());
    ExitCode::FAILURE
}
