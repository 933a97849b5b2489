//! The arguments of a process start, prepared before the fork: strings with a NUL at their end.
//!
//! ```text
//! program "rsync", PATH=/usr/local/bin:/usr/bin   ─▶ /usr/local/bin/rsync, /usr/bin/rsync
//! environment: the server's if it is inherited, then the spec's, the run's, its secrets; the last of a name counts
//! ```
//!
//! Cost: a copy of each string for each start.
//!
//! Does not look whether anything is there: the child does, as its user.
//!
//! Source: execvp(3), environ(7).

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t};

use crate::env_file;
use crate::mask::Masks;
use crate::open_file_limit;
use crate::pam_env;
use crate::secret::{self, SecretError};
use crate::spec::ProcessSpec;
use crate::sys::Launch;

/// Where programs are where PATH is not set, as execvp(3) has it.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// What the service manager tells the server, and none of the processes that inherit the server's variables.
const OF_THE_SERVICE: [&str; 6] =
    ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// The variables of a run, by their names.
type Environment = BTreeMap<OsString, OsString>;

/// The variables of a run of `spec`, with its secrets, and what must be taken out of its output.
pub(crate) fn environment(
    spec: &ProcessSpec,
    variables: &[(String, String)],
) -> Result<(Environment, Masks), SecretError> {
    let mut environment = Environment::new();
    if spec.body.inherit_env {
        let is_ours = |name: &OsString| OF_THE_SERVICE.iter().any(|of_service| name == of_service);
        environment.extend(std::env::vars_os().filter(|(name, _)| !is_ours(name)));
    }
    let user = spec.account.identity.as_ref().map(|identity| identity.uid.as_raw());
    let own = |(name, value): &(String, String)| (OsString::from(name), OsString::from(value));
    for path in &spec.body.pam_env {
        let read = pam_env::read(path, user)?;
        environment.extend(read.iter().map(own));
    }
    environment.extend(spec.environment.iter().map(own));
    for path in &spec.body.env_file {
        let read = env_file::read(path, user)?;
        environment.extend(read.iter().map(own));
    }
    environment.extend(spec.body.env.iter().chain(variables).map(own));
    let mut masks = Masks::default();
    for secret in &spec.body.secrets {
        let content = secret::read(&secret.path, user)?;
        let value = if secret.is_path { secret.path.as_os_str() } else { OsStr::new(content.reveal()) };
        environment.insert(OsString::from(&secret.name), value.to_owned());
        masks.add(&content);
    }
    Ok((environment, masks))
}

/// What becomes of `spec` in the child.
///
/// # Errors
///
/// When a text holds a NUL byte.
pub(crate) fn launch(spec: &ProcessSpec, environment: &Environment) -> io::Result<Launch> {
    let hard = || getrlimit(Resource::RLIMIT_NOFILE).map_or(rlim_t::MAX, |(_, hard)| hard);
    let arguments = spec.arguments();
    let variable = |(name, value): (&OsString, &OsString)| {
        let text = [name.as_bytes(), b"=", value.as_bytes()].concat();
        c_string(OsStr::from_bytes(&text))
    };
    Ok(Launch {
        programs: places(arguments[0], environment.get(OsStr::new("PATH")))?,
        arguments: arguments.into_iter().map(|text| c_string(OsStr::new(text))).collect::<io::Result<_>>()?,
        environment: environment.iter().map(variable).collect::<io::Result<_>>()?,
        directory: c_string(spec.directory.as_os_str())?,
        directory_else: spec.body.cwd_else.as_ref().map(|path| c_string(path.as_os_str())).transpose()?,
        identity: spec.account.identity.clone(),
        is_shielded: is_shielded(),
        files: open_file_limit::before().map(|soft| (soft, hard())),
        attributes: spec.attributes.clone(),
    })
}

/// Where a program may be.
fn places(program: &str, path: Option<&OsString>) -> io::Result<Vec<CString>> {
    if program.is_empty() || program.contains('/') {
        return Ok(vec![c_string(OsStr::new(program))?]);
    }
    let path = path.map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let folders = path.as_bytes().split(|&byte| byte == b':');
    folders.map(|folder| c_string(Path::new(OsStr::from_bytes(folder)).join(program).as_os_str())).collect()
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.to_owned().into_vec()).map_err(Into::into)
}

/// Whether the kernel would rather end other processes than this one when memory is short.
fn is_shielded() -> bool {
    static IS_SHIELDED: OnceLock<bool> = OnceLock::new();
    *IS_SHIELDED.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
        text.trim().parse::<i32>().is_ok_and(|score| score < 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_path() {
        let found = |program: &str, path: Option<&str>| -> Vec<String> {
            let places = places(program, path.map(OsString::from).as_ref()).unwrap();
            places.into_iter().map(|place| place.into_string().unwrap()).collect()
        };
        assert_eq!(found("ls", Some("/a:/b")), ["/a/ls", "/b/ls"]);
        // An empty folder is the current one.
        assert_eq!(found("ls", Some("/a:")), ["/a/ls", "ls"]);
        assert_eq!(found("ls", None), ["/bin/ls", "/usr/bin/ls"]);
        assert_eq!(found("./ls", Some("/a")), ["./ls"]);
        assert_eq!(found("", Some("/a")), [""]);
        assert!(places("l\0s", None).is_err());
    }
}
