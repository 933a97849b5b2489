//! Sums over crates: lines of code, assertions. And no function has a boolean parameter.
//!
//! ```text
//!   a row of ROWS   crates that stand together, and what they have at most and at least
//!        |
//!   house + later   fewer lines: the house as it is meant to be; a row comes down to it, and up only with a reason
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

/// At least so many assertions are in ten thousand lines of code.
const ASSERTIONS: usize = 100;

/// What crates have together.
struct Row {
    crates: &'static [&'static str],
    /// At most so many lines of code.
    lines: usize,
    /// The budget of these crates as they were drawn at edc82b45, for what they did then.
    house: usize,
    /// The lines that came since with what they did not do then, by the changes that brought it.
    later: usize,
}

// What a row has later is named above it. Between the sum of `house` and `later`, and `lines`, is what is
// left to save; the lines of the assertions are in it.
const ROWS: [Row; 12] = [
    // Nanoseconds of periods, memory that is given back, ends that wait, handles over a caught panic, and
    // programs of one timer that compile nothing else.
    Row { crates: &["mainspring-queue", "mainspring"], lines: 12_017, house: 10_400, later: 787 },
    // All of a time is understood or refused; a search goes forwards alone.
    Row { crates: &["mainspring-cron"], lines: 3_862, house: 3_700, later: 166 },
    // Workers and their leases, jobs of each server, rates, batches, progress, reasons why a run waits, jobs
    // that come back within a day, places of what is wrong in a policy, bounds of what waits for a group and
    // for notifications, names that make room for others, silences that count from a definition, dead letters
    // that count once, long names of notifications, starts of machines in pools, ends by a server's own hand,
    // reports that come before planning begins, histories of removed jobs, ends
    // that workers reported who are gone, notifications of each user.
    Row { crates: &["mainspring-job"], lines: 11_652, house: 7_700, later: 2_986 },
    // Files that change and are absent, bounds for what one file takes, chats, mails and pings in their
    // forms, Debian's cron, other systems, a start without a fork, settings that cannot work, long headers,
    // labels that are words, values in URLs, what copies on write, a place among connections, secrets that
    // are too short to be masked, notifications of each user, mailers.
    Row {
        crates: &["mainspring-action", "mainspring-host", "mainspring-file", "mainspring-exec"],
        lines: 12_100,
        house: 6_800,
        later: 4_197,
    },
    // Six foreign formats, each with a row for every key: half of the lines are rows. Literals of Python,
    // templates and drop-ins of systemd, defaults of keys that are left out, what fugit and APScheduler take,
    // specifiers of systemd, last times.
    Row { crates: &["mainspring-import"], lines: 4_212, house: 0, later: 4_221 },
    // An outbox in a file, histories by state, workers' orders and reports, a store on Windows, why one is
    // busy, a log that gives its room back, questions over a new session, a step of the schema, a limit of
    // the size of files, databases that take no writes, histories of removed jobs, an index that is not
    // mapped, groups of each owner, journals of a file that took the place of an open one.
    Row {
        crates: &["mainspring-rows", "mainspring-store", "mainspring-postgres"],
        lines: 4_637,
        house: 3_600,
        later: 684,
    },
    // Files at rest, zones that change, typed fields of the log, starts ahead of their records, a database
    // from which each server answers, other systems, why a store is busy, long starts of a planner, times of
    // starts, messages in the form of the log, files of pools whose text is as it was, a lease that two ends
    // share, a loop that stood still, pages where another plans, output of dead letters, rests, turns at a
    // stream, a store at the limit of files, mailers that are missing, clocks where none plans, how long runs
    // took.
    Row { crates: &["mainspring-server"], lines: 12_085, house: 7_500, later: 3_094 },
    // Progress of runs, what comes after the end of a loop, a vacuum, slots for sessions, ends by a server's
    // own hand, sessions that a loop gave up, notes of people at other servers, why none plans.
    Row { crates: &["mainspring-cluster"], lines: 2_001, house: 1_800, later: 266 },
    // Limits that have an owner, long bodies, tags and meanings for generated clients, two kinds of metrics,
    // names of the entries of crontabs in a preview, pages behind what is gone, bodies that are no lists,
    // headers of output.
    Row { crates: &["mainspring-web"], lines: 7_531, house: 4_900, later: 1_144 },
    // Transactions of the program, typed handlers, progress, layers of tower, a member that does not plan.
    Row { crates: &["mainspring-embed"], lines: 4_276, house: 2_600, later: 1_326 },
    // Crontabs of users, imports, waits for the runs of each server, options that are refused where they mean
    // nothing, times that look back and those by a clock that was ahead, outages that are clipped and joined,
    // commands that keep no server out, servers that say nothing, authorities of a file, how long runs took,
    // options that are none before a time with a hyphen.
    Row { crates: &["mainspring-cli"], lines: 6_683, house: 5_600, later: 349 },
    // Programs of other people's kinds, other machines, packages, the oldest Rust, real neighbours, a btrfs.
    Row { crates: &["mainspring-lab", "xtask"], lines: 9_747, house: 7_000, later: 1_227 },
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
            let goal = row.house + row.later;
            tell(format!("{} lines of code, budget {}, goal {goal}", sum.lines, row.lines));
        }
        if sum.assertions * 10_000 < ASSERTIONS * sum.lines {
            let share = sum.assertions * 10_000 / sum.lines.max(1);
            tell(format!("{share} assertions in 10,000 lines, at least {ASSERTIONS}"));
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
        if super::source::is_for_tests(&item.attrs) {
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

    const ROW: Row = Row { crates: &["a"], lines: 6, house: 4, later: 1 };

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
            ["a has 7 lines of code, budget 6, goal 5", "a has 0 assertions in 10,000 lines, at least 100"]
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
