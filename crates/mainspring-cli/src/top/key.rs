//! Keys out of the bytes that a terminal sends.
//!
//! Cost: a look at each byte.
//!
//! Does not wait for the rest of a sequence: a terminal sends one at once, and a lone ESC is the key.
//!
//! Source: ECMA-48, XTerm Control Sequences.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what stands on the keys")]
pub enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Tab,
    Interrupt,
    Suspend,
    Redraw,
}

/// Sequences behind ESC, and what they stand for.
const SEQUENCES: [(&str, Key); 14] = [
    ("[A", Key::Up),
    ("[B", Key::Down),
    ("OA", Key::Up),
    ("OB", Key::Down),
    ("[5~", Key::PageUp),
    ("[6~", Key::PageDown),
    ("[H", Key::Home),
    ("[F", Key::End),
    ("OH", Key::Home),
    ("OF", Key::End),
    ("[1~", Key::Home),
    ("[4~", Key::End),
    ("[7~", Key::Home),
    ("[8~", Key::End),
];

const _: () = {
    let mut index = 0;
    while index < SEQUENCES.len() {
        let sequence = SEQUENCES[index].0.as_bytes();
        assert!(matches!(sequence[0], b'[' | b'O'), "`keys` knows by it that ESC is no key of its own");
        assert!(matches!(sequence[sequence.len() - 1], b'@'..=b'~'), "`sequence_length` would go on");
        index += 1;
    }
};

/// The keys in what was read. Sequences that stand for no key of ours are left out.
pub fn keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = &text[..];
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '\u{1b}' => {
                let after = &rest[1..];
                match SEQUENCES.iter().find(|(sequence, _)| after.starts_with(sequence)) {
                    Some((sequence, key)) => {
                        found.push(*key);
                        length += sequence.len();
                    }
                    None if after.starts_with(['[', 'O']) => length += sequence_length(after),
                    None => found.push(Key::Escape),
                }
            }
            '\r' | '\n' => found.push(Key::Enter),
            '\t' => found.push(Key::Tab),
            '\u{3}' => found.push(Key::Interrupt),
            '\u{c}' => found.push(Key::Redraw),
            '\u{1a}' => found.push(Key::Suspend),
            '\u{8}' | '\u{7f}' => found.push(Key::Backspace),
            c if c.is_control() => {}
            c => found.push(Key::Char(c)),
        }
        rest = &rest[length..];
    }
    found
}

/// How long a sequence is that is not known: up to its final letter.
fn sequence_length(after: &str) -> usize {
    let end = after.char_indices().skip(1).find(|(_, c)| matches!(c, '@'..='~'));
    end.map_or(after.len(), |(index, c)| index + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        let cases: [(&[u8], &[Key]); 8] = [
            (b"q", &[Key::Char('q')]),
            (b"\x1b[A\x1b[B", &[Key::Up, Key::Down]),
            (b"\x1b", &[Key::Escape]),
            (b"\x1b[5~j", &[Key::PageUp, Key::Char('j')]),
            (b"\x1b[1;5Cx", &[Key::Char('x')]),
            (b"\r\x7f\t\x03", &[Key::Enter, Key::Backspace, Key::Tab, Key::Interrupt]),
            ("ä".as_bytes(), &[Key::Char('ä')]),
            (b"\xff\x00", &[Key::Char('\u{fffd}')]),
        ];
        for (bytes, expected) in cases {
            assert_eq!(keys(bytes), expected, "{bytes:?}");
        }
    }
}
