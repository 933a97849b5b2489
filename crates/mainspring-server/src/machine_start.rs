//! The start of the machine for which `@reboot` jobs had their runs, kept in the data directory.
//!
//! ```text
//! boot id of the kernel = that in the file? ── yes ─▶ no runs of @reboot
//!                                           └─ no ──▶ runs ─▶ all of them on record ─▶ the file has this boot id
//! ```
//!
//! In the place of cron its file counts too, and is made: which of the two takes the other's place while the
//! machine runs, no job runs again.
//!
//! The file is written after the runs, so a server that is killed in between has them run again, and loses
//! none.
//!
//! Cost: reads a line at a start, and writes one at the first start after that of the machine.
//!
//! Does not know when the machine was started: a clock may have been wrong then.
//!
//! Source: Debian's cron 3.0pl1 keeps `/run/crond.reboot` for this; random(4) on the boot id.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::data_directory::DataDirectory;
use mainspring_host::private;

/// What the file says, and what it would have to say.
#[derive(Clone, Debug)]
pub(crate) struct MachineStart {
    path: PathBuf,
    current: String,
    /// The file of cron.
    of_cron: Option<PathBuf>,
}

impl MachineStart {
    /// That of a machine with this boot id; empty where it is not known, and then each start is a
    /// new one. `of_cron` is the file of a cron whose place the server has.
    pub(crate) fn new(data: &DataDirectory, current: String, of_cron: Option<PathBuf>) -> MachineStart {
        MachineStart { path: data.directory().join("reboot"), current, of_cron }
    }

    /// Whether the jobs had their runs since the machine was started.
    pub(crate) fn is_served(&self) -> bool {
        let is_kept = || fs::read_to_string(&self.path).is_ok_and(|text| text.trim() == self.current);
        let is_served_by_cron = self.of_cron.as_ref().is_some_and(|path| path.exists());
        is_served_by_cron || !self.current.is_empty() && is_kept()
    }

    /// Keeps that they have had them.
    ///
    /// # Errors
    ///
    /// When the file cannot be written: then they run again at the next start.
    pub(crate) fn keep(&self) -> io::Result<()> {
        let part = self.path.with_extension("part");
        let mut file = private::file().write(true).create(true).truncate(true).open(&part)?;
        writeln!(file, "{}", self.current)?;
        file.sync_all()?;
        fs::rename(&part, &self.path)?;
        // A machine without the folder has no cron that would look there.
        if let Some(path) = self.of_cron.as_ref().filter(|path| path.parent().is_some_and(Path::is_dir)) {
            private::file().write(true).create(true).truncate(false).open(path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::scratch;

    #[test]
    fn a_start_of_the_machine_is_served_once() {
        let folder = scratch::path("machine-start");
        fs::create_dir_all(&folder).unwrap();
        let data = DataDirectory::find(Some(&folder));
        let start = |id: &str| MachineStart::new(&data, id.to_owned(), None);
        assert!(!start("a").is_served());
        start("a").keep().unwrap();
        assert!(start("a").is_served());
        assert_eq!(fs::metadata(folder.join("reboot")).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!start("b").is_served(), "the machine was started again");
        let of_cron = folder.join("run/crond.reboot");
        let beside = |id: &str| MachineStart::new(&data, id.to_owned(), Some(of_cron.clone()));
        beside("a").keep().unwrap();
        assert!(beside("a").is_served() && !of_cron.exists(), "there is no such folder");
        fs::create_dir(folder.join("run")).unwrap();
        assert!(!beside("b").is_served());
        beside("b").keep().unwrap();
        assert!(of_cron.exists(), "a cron that takes the place serves nothing again");
        assert!(beside("c").is_served(), "cron has served them");
        start("").keep().unwrap();
        assert!(!start("").is_served(), "nobody knows");
        fs::remove_dir_all(&folder).unwrap();
    }
}
