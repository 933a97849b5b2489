//! The page, as it is embedded in the program and served.
//!
//! ```text
//! BASE                     index.html, with @HASH@ replaced and page.css in it: asked for again each time
//! BASE assets/HASH/NAME    a file, for ever the same
//! ```
//!
//! The style sheet stands in the page, because nothing is painted before it is there: an answer of its own
//! took a fifth of the time to the first paint. The policy of the page names its hash.
//!
//! One hash for all files together, because modules import each other by `./name.js`. Served are the files as
//! they lie there, without comments, indentation and empty lines: the page's README has the rule, and
//! `served` in its mock is the model.
//!
//! Cost: the files are made once, at the start.
//!
//! Does not read a file.

use axum::body::Bytes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::tokens::{HASH_CHARS, hexadecimal};

/// How many digits of the hash are in the addresses: enough to tell versions of one page apart.
const HASH_DIGITS: usize = 12;

const _: () = assert!(HASH_DIGITS <= HASH_CHARS);

/// What stands for the hash in index.html.
const HASH_MARK: &str = "@HASH@";

/// What stands for the style sheet in index.html, and in what it is served.
const STYLE_LINK: &str = r#"<link rel="stylesheet" href="assets/@HASH@/page.css" />"#;

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../page/assets/", $name)))),*]
    };
}

/// A file of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub media_type: &'static str,
    /// What is served of it.
    pub bytes: Bytes,
}

/// All files of the page.
#[derive(Clone, Debug)]
pub struct Assets {
    /// The hash over all of them.
    pub hash: String,
    /// The page itself.
    pub index: Bytes,
    /// The SHA-256 of the style sheet in it, as a policy names it.
    pub style_hash: String,
    files: Vec<Asset>,
}

impl Default for Assets {
    fn default() -> Assets {
        let sources = files![
            "actions.js" "ansi.js" "api.js" "charts.js" "dom.js" "format.js" "icon.svg" "index.html"
            "job.js" "keys.js" "lists.js" "live.js" "log.js" "main.js" "now.js" "page.css" "run.js" "server.js" "start.js" "status_bar.js"
            "table.js" "upcoming.js"
        ];
        let files: Vec<Asset> = sources
            .into_iter()
            .map(|(name, text)| Asset {
                name,
                media_type: kind(name).0,
                bytes: Bytes::from(served(text, name)),
            })
            .collect();
        let mut digest = Sha256::new();
        for file in &files {
            digest.update(&file.bytes);
            digest.update([0]);
        }
        let mut hash = hexadecimal(&digest.finalize());
        hash.truncate(HASH_DIGITS);
        let text_of = |name: &str| {
            let found = files.iter().find(|file| file.name == name).map(|file| file.bytes.clone());
            String::from_utf8_lossy(&found.unwrap_or_default()).into_owned()
        };
        let style = text_of("page.css");
        let style_hash = STANDARD.encode(Sha256::digest(&style));
        let index = text_of("index.html");
        debug_assert!(index.contains(STYLE_LINK), "a page without its style sheet is of no use");
        let index = index.replacen(STYLE_LINK, &format!("<style>{style}</style>"), 1);
        let index = index.replace(HASH_MARK, &hash);
        debug_assert!(!index.contains(HASH_MARK));
        Assets { hash, index: Bytes::from(index), style_hash, files }
    }
}

impl Assets {
    /// The file of a name, if it is one that has an address of its own.
    pub fn find(&self, name: &str) -> Option<&Asset> {
        let is_part = |name: &str| matches!(name, "index.html" | "page.css");
        self.files.iter().find(|file| file.name == name && !is_part(file.name))
    }
}

/// The type of a file, and which beginnings of a line join it to the one before. None of them begins a
/// statement; in style sheets a point may begin a selector.
fn kind(name: &str) -> (&'static str, &'static [char]) {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => ("text/javascript; charset=utf-8", &[')', ']', '}', '.', '?', ':']),
        Some("css") => ("text/css; charset=utf-8", &['}']),
        Some("svg") => ("image/svg+xml", &[]),
        _ => ("text/html; charset=utf-8", &[]),
    }
}

/// What is sent of a file of source: no comments, no indentation, and of code a statement a line.
fn served(text: &str, name: &str) -> String {
    let (_, joined) = kind(name);
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    let lines = code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    let (mut sent, mut before) = (String::with_capacity(code.len()), "");
    for line in lines {
        let is_open = !joined.is_empty() && before.ends_with(['(', '[', '{', ',']);
        // What stands behind a comment would be a part of it.
        let is_rest = line.starts_with(joined) && !before.contains("//");
        if !before.is_empty() && !is_open && !is_rest {
            sent.push('\n');
        }
        sent.push_str(line);
        before = line;
    }
    sent + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn serving_takes_away_comments_and_nothing_else() {
        let text = "// a\n  const b = /** @type {C} */ (d); // e\n/**\n * f\n */\n\n  g(\n  h\n)\n  .i();\n";
        assert_eq!(served(text, "a.js"), "const b =  (d); // e\ng(h).i();\n");
        assert_eq!(served("a(\n  b // c\n);\n", "a.js"), "a(b // c\n);\n", "a comment takes nothing in");
        assert_eq!(served("a {\n  b: c;\n}\n.d {\n}\n", "a.css"), "a {b: c;}\n.d {}\n");
        assert_eq!(served("<p>a,\n  b\n", "a.html"), "<p>a,\nb\n");
    }

    #[test]
    fn every_file_of_the_page_is_embedded_and_found_by_the_page() {
        let assets = Assets::default();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/assets");
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(assets.files.iter().map(|file| file.name.to_owned()).collect::<Vec<_>>(), names);
        let index = String::from_utf8(assets.index.to_vec()).unwrap();
        assert!(!index.contains(HASH_MARK));
        let addresses: Vec<&str> = index.split('"').filter(|part| part.starts_with("assets/")).collect();
        let found = |address: &&str| {
            let name = address.strip_prefix(&format!("assets/{}/", assets.hash)).unwrap();
            assets.find(name).map_or_else(|| panic!("{address}"), |asset| asset.name)
        };
        assert_eq!(addresses.iter().map(found).collect::<Vec<_>>(), ["icon.svg", "start.js"]);
        assert!(index.contains("<style>:root") && index.matches("</style>").count() == 1, "{index}");
        assert!(assets.find("page.css").is_none(), "it is in the page");
        assert!(assets.find("index.html").is_none() && assets.find("../Cargo.toml").is_none());
    }
}
