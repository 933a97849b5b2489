//! The relative links of the project's pages, each of which leads somewhere.
//!
//! ```text
//!   [text](file)            the file is there, from the page's own folder
//!   [text](file#anchor)     and has a heading of which GitHub makes that anchor
//!   [text](#anchor)         the page itself has it
//! ```
//!
//! Links with a scheme are not followed, nor paths of Rust, which rustdoc checks. Blocks of code have none.
//!
//! Cost: each page is read once, and again for each link to it. It does not know links by reference.
//!
//! Source: [GitHub's anchors](https://docs.github.com/en/get-started/writing-on-github), section links.

use std::fs;
use std::path::Path;

use super::Finding;

/// Checks the text of the page at `path`, from the workspace's root.
pub fn check(root: &Path, path: &Path, text: &str) -> Vec<Finding> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (line, link) in links(text) {
        if link.contains("://") || link.contains("::") {
            continue;
        }
        let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
        let target = if file.is_empty() { path.to_owned() } else { folder.join(file) };
        let has_anchor = |anchor: &str| {
            let page = fs::read_to_string(root.join(&target)).unwrap_or_default();
            let page = if file.is_empty() { text.to_owned() } else { page };
            anchors(&page).iter().any(|known| known == anchor)
        };
        if !file.is_empty() && !root.join(&target).exists() {
            findings.push(Finding::new(path, line, format!("the link {link} leads to no file")));
        } else if let Some(anchor) = anchor
            && !has_anchor(anchor)
        {
            findings.push(Finding::new(path, line, format!("the link {link} leads to no heading")));
        }
    }
    findings
}

/// The lines of a page that are no code, from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// The targets of the links in a page, with their lines. A link may begin on the line before.
fn links(text: &str) -> Vec<(usize, &str)> {
    let after = |(line, text)| str::split(text, "](").skip(1).map(move |rest| (line, rest));
    let targets = prose(text).flat_map(after);
    targets.filter_map(|(line, rest)| Some((line, rest.split_once(')')?.0))).collect()
}

/// The anchors that a page gives, and those of its headings: lower case, no punctuation, a hyphen for each
/// space.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then_some(title.strip_prefix(' ')?)
    });
    let letters = |title: &str| {
        let letters = title.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        letters.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect::<String>()
    };
    let given = prose(text).flat_map(|(_, line)| line.split("id=\"").skip(1));
    let given = given.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    // Rustdoc, which shows some of the pages, ends no anchor with a hyphen.
    headings
        .map(letters)
        .flat_map(|anchor| [anchor.trim_end_matches('-').to_owned(), anchor])
        .chain(given)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_or_a_heading() {
        let text = "# A page\n\n[a](#a-page) [b](Cargo.toml) [c](https://x.y/z) [d](src/lib.rs)\n\
            ```\n[e](nowhere)\n```\n[f](nowhere) [g](#nowhere) [h](Cargo.toml#nowhere)\n";
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let found: Vec<String> =
            check(root, Path::new("page.md"), text).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "page.md:7: the link nowhere leads to no file",
                "page.md:7: the link #nowhere leads to no heading",
                "page.md:7: the link Cargo.toml#nowhere leads to no heading",
            ]
        );
    }

    #[test]
    fn an_anchor_is_a_heading_as_github_writes_it() {
        let text = "# Mainspring, `serve`: 2 notes\n```sh\n# no heading\n```\n## A file-like thing\n#tag\n";
        let found = anchors(text);
        assert!(found.contains(&"mainspring-serve-2-notes".to_owned()), "{found:?}");
        assert!(found.contains(&"a-file-like-thing".to_owned()), "{found:?}");
        assert!(!found.contains(&"no-heading".to_owned()), "{found:?}");
    }
}
