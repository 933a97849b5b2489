//! The programs, folders and files that a job needs on its machine, and which of them are missing or open to
//! other users.
//!
//! ```text
//! run = ["/usr/local/bin/backup"]   ─▶ is there such a program
//! run = ["backup", "--all"]         ─▶ is it in a folder of PATH: the job's own, or the usual one
//! cwd, interpreter, secrets, ca_file, signing_secret ─▶ are they there, and for whom
//! ```
//!
//! Cost: a system call or some for each name.
//!
//! Does not open anything. It does not look as the user of the job either: root may see files that this user
//! may not.

use std::fs;
use std::path::{Path, PathBuf};

use mainspring_action::body::{Body, ProcessBody, WebhookBody};
use mainspring_action::names::{DEFAULT_PATH, MIN_KEY_BYTES};
use mainspring_action::secret::{MASKED_CHARS_MIN, SecretBody};
use mainspring_host::accounts::Account;
use mainspring_host::sys::permission_bits;

use crate::hook::{JobHook, Target};

/// The right of other users to write a file.
const WRITABLE: u32 = 0o002;

/// Their rights to read and to write it.
const OPEN: u32 = 0o006;

const _: () = assert!(WRITABLE & OPEN == WRITABLE, "a file that others write is open to them");

/// What is not there, or is open to other users, one sentence for each.
pub fn missing(body: &Body) -> Vec<String> {
    match body {
        Body::Process(process) => of_process(process),
        Body::Webhook(webhook) => of_webhook(webhook),
        Body::Mail(_) | Body::Notification(_) | Body::Handler(_) => Vec::new(),
    }
}

/// The same for what is reported of a job.
pub fn missing_for(hook: &JobHook) -> Vec<String> {
    let of_target = |target: &Target| match target {
        Target::Webhook(target) => of_webhook(&target.webhook),
        Target::Command(text) => {
            of_process(&ProcessBody { shell: Some(text.clone()), ..ProcessBody::default() })
        }
        Target::Mail(_) => Vec::new(),
    };
    hook.targets.iter().flatten().flat_map(of_target).collect()
}

/// Whether a program of that name is found in the usual folders.
pub fn is_program(name: &str) -> bool {
    is_in(name, DEFAULT_PATH)
}

fn of_process(process: &ProcessBody) -> Vec<String> {
    let mut found = Vec::new();
    let path = process.env.iter().find(|(name, _)| name == "PATH").map_or(DEFAULT_PATH, |(_, path)| path);
    // A name relative to the working directory is looked for there, and a variable of the server's is not
    // known here.
    let is_missing = |name: &str| match name.contains('/') {
        true => name.starts_with('/') && !is_executable(Path::new(name)),
        false => !process.inherit_env && !is_in(name, path),
    };
    if let Some(program) = process.run.first().filter(|program| is_missing(program)) {
        let words: Vec<&str> = program.split_whitespace().collect();
        let hint = match words[..] {
            [_, _, ..] => format!("; for a program with arguments write run = {words:?}"),
            _ => String::new(),
        };
        found.push(format!("there is no program `{program}` here{hint}"));
    }
    let of_shell = process.shell.as_deref().and_then(first_path);
    if let Some(program) = of_shell.filter(|program| is_missing(program)) {
        found.push(format!("there is no program `{program}` here"));
    }
    if let Some(interpreter) = process.interpreter.as_ref().filter(|name| is_missing(name)) {
        found.push(format!("there is no interpreter `{interpreter}` here"));
    }
    if let Some(cwd) = process.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        found.push(format!("there is no folder `{}` here", cwd.display()));
    }
    let user = process.user.as_ref().filter(|_| process.cwd.is_none());
    let user = user.map(|user| user.split(':').next().unwrap_or(user));
    let home = user.and_then(|user| Account::home_of(user).ok().flatten());
    if let Some(home) = home.filter(|home| !home.is_dir()) {
        let (user, home) = (user.unwrap_or_default(), home.display());
        found.push(format!(
            "the home `{home}` of user `{user}` is not here: without HOME or cwd only serve --cron starts it"
        ));
    }
    found.extend(process.env_file.iter().filter_map(|path| file_fault("variables", path, WRITABLE)));
    found.extend(process.secrets.iter().filter_map(|secret| file_fault("a secret", &secret.path, OPEN)));
    found.extend(process.secrets.iter().filter_map(unmasked));
    found
}

/// That a secret is too short to be masked: its file has no more bytes than the shortest that is, so with a
/// line end fewer characters.
fn unmasked(secret: &SecretBody) -> Option<String> {
    let is_short = fs::metadata(&secret.path).is_ok_and(|found| found.len() <= MASKED_CHARS_MIN as u64);
    is_short.then(|| {
        let path = secret.path.display();
        format!("the secret `{path}` is short: one of fewer than {MASKED_CHARS_MIN} characters is not masked in output")
    })
}

/// The program that a line for a shell begins with, if it is written as a whole path.
fn first_path(shell: &str) -> Option<&str> {
    let word = shell.split_whitespace().next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    (word.starts_with('/') && word.chars().all(is_plain)).then_some(word)
}

fn of_webhook(webhook: &WebhookBody) -> Vec<String> {
    let secrets = webhook.secrets.iter().map(|secret| ("a secret", &secret.path, OPEN));
    let others =
        [("a signing_secret", &webhook.signing_secret, OPEN), ("a ca_file", &webhook.ca_file, WRITABLE)];
    let others = others.into_iter().filter_map(|(what, path, mode)| Some((what, path.as_ref()?, mode)));
    let is_short = |path: &&PathBuf| {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() < MIN_KEY_BYTES as u64)
    };
    let short = webhook.signing_secret.as_ref().filter(is_short).map(|path| {
        format!("the signing_secret `{}` has fewer than {MIN_KEY_BYTES} bytes: none is sent", path.display())
    });
    let of_files = secrets.chain(others).filter_map(|(what, path, mode)| file_fault(what, path, mode));
    of_files.chain(short).chain(webhook.secrets.iter().filter_map(unmasked)).collect()
}

/// That a file is not there, or that other users have one of the rights `mode` to it.
fn file_fault(what: &str, path: &Path, mode: u32) -> Option<String> {
    let Ok(found) = fs::metadata(path) else {
        return Some(format!("the file `{}` of {what} is not here", path.display()));
    };
    let right = match permission_bits(&found) & mode {
        0 => return None,
        mode if mode & WRITABLE != 0 => "write",
        _ => "read",
    };
    Some(format!("other users may {right} the file `{}` of {what}", path.display()))
}

fn is_in(name: &str, path: &str) -> bool {
    path.split(':').any(|folder| is_executable(&Path::new(folder).join(name)))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && permission_bits(&found) & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_not_there_is_named_and_what_is_there_is_not() {
        let process = |run: &[&str], cwd: &str| {
            let run = run.iter().map(|&word| word.to_owned()).collect();
            missing(&Body::Process(ProcessBody { run, cwd: Some(cwd.into()), ..Default::default() }))
        };
        assert_eq!(process(&["sh", "-c"], "/"), Vec::<String>::new());
        assert_eq!(process(&["/bin/sh"], "/no/such"), ["there is no folder `/no/such` here"]);
        let hint =
            "there is no program `echo hi` here; for a program with arguments write run = [\"echo\", \"hi\"]";
        assert_eq!(process(&["echo hi"], "/"), [hint]);
        assert_eq!(process(&["/no/such"], "/").len(), 1);
        assert_eq!(process(&["bin/here"], "/"), Vec::<String>::new());
    }

    #[test]
    fn a_line_of_shell_and_a_home_are_looked_for() {
        let of = |shell: &str, user: Option<&str>, cwd: Option<&str>| {
            let (shell, user, cwd) = (Some(shell.to_owned()), user.map(str::to_owned), cwd.map(Into::into));
            missing(&Body::Process(ProcessBody { shell, user, cwd, ..Default::default() }))
        };
        assert_eq!(of("/no/such/program --all", None, None), ["there is no program `/no/such/program` here"]);
        for right in ["/bin/sh -c true", "no-such-word", "/no/such/$NAME", "[ -x /no/such ] && /no/such"] {
            assert_eq!(of(right, None, None), [""; 0], "{right}");
        }
        // This user has no home on any machine.
        if Account::home_of("nobody").unwrap().is_some_and(|home| !home.is_dir()) {
            assert!(of("true", Some("nobody"), None)[0].starts_with("the home `/"), "it is told");
            assert_eq!(of("true", Some("nobody:nogroup"), Some("/")), [""; 0]);
        }
        assert_eq!(of("true", Some("no such user"), None), [""; 0], "that is told elsewhere");
    }

    #[test]
    fn a_secret_that_is_too_short_to_be_masked_is_named() {
        let path = scratch::path("presence-short");
        let warnings = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let secret = SecretBody { name: "PIN".to_owned(), path: path.clone(), is_path: false };
            let cwd = Some("/".into());
            let process = ProcessBody { cwd, secrets: vec![secret.clone()], ..ProcessBody::default() };
            let webhook = WebhookBody { secrets: vec![secret], ..WebhookBody::default() };
            [missing(&Body::Process(process)).len(), missing(&Body::Webhook(webhook)).len()]
        };
        assert_eq!((warnings("123\n"), warnings("1234\n")), ([1, 1], [0, 0]));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_secret_that_other_users_may_read_is_named() {
        let path = scratch::path("presence");
        fs::write(&path, "hunter22, or longer").unwrap();
        let warnings = |mode: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let body = WebhookBody {
                signing_secret: Some(path.clone()),
                ca_file: Some(path.clone()),
                ..WebhookBody::default()
            };
            let found = missing(&Body::Webhook(body));
            let words: Vec<String> =
                found.iter().map(|text| text.split(" the file").next().unwrap().to_owned()).collect();
            words
        };
        assert_eq!(warnings(0o640), Vec::<String>::new());
        assert_eq!(warnings(0o644), ["other users may read"]);
        assert_eq!(warnings(0o666), ["other users may write", "other users may write"]);
        fs::remove_file(&path).unwrap();
    }
}
