//! The text below the options in the help of the server's commands.
//!
//! Cost: none.
//!
//! Does not describe the options: their comments do, beside their types.
//!
//! Source: the conventions of <https://clig.dev>.

/// Every exit code and what it says, as the manual has them.
const EXIT_CODES: [(u8, &str); 10] = [
    (0, "done"),
    (1, "failed"),
    (2, "the command line was not understood"),
    (3, "no server answers at the data directory"),
    (4, "there is no such job or run"),
    (5, "a name or key is taken, or the data directory is in use"),
    (6, "a file has a problem"),
    (7, "a permission is missing, or a file is not safe to run"),
    (75, "not now: the server is full or still starting; try again later"),
    (124, "run --wait: the run took longer than its timeout"),
];

/// The codes of each command that talks to a server.
pub(super) const ASKING: &[u8] = &[0, 1, 2, 3, 7, 75];

/// Those of a command that names a job or a run.
pub(super) const NAMING: &[u8] = &[0, 1, 2, 3, 4, 7, 75];

/// Those of a command that takes a name which may be taken.
pub(super) const TAKING: &[u8] = &[0, 1, 2, 3, 5, 7, 75];

/// Those of a command that does both.
pub(super) const NAMING_AND_TAKING: &[u8] = &[0, 1, 2, 3, 4, 5, 7, 75];

pub(super) const OF_SERVE: &[u8] = &[0, 1, 2, 5, 6, 7, 75];

pub(super) const OF_RUN: &[u8] = &[0, 1, 2, 3, 4, 7, 75, 124];

pub(super) const OF_CRONTAB: &[u8] = &[0, 1, 2, 6, 7];

pub(super) const OF_APPLY: &[u8] = &[0, 1, 2, 3, 5, 6, 7, 75];

#[cfg(feature = "web")]
pub(super) const OF_TOKEN: &[u8] = &[0, 1, 2, 4, 5, 7];

/// All of them.
pub(super) fn all_codes() -> String {
    table_of(&EXIT_CODES)
}

/// The help of a command, and the exit codes that it can end with.
pub(super) fn with_codes(text: &str, codes: &[u8]) -> String {
    let own: Vec<(u8, &str)> = EXIT_CODES.into_iter().filter(|(code, _)| codes.contains(code)).collect();
    format!("{text}\n\n{}", table_of(&own))
}

fn table_of(codes: &[(u8, &str)]) -> String {
    let rows: Vec<String> = codes.iter().map(|(code, says)| format!("\n  {code:<4} {says}")).collect();
    format!("Exit codes:{}", rows.concat())
}

pub(super) const SERVE: &str = "\
The server runs the jobs of the files and of the commands `at`, `every` and `apply`, keeps what happens
in its data directory, and answers the other commands on a socket there. A job is acknowledged only
when it is on disk, and one start record of a run is on disk before anything starts. What was due while
no server ran is caught up as the job's misfire policy says, or recorded as missed.

Files that end in .toml are job files, others are crontabs; see examples/jobs.toml. Of a folder the
files with cron's names are taken, and NAME.toml and NAME.crontab; they come and go. Above an entry of a
crontab a comment may give it a name and policies: # mainspring: name=backup timeout=1h retry=3
A file is read again when it changes and on SIGHUP. Running jobs go on; a file with a problem changes
nothing, and `mainspring status` shows it. Where nothing is in force yet that could stay, serve ends
with exit code 6 or 7. A name belongs to one file. Jobs of files that are not given any more go.

--cron serves what Debian's cron does, by its rules for owners, modes, links and names: /etc/crontab,
/etc/cron.d, and the users' crontabs in /var/spool/cron/crontabs. Commands have the variables of
/etc/environment and /etc/default/locale, and what they write is mailed. The manual has the differences.

The data directory is --data, or $MAINSPRING_DATA, or /var/lib/mainspring for root, or else
$XDG_STATE_HOME/mainspring or ~/.local/state/mainspring. One server at a time has it.

SIGTERM or SIGINT (Ctrl-C) stops: nothing more is started, and each running job gets its kill signal, at
once or after --drain; what still runs after --grace gets SIGKILL. A second signal kills at once.

--listen=ADDRESS:PORT serves a page, an HTTP API and metrics; --listen alone is 127.0.0.1:7411. Whoever
asks needs a token (mainspring token add) or a session (mainspring open), on this machine too. Addresses
that other machines reach are refused without --behind-proxy: the proxy has the encryption.

Sockets that systemd hands over are taken: one at mainspring.sock in the data directory is where
commands ask (mainspring.socket). --listen=systemd takes the others for HTTP, and --listen=systemd:NAME
those of that name. A server that starts only when it is asked runs no job before, so
mainspring.service stays enabled too.

With --paused the server shows everything, as `list` and the page do, and starts nothing until
`mainspring resume --all`, also after another start. Files need not be given: no job is removed.

With --memory everything works and nothing is kept: the store is in memory, and the socket in a folder
of its own, which the first line of the log names, unless --data names one that holds no store.

Examples:
  mainspring serve examples/jobs.toml
  mainspring serve --data /srv/mainspring /etc/mainspring/*.toml
  mainspring serve --standby --data /srv/mainspring /etc/mainspring/*.toml
  mainspring serve --memory examples/crontab
  mainspring serve --paused --data /tmp/restored
  mainspring serve --listen examples/jobs.toml
  sudo mainspring serve --cron";

#[cfg(feature = "web")]
pub(super) const OPEN: &str = "\
The server gives a code that is good once and for a minute, over its socket, to who may connect there:
the user of the server and root. A server without --listen has no page.

Examples:
  mainspring open
  mainspring open --print";

#[cfg(feature = "web")]
pub(super) const TOKEN: &str = "\
A token is shown once; the file DATA/tokens has its hash. The server reads that file again when it
changes, so a token that is removed is good no longer. Scopes: metrics, look, operate, define.

Examples:
  mainspring token add prometheus --scope metrics
  mainspring token add mara --scope operate
  mainspring token list
  mainspring token remove mara
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:7411/api/v1/status";

pub(super) const STORE: &str = "\
Both sides of a copy are offline: no server has them. The target is empty, and holds all or nothing
afterwards. The output of runs stays in the data directories of the servers that ran them.

Examples:
  mainspring store copy sqlite:/var/lib/mainspring file:/etc/mainspring/store
  mainspring store copy postgres://mainspring@db.example/mainspring sqlite:/var/lib/mainspring
  mainspring store migrate --store-file /etc/mainspring/store
  mainspring store migrate --preview | psql -d mainspring";

pub(super) const LIST: &str = "\
Jobs come in the order of their names. Those of `at` that wait follow, the next due first, at most -n.

Examples:
  mainspring list
  mainspring list --pending -n 100
  mainspring list --json";

pub(super) const SHOW: &str = "\
Shown are a job's triggers, policies and state, its last run, and its definition as a table of a job
file. Of a job of `at` it is that job while it is pending, and then its last run. What waits says why.

Examples:
  mainspring show backup
  mainspring show backup -n 10";

pub(super) const HISTORY: &str = "\
The latest run comes first. States are scheduled, queued, running, succeeded, failed, timed_out,
cancelled, skipped_overlap, skipped_paused, missed, abandoned and dead. A record of many missed or
skipped occurrences is one line with their count.

Examples:
  mainspring history
  mainspring history --by-end --since '2026-11-21 00:00' --cause backfill
  mainspring history backup -n 100
  mainspring history --state failed,timed_out,dead --json";

pub(super) const LOGS: &str = "\
Lines of standard error are marked with `!`, and notes about the output with `~`: of an output beyond
output_bytes the beginning and the end are kept. Secrets are not in them. Without a server the files of
the data directory are read; -f follows a server. The output of all jobs together is the log of serve.

Examples:
  mainspring logs backup
  mainspring logs -f backup
  mainspring logs -n 20 backup
  mainspring logs backup@2026-11-21T03:00:00Z";

pub(super) const RUN: &str = "\
The run waits for its place like any other: under an overlap policy other than allow, behind the run
that is running. Its name is printed as soon as it is on disk. With --wait the success of the run
is the exit code: 0, 1 if it failed, 124 if it took longer than its timeout.

Examples:
  mainspring run backup
  mainspring run backup --wait && echo done";

pub(super) const AT: &str = "\
The command runs once, without a shell, in the current directory, with the current PATH and otherwise
the environment of a cron job. Without a command, standard input is a script for /bin/sh. It is on disk
when its name is printed. With --key a second submission with the same key is answered with the name of
the first. A time that is past is refused, because it is more often a mistake than meant: exit code 2.
With --even-if-past the command then runs at once. With --webhook a POST request is sent instead; its
URL and its body are templates.

Examples:
  mainspring at +10m -- notify-send 'tea is ready'
  mainspring at 17:30 --name home -- echo 'time to go'
  mainspring at 'tomorrow 9:00' < script.sh
  mainspring at '2026-12-31 23:59' --policy retry=3 -- /usr/local/bin/close-books
  mainspring at +1h --webhook https://example.com/hooks/{job} --body 'it is {nominal}'";

pub(super) const EVERY: &str = "\
The job is defined until `mainspring remove` removes it. The command runs without a shell, in the
current directory.

Examples:
  mainspring every 5m -- curl -fsS https://example.com/health
  mainspring every 1h --name sync --policy overlap=skip --policy timeout=30m -- /usr/local/bin/sync";

pub(super) const PAUSE: &str = "\
A paused job plans nothing; what passes meanwhile is recorded as skipped. Running runs go on.

Examples:
  mainspring pause backup
  mainspring pause backup --until +2h --note 'the disk is being replaced'
  mainspring pause --all";

pub(super) const AUDIT: &str = "\
The newest comes first. What a person or a program asks of the server is kept, but for what only looks
and for `at`, whose pending job is the record. Over the socket it is the user of the process that is
kept, over HTTP the token or the user of the proxy. The newest 10,000 rows are kept.

Examples:
  mainspring audit
  mainspring audit backup -n 100
  mainspring audit --actor 'uid 1000' --since '2026-11-21 00:00' --json
  mainspring audit --actor 'token mara'";

pub(super) const RESUME: &str = "\
Examples:
  mainspring resume backup
  mainspring resume --all";

pub(super) const CANCEL: &str = "\
A run that waits is withdrawn; one that runs gets its kill signal, and SIGKILL after its grace period.

Examples:
  mainspring cancel backup
  mainspring cancel backup@2026-11-21T03:00:00Z";

pub(super) const REMOVE: &str = "\
Only jobs that came by `every` or `apply` can be removed: others would come back with their files.
Its runs stay in the history as long as runs do. --drop-history drops them with their output; it is
refused while a run of the job is open or a dead letter.

Examples:
  mainspring remove sync
  mainspring remove sync --drop-history";

pub(super) const BACKFILL: &str = "\
The job is run once for each occurrence in the range, one after the other unless its overlap policy is
allow. First they are shown; on a terminal there is a question, elsewhere nothing happens without --yes.
They are on disk together or not at all. With --wait they are waited for, and a failure is exit code 1.

Examples:
  mainspring backfill report '2026-11-01 00:00' '2026-11-07 23:59'
  mainspring backfill report 2026-11-01T00:00:00Z 2026-11-08T00:00:00Z --yes";

pub(super) const REWIND: &str = "\
A job rests until the clock has caught up with what was planned of it: after the clock was ahead, for as
long as it was. This lets it plan from now on. First the next times are shown; on a terminal there is a
question, elsewhere nothing happens without --yes. What has a record under its own time does not run
again. `doctor` names the jobs that rest so.

Examples:
  mainspring rewind report
  mainspring rewind report --yes";

pub(super) const DEAD: &str = "\
A run whose attempts have all failed becomes a dead letter, if the job's policy dead_letters says so.

Examples:
  mainspring dead list
  mainspring dead retry report@2026-11-21T03:00:00Z
  mainspring dead drop report@2026-11-21T03:00:00Z
  mainspring dead retry --all";

pub(super) const APPLY: &str = "\
The jobs are added to the server and kept in its data directory. A file with a problem changes nothing,
nor does one that says a name of another file or of `every`: exit code 5.

Examples:
  mainspring apply --diff jobs.toml
  mainspring apply --prune jobs.toml";

pub(super) const EXPORT: &str = "\
Without --history all jobs are printed as one job file, defaults filled in. With it all runs that are
kept are printed, one JSON document a line, the latest first.

Examples:
  mainspring export > jobs.toml
  mainspring export --history | jq -r 'select(.state == \"failed\") | .run'";

pub(super) const STATUS: &str = "\
Examples:
  mainspring status
  mainspring status --json";

pub(super) const TOP: &str = "\
What somebody should look at comes first, then what runs, then what is due. The server is asked once a
second, and less often where its answers take long. Every change is asked for before it is made.

Keys: 1 2 3 4 or Tab for jobs, running, history and dead letters; j k or arrows move, Enter or l shows
what a run wrote, / finds names, s sorts, r runs, p pauses and resumes, c cancels, t retries a dead
letter, Space holds still, ? shows all keys, q ends. The terminal is put back however it ends, but for
SIGKILL: `reset` does that.

Examples:
  mainspring top
  mainspring top --url https://cron.example/mainspring/ --token-file ~/.config/mainspring.token";

pub(super) const DOCTOR: &str = "\
Each line is one thing that was looked at, and how it is: ok, warning or BAD, the last two with a hint
of what to do. A running server is asked for what only it knows: its store, jobs and files, what is
paused or dead, the room on its disk, its limits, and whether the clock stands before what was planned.
Without one the store is read through. The exit code is 1 if anything is BAD; warnings alone give 0.

Examples:
  mainspring doctor
  mainspring doctor --json | jq -r .level";

pub(super) const HEALTH: &str = "\
Prints what is not as it should be, judged as doctor does, or one line where all is. The exit code is 0
where nothing is BAD, 1 where something is, 3 where no server answers within ten seconds.

Examples:
  mainspring health
  mainspring health --json | jq -r .level";

pub(super) const COMPLETIONS: &str = "\
Examples:
  mainspring completions bash > /etc/bash_completion.d/mainspring
  mainspring completions zsh > ~/.zfunc/_mainspring";

pub(super) const MAN: &str = "\
Examples:
  mainspring man | man -l -
  mainspring man /usr/local/share/man/man1";
