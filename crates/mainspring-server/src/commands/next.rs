//! `mainspring next`: prints the next times of an expression.
//!
//! Cost: one search per time.
//!
//! Does not read crontabs.
//!
//! Source: the format is RFC 3339, <https://www.rfc-editor.org/rfc/rfc3339>.

use std::io::{self, BufWriter, Write};

use mainspring_cron::{Expression, Schedule};

use super::{printed, zone_or_system};
use crate::cli::NextArgs;
use crate::clock::Moment;
use crate::error::Error;
use crate::exit::Exit;
use crate::log::rfc3339;
use crate::message::say;
use crate::problem::{Fault, Problem};
use crate::source::Line;

/// The name under which problems of the expression are shown.
const NAME: &str = "expression";

pub(super) fn next(args: NextArgs) -> Result<Exit, Error> {
    let expression = match Expression::parse(&args.expression) {
        Ok(expression) => expression,
        Err(error) => {
            let line = Line { number: 1, bytes: args.expression.as_bytes() };
            say(&Problem::new(line, Fault::from(error)).in_file(NAME).to_string());
            return Ok(Exit::Invalid);
        }
    };
    let schedule = Schedule::new(expression, zone_or_system(args.zone));
    if schedule.is_reboot() {
        say("@reboot has no times: it runs once when the scheduler starts\n");
        return Ok(Exit::Ok);
    }
    let from = args.from.unwrap_or_else(|| Moment::now().wall);
    printed(print_times(&schedule, from, args.count))?;
    Ok(Exit::Ok)
}

fn print_times(schedule: &Schedule, from: jiff::Timestamp, count: u32) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    let mut last = from;
    for _ in 0..count {
        let Some(next) = schedule.next_after(last) else { break };
        writeln!(output, "{}", rfc3339(&next))?;
        assert!(last < next.timestamp(), "the next time is later than the last");
        last = next.timestamp();
    }
    output.flush()
}
