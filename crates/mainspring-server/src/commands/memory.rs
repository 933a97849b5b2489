//! `mainspring serve --memory`: runs the commands of a crontab until stopped, and keeps nothing.
//!
//! Cost: see the loop in [`daemon`](crate::daemon).
//!
//! Does not read the file again when it changes, and keeps nothing over its own end: what was due while the program did
//! not run is not made up for.
//!
//! Source: cron(8).

use std::io;

use super::{counted, zone_or_system};
use crate::accounts::Account;
use crate::cli::serve::ServeArgs;
use crate::crontab::{Crontab, Format};
use crate::daemon::Daemon;
use crate::due;
use crate::error::Error;
use crate::exit::Exit;
use crate::job::Job;
use crate::message::{PROGRAM, say};
use crate::problem::render;
use crate::signals::Signals;
use crate::source::Source;
use crate::timetable::Timetable;

pub(super) fn run(args: ServeArgs) -> Result<Exit, Error> {
    let [file] = args.files.as_slice() else {
        return Err(Error::Usage("with --memory there is one file, a crontab".to_owned()));
    };
    let source = Source::read(file)?;
    let setup = |what| move |source| Error::Setup { what, source };
    let ourselves = Account::ourselves().map_err(setup("our own account"))?;
    let zone = zone_or_system(args.zone);
    let crontab = Crontab::parse(&source, Format::from(args.format));
    let (jobs, mut problems) = Job::prepare(&crontab, &zone, &ourselves);
    problems.extend(crontab.problems);
    problems.sort_by_key(|problem| problem.line_number);
    say(&render(source.name(), &problems, crontab.unkept_count));
    if jobs.is_empty() {
        say(&format!("{PROGRAM}: {} has no entry that can run\n", source.name()));
        return Ok(Exit::Invalid);
    }
    // From here on a signal ends the loop and not the process, so nothing that was started is left behind.
    let signals = Signals::register().map_err(setup("signals"))?;
    let (sender, receiver) = due::channel().map_err(setup("a channel"))?;
    let title = format!(
        "mainspring {}: {} of {}, time zone {}",
        env!("CARGO_PKG_VERSION"),
        counted(jobs.len(), "job"),
        source.name(),
        zone.iana_name().unwrap_or("UTC"),
    );
    let timetable = Timetable::start(&jobs, &sender).map_err(setup("the timer threads"))?;
    let daemon = Daemon::new(jobs, receiver, signals, args.grace, io::stdout());
    daemon.run(timetable, &title).map_err(Error::Output)?;
    Ok(Exit::Ok)
}
