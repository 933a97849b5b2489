//! Words of a shell.
//!
//! Cost: one pass.
//!
//! Does not read command lines: `mainspring_file::crontab::word` does.

/// A word as a shell reads it: in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Words as a command line.
pub(crate) fn line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_that_a_shell_would_change_gets_quotes() {
        assert_eq!(
            line(["/bin/a", "--x=1", "", "b c", "it's", "$HOME", "*"]),
            r"/bin/a --x=1 '' 'b c' 'it'\''s' '$HOME' '*'"
        );
    }
}
