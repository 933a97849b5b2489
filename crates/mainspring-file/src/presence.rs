//! The programs, folders and files that a job needs on its machine, and which of them are missing.
//!
//! ```text
//! run = ["/usr/local/bin/backup"]   ─▶ is there such a program
//! run = ["backup", "--all"]         ─▶ is it in a folder of PATH: the job's own, or the usual one
//! cwd, interpreter, secrets, ca_file, signing_secret ─▶ are they there
//! ```
//!
//! Cost: a system call or some for each name.
//!
//! Does not open anything. It does not look as the user of the job either: root may see files that this user
//! may not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mainspring_action::body::{Body, ProcessBody, WebhookBody};
use mainspring_action::names::DEFAULT_PATH;

/// What is not there, one sentence for each.
pub fn missing(body: &Body) -> Vec<String> {
    match body {
        Body::Process(process) => of_process(process),
        Body::Webhook(webhook) => of_webhook(webhook),
        Body::Mail(_) | Body::Handler(_) => Vec::new(),
    }
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
    if let Some(interpreter) = process.interpreter.as_ref().filter(|name| is_missing(name)) {
        found.push(format!("there is no interpreter `{interpreter}` here"));
    }
    if let Some(cwd) = process.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        found.push(format!("there is no folder `{}` here", cwd.display()));
    }
    found.extend(process.env_file.iter().filter_map(|path| no_file("variables", path)));
    found.extend(process.secrets.iter().filter_map(|secret| no_file("a secret", &secret.path)));
    found
}

fn of_webhook(webhook: &WebhookBody) -> Vec<String> {
    let secrets = webhook.secrets.iter().map(|secret| ("a secret", &secret.path));
    let others = [("a signing_secret", &webhook.signing_secret), ("a ca_file", &webhook.ca_file)];
    let others = others.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?)));
    secrets.chain(others).filter_map(|(what, path)| no_file(what, path)).collect()
}

fn no_file(what: &str, path: &Path) -> Option<String> {
    (!path.exists()).then(|| format!("the file `{}` of {what} is not here", path.display()))
}

fn is_in(name: &str, path: &str) -> bool {
    path.split(':').any(|folder| is_executable(&Path::new(folder).join(name)))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
