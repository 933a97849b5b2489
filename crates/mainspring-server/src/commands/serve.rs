//! `mainspring serve`.
//!
//! Cost: see the loop.
//!
//! Does not go into the background: whatever starts it does that better.
//!
//! Source: daemon(7), "new-style daemons".

use super::memory;
use crate::cli::serve::ServeArgs;
use crate::error::Error;
use crate::exit::Exit;

pub(super) fn serve(args: ServeArgs) -> Result<Exit, Error> {
    if args.memory {
        return memory::run(args);
    }
    Err(Error::Usage("the durable server is not part of this build yet".to_owned()))
}
