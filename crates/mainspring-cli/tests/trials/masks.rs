//! A secret is in no output, however it is written, and none that is empty is used.

use std::fs;

use crate::trial_fixture::TrialFixture;

fn job(name: &str, shell: &str, secret: &str) -> String {
    format!(
        "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = '''{shell}'''\nsecrets = {{ TOKEN = {secret} }}\n"
    )
}

#[test]
fn a_secret_is_in_no_output() {
    let fixture = TrialFixture::of_ours("masks");
    fixture.write("token", "hunter2-SECRET-TOKEN\n", 0o600);
    let token = fixture.text("token");
    // A line is cut at 8192 bytes: before, within and behind the secret.
    let long =
        (8_170..=8_194).map(|at| format!("printf \"%0{at}d%s\\n\" 0 \"$TOKEN\"; ")).collect::<String>();
    // Only the end of the first line is kept, which would begin within each of them in turn; the second stops
    // within one, and what continues in the background after its end says the rest.
    let cut = "for n in 1 2 3 4 5 6 7 8 9; do printf \"%0$((200 - n))d\" 0; for m in 1 2 3 4 5 6; do printf '%s' \"$TOKEN$TOKEN\" ; done; done";
    let begun = "printf '%s' ${TOKEN%-TOKEN}; (sleep 0.2; echo '-TOKEN') &";
    let jobs = [
        job("long", &long, &format!("'{token}'")),
        job("cut", cut, &format!("'{token}'")) + "output_bytes = 100\n",
        job("begun", begun, &format!("'{token}'")),
        job("file", "echo \"$TOKEN: $(cat $TOKEN)\"", &format!("{{ path = '{token}' }}")),
    ];
    let server = fixture.serve(&jobs.concat());
    for name in ["long", "cut", "begun", "file"] {
        assert_eq!(fixture.ask(&["run", name, "--wait"]).code, Some(0));
    }
    let long = fixture.ask(&["logs", "long"]).stdout;
    assert_eq!(long.matches("***").count(), 25, "{long}");
    assert_eq!(fixture.ask(&["logs", "file"]).stdout, format!("{token}: ***\n"));
    let (_, lines, _) = server.stop();
    let kept: String = ["long", "cut", "begun", "file"]
        .iter()
        .flat_map(|name| fs::read_dir(fixture.path("data/output").join(name)).unwrap())
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    for part in ["hunt", "ter2", "SEC", "RET", "TOK", "KEN"] {
        assert!(!kept.contains(part), "{part}");
        assert!(!lines.iter().any(|line| line.contains(part)), "{part}");
    }
}

#[test]
fn nothing_is_signed_with_a_key_that_can_be_guessed() {
    let fixture = TrialFixture::of_ours("keys");
    let webhook = |name: &str, line: &str| {
        format!(
            "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\n[jobs.{name}.webhook]\nurl = 'http://127.0.0.1:1/'\n{line}\n"
        )
    };
    fixture.write("empty", "\n", 0o600);
    fixture.write("short", "123456789012345\n", 0o600);
    let jobs = [
        webhook("empty", &format!("signing_secret = '{}'", fixture.text("empty"))),
        webhook("short", &format!("signing_secret = '{}'", fixture.text("short"))),
        job("process", "true", &format!("'{}'", fixture.text("empty"))),
    ];
    let server = fixture.serve(&jobs.concat());
    for (name, why) in [("empty", "it is empty"), ("short", "less than 16 bytes"), ("process", "it is empty")]
    {
        let said = fixture.ask(&["run", name, "--wait"]);
        assert!(said.code == Some(1) && said.text().contains(why), "{name}: {said:?}");
    }
    server.stop();
}
