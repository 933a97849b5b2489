//! YAML and JSON as a tree of values, each with its place.
//!
//! ```text
//! text ─▶ events of the parser ─▶ a stack of open lists and tables ─▶ Node { value, place }
//!                                  └ as deep as MAX_DEPTH               └ as many as MAX_NODES
//! ```
//!
//! An alias is a copy of what its anchor stands for. Copies count, so that ten lines which stand for a
//! thousand million values are a problem at the alias that goes too far. `<<` lays a table under another.
//!
//! Cost: time and memory in proportion to the text and to what its aliases stand for.
//!
//! Does not tell numbers from texts: each reader knows what it wants.
//!
//! Source: YAML 1.2, <https://yaml.org/spec/1.2.2/>.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::finding::{Findings, Place};

/// How deep lists and tables may be nested: a manifest has a dozen levels.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many values a file may have, those that aliases stand for included.
pub(crate) const MAX_NODES: usize = 400_000;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Text(String),
    /// A text in quotes, which is no number and no yes or no.
    Quoted(String),
    List(Vec<Node>),
    /// Keys and values, in the order of the file.
    Table(Vec<(Node, Node)>),
}

/// The language of a call that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Ruby,
    Python,
}

impl Language {
    /// Yes, no, nothing, and what stands between a key and its value.
    fn words(self) -> [&'static str; 4] {
        match self {
            Language::Ruby => ["true", "false", "nil", " => "],
            Language::Python => ["True", "False", "None", ": "],
        }
    }

    /// A text as a literal in double quotes, of which the language computes nothing.
    fn quoted(self, text: &str) -> String {
        let escaped = |c: char| match c {
            '"' | '\\' => format!("\\{c}"),
            '#' if self == Language::Ruby => "\\#".to_owned(),
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        };
        format!("\"{}\"", text.chars().map(escaped).collect::<String>())
    }
}

impl Node {
    /// The text of a text or number.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Quoted(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list; of anything else none.
    pub(crate) fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(nodes) => nodes,
            _ => &[],
        }
    }

    /// Keys and values of a table, with those that `<<` lays under it; of anything else none.
    pub(crate) fn pairs(&self) -> Vec<(&str, &Place, &Node)> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        // Each table is under one that is an own value in the tree, so this ends.
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            let Value::Table(pairs) = &node.value else { continue };
            for (key, value) in pairs {
                match key.text() {
                    Some("<<") if value.list().is_empty() => open.push(value),
                    Some("<<") => open.extend(value.list().iter().rev()),
                    Some(name) if seen.insert(name) => found.push((name, &key.place, value)),
                    _ => {}
                }
            }
        }
        found
    }

    /// The value of a key.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.pairs().into_iter().find(|(key, ..)| *key == name).map(|(.., value)| value)
    }

    /// Whether it is a table.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// Whether it is a yes, a no, or neither.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// The value on one line, as a literal of a language.
    pub(crate) fn literal(&self, language: Language) -> String {
        let [yes, no, nothing, arrow] = language.words();
        match &self.value {
            Value::Null => nothing.to_owned(),
            Value::Text(text) => match self.truth() {
                Some(true) => yes.to_owned(),
                Some(false) => no.to_owned(),
                None if is_number(text) => text.clone(),
                None => language.quoted(text),
            },
            Value::Quoted(text) => language.quoted(text),
            Value::List(nodes) => {
                let parts: Vec<String> = nodes.iter().map(|node| node.literal(language)).collect();
                format!("[{}]", parts.join(", "))
            }
            Value::Table(_) => {
                let pairs = self.pairs();
                let pairs = pairs
                    .iter()
                    .map(|(name, _, value)| language.quoted(name) + arrow + &value.literal(language));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn count(&self) -> usize {
        1 + match &self.value {
            Value::List(nodes) => nodes.iter().map(Node::count).sum::<usize>(),
            Value::Table(pairs) => pairs.iter().map(|(key, value)| key.count() + value.count()).sum(),
            _ => 0,
        }
    }
}

/// Whether a text that stands without quotes is a number in both languages.
fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || "+-.e".contains(c)) && text.parse::<f64>().is_ok()
}

/// The documents of a text; the first mistake is a problem, and then there are none.
pub(crate) fn documents(text: &str, file: usize, findings: &mut Findings) -> Vec<Node> {
    let mut tree = Tree { places: Places::of(text, file), ..Tree::default() };
    for event in Parser::new_from_str(text) {
        let taken = match event {
            Ok((event, span)) => tree.take(event, span),
            Err(error) => {
                let index = error.marker().index();
                Err((tree.places.at(index, index + 1), format!("this is not YAML: {}", error.info())))
            }
        };
        if let Err((place, message)) = taken {
            findings.problem(&place, message);
            return Vec::new();
        }
    }
    debug_assert!(tree.open.is_empty(), "what begins ends");
    tree.documents
}

/// A list or a table that is not at its end.
struct Open {
    node: Node,
    anchor: usize,
    key: Option<Node>,
    keys: HashSet<String>,
}

#[derive(Default)]
struct Tree {
    documents: Vec<Node>,
    open: Vec<Open>,
    /// What anchors stand for, with their counts of values.
    anchors: HashMap<usize, (Node, usize)>,
    node_count: usize,
    places: Places,
}

type TreeFault = (Place, String);

impl Tree {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), TreeFault> {
        let place = self.places.of_span(span);
        let opened = |value, anchor, place| Open {
            node: Node { value, place },
            anchor,
            key: None,
            keys: HashSet::new(),
        };
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_null =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let value = match (is_null, style) {
                    (true, _) => Value::Null,
                    (false, ScalarStyle::Plain) => Value::Text(text.into_owned()),
                    (false, _) => Value::Quoted(text.into_owned()),
                };
                self.add(Node { value, place }, anchor, 1)
            }
            Event::SequenceStart(anchor, _) => self.enter(opened(Value::List(Vec::new()), anchor, place)),
            Event::MappingStart(anchor, _) => self.enter(opened(Value::Table(Vec::new()), anchor, place)),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { mut node, anchor, .. }) = self.open.pop() else { return Ok(()) };
                node.place.span.end = place.span.end.max(node.place.span.start);
                self.add(node, anchor, 1)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some((node, count)) => {
                    let (mut node, count) = (node.clone(), *count);
                    debug_assert_eq!(node.count(), count, "a copy counts as what it is a copy of");
                    node.place = place;
                    self.add(node, 0, count)
                }
                None => Err((place, "the alias stands for nothing that is complete above it".to_owned())),
            },
            _ => Ok(()),
        }
    }

    fn enter(&mut self, open: Open) -> Result<(), TreeFault> {
        if self.open.len() == MAX_DEPTH {
            return Err((open.node.place, format!("lists and tables are nested more than {MAX_DEPTH} deep")));
        }
        self.open.push(open);
        Ok(())
    }

    fn add(&mut self, node: Node, anchor: usize, count: usize) -> Result<(), TreeFault> {
        self.node_count += count;
        if MAX_NODES < self.node_count {
            return Err((
                node.place,
                format!("there are more than {MAX_NODES} values, with those of aliases"),
            ));
        }
        if anchor != 0 {
            let count = node.count();
            // The copy that is kept counts as well.
            self.node_count += count;
            self.anchors.insert(anchor, (node.clone(), count));
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(nodes), _) => nodes.push(node),
            (Value::Table(pairs), Some(key)) => pairs.push((key, node)),
            (_, None) => {
                if let Some(text) = node.text().filter(|text| *text != "<<")
                    && !open.keys.insert(text.to_owned())
                {
                    return Err((node.place.clone(), format!("the key `{text}` is there already")));
                }
                open.key = Some(node);
            }
            _ => {}
        }
        Ok(())
    }
}

/// From the parser's offsets in characters to those in bytes.
#[derive(Default)]
struct Places {
    file: usize,
    /// Of each character; empty where every character is a byte.
    bytes: Vec<usize>,
    length: usize,
}

impl Places {
    fn of(text: &str, file: usize) -> Places {
        let bytes = match text.is_ascii() {
            true => Vec::new(),
            false => text.char_indices().map(|(offset, _)| offset).collect(),
        };
        Places { file, bytes, length: text.len() }
    }

    fn byte(&self, index: usize) -> usize {
        match self.bytes.is_empty() {
            true => index.min(self.length),
            false => self.bytes.get(index).copied().unwrap_or(self.length),
        }
    }

    fn at(&self, first: usize, end: usize) -> Place {
        let start = self.byte(first);
        Place { file: self.file, span: start..self.byte(end).max(start) }
    }

    fn of_span(&self, span: Span) -> Place {
        self.at(span.start.index(), span.end.index())
    }
}
