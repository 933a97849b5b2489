//! Reading keys of TOML tables, each with its place in the file.
//!
//! ```text
//! cron = "0 24 * * *"        a string's own faults are placed inside of its quotes, if nothing in it is escaped:
//!           ^^               the characters of the file are then those of the value
//! ```
//!
//! Cost: a look-up per key.
//!
//! Does not know what the keys mean.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::crontab::MAX_KEPT_PROBLEMS;
use crate::problem::Fault;
use crate::spelling::suggestion;

/// A name or value with its place.
pub(super) type Name<'s> = Spanned<Cow<'s, str>>;

/// What was found to be wrong, with places in the file.
pub(super) struct Faults<'s> {
    text: &'s str,
    found: Vec<Fault>,
    /// Places and messages of those.
    known: HashSet<(usize, usize, String)>,
    /// How many further ones there were.
    unkept_count: usize,
}

impl<'s> Faults<'s> {
    pub(super) fn new(text: &'s str) -> Faults<'s> {
        Faults { text, found: Vec::new(), known: HashSet::new(), unkept_count: 0 }
    }

    /// Adds a fault, unless the very same is known: a mistake in the defaults is met with every job.
    pub(super) fn push(&mut self, fault: Fault) {
        if self.found.len() == MAX_KEPT_PROBLEMS {
            self.unkept_count += 1;
        } else if self.known.insert((fault.span.start, fault.span.end, fault.message.clone())) {
            self.found.push(fault);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.found.len() + self.unkept_count
    }

    /// Those that were kept, in the order of the file, and how many there were beside them.
    pub(super) fn into_sorted(mut self) -> (Vec<Fault>, usize) {
        debug_assert_eq!(self.known.len(), self.found.len(), "each fault is told once");
        self.found.sort_by_key(|fault| (fault.span.start, fault.span.end));
        (self.found, self.unkept_count)
    }

    /// What was read from this place, or a fault that says why it was not.
    pub(super) fn accept<T, E: ToString>(&mut self, span: Range<usize>, read: Result<T, E>) -> Option<T> {
        read.map_err(|error| self.push(Fault::new(span, error.to_string()))).ok()
    }

    /// What was found, or this fault.
    pub(super) fn expect<T>(&mut self, found: Option<T>, fault: impl FnOnce() -> Fault) -> Option<T> {
        if found.is_none() {
            self.push(fault());
        }
        found
    }

    /// Adds a fault whose span lies within the value of a string.
    pub(super) fn push_inside(&mut self, text: &Text<'_>, fault: Fault) {
        let raw = &self.text[text.span.clone()];
        let quotes = ["\"\"\"\n", "'''\n", "\"\"\"", "'''", "\"", "'"];
        let opened = quotes.iter().find(|quote| raw.starts_with(**quote)).map_or(0, |quote| quote.len());
        let is_plain = raw[opened..].starts_with(text.value);
        if !is_plain || text.value.len() < fault.span.end {
            return self.push(Fault { span: text.span.clone(), ..fault });
        }
        let start = text.span.start + opened;
        debug_assert!(start + fault.span.end <= text.span.end, "what is wrong lies between the quotes");
        self.push(fault.shifted(start));
    }
}

/// A string of the file.
#[derive(Clone, Debug)]
pub(super) struct Text<'d> {
    pub(super) value: &'d str,
    /// With its quotes.
    pub(super) span: Range<usize>,
}

/// A table, and one whose keys hold where it has none.
pub(super) struct Fields<'d, 's> {
    own: Option<&'d DeTable<'s>>,
    defaults: Option<&'d DeTable<'s>>,
}

impl<'d, 's> Fields<'d, 's> {
    pub(super) fn of(own: &'d DeTable<'s>) -> Fields<'d, 's> {
        Fields { own: Some(own), defaults: None }
    }

    pub(super) fn over(self, defaults: Option<&'d DeTable<'s>>) -> Fields<'d, 's> {
        Fields { defaults, ..self }
    }

    /// The table's own keys and values.
    pub(super) fn own(&self) -> impl Iterator<Item = (&'d Name<'s>, &'d Spanned<DeValue<'s>>)> + use<'d, 's> {
        self.own.into_iter().flatten()
    }

    /// All keys and values, in the order of their names.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'d Name<'s>, &'d Spanned<DeValue<'s>>)> + use<'d, 's> {
        let layers = [self.defaults, self.own].into_iter().flatten().flatten();
        let merged: BTreeMap<&str, _> =
            layers.map(|(name, value)| (name.get_ref().as_ref(), (name, value))).collect();
        merged.into_values()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn has_own(&self, name: &str) -> bool {
        self.own.is_some_and(|own| own.contains_key(name))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'d Spanned<DeValue<'s>>> {
        self.own.and_then(|own| own.get(name)).or_else(|| self.defaults?.get(name))
    }

    /// The place of a key's name, for faults about what it means together with others.
    pub(super) fn name_span(&self, name: &str) -> Range<usize> {
        self.all().find(|(known, _)| known.get_ref() == name).map_or(0..0, |(known, _)| known.span())
    }

    /// A fault for each of the table's own keys that is not known.
    pub(super) fn check_known(&self, known: &[&str], faults: &mut Faults<'_>) {
        for (name, _) in self.own() {
            if !known.contains(&name.get_ref().as_ref()) {
                let fault = Fault::new(name.span(), format!("unknown key `{}`", name.get_ref()));
                faults.push(fault.with_hint(suggestion(name.get_ref(), known)));
            }
        }
    }

    pub(super) fn text(&self, name: &str, faults: &mut Faults<'_>) -> Option<Text<'d>> {
        text_of(self.get(name)?, faults)
    }

    /// A string, or a list of strings.
    pub(super) fn texts(&self, name: &str, faults: &mut Faults<'_>) -> Vec<Text<'d>> {
        self.values(name).into_iter().filter_map(|value| text_of(value, faults)).collect()
    }

    /// A value, or the values of a list.
    pub(super) fn values(&self, name: &str) -> Vec<&'d Spanned<DeValue<'s>>> {
        self.get(name).map_or_else(Vec::new, values_of)
    }

    pub(super) fn integer<N: TryFrom<i64> + PartialOrd + Display>(
        &self,
        name: &str,
        range: RangeInclusive<N>,
        faults: &mut Faults<'_>,
    ) -> Option<N> {
        integer_of(self.get(name)?, &range, faults)
    }

    pub(super) fn boolean(&self, name: &str, faults: &mut Faults<'_>) -> Option<bool> {
        let value = self.get(name)?;
        let message = || format!("expected true or false, found {}", kind(value.get_ref()));
        faults.expect(value.get_ref().as_bool(), || Fault::new(value.span(), message()))
    }

    /// The fields of a table within this one, over the same table of the defaults.
    pub(super) fn table(&self, name: &str, faults: &mut Faults<'_>) -> Option<Fields<'d, 's>> {
        let mut of = |layer: Option<&'d DeTable<'s>>| {
            let (name, value) = layer?.get_key_value(name)?;
            table_of(name, value, faults)
        };
        let (own, defaults) = (of(self.own), of(self.defaults));
        (own.is_some() || defaults.is_some()).then_some(Fields { own, defaults })
    }
}

/// The values of a list, or what is none.
pub(super) fn values_of<'d, 's>(value: &'d Spanned<DeValue<'s>>) -> Vec<&'d Spanned<DeValue<'s>>> {
    match value.get_ref() {
        DeValue::Array(values) => values.iter().collect(),
        _ => vec![value],
    }
}

/// The table that a value is, or a fault under its name.
pub(super) fn table_of<'d, 's>(
    name: &Name<'_>,
    value: &'d Spanned<DeValue<'s>>,
    faults: &mut Faults<'_>,
) -> Option<&'d DeTable<'s>> {
    let found = || format!("expected a table, found {}", kind(value.get_ref()));
    faults.expect(value.get_ref().as_table(), || Fault::new(name.span(), found()))
}

pub(super) fn text_of<'d>(value: &'d Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<Text<'d>> {
    let DeValue::String(text) = value.get_ref() else {
        let found = kind(value.get_ref());
        faults.push(Fault::new(value.span(), format!("expected a string in quotes, found {found}")));
        return None;
    };
    if text.contains('\0') {
        faults.push(Fault::new(value.span(), "a NUL character cannot be part of anything here"));
        return None;
    }
    Some(Text { value: text, span: value.span() })
}

pub(super) fn integer_of<N: TryFrom<i64> + PartialOrd + Display>(
    value: &Spanned<DeValue<'_>>,
    range: &RangeInclusive<N>,
    faults: &mut Faults<'_>,
) -> Option<N> {
    let number = match value.get_ref() {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    let number = number.and_then(|number| N::try_from(number).ok());
    let (min, max) = (range.start(), range.end());
    let message = || format!("expected a number from {min} to {max}");
    faults.expect(number.filter(|number| range.contains(number)), || Fault::new(value.span(), message()))
}

/// What a value is, in words.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
