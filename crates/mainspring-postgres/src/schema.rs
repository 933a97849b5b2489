//! The tables and functions, and how those of an older version become those of this.
//!
//! ```text
//!  BEGIN ─ a lock on what is ours ─ the steps that are missing ─ version ─ COMMIT      several start at once
//! ```
//!
//! The lock is one on the table `planner`, or on the name of the schema where there is none yet, and not an
//! advisory one: each role that may connect could hold that, and no server would start.
//!
//! A table changes by a step of its own, in which all that is there stays: a server of the version before may
//! run while it is made and afterwards. The functions stand in `schema.sql` alone, and with each step those
//! that are there are replaced: they take what the version before gives them too. `floor` in the table
//! `planner` is the oldest version whose programs may go on.
//!
//! Cost: one round trip to see that all is there.
//!
//! Does not drop rows or columns.

use mainspring_job::StoreError;

use super::connection::Connection;
use super::fault::{MIGRATE, without_row};
use super::location::{Location, OF_OWNER, OF_READER};

/// The version that the steps lead to.
pub const VERSION: u32 = 3;

/// The oldest version whose programs may go on writing.
const FLOOR: u32 = 1;

const _: () = assert!(FLOOR <= VERSION, "this program may go on itself");

/// What leads from each version to the next.
const STEPS: [&str; VERSION as usize] =
    [include_str!("schema.sql"), include_str!("since.sql"), "-- Its functions alone are others.\n"];

/// What a person is told whose role may not make tables.
const MAY_NOT: &str = "the tables have to be made before, by a role that may: `mainspring store migrate --preview` prints the SQL";

/// All that leads from a version to this one, for people whose role may not make tables.
pub fn preview(found: u32) -> String {
    let mut text = String::from(
        "BEGIN;\nSET LOCAL statement_timeout = 0;\nSET LOCAL lock_timeout = '5s';\nSET LOCAL search_path = pg_catalog, pg_temp;\n",
    );
    // Of two that begin with the same, the second waits for the first, and finds what that has made.
    text.push_str(match found {
        0 => "CREATE SCHEMA IF NOT EXISTS mainspring;\n",
        _ => "LOCK TABLE mainspring.planner IN SHARE ROW EXCLUSIVE MODE;\n",
    });
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        text.push_str(step);
    }
    if 0 < found {
        text.push_str(&functions());
    }
    let keep = if found == 0 {
        format!("INSERT INTO mainspring.planner (version, floor) VALUES ({VERSION}, {FLOOR});\n")
    } else {
        format!(
            "UPDATE mainspring.planner SET version = {VERSION}, floor = greatest(floor, {FLOOR}) WHERE version = {found};\n"
        )
    };
    text + &keep + "COMMIT;\n"
}

/// The functions, each in the place of the one of its name.
fn functions() -> String {
    let mut is_inside = false;
    let lines = STEPS[0].lines().filter(|line| {
        let is_line_of_one = is_inside || line.starts_with("CREATE FUNCTION ");
        is_inside = is_line_of_one && !line.ends_with("$$;");
        is_line_of_one
    });
    lines.map(|line| line.replacen("CREATE FUNCTION ", "CREATE OR REPLACE FUNCTION ", 1) + "\n").collect()
}

/// Which version a database has; 0 if it has none yet. Nothing is changed.
///
/// # Errors
/// When it does not answer; `TooNew` if this program is older than the oldest that may go on.
pub fn found(location: &Location) -> Result<u32, StoreError> {
    version(&mut Connection::opened(location, OF_READER)?)
}

/// Makes what is missing, and returns the version that was there.
///
/// # Errors
/// When it does not answer, the role may not, or the database is of a newer version.
pub fn migrate(location: &Location) -> Result<u32, StoreError> {
    let mut connection = Connection::opened(location, OF_OWNER)?;
    let found = version(&mut connection)?;
    prepare(&mut connection)?;
    Ok(found)
}

/// Makes what is missing.
///
/// # Errors
/// `TooNew` if this program is older than the oldest that may go on.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    let found = version(connection)?;
    if VERSION <= found {
        return Ok(());
    }
    match connection.script(MIGRATE, &preview(found)) {
        Ok(()) => Ok(()),
        Err(StoreError::Io(error)) => Err(StoreError::Io(format!("{error}: {MAY_NOT}").into())),
        // Another server may have been faster.
        Err(_) if version(connection).is_ok_and(|found| VERSION <= found) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Why this program may not go on.
pub(super) fn too_old(connection: &mut Connection) -> StoreError {
    version(connection).err().unwrap_or_else(without_row)
}

/// The version of what is there; 0 if nothing is.
pub(super) fn version(connection: &mut Connection) -> Result<u32, StoreError> {
    let sql = "SELECT (to_regclass('mainspring.planner') IS NOT NULL)::int::int8";
    let is_there = connection.call("look for the schema", sql, &[])?.first().map(|row| row.get::<_, i64>(0));
    if is_there != Some(1) {
        return Ok(0);
    }
    let sql = "SELECT version, floor FROM mainspring.planner";
    let rows = connection.call("read the version", sql, &[])?;
    let Some(row) = rows.first() else { return Err(StoreError::Corrupt("it has no version".to_owned())) };
    let number = |index| u32::try_from(row.get::<_, i64>(index)).unwrap_or(u32::MAX);
    let (found, floor) = (number(0), number(1));
    if VERSION < floor {
        return Err(StoreError::TooNew { found, known: VERSION });
    }
    Ok(found)
}
