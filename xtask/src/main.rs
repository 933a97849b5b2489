//! `cargo xtask`: see the library.

use std::process::ExitCode;

use xtask::built::{Build, TESTED};
use xtask::{
    bare, beside, ci, dependencies, example, fast, features, fuzz, instructions, map, publish, reference,
    semver, simulate, tidy, tools, trials, web,
};

const USAGE: &str = "usage: cargo xtask ci | fast [COMMIT] | tidy | map [WORD] | reference | instructions [--accept]
       cargo xtask publish [--really]
       cargo xtask simulate --histories N [--from SEED] | simulate --pools N ..
       cargo xtask tools | dependencies | features | semver | trials | address | bare | beside | fuzz [--seconds N]
       cargo xtask crash --rounds N [--seed S] | chaos --rounds N [--seed S] | bench-serve | compare-queues [--processes] [--rounds N]
       cargo xtask page | contract [OPTION..]
       cargo xtask crash --tested .. | chaos --tested .. | page --tested | page --without-browser | contract --tested ..

  ci            the gate: formatting, clippy, documentation and all tests
  fast          what the changed crates and those above them need, within two minutes
  tidy          only what a machine can check of STYLE.md and ARCHITECTURE.md
  map           every file with the first line of its header, or those whose path has WORD in it
  reference     writes the pages of docs/reference from the code
  publish       packs each crate, unpacks it away from the workspace and tries it there; --really then publishes all
  tools         installs what the tests need, where it may
  dependencies  their licences and sources, and whether anything is known against them, with cargo-deny
  features      none, each and all of the libraries' features, without a warning, with cargo-hack
  semver        what breaks a program that was written for an earlier state of the libraries, with cargo-semver-checks
  trials        what another user of the machine would do to a server of root's: as root, or those are skipped
  instructions  fails where the default queue takes 10 % more instructions than are stored; --accept stores the new ones
  simulate      histories of jobs beyond those of the tests; --pools: of several servers at one store
  crash         kills the real server at random, N times, then a program with jobs, and checks what they promised
  chaos         four servers on a real PostgreSQL, a fault in each of N rounds, and what was promised checked
  bench-serve   the figures of the durable server, beside beanstalkd if that is there
  compare-queues  jobs in PostgreSQL through the public API, beside graphile-worker, pg-boss, apalis, beanstalkd and procrastinate
  page          the page in a browser: types, unit tests, accessibility, keys, hostile text
  contract      the HTTP API against its OpenAPI description, with schemathesis; options of its `run`
  --tested      with the program as the tests build it, and not optimised: the gate does so
  address       the tests of the queues under AddressSanitizer
  beside        the crates that other programs have beside ours: whether cargo finds versions for all
  bare          the queues without std, and the libraries and the program on other targets
  fuzz          each fuzz target as the gate runs it, or a search for so many seconds";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = tidy::workspace_root();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ci"] => ci::run(&root),
        ["fast"] => fast::run(&root, None),
        ["fast", base] => fast::run(&root, Some(base)),
        ["tools"] => tools::run(),
        ["dependencies"] => dependencies::run(&root),
        ["features"] => features::run(&root),
        ["trials"] => trials::run(&root),
        ["instructions"] => instructions::run(&root, instructions::Mode::Compare),
        ["instructions", "--accept"] => instructions::run(&root, instructions::Mode::Accept),
        ["tidy"] => report(&tidy::check(&root)),
        ["map", words @ ..] if words.len() < 2 => {
            map::run(&root, words.first().unwrap_or(&""));
            Ok(())
        }
        ["reference"] => reference::run(&root),
        ["publish"] => publish::run(&root, publish::Mode::Dry),
        ["publish", "--really"] => publish::run(&root, publish::Mode::Real),
        ["simulate", option, count] if simulate::knows(option) => simulate::run(&root, option, count, "0"),
        ["simulate", option, count, "--from", from] if simulate::knows(option) => {
            simulate::run(&root, option, count, from)
        }
        ["bare"] => bare::run(&root),
        ["semver"] => semver::run(&root),
        ["beside"] => beside::run(&root),
        ["address"] => fuzz::address(&root),
        ["fuzz"] => fuzz::fuzz(&root, None),
        ["fuzz", "--seconds", seconds] => fuzz::fuzz(&root, Some(seconds)),
        ["page", "--without-browser"] => web::page_without_browser(&root),
        ["page"] => web::page(&root, Build::Optimised),
        ["page", TESTED] => web::page(&root, Build::Tested),
        ["contract", rest @ ..] => web::contract(&root, rest),
        ["crash", rest @ ..] => example::crash(&root, rest),
        ["chaos", rest @ ..] => example::run(&root, "chaos", rest),
        ["compare-queues", rest @ ..] => example::compare_queues(&root, rest),
        ["bench-serve", rest @ ..] => example::run(&root, "bench_serve", rest),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn report(findings: &[tidy::Finding]) -> Result<(), String> {
    for finding in findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy");
        return Ok(());
    }
    Err(format!("{} findings", findings.len()))
}
