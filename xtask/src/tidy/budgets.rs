//! Lines per file and per function.
//!
//! ```text
//!              median   90 %   99 %   largest
//!   file          150    350            500     lines of a file that is not a test, its own tests included
//!   function        6     25     60      70     lines from signature to closing brace, outside tests
//! ```
//!
//! A file or function over the largest is named; a percentile over its budget names the project.

use std::path::Path;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Finding, Source};

const FILE_LINES_MAX: usize = 500;
const FILE_PERCENTILES: [(usize, usize); 2] = [(50, 150), (90, 350)];
const FUNCTION_LINES_MAX: usize = 70;
const FUNCTION_PERCENTILES: [(usize, usize); 3] = [(50, 6), (90, 25), (99, 60)];

const _: () = assert!(are_below(&FILE_PERCENTILES, FILE_LINES_MAX));
const _: () = assert!(are_below(&FUNCTION_PERCENTILES, FUNCTION_LINES_MAX));

/// Whether more of them have more lines, and none more than the largest.
const fn are_below(percentiles: &[(usize, usize)], most: usize) -> bool {
    let (mut percent, mut lines, mut index) = (0, 0, 0);
    while index < percentiles.len() {
        if percentiles[index].0 <= percent || percentiles[index].1 <= lines {
            return false;
        }
        (percent, lines) = percentiles[index];
        index += 1;
    }
    percent < 100 && lines < most
}

/// Checks all files.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut file_lines, mut function_lines) = (Vec::new(), Vec::new());
    for source in sources {
        let functions = functions(source);
        let mut find = |line, text: String| findings.push(Finding::new(&source.path, line, text));
        for Function { name, start, lines } in functions.iter().filter(|it| FUNCTION_LINES_MAX < it.lines) {
            find(*start, format!("fn {name} has {lines} lines, budget 70"));
        }
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            find(lines, format!("the file has {lines} lines, budget 500"));
        }
        if !source.is_test() {
            file_lines.push(lines);
            function_lines.extend(functions.iter().map(|function| function.lines));
        }
    }
    findings.extend(over_percentiles("files", &mut file_lines, &FILE_PERCENTILES));
    findings.extend(over_percentiles("functions", &mut function_lines, &FUNCTION_PERCENTILES));
    findings
}

fn over_percentiles(what: &str, lines: &mut [usize], budgets: &[(usize, usize)]) -> Vec<Finding> {
    lines.sort_unstable();
    let over = budgets.iter().filter_map(|&(percent, budget)| {
        let &found = lines.get((lines.len().max(1) - 1) * percent / 100)?;
        let text = format!("{percent} % of the {what} have up to {found} lines, budget {budget}");
        (found > budget).then(|| Finding::new(Path::new("."), 0, text))
    });
    over.collect()
}

struct Function {
    name: String,
    start: usize,
    lines: usize,
}

/// The functions outside of `#[cfg(test)]` modules.
fn functions(source: &Source) -> Vec<Function> {
    let mut collector = Collector { functions: Vec::new() };
    collector.visit_file(&source.syntax);
    collector.functions
}

struct Collector {
    functions: Vec<Function>,
}

impl Collector {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let start = signature.span().start().line;
        let lines = block.span().end().line + 1 - start;
        self.functions.push(Function { name: signature.ident.to_string(), start, lines });
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !super::source::is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: String) -> Vec<String> {
        let source = Source::parse(Path::new("crates/a/src/lib.rs"), text).expect("the text is Rust");
        check(&[source]).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_long_function_and_a_long_file_are_named() {
        let body = "    let _ = 1;\n".repeat(69);
        assert_eq!(check_text(format!("fn long() {{\n{body}}}\n"))[0], "fn long has 71 lines, budget 70");
        assert!(check_text("// x\n".repeat(501))[0].starts_with("the file has 501 lines"));
    }

    #[test]
    fn functions_in_tests_do_not_count() {
        let body = "    let _ = 1;\n".repeat(80);
        let findings = check_text(format!("#[cfg(test)]\nmod tests {{\nfn long() {{\n{body}}}\n}}\n"));
        assert_eq!(findings, [] as [String; 0]);
    }

    #[test]
    fn a_median_over_its_budget_is_named() {
        let body = "    let _ = 1;\n".repeat(8);
        let findings = check_text(format!("fn one() {{\n{body}}}\n"));
        assert_eq!(findings, ["50 % of the functions have up to 10 lines, budget 6"]);
    }
}
