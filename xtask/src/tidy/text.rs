//! Checks the words of files and names.
//!
//! - Every file begins with a header, `//!`, and the header with its subject: see `QUESTION_WORDS`.
//! - Modules, types and functions are not called by words that stand for nothing.
//! - Tests are sentences: no `test_`. None is ignored.
//! - No left-overs: a note to do something needs an issue's number; other marks do not land.
//! - A comment keeps within 110 columns, as rustfmt keeps the code; it does not wrap comments.
//! - A header names a source where there is one. That there is none is not said, and it ends with a sentence.
//! - A doc comment says more than one word, and a comment has plain words: see `REPLACED`.
//! - `unsafe` only in the files that `xtask/layers.toml` lists, and each of those holds some.

use std::path::Path;

use syn::visit::{self, Visit};

use super::{Finding, Source, layer_file, words};

/// If only one of these fits, the boundary is wrong.
const EMPTY_WORDS: [&str; 8] = ["manager", "util", "utils", "helper", "helpers", "common", "misc", "base"];

/// The width of a line: the `max_width` of rustfmt.toml.
const LINE_COLUMNS_MAX: usize = 110;

/// Phrases in comments, and what is better. A subject is a thread, a caller, a client, a person.
const REPLACED: [(&str, &str); 8] = [
    ("whoever", "the subject has a name"),
    ("whomever", "the subject has a name"),
    ("nobody", "the subject has a name"),
    ("who asks", "the caller"),
    ("anew", "again"),
    ("goes on", "continues"),
    ("lets go of", "releases"),
    ("some milliseconds", "a few milliseconds"),
];

/// Words that begin a question, where a header says what the module is or does.
const QUESTION_WORDS: [&str; 7] = ["What", "Which", "How", "Where", "Whether", "Who", "When"];

/// Checks all files; `unsafe_files` may hold unsafe code, and no others.
pub fn check(unsafe_files: &[String], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unused: Vec<&String> = unsafe_files.iter().collect();
    for source in sources {
        let (found, unsafe_lines) = check_source(source);
        findings.extend(found);
        let is_listed = unsafe_files.iter().any(|path| source.path == Path::new(path));
        if !is_listed {
            let text = format!("unsafe code outside of the files listed in {}, unsafe", layer_file::PATH);
            findings.extend(unsafe_lines.iter().map(|&line| Finding::new(&source.path, line, text.clone())));
        } else if !unsafe_lines.is_empty() {
            unused.retain(|path| source.path != Path::new(path));
        }
    }
    findings.extend(unused.into_iter().map(|path| {
        Finding::new(Path::new(layer_file::PATH), 0, format!("`{path}` is listed and holds no unsafe code"))
    }));
    findings
}

/// The findings of one file, and the lines where its unsafe code begins.
fn check_source(source: &Source) -> (Vec<Finding>, Vec<usize>) {
    let mut findings = Vec::new();
    let mut find = |line: usize, text: &str| findings.push(Finding::new(&source.path, line, text));
    if !source.text.starts_with("//! ") {
        find(1, "the file has no header: it begins with //! and a sentence");
    }
    if let Some(word) = question_word(&source.text) {
        find(1, &format!("the header begins with `{word}`: it begins with its subject"));
    }
    let mut is_block = false;
    for (number, line) in (1..).zip(source.text.lines()) {
        is_block ^= is_fence(line);
        if let Some(mark) = left_over(line) {
            find(number, &format!("{mark} does not land"));
        }
        if !is_block && is_too_wide(line) {
            find(number, &format!("the comment has {} columns, at most 110", line.chars().count()));
        }
        if names_no_source(line) {
            find(number, "a header without a source says nothing about it");
        }
        if let Some(fault) = replaced(line) {
            find(number, &fault);
        }
    }
    for index in one_word_docs(&source.text) {
        find(index + 1, "a doc comment of one word says nothing that the name does not");
    }
    if let Some(index) = empty_end(&source.text) {
        find(index + 1, "the header ends with an empty line");
    }
    let mut names = Names { source, findings, unsafe_lines: Vec::new() };
    names.visit_file(&source.syntax);
    (names.findings, names.unsafe_lines)
}

/// The word of [`QUESTION_WORDS`] with which a file's header begins.
fn question_word(text: &str) -> Option<&'static str> {
    let header = text.strip_prefix("//!")?.trim_start();
    let first = header.split(|c: char| !c.is_alphanumeric()).next()?;
    QUESTION_WORDS.into_iter().find(|known| *known == first)
}

/// A mark that does not land. The marks are put together here, so that this file is none of them.
fn left_over(line: &str) -> Option<String> {
    let comment = line.split_once("//").map(|(_, comment)| comment)?;
    let marks = [["FIX", "ME"], ["XX", "X"], ["HA", "CK"]].map(|parts| parts.concat());
    let to_do = ["TO", "DO"].concat();
    let has_number = comment.contains(&format!("{to_do}(#"));
    marks.into_iter().find(|mark| comment.contains(mark.as_str())).or_else(|| {
        (comment.contains(&to_do) && !has_number).then(|| format!("a {to_do} without an issue's number"))
    })
}

/// Whether a line begins or ends a block in a comment: a picture or code, which cannot be wrapped.
fn is_fence(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("//");
    comment.is_some_and(|comment| comment.trim_start_matches(['/', '!']).trim_start().starts_with("```"))
}

/// Whether a line has a comment and is too wide. A comment of one word, such as a long link, cannot be
/// wrapped, nor can a row of a table.
fn is_too_wide(line: &str) -> bool {
    let trimmed = line.trim_start();
    // A link in a string is no comment.
    let comment = trimmed.strip_prefix("//").or_else(|| Some(trimmed.split_once(" // ")?.1));
    let words = comment.map(|comment| comment.trim_start_matches(['/', '!']).trim());
    let is_wrapped = |words: &str| words.contains(char::is_whitespace) && !words.starts_with('|');
    LINE_COLUMNS_MAX < line.chars().count() && words.is_some_and(is_wrapped)
}

/// Whether a header says that it has no source. The words are put together here, as the marks are.
fn names_no_source(line: &str) -> bool {
    line.starts_with("//!") && line.trim_end().ends_with(&["Source:", " own."].concat())
}

/// A phrase of [`REPLACED`] in a comment, and what it says better.
fn replaced(line: &str) -> Option<String> {
    let comment = line.trim_start().strip_prefix("//")?.to_ascii_lowercase();
    let words: Vec<&str> = comment.split(|c: char| !c.is_alphanumeric()).collect();
    let is_in = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).any(|found| found == phrase)
    };
    let (phrase, better) = REPLACED.into_iter().find(|(phrase, _)| is_in(phrase))?;
    Some(format!("`{phrase}`: {better}"))
}

/// The indices of the lines that are the only one of their doc comment and hold one word, with a full stop.
/// One without is the text of an option of the program.
fn one_word_docs(text: &str) -> Vec<usize> {
    let docs: Vec<Option<&str>> = text.lines().map(|line| line.trim_start().strip_prefix("///")).collect();
    let is_alone = |index: usize| {
        let before = index.checked_sub(1).and_then(|index| docs[index]);
        before.is_none() && docs.get(index + 1).is_none_or(Option::is_none)
    };
    let is_one_word = |doc: &str| doc.trim().ends_with('.') && doc.split_whitespace().count() == 1;
    (0..docs.len()).filter(|&index| docs[index].is_some_and(is_one_word) && is_alone(index)).collect()
}

/// The index of the last line of a header, if it is empty.
fn empty_end(text: &str) -> Option<usize> {
    let last = text.lines().take_while(|line| line.starts_with("//!")).enumerate().last()?;
    (last.1.trim_end() == "//!").then_some(last.0)
}

struct Names<'a> {
    source: &'a Source,
    findings: Vec<Finding>,
    unsafe_lines: Vec<usize>,
}

impl Names<'_> {
    fn check_name(&mut self, identifier: &syn::Ident) {
        let name = identifier.to_string();
        let words = words(&name);
        if let Some(word) = words.iter().find(|word| EMPTY_WORDS.contains(&word.as_str())) {
            self.find(identifier, format!("`{name}`: a name says more than {word}"));
        }
        self.check_value(identifier);
    }

    fn check_value(&mut self, identifier: &syn::Ident) {
        let fault = words::fault_of_value(&identifier.to_string()).filter(|_| !self.source.is_test());
        if let Some(fault) = fault {
            self.find(identifier, format!("`{identifier}`: {fault}"));
        }
    }

    fn check_type(&mut self, identifier: &syn::Ident) {
        self.check_name(identifier);
        if let Some(fault) = words::fault(&identifier.to_string()) {
            self.find(identifier, format!("`{identifier}`: {fault}"));
        }
    }

    fn check_function(&mut self, signature: &syn::Signature, attributes: &[syn::Attribute]) {
        self.check_name(&signature.ident);
        let has = |name: &str| attributes.iter().any(|attribute| attribute.path().is_ident(name));
        if has("test") && signature.ident.to_string().starts_with("test_") {
            self.find(&signature.ident, format!("`{}`: a test's name is a sentence", signature.ident));
        }
        if has("ignore") {
            self.find(&signature.ident, format!("`{}`: no test is ignored", signature.ident));
        }
        if let syn::Safety::Unsafe(keyword) = &signature.safety {
            self.unsafe_lines.push(keyword.span.start().line);
        }
    }

    fn find(&mut self, identifier: &syn::Ident, text: String) {
        self.findings.push(Finding::new(&self.source.path, identifier.span().start().line, text));
    }
}

/// The words of a name, in snake or camel case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().expect("there is a word").extend(letter.to_lowercase());
        }
    }
    words
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Mod(item) => self.check_name(&item.ident),
            syn::Item::Struct(syn::ItemStruct { ident, .. })
            | syn::Item::Enum(syn::ItemEnum { ident, .. })
            | syn::Item::Trait(syn::ItemTrait { ident, .. })
            | syn::Item::Type(syn::ItemType { ident, .. }) => self.check_type(ident),
            syn::Item::Fn(item) => self.check_function(&item.sig, &item.attrs),
            _ => (),
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.check_function(&item.sig, &item.attrs);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        field.ident.iter().for_each(|identifier| self.check_value(identifier));
        visit::visit_field(self, field);
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.check_value(&pattern.ident);
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.unsafe_lines.push(block.unsafe_token.span.start().line);
        visit::visit_expr_unsafe(self, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Vec<String> {
        let source =
            Source::parse(Path::new("crates/a/src/b.rs"), text.to_owned()).expect("the text is Rust");
        check(&[], &[source]).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_comment_that_is_too_wide_is_named_unless_it_is_one_word() {
        let of_width =
            |width: usize| format!("//! A.\n// {}\n", "ab ".repeat(width / 3) + &"c".repeat(width % 3));
        assert_eq!(check_text(&of_width(107)), [] as [String; 0]);
        assert_eq!(check_text(&of_width(108)), ["the comment has 111 columns, at most 110"]);
        let row = of_width(108).replacen("// ", "// | ", 1);
        assert_eq!(check_text(&row), [] as [String; 0], "a row of a table");
        let picture = format!("//! A.\n//!\n//! ```text\n//! {0}\n//! ```\n//! {0}\n", "ab ".repeat(40));
        assert_eq!(check_text(&picture).len(), 1, "only what is outside of the block");
        assert_eq!(check_text(&format!("//! A.\n//! {}\n", "x".repeat(200))), [] as [String; 0]);
        let code = format!("//! A.\nconst A: &str = \"https://a.b/ {}\";\n", "x y ".repeat(50));
        assert_eq!(check_text(&code), [] as [String; 0], "rustfmt decides about code");
    }

    #[test]
    fn a_header_that_says_it_has_no_source_is_named() {
        let text = ["//! A.\n//!\n//! Source:", " own.\n"].concat();
        assert_eq!(check_text(&text), ["a header without a source says nothing about it"]);
    }

    #[test]
    fn a_header_that_ends_with_an_empty_line_is_named() {
        assert_eq!(check_text("//! A.\n//!\n\nfn a() {}"), ["the header ends with an empty line"]);
        assert_eq!(check_text("//! A.\n//!\n//! B.\n\nfn a() {}"), [] as [String; 0]);
    }

    #[test]
    fn a_doc_comment_of_one_word_is_named() {
        let found = check_text("//! A.\nstruct A {\n    /// Which.\n    a: u8,\n}");
        assert_eq!(found, ["a doc comment of one word says nothing that the name does not"]);
        for right in ["/// Which job.\n", "/// Which\n", "/// Which\n/// job.\n", "// Which.\n"] {
            assert_eq!(check_text(&format!("//! A.\n{right}struct A;")), [] as [String; 0], "{right}");
        }
    }

    #[test]
    fn a_phrase_that_a_plainer_one_replaces_is_named() {
        let word = ["who", "ever"].concat();
        let found = check_text(&format!("//! A.\n// It wakes {word} waits.\nfn a() {{}}"));
        assert_eq!(found, [format!("`{word}`: the subject has a name")]);
        let (phrase, other) = (["goes", "on"].join(" "), ["goes", "one"].join(" "));
        let found = check_text(&format!("//! A.\n// It {phrase}, {other} by one.\nfn a() {{}}"));
        assert_eq!(found, [format!("`{phrase}`: continues")]);
        assert_eq!(check_text(&format!("//! A.\n// It {other}.\nfn a() {{}}")), [] as [String; 0]);
    }

    #[test]
    fn a_value_that_is_called_by_a_verb_is_named() {
        let found =
            check_text("//! A.\nstruct A { said: u8 }\nfn told(asked: u8) { let kept = |heard: u8| 0; }");
        let faults = ["said", "told", "asked", "kept", "heard"]
            .map(|name| format!("`{name}`: a name says what it holds"));
        assert_eq!(found, faults);
        assert_eq!(check_text("//! A.\nstruct A { said_at: u8 }\nfn f() { a.said; }"), [] as [String; 0]);
    }

    #[test]
    fn a_file_without_a_header_is_named() {
        assert!(check_text("fn a() {}")[0].contains("no header"));
        assert_eq!(check_text("//! A file.\nfn a() {}"), [] as [String; 0]);
    }

    #[test]
    fn a_header_that_begins_with_a_question_word_is_named() {
        for word in QUESTION_WORDS {
            let found = check_text(&format!("//! {word} it does.\nfn a() {{}}"));
            assert_eq!(found, [format!("the header begins with `{word}`: it begins with its subject")]);
        }
        for right in
            ["//! Whenever it runs.\n", "//! A.\n//! What it does.\n", "//! A.\n\n/// Which job.\nfn a() {}"]
        {
            assert_eq!(check_text(right), [] as [String; 0], "{right}");
        }
    }

    #[test]
    fn empty_words_in_names_are_named() {
        let findings =
            check_text("//! A.\nstruct TimerManager;\nfn help_util() {}\nmod common {}\nfn basement() {}");
        assert_eq!(findings.len(), 3, "{findings:?}");
    }

    #[test]
    fn tests_are_sentences_and_run() {
        let findings = check_text("//! A.\n#[test]\nfn test_it() {}\n#[test]\n#[ignore]\nfn it_works() {}");
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn left_overs_and_unlisted_unsafe_are_named() {
        let mark = ["FIX", "ME"].concat();
        let to_do = ["TO", "DO"].concat();
        let text = format!(
            "//! A.\n// {mark} later\n// {to_do} soon\n// {to_do}(#7) soon\nfn a() {{ unsafe {{}} }}"
        );
        assert_eq!(check_text(&text).len(), 3, "{:?}", check_text(&text));
        assert_eq!(check_text("//! A.\npub unsafe fn a() {}").len(), 1);
    }

    #[test]
    fn listed_files_may_be_unsafe_and_are() {
        let found = |text: &str| -> Vec<String> {
            let path = "crates/a/src/sys.rs";
            let source = Source::parse(Path::new(path), text.to_owned()).expect("the text is Rust");
            check(&[path.to_owned()], &[source]).iter().map(ToString::to_string).collect()
        };
        assert_eq!(found("//! A.\nfn a() { unsafe {} }"), [] as [String; 0]);
        let unused = "xtask/layers.toml:0: `crates/a/src/sys.rs` is listed and holds no unsafe code";
        assert_eq!(found("//! A.\nfn a() {}"), [unused]);
    }
}
