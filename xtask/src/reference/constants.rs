//! Values of constants in the text of a page.
//!
//! ```text
//! {mainspring-file/src/jobfile.rs MAX_JOBS} jobs    ──▶    10,000 jobs
//! {mainspring-file/src/source.rs MAX_FILE_BYTES}    ──▶    4 MiB          a name that ends in BYTES
//! {mainspring-job/src/planner/quarantine.rs PROBATION}  ──▶  10 s         a duration
//! {mainspring-job/src/reason.rs OTHER}              ──▶    other          a text
//! ```
//!
//! Cost: a look for each constant. It computes sums, products, quotients and shifts of literals, and of other
//! constants of the same file.

use super::code::{constant, file, last_name, string_of};
use crate::tidy::Source;

/// The text with the values of the constants that stand in it by file and name.
pub(super) fn fill(sources: &[Source], text: &str) -> String {
    let mut pieces = text.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('}') {
            Some((name, rest)) if name.contains(".rs ") => filled += &(value(sources, name) + rest),
            _ => filled = filled + "{" + piece,
        }
    }
    filled
}

/// The value of a constant, by its file and its name, for people.
fn value(sources: &[Source], name: &str) -> String {
    let (path, constant_name) = name.split_once(' ').unwrap_or_default();
    let source = file(sources, path);
    let shown = constant(source, constant_name).and_then(|found| {
        let text = string_of(&found.expr).map(|text| text.trim_end().to_owned());
        text.or_else(|| duration(source, &found.expr))
            .or_else(|| Some(amount(number(source, &found.expr)?, constant_name)))
    });
    assert!(shown.is_some(), "{name} is no constant that has a value");
    shown.unwrap_or_default()
}

/// A number with commas, or bytes with their unit.
fn amount(number: u64, name: &str) -> String {
    let units = [(20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| number.trailing_zeros() >= *shift && 0 < number);
    if let Some((shift, unit)) = unit.filter(|_| name.ends_with("BYTES")) {
        return format!("{} {unit}", number >> shift);
    }
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if 0 < index && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A literal, or a sum, product, quotient or shift of them, or of other constants of the file.
fn number(source: &Source, expression: &syn::Expr) -> Option<u64> {
    match expression {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        syn::Expr::Cast(cast) => number(source, &cast.expr),
        syn::Expr::Path(path) => number(source, &constant(source, &path.path.get_ident()?.to_string())?.expr),
        syn::Expr::Binary(binary) => {
            let (left, right) = (number(source, &binary.left)?, number(source, &binary.right)?);
            match binary.op {
                syn::BinOp::Add(_) => left.checked_add(right),
                syn::BinOp::Mul(_) => left.checked_mul(right),
                syn::BinOp::Div(_) => left.checked_div(right),
                syn::BinOp::Shl(_) => left.checked_shl(u32::try_from(right).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `Duration::from_secs(10)` as `10 s`, in the longest unit of which it is a multiple.
fn duration(source: &Source, expression: &syn::Expr) -> Option<String> {
    const UNITS: [(&str, &str, u64); 4] = [
        ("from_hours", "h", 3_600_000),
        ("from_mins", "min", 60_000),
        ("from_secs", "s", 1_000),
        ("from_millis", "ms", 1),
    ];
    let syn::Expr::Call(call) = expression else { return None };
    let function = last_name(&call.func);
    let (.., length_ms) = UNITS.into_iter().find(|(name, ..)| *name == function)?;
    let whole_ms = number(source, call.args.first()?)? * length_ms;
    let (_, unit, length_ms) =
        UNITS.into_iter().find(|(.., length_ms)| whole_ms.is_multiple_of(*length_ms))?;
    Some(format!("{} {unit}", whole_ms / length_ms))
}
