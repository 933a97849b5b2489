//! Nothing that a file, a false server or a job says is obeyed by the terminal of the person who looks.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::thread;

use mainspring_file::plain::is_plain;

use crate::trial_fixture::{CommandOutput, TrialFixture};

/// Escape sequences, line ends, an order of its own, and controls of one byte.
const ODD: &str = "\u{1b}]0;owned\u{7}\r\u{9b}2J\u{202e}\u{2028}\u{2066}\u{7f}";

fn assert_plain(what: &str, said: &CommandOutput) {
    for c in said.text().chars() {
        assert!(c == '\n' || is_plain(c), "{what}: {c:?} in {said:?}");
    }
}

#[test]
fn files_say_nothing_to_the_terminal() {
    let fixture = TrialFixture::of_ours("odd-files");
    let odd = ODD.replace('\r', "");
    let texts = [
        format!("CRON_TZ=Eur{odd}ope\n* * * * * true\n"),
        format!("* * * * {odd} true\n"),
        format!("* * * * * {odd} true\n"),
        // What TOML has no raw characters for it has escapes for.
        "[jobs.\"k\\u001b[2J\\u202e\"]\nevery = \"1h\\u001b[31m\"\nshell = 'x'\n\"l\\u0007\" = 1\n"
            .to_owned(),
        format!("[jobs.x]\nevery = '{odd}'\nshell = 'x'\ngroup = '{odd}'\n"),
        format!("[jobs.x]\nevery = '1h'\nshell = 'x'\nuser = 'no{}one'\n", "\u{202e}"),
    ];
    for (number, text) in texts.iter().enumerate() {
        for extension in ["crontab", "toml"] {
            let name = format!("f{number}{odd}.{extension}");
            fs::write(fixture.path(&name), text).unwrap();
            assert_plain("check", &fixture.mainspring(&["check", &name]));
            assert_plain("check", &fixture.mainspring(&["check", "--system", &name]));
            assert_plain("simulate", &fixture.mainspring(&["simulate", &name, "--for", "1h"]));
            assert_plain("serve", &fixture.mainspring(&["serve", "--data", "/dev/null", &name]));
        }
    }
    assert_plain("check", &fixture.mainspring(&["check", &format!("none{ODD}")]));
    assert_plain("list", &fixture.mainspring(&["list", "--data", &format!("none{ODD}")]));
}

#[test]
fn a_false_server_says_nothing_to_the_terminal() {
    let fixture = TrialFixture::of_ours("false-server");
    fs::create_dir(fixture.path("ms")).unwrap();
    let listener = UnixListener::bind(fixture.path("ms/mainspring.sock")).unwrap();
    let text = serde_json::to_string(&format!("{ODD}\nforged")).unwrap();
    // Where a client expects a time, a name or a key, any other text is refused: see `run` without `--wait`.
    let (time, key) = ("\"2026-01-01T00:00:00Z\"", "\"x@2026-01-01T00:00:00Z\"");
    let run = format!(
        "{{\"run\":{key},\"job\":\"x\",\"nominal\":{time},\"cause\":{text},\"state\":{text},\"attempt\":1,\"due\":{time},\"outcome\":{text},\"reason\":{text},\"count\":1}}"
    );
    let job = format!(
        "{{\"name\":{text},\"state\":{text},\"triggers\":[],\"action\":{text},\"policies\":{text},\"priority\":0,\"source\":{text},\"runs\":0,\"failures\":0,\"running\":0,\"queued\":0,\"definition\":{text}}}"
    );
    let status = format!(
        "{{\"version\":{text},\"pid\":1,\"data\":{text},\"started\":{time},\"state\":{text},\"paused\":false,\"jobs\":0,\"pending\":0,\"open\":0,\"running\":0,\"runs\":0,\"dead\":0,\"next\":{time},\"files\":[{{\"name\":{text},\"jobs\":1,\"problems\":{text}}}]}}"
    );
    let answers = [
        (&["status"][..], format!("{{\"status\":{status}}}")),
        (&["doctor"], format!("{{\"status\":{status}}}")),
        (&["list"], format!("{{\"error\":{{\"kind\":\"failed\",\"message\":{text}}}}}")),
        (&["list"], format!("{{\"jobs\":{{\"jobs\":[{job}]}}}}")),
        (&["show", "x"], format!("{{\"job\":{job}}}")),
        (&["history"], format!("{{\"runs\":{{\"runs\":[{run}]}}}}")),
        (&["run", "x", "--wait"], format!("{{\"planned\":{{\"run\":{key}}}}}\n{{\"ended\":{run}}}")),
        (&["run", "x"], format!("{{\"planned\":{{\"run\":{text}}}}}")),
        (&["at", "now", "--", "true"], format!("{{\"submitted\":{{\"name\":{text},\"due\":{time}}}}}")),
        (&["at", "now", "--", "true"], format!("{{\"duplicate\":{{\"name\":{text}}}}}")),
        (
            &["every", "1h", "--", "true"],
            format!(
                "{{\"applied\":{{\"added\":[{text}],\"changed\":[],\"removed\":[],\"refused\":[],\"unchanged\":0,\"problems\":{text}}}}}"
            ),
        ),
    ];
    for (command, answer) in answers {
        for options in [&["--data", "ms"][..], &["--data", "ms", "--json"]] {
            let listener = listener.try_clone().unwrap();
            let answer = answer.clone();
            let server = move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut requests = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(request)) = requests.next() {
                    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
                    let health = "{\"health\":{\"now\":\"\",\"fault\":\"\\u001b[2J\\u202e\"}}".to_owned();
                    let body = if request["command"] == "health" { &health } else { &answer };
                    for line in body.lines() {
                        // A client that has seen enough may be gone.
                        let _ = writeln!(stream, "{{\"id\":{},{}", request["id"], &line[1..]);
                    }
                }
            };
            let server = thread::Builder::new().spawn(server).unwrap();
            let (first, rest) = (command[0], &command[1..]);
            let said = fixture.mainspring(&[&[first][..], options, rest].concat());
            server.join().unwrap();
            assert_plain(first, &said);
            let is_refused = command == ["run", "x"] && said.text().contains("cannot be read by this client");
            let is_shown = said.text().contains("owned") || first == "doctor";
            assert!(is_shown || is_refused, "{command:?}: {said:?}");
            assert!(
                !said.text().lines().any(|line| line == "forged")
                    || matches!(first, "show" | "status" | "every"),
                "{command:?}: {said:?}"
            );
        }
    }
}

#[test]
fn jobs_say_nothing_to_the_terminal() {
    let fixture = TrialFixture::of_ours("odd-output");
    let shell = "printf \"a\\033]0;owned\\007b\\342\\200\\256c\\n\"";
    let job = format!("[jobs.odd]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = '''{shell}'''\n");
    let server = fixture.serve(&job);
    assert_eq!(fixture.ask(&["run", "odd", "--wait"]).code, Some(0));
    // Another program gets what the job wrote.
    assert_eq!(fixture.ask(&["logs", "odd"]).stdout, "a\u{1b}]0;owned\u{7}b\u{202e}c\n");
    let mut script = Command::new("script");
    let text = format!("{} logs --data data odd", fixture.text("mainspring"));
    let output = script.args(["-qec", &text, "/dev/null"]).current_dir(&fixture.folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\\u{1b}]0;owned\\u{7}b\\u{202e}c\r\n");
    let (_, lines, _) = server.stop();
    assert!(lines.iter().flat_map(|line| line.chars()).all(is_plain), "{lines:?}");
}

/// What a terminal shows of a command.
fn on_a_terminal(fixture: &TrialFixture, command: &str) -> String {
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{} {command}", fixture.text("mainspring")), "/dev/null"]);
    // Without colours, so that every control character that is left is the job's.
    script.env("NO_COLOR", "1").env("ODD", ODD).env_remove("MAINSPRING_DATA");
    let output = script.current_dir(&fixture.folder).output().unwrap();
    // The terminal itself ends lines like this.
    String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")
}

/// All commands but `serve`, with a job whose every text is hostile.
const COMMANDS: [&str; 52] = [
    "check odd.toml",
    "check odd.crontab",
    "simulate odd.toml odd.crontab --for 1h",
    "crontab --root . -n odd.crontab",
    "import odd.crontab",
    "import --from sidekiq odd.toml",
    "apply odd.toml --data data",
    "apply bad.toml --data data",
    "every 1h --data data --name typed -- \"echo $ODD\"",
    "at +1h --data data --key \"$ODD\" -- echo \"$ODD\"",
    "run odd --wait --data data",
    "run \"$ODD\" --data data",
    "logs odd --data data",
    "logs \"$ODD\" --data data",
    "list --data data",
    "list --json --data data",
    "show odd --data data",
    "show typed --data data",
    "show \"$ODD\" --data data",
    "history --data data",
    "history --json --data data",
    "dead list --data data",
    "dead drop \"$ODD\" --data data",
    "backfill odd --from 2026-01-01 --to \"$ODD\" --data data",
    "pause odd --data data --note \"$ODD\"",
    "pause odd --data data",
    "audit --data data",
    "resume odd --data data",
    "resume \"$ODD\" --data data",
    "cancel \"$ODD\" --data data",
    "rewind odd --data data",
    "rewind \"$ODD\" --data data",
    "status --data data",
    // On a terminal it moves the cursor; what it shows there is tested where the screen is.
    "top --data data </dev/null",
    "doctor --data data",
    "doctor --json --data data",
    "health --data data",
    "export --data data",
    "remove \"$ODD\" --data data",
    "remove typed --data data",
    "next \"* * * * $ODD\"",
    "explain \"* * * * $ODD\"",
    "translate \"* * * * $ODD\"",
    "translate \"$ODD\" --to oncalendar",
    "completions bash",
    "man list",
    "open --data data",
    "token add \"$ODD\" --data data",
    "token list --data data",
    "store copy \"$ODD\" sqlite:data",
    "help \"$ODD\"",
    "--\"$ODD\"",
];

#[test]
fn no_command_says_what_a_hostile_job_says() {
    let fixture = TrialFixture::of_ours("odd-jobs");
    let odd = serde_json::to_string(ODD).unwrap();
    let jobs = format!(
        "[groups.g]\nlimit = 1\n[jobs.odd]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\ngroup = 'g'\nstdin = {odd}\nenv = {{ ODD = {odd} }}
        shell = {}\n",
        serde_json::to_string(&format!("cat; printf '%s' \"$ODD\"; exit 3 # {ODD}")).unwrap()
    );
    fs::write(fixture.path("odd.toml"), &jobs).unwrap();
    fs::write(fixture.path("bad.toml"), jobs.replace("limit = 1", &format!("limit = {odd}"))).unwrap();
    fs::write(fixture.path("odd.crontab"), format!("@daily {}\n", ODD.replace('\r', ""))).unwrap();
    let server = fixture.serve("");
    let mut said = String::new();
    for command in COMMANDS {
        let text = on_a_terminal(&fixture, command);
        for c in text.chars() {
            assert!(c == '\n' || is_plain(c), "{command}: {c:?} in {text:?}");
        }
        said.push_str(&text);
    }
    // The texts were said, in other characters.
    assert!(10 < said.matches("\\u{1b}]0;owned").count(), "{said}");
    let (_, lines, errors) = server.stop();
    assert!(lines.iter().flat_map(|line| line.chars()).all(is_plain), "{lines:?}");
    assert!(errors.chars().all(|c| c == '\n' || is_plain(c)), "{errors:?}");
    // No command is left out.
    let help = fixture.mainspring(&["--help"]).stdout;
    let commands = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    for name in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "serve") {
        assert!(COMMANDS.iter().any(|command| command.split(' ').next() == Some(name)), "{name}");
    }
}
