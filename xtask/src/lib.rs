//! The project's own chores: [`ci`] runs the gate, [`fast`] a
//! part of it and [`features`] another, [`instructions`] counts instructions, [`map`] prints the map of the
//! code, [`reference`](mod@reference) makes the reference pages, [`built`] builds the real program,
//! [`example`] tests it, [`fuzz`] runs what needs a sanitizer, [`program`] starts other programs, [`publish`]
//! tries what a registry gets, [`simulate`] looks for histories of jobs that go wrong, [`dependencies`]
//! asks what is known against other people's crates, [`tools`], [`wheels`] and [`targets`] install what the
//! tests need, [`skips`] says what is left out, [`trials`] tries what SECURITY.md promises, and [`tidy`]
//! checks what a machine can check of STYLE.md.
//!
//! ```text
//! cargo xtask ci      formatting, clippy, documentation, all tests
//! cargo xtask fast    what a change touches, within two minutes
//! cargo xtask tidy    layers, budgets, headers, words, threads, links, reasons for dependencies
//! cargo xtask map [WORD]                 every file with the first line of its header
//! cargo xtask reference                  the pages of docs/reference, from the code
//! cargo xtask features                   each feature of the libraries alone
//! cargo xtask dependencies               licences, sources, advisories
//! cargo xtask trials                     what another user would try against a server of root's
//! cargo xtask instructions [--accept]    instructions of the default queue against those that are stored
//! cargo xtask publish [--really]         each crate's archive, unpacked and tried; then the registry gets them
//! cargo xtask simulate --histories N     more of them than the tests run
//! cargo xtask simulate --pools N         the same of several servers, of which one plans
//! cargo xtask crash --rounds N [--seed S]    kills the real server, then a program with jobs, and checks
//! cargo xtask address                    the tests of the queues under AddressSanitizer
//! cargo xtask fuzz [--seconds N]         each fuzz target a fixed number of times, or a search of N seconds
//! cargo xtask bench-serve                the figures of the durable server
//! cargo xtask page                       the page in a browser
//! cargo xtask contract [OPTION..]        the HTTP API against its description
//! ```

#![forbid(unsafe_code)]

pub mod bare;

pub mod beside;

pub mod built;

pub mod ci;

pub mod dependencies;

pub mod example;

pub mod failures;

pub mod fast;

pub mod features;

pub mod fuzz;

pub mod instructions;

pub mod map;

pub mod program;

pub mod publish;

pub mod reference;

pub mod semver;

pub mod simulate;

pub mod skips;

pub mod targets;

pub mod tidy;

pub mod tools;

pub mod trials;

pub mod web;

pub mod wheels;

// The first page of the repository: its example is compiled here, because no package holds that file.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
