//! Sums over crates: lines of code, assertions. And no function has a boolean parameter.
//!
//! ```text
//!   a row of ROWS   crates that stand together, and what they have at most and at least
//!        |
//!   goal            fewer lines: the house as it is meant to be; a row comes down to it, and up only with a reason
//! ```
//!
//! A line of code has something on it that is no comment, outside of tests. A boolean parameter does not say
//! at the call what it means. A setter does, whose name begins with `set_` or which takes nothing else, and
//! so does a condition that a function checks as `assert!` would, called `holds`. A method of a trait from
//! elsewhere has no choice.
//!
//! Cost: a walk over each syntax tree. It judges nothing else of a single file: see
//! [`budgets`](super::budgets).

use std::path::Path;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Finding, Source};

/// What crates have together.
struct Row {
    crates: &'static [&'static str],
    /// At most so many lines of code.
    lines: usize,
    /// What `lines` is to become.
    goal: usize,
    /// At least so many assertions in ten thousand lines of code. The goal is 100.
    assertions: usize,
}

// A row is raised by the lines of its assertions: 113 of the server, 33 of mainspring-cluster, 95 of the
// stores, 82 of processes and files, 37 of jobs, 60 of schedules, 50 of imports, 152 of the web, 85 of the
// commands, 163 of the tools and 21 of programs.
const ROWS: [Row; 12] = [
    // Raised: a delay queue is looked at and cleared, keys are borrowed, handles cross a caught panic, and
    // jobs of threads are joined. Two calls of Linux are made without nix, and latenesses can be left out. By
    // 117: each function that a program of one timer does not call is marked, which halves what it compiles.
    Row { crates: &["mainspring-queue", "mainspring"], lines: 12_480, goal: 10_400, assertions: 120 },
    Row { crates: &["mainspring-cron"], lines: 4_154, goal: 3_700, assertions: 100 },
    // `on = "all"`: places, lanes of admission; what waits for no worker is told; machines of workers, and
    // outputs that are read while they grow; what is due when it is submitted is read from nowhere, and keeps
    // its id through a takeover. Why a job waits is told by rows too.
    // The rate of a group, its text, its window of starts, and what a planner that takes over knows of it.
    // Raised by 53: an end is as old as it is, and what ran at a worker that lives has not killed it. By 3
    // for the progress of runs, as other rows were, and by 11 for a worker that has left. By 233, and the
    // rows below by 49: batches, for which runs wait. By 44, as the server by 24: each server of a pool tells
    // that a job waits for a rate, a batch or room. By 3: a job hears of no one-shot job. By 54, as the
    // server by 109 and the commands by 18: a run that waits says why, also of a one-shot job, by rows too.
    // By 11: what no pause holds is counted, so that a job of many runs that wait is not walked for each.
    Row { crates: &["mainspring-job"], lines: 11_511, goal: 7_700, assertions: 100 },
    // Raised: notifications that the loop has not read are one. A group in a job file has a rate. The lock of
    // a folder came from the store, which programs without SQLite do not have. By 348, as the store by 14
    // and the server by 143: each call that Linux alone has stands beside one of other systems. By 159: a
    // child borrows the server's memory until it executes its program, which halves the cost of a process.
    // By 44: a mail of a crontab is that of Debian's cron, byte for byte, and what a notification needs of a
    // machine is looked for. By 4: who starts is told that commands look at the data directory, not a server.
    // By 33: a program that was just executed is not waited for, and half as many again start. By 14: numbers
    // of the kernel may have 32 bits.
    Row {
        crates: &["mainspring-action", "mainspring-host", "mainspring-file", "mainspring-exec"],
        lines: 12_209,
        goal: 6_800,
        assertions: 100,
    },
    // Six foreign formats, each with a row for every key: half of the lines are rows.
    Row { crates: &["mainspring-import"], lines: 3_679, goal: 3_600, assertions: 100 },
    Row {
        crates: &["mainspring-rows", "mainspring-store", "mainspring-postgres"],
        lines: 4_836,
        goal: 3_600,
        assertions: 128,
    },
    // Raised: each line of the log has typed fields, in three forms; the zones on disk are followed, and runs
    // are started ahead. A program is told which of its submissions a lost planner may have written. Each
    // server of a pool answers what looks by the store. SQLite can be left out.
    Row { crates: &["mainspring-server"], lines: 12_151, goal: 7_500, assertions: 100 },
    // A server's part in a pool, from which serve and embed are made. Raised by 704: what asks for the lease,
    // and what answers where another plans, of which the command line had 540, and programs nothing. By
    // 36: the progress of runs, and what comes when a loop has ended is given back. By 85, as the stores by
    // 22: a candidate asks when the lease has run out, and tables are vacuumed after many ends.
    Row { crates: &["mainspring-cluster"], lines: 1_993, goal: 1_800, assertions: 99 },
    // Raised: a wrong body is told by its field, the description has what generated clients need, and metrics
    // have two formats.
    Row { crates: &["mainspring-web"], lines: 7_719, goal: 4_900, assertions: 127 },
    // Raised: a program of a pool is a worker beside planning; it submits in bulk, and has runs wait. Its
    // transactions submit, in PostgreSQL and in SQLite. Its errors show no type of a crate that is internal,
    // and its own submissions need no key. A program says the rate of a group. Files stand in the place of
    // those that touch SQLite where that is left out. Layers of tower and spans of tracing stand around runs.
    // Where it does not plan it has its socket, its page, labels.
    Row { crates: &["mainspring-embed"], lines: 4_518, goal: 2_600, assertions: 100 },
    Row { crates: &["mainspring-cli"], lines: 6_766, goal: 5_600, assertions: 100 },
    // Raised: other people's kinds of programs run on a database and in node, and crates are published dry.
    // The limits of a rate are among those that people meet, and more machines are compiled for. Jobs
    // without SQLite stand beside other versions of it. The oldest Rust is tried.
    // The surface of a library names no type of a crate that is internal. A program has diesel on PostgreSQL.
    // The library of jobs and the program are compiled for macOS. A provider of
    // identities is installed from npm. By 11: the same for Linux on ARM.
    // By 31: what breaks callers is named by cargo-semver-checks.
    Row { crates: &["mainspring-lab", "xtask"], lines: 10_591, goal: 7_000, assertions: 100 },
];

/// Checks every row, and that each crate is in one.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    check_rows(&ROWS, sources)
}

fn check_rows(rows: &[Row], sources: &[Source]) -> Vec<Finding> {
    let mut sums: Vec<Sum> = rows.iter().map(|_| Sum::default()).collect();
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let Some(name) = crate_of(&source.path) else { continue };
        match rows.iter().position(|row| row.crates.contains(&name)) {
            Some(index) => findings.extend(sums[index].add(source)),
            None => {
                findings.push(Finding::new(&source.path, 0, format!("{name} has no row in tidy/sums.rs")));
            }
        }
    }
    for (row, sum) in rows.iter().zip(sums) {
        let name = row.crates.join(" and ");
        let mut tell =
            |text: String| findings.push(Finding::new(Path::new("."), 0, format!("{name} has {text}")));
        if row.lines < sum.lines {
            tell(format!("{} lines of code, budget {}, goal {}", sum.lines, row.lines, row.goal));
        }
        if sum.assertions * 10_000 < row.assertions * sum.lines {
            let share = sum.assertions * 10_000 / sum.lines.max(1);
            tell(format!("{share} assertions in 10,000 lines, at least {}", row.assertions));
        }
    }
    findings
}

/// The crate whose sources a file is of.
fn crate_of(path: &Path) -> Option<&str> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["crates", name, "src", ..] | [name @ "xtask", "src", ..] => Some(name),
        _ => None,
    }
}

/// What files have together.
#[derive(Default)]
struct Sum {
    lines: usize,
    assertions: usize,
}

impl Sum {
    /// Adds a file. Returns the boolean parameters in it.
    fn add(&mut self, source: &Source) -> Vec<Finding> {
        let mut walk = Walk { sum: self, bools: Vec::new(), tests: Vec::new() };
        walk.visit_file(&source.syntax);
        let Walk { bools, tests, .. } = walk;
        let is_code = |(number, line): &(usize, &str)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("//") && !tests.iter().any(|part| part.contains(number))
        };
        self.lines += (1..).zip(source.text.lines()).filter(is_code).count();
        let text = "a boolean parameter: write two functions or an enum";
        let found = |line| Finding::new(&source.path, line, text);
        bools.into_iter().map(found).collect()
    }
}

struct Walk<'a> {
    sum: &'a mut Sum,
    /// The line of each boolean parameter.
    bools: Vec<usize>,
    /// The lines of tests.
    tests: Vec<std::ops::RangeInclusive<usize>>,
}

impl Walk<'_> {
    fn look(&mut self, signature: &syn::Signature) {
        let is_bool = |input: &&syn::FnArg| match input {
            syn::FnArg::Typed(input) => {
                let is_condition = matches!(&*input.pat, syn::Pat::Ident(name) if name.ident == "holds");
                !is_condition && matches!(&*input.ty, syn::Type::Path(path) if path.path.is_ident("bool"))
            }
            syn::FnArg::Receiver(_) => false,
        };
        let is_setter = signature.ident.to_string().starts_with("set_")
            || signature.receiver().is_some() && signature.inputs.len() == 2;
        if !is_setter {
            let bools = signature.inputs.iter().filter(is_bool);
            self.bools.extend(bools.map(|input| input.span().start().line));
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.look(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.trait_.is_none() {
            for part in &item.items {
                if let syn::ImplItem::Fn(function) = part {
                    self.look(&function.sig);
                }
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.look(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if super::layers::is_for_tests(&item.attrs) {
            self.tests.push(item.span().start().line..=item.span().end().line);
        } else {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let name = item.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        self.sum.assertions += usize::from(name.trim_start_matches("debug_").starts_with("assert"));
        visit::visit_macro(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row = Row { crates: &["a"], lines: 6, goal: 5, assertions: 1_000 };

    fn found(text: &str) -> Vec<String> {
        let source =
            Source::parse(Path::new("crates/a/src/lib.rs"), text.to_owned()).expect("the text is Rust");
        check_rows(&[ROW], &[source]).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn what_a_row_allows_is_no_finding() {
        let test = "#[cfg(test)]\nmod tests {\n    fn g(a: bool, b: bool) {}\n}\n";
        let text = format!("//! A.\n\nfn f(a: u8) {{\n    // Why.\n    assert!(a == 0);\n}}\n{test}");
        assert_eq!(found(&text), [""; 0]);
    }

    #[test]
    fn each_sum_over_its_row_is_named() {
        let text = "fn f() {}\n".repeat(7);
        assert_eq!(
            found(&text),
            ["a has 7 lines of code, budget 6, goal 5", "a has 0 assertions in 10,000 lines, at least 1000"]
        );
    }

    #[test]
    fn each_boolean_parameter_is_named_with_its_line() {
        let text = "fn f(a: u8, b: bool) {}\nimpl A { fn g(&self, a: bool, b: bool) { assert!(a) } }\n";
        let source =
            Source::parse(Path::new("crates/a/src/lib.rs"), text.to_owned()).expect("the text is Rust");
        let lines: Vec<usize> = check_rows(&[ROW], &[source]).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2, 2]);
    }

    #[test]
    fn setters_assertions_and_methods_of_other_traits_may_take_a_bool() {
        let text = "impl A { fn quiet(mut self, is_quiet: bool) {} fn set_all(&mut self, a: u8, b: bool) {} }\n\
                    fn ensure(holds: bool) {}\n\
                    impl T for A { fn f(a: bool, b: bool) { assert!(a) } }\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_crate_without_a_row_is_named() {
        let source = Source::parse(Path::new("crates/b/src/lib.rs"), String::new()).expect("nothing is Rust");
        let found = check_rows(&[], &[source]);
        assert_eq!(found[0].text, "b has no row in tidy/sums.rs");
    }
}
