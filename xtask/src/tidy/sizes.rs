//! The most bytes of the pages that people read from end to end.
//!
//! Cost: the length of each page. It does not judge what the pages say.

use std::fs;
use std::path::Path;

use super::Finding;

/// Pages that share a number of bytes.
const SIZES: &[(&[&str], u64)] = &[
    (&["README.md"], 5 << 10),
    (&["ARCHITECTURE.md"], 15 << 10),
    (&["BENCHMARKS.md"], 13 << 10),
    (&["docs/manual.md", "docs/cluster.md", "docs/embed.md"], 60 << 10),
    (&["docs/neighbours.md"], 16 << 10),
];

/// Checks all of them.
pub fn check(root: &Path) -> Vec<Finding> {
    let length = |page: &&str| fs::metadata(root.join(page)).map_or(0, |found| found.len());
    let over = SIZES.iter().filter_map(|(pages, most)| {
        let bytes: u64 = pages.iter().map(length).sum();
        let text = format!(
            "{} has {bytes} bytes, budget {most}: shorten it, or let a generated page have it",
            pages.join(" + ")
        );
        (*most < bytes).then(|| Finding::new(Path::new(pages[0]), 0, text))
    });
    over.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_over_its_budget_is_named() {
        let root = std::env::temp_dir().join(format!("sizes-{}", std::process::id()));
        fs::create_dir_all(root.join("docs")).expect("the folder can be made");
        fs::write(root.join("README.md"), "x".repeat(5 << 10)).expect("the page can be written");
        assert!(check(&root).is_empty());
        fs::write(root.join("README.md"), "x".repeat((5 << 10) + 1)).expect("the page can be written");
        fs::write(root.join("docs/manual.md"), "x".repeat(40 << 10)).expect("the page can be written");
        fs::write(root.join("docs/embed.md"), "x".repeat((20 << 10) + 1)).expect("the page can be written");
        let texts: Vec<String> = check(&root).into_iter().map(|finding| finding.text).collect();
        assert!(texts[0].starts_with("README.md has 5121 bytes, budget 5120"), "{texts:?}");
        assert!(texts[1].contains("docs/embed.md has 61441 bytes, budget 61440"), "{texts:?}");
        fs::remove_dir_all(&root).expect("the folder can be removed");
    }
}
