//! The tree of a job file, parsed within limits: two bytes of a text can become a kilobyte of a table.
//!
//! ```text
//! text ─▶ tokens, counted ─▶ too many: a fault, and no tree
//!                         └▶ tree, and the errors of its syntax
//! ```
//!
//! Cost: the lexer runs twice.
//!
//! Does not know keys: see [`fields`](super::fields).

use toml::Spanned;
use toml::de::{DeTable, Error};
use toml_parser::lexer::TokenKind;

use crate::problem::Fault;
use crate::source::MAX_FILE_BYTES;

/// The most tokens of a file, each of which takes some 60 bytes while it is parsed. Blanks and line ends are
/// tokens too. A file of the greatest length has fewer, unless most of its words have one character.
const MAX_TOKENS: usize = 2_000_000;

/// The most dots, square brackets and braces that open outside of strings: ten for each of the most jobs.
/// Each may begin a table or a list, which takes a kilobyte.
pub(super) const MAX_NESTS: usize = 100_000;

const _: () = assert!(MAX_NESTS <= MAX_TOKENS);

/// Up to which length all errors of the syntax are told, and not the first alone: each line may have one, of
/// some 350 bytes.
const MAX_RECOVERED_BYTES: usize = 1 << 20;

const _: () = assert!(MAX_RECOVERED_BYTES as u64 <= MAX_FILE_BYTES);

/// The tree of a text, as far as it can be understood, and the errors of its syntax.
///
/// # Errors
///
/// A fault where it begins to be too much for a tree.
pub(super) fn parse(text: &str) -> Result<(Spanned<DeTable<'_>>, Vec<Error>), Fault> {
    let (mut token_count, mut nest_count) = (0, 0);
    for token in toml_parser::Source::new(text).lex() {
        token_count += 1;
        let is_nest = matches!(
            token.kind(),
            TokenKind::Dot | TokenKind::LeftCurlyBracket | TokenKind::LeftSquareBracket
        );
        nest_count += usize::from(is_nest);
        if MAX_TOKENS < token_count || MAX_NESTS < nest_count {
            let span = token.span().start()..token.span().end();
            let message = "the file has too many tables, lists and words up to here";
            return Err(Fault::new(span, message).with_hint("give the jobs in more than one file"));
        }
    }
    if text.len() <= MAX_RECOVERED_BYTES {
        return Ok(DeTable::parse_recoverable(text));
    }
    Ok(match DeTable::parse(text) {
        Ok(document) => (document, Vec::new()),
        Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_would_make_too_large_a_tree_is_a_fault_where_it_does() {
        let dots =
            |count: usize| format!("[defaults]\nenv.{}a = '{}'\n", "a.".repeat(count), ".".repeat(count));
        let fault = parse(&dots(2 * MAX_NESTS)).map(drop).expect_err("each dot is a table");
        // The header's and the first key's are two.
        assert_eq!(fault.span.start, "[defaults]\nenv.".len() + 2 * (MAX_NESTS - 2) + 1);
        let strings = format!("[defaults]\nstdin = '{}'\n", ".[{".repeat(MAX_NESTS));
        assert!(parse(&strings).is_ok_and(|(_, errors)| errors.is_empty()));
        assert!(parse(&"1 ".repeat(MAX_TOKENS)).is_err());
    }

    #[test]
    fn of_a_long_text_the_first_error_is_told_and_of_a_short_one_each() {
        let count = |line_count: usize| {
            let text = format!("[jobs.a]\nx\ny\n#{}", "x".repeat(line_count));
            parse(&text).map(|(_, errors)| errors.len())
        };
        assert_eq!((count(1).ok(), count(MAX_RECOVERED_BYTES).ok()), (Some(2), Some(1)));
    }
}
