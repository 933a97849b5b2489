//! The system's time zone, with a name only where the name is true.
//!
//! | `/etc/localtime` is | the zone | its name |
//! |---|---|---|
//! | a link into the zone files | that of the file | that of the link |
//! | a file | that of the file | is not known |
//! | a link to a zone file over which another file is mounted | that of the mounted file | is not known |
//!
//! The last row is `-v /etc/localtime:/etc/localtime` of a container: the mount follows the link of the
//! image, and lands on its target. So the times of another zone stand under the name `Etc/UTC`.
//!
//! Cost: reads the mounts of the process.
//!
//! Does not guess the name from what the file says: several zones may say the same today. A zone whose coming
//! changes are listed one by one, as that of Morocco, keeps the name of the link.
//!
//! Source: tzfile(5) for the rule at the end of a zone file, proc_pid_mountinfo(5).

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::problem::Fault;

/// Where the system says which zone it is in.
pub const LOCAL_TIME: &str = "/etc/localtime";

/// How many changes of the clock are compared: those of twenty years, where there are two a year.
const COMPARED_CHANGES: usize = 40;

/// The zone of `TZ`, or of `/etc/localtime`.
///
/// # Errors
///
/// When neither is known.
pub fn system_zone(now: Timestamp) -> Result<TimeZone, jiff::Error> {
    let zone = TimeZone::try_system()?;
    let is_of_variable = std::env::var_os("TZ").is_some();
    match mounted_over(Path::new(LOCAL_TIME)).filter(|_| !is_of_variable) {
        Some(path) => Ok(unnamed(&path, &zone, now).unwrap_or(zone)),
        None => Ok(zone),
    }
}

/// The zone of a name that stands at a place, or a fault there.
pub(crate) fn zone_named(name: &str, span: Range<usize>) -> Result<TimeZone, Fault> {
    TimeZone::get(name).map_err(|_| {
        let fault = Fault::new(span, format!("unknown time zone `{name}`"));
        fault.with_hint("names are those of the IANA database, such as Europe/Berlin or UTC")
    })
}

/// The file that a link leads to, if another file is mounted over it.
fn mounted_over(link: &Path) -> Option<PathBuf> {
    fs::read_link(link).ok()?;
    let target = fs::canonicalize(link).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    is_mounted(&mounts, &target).then_some(target)
}

/// Whether a path is one of the mounts.
fn is_mounted(mounts: &str, path: &Path) -> bool {
    // The fifth field is the place, and blanks in it are octal.
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    places.map(|place| place.replace("\\040", " ")).any(|place| Path::new(&place) == path)
}

/// The zone of a file by the rule at its end, which has no name; `None` if that says other times.
fn unnamed(path: &Path, zone: &TimeZone, now: Timestamp) -> Option<TimeZone> {
    let bytes = fs::read(path).ok()?;
    let text = bytes.strip_suffix(b"\n")?;
    let start = text.iter().rposition(|byte| *byte == b'\n')? + 1;
    let rule = TimeZone::posix(std::str::from_utf8(&text[start..]).ok()?).ok()?;
    let changes = |zone: &TimeZone| -> Vec<_> {
        let following = zone.following(now).take(COMPARED_CHANGES);
        following.map(|change| (change.timestamp(), change.offset())).collect()
    };
    let is_alike = rule.to_offset(now) == zone.to_offset(now) && changes(&rule) == changes(zone);
    is_alike.then_some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn a_file_that_is_mounted_over_a_zone_is_known_by_its_place() {
        let mounts = "24 1 8:1 / / rw - ext4 /dev/a rw\n\
                      90 24 8:1 /usr/share/zoneinfo/Europe/Berlin /usr/share/zoneinfo/Etc/UTC ro - ext4 /dev/a rw\n\
                      91 24 8:1 / /a\\040b rw - ext4 /dev/a rw\n";
        assert!(is_mounted(mounts, Path::new("/usr/share/zoneinfo/Etc/UTC")));
        assert!(is_mounted(mounts, Path::new("/a b")));
        assert!(!is_mounted(mounts, Path::new("/usr/share/zoneinfo/Etc")));
    }

    #[test]
    fn a_zone_without_its_name_has_the_same_times_or_keeps_its_name() {
        let now: Timestamp = "2026-11-27T00:00:00Z".parse().unwrap();
        let path = scratch::path("unnamed-zone");
        for (name, is_rule) in
            [("Europe/Berlin", true), ("Asia/Tokyo", true), ("UTC", true), ("Africa/Casablanca", false)]
        {
            let file = Path::new("/usr/share/zoneinfo").join(name);
            let Ok(bytes) = fs::read(&file) else { continue };
            fs::write(&path, &bytes).unwrap();
            let zone = TimeZone::tzif("Etc/UTC", &bytes).unwrap();
            let found = unnamed(&path, &zone, now);
            assert_eq!(found.is_some(), is_rule, "{name}");
            assert!(found.is_none_or(|found| found.iana_name().is_none()), "{name}");
        }
        fs::write(&path, "no zone").unwrap();
        assert!(unnamed(&path, &TimeZone::UTC, now).is_none());
        fs::remove_file(path).unwrap();
    }
}
