//! `cargo xtask`: see the library.

use std::process::ExitCode;

use xtask::{ci, instructions, tidy};

const USAGE: &str = "usage: cargo xtask ci | tidy | instructions [--accept]

  ci     the gate: formatting, clippy, documentation and all tests
  tidy   only what a machine can check of STYLE.md and ARCHITECTURE.md
  instructions [--accept]
         fails where the default queue takes 10 % more instructions than are stored; --accept stores them anew";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = tidy::workspace_root();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ci"] => ci::run(&root),
        ["instructions"] => instructions::run(&root, instructions::Mode::Compare),
        ["instructions", "--accept"] => instructions::run(&root, instructions::Mode::Accept),
        ["tidy"] => report(&tidy::check(&root)),
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
