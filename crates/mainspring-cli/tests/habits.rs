//! Habits of shells, terminals, containers and deployments that the program has to live with.

use std::process::Command;

/// Runs a line of shell in which `$0` is the program; returns its exit code and all that it wrote.
fn shell(line: &str) -> (i32, String) {
    let mut command = Command::new("/bin/sh");
    let output = command.args(["-c", line, env!("CARGO_BIN_EXE_mainspring")]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for words in ["--version", "--help", "help serve", "list --help", "man", "completions bash"] {
        let (code, text) = shell(&format!("\"$0\" {words} > /dev/full"));
        assert_eq!(code, 1, "{words}: {text}");
        assert!(text.contains("cannot write to standard output"), "{words}: {text}");
        // A reader that has seen enough is no failure.
        let (code, text) = shell(&format!("{{ \"$0\" {words}; echo \"$?\" >&2; }} | :"));
        assert_eq!((code, text.as_str()), (0, "0\n"), "{words}");
    }
}
