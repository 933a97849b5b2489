//! The arguments of `import`.
//!
//! Cost: none worth a word.
//!
//! Does not look at the files.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::FormatArgs;
use mainspring_import::Kind;

/// The arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Crontabs, units of systemd, manifests of Kubernetes, or the tables below; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// What the files are [default: what each one looks like]
    #[arg(long, value_name = "KIND", value_parser = kind())]
    pub from: Option<Kind>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub format: FormatArgs,
    /// Writes the job file there, where no file may be yet [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What a shell runs for a job that says no command, with {name}, {call} and {image} of it
    #[arg(long, value_name = "LINE")]
    pub run: Option<String>,
}

fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(|(name, _)| name)).try_map(|name| name.parse::<Kind>())
}
