//! The option that says which kind of crontab a file is.

use clap::Args;

use mainspring_file::crontab::Format;

/// Which kind of crontab it is.
#[derive(Clone, Copy, Debug, Args)]
pub struct FormatArgs {
    /// A user name stands between time and command, as in /etc/crontab
    #[arg(long)]
    pub system: bool,
}

impl From<FormatArgs> for Format {
    fn from(args: FormatArgs) -> Format {
        if args.system { Format::System } else { Format::User }
    }
}
