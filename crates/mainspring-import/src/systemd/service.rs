//! The keys of `[Service]`, of `[Unit]` and of `[Install]`.
//!
//! Cost: one look at each key.
//!
//! Does not carry the sandbox of a service over: each of its keys is told.
//!
//! Source: systemd.service(5),
//! [systemd.exec(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html),
//! systemd.kill(5), systemd.resource-control(5), systemd.unit(5).

use std::time::Duration;

use mainspring_action::key::{MAX_UMASK, bytes_of};
use mainspring_action::names::CPU_PERCENT;
use mainspring_job::{MAX_KILL_GRACE, Signal};

use super::command::{Run, run_of};
use super::timespan;
use super::unit_reader::{UnitReader, UnitWords};
use super::words::Specifiers;
use crate::finding::PlacedText;
use crate::key::{Key, is, lost, near, unneeded};

/// The time until SIGKILL of a service that says nothing.
pub(super) const DEFAULT_GRACE: Duration = Duration::from_secs(90);

/// Keys of `[Service]`.
pub(super) const SERVICE_KEYS: &[Key<UnitWords, PlacedText>] = &[
    is("Type", "run", kind, "a run ends when its process ends, as with `oneshot`"),
    is("ExecStart", "run, shell", exec_start, "several lines are one for a shell, with `&&` between"),
    is(
        "ExecCondition",
        "shell",
        |reader, it| add(&mut reader.values.conditions, it),
        "`{ .. || exit 0; }` before the others: without it nothing runs",
    ),
    is("ExecStartPre", "shell", exec_pre, "the line stands before, with `&&`"),
    is("ExecStartPost", "shell", exec_post, "the line stands behind, with `&&`"),
    lost(
        "ExecStop ExecStopPost",
        "nothing runs when a run was stopped or has failed",
        "in a shell: trap '..' EXIT, or a job with after = { job, on = \"any\" }",
    ),
    lost("ExecReload ExecReloadPost", "a job is not reloaded", "nothing has to be done"),
    is("User", "user", |reader, it| reader.values.user = reader.account(it), "a name, and no number"),
    is("Group", "user", |reader, it| reader.values.group = reader.account(it), "`user = \"NAME:GROUP\"`"),
    lost(
        "DynamicUser SupplementaryGroups PAMName",
        "a job runs as a user of the machine, with that user's groups",
        "make a user, and give the job user = \"NAME\"",
    ),
    is("WorkingDirectory", "cwd", working_directory, "without it `/`, as there"),
    is("Environment", "env", environment, ""),
    near(
        "EnvironmentFile",
        "env_file",
        environment_file,
        "a file that is not there fails the run; what stands in `env` wins over it",
    ),
    lost(
        "PassEnvironment",
        "a job has no variable of the server",
        "write it into env, or inherit_env = true",
    ),
    lost("UnsetEnvironment", "a job has only the variables that its file says", "nothing has to be done"),
    is("TimeoutStartSec", "timeout", timeout_start, "of a `oneshot`; of others it is no limit of the run"),
    is("TimeoutSec", "timeout", timeout, "TimeoutStartSec and TimeoutStopSec in one"),
    is("RuntimeMaxSec", "timeout", |reader, it| reader.job.policies.timeout.after = reader.duration(it), ""),
    is(
        "TimeoutStopSec TimeoutAbortSec",
        "timeout",
        timeout_stop,
        "its `grace`, up to an hour; 90 s without it, as there",
    ),
    is("KillSignal", "timeout", kill_signal, "its `signal`: TERM, INT, HUP, QUIT, USR1, USR2, KILL"),
    unneeded("KillMode SendSIGKILL", "a run is killed with all that it started"),
    unneeded(
        "SendSIGHUP FinalKillSignal RestartKillSignal WatchdogSignal",
        "the signals are TERM, or that of timeout, and KILL",
    ),
    lost("Restart", "a job is not started again by this", "retry = { max = 3, backoff = \"10s\" }"),
    lost(
        "RestartSec RestartSteps RestartMaxDelaySec RestartForceExitStatus RestartPreventExitStatus",
        "waits between attempts are those of retry",
        "retry = { max, backoff, factor, cap }",
    ),
    lost("SuccessExitStatus", "only the exit code 0 is a success", "in a shell: PROGRAM || [ $? -eq 3 ]"),
    lost("RemainAfterExit", "a run is over when its process is", "nothing has to be done"),
    lost(
        "WatchdogSec NotifyAccess FileDescriptorStoreMax Sockets BusName PIDFile GuessMainPID",
        "a job does not report to the server",
        "timeout ends what hangs",
    ),
    is("Nice", "nice", |reader, it| reader.job.body.nice = reader.number(it), ""),
    is("OOMScoreAdjust", "oom_score_adj", |reader, it| reader.job.body.oom_score_adj = reader.number(it), ""),
    is("UMask", "umask", umask, ""),
    is("MemoryMax MemoryLimit", "memory_max", memory_max, "a run that gets no cgroup fails"),
    is("CPUQuota", "cpu_max", cpu_quota, "a part of a per cent is one; a run that gets no cgroup fails"),
    is("NoNewPrivileges", "no_new_privileges", no_new_privileges, ""),
    is("LimitNOFILE", "limits", |reader, it| limit(reader, "open_files", bytes, it), "its `open_files`"),
    is("LimitNPROC", "limits", |reader, it| limit(reader, "processes", bytes, it), "its `processes`"),
    is("LimitCORE", "limits", |reader, it| limit(reader, "core_bytes", bytes, it), "its `core_bytes`"),
    is("LimitFSIZE", "limits", |reader, it| limit(reader, "file_bytes", bytes, it), "its `file_bytes`"),
    is("LimitCPU", "limits", |reader, it| limit(reader, "cpu_seconds", seconds, it), "its `cpu_seconds`"),
    is("LimitAS", "limits", |reader, it| limit(reader, "address_bytes", bytes, it), "its `address_bytes`"),
    is("LimitDATA", "limits", |reader, it| limit(reader, "data_bytes", bytes, it), "its `data_bytes`"),
    is("LimitSTACK", "limits", |reader, it| limit(reader, "stack_bytes", bytes, it), "its `stack_bytes`"),
    is("LimitMEMLOCK", "limits", |reader, it| limit(reader, "locked_bytes", bytes, it), "its `locked_bytes`"),
    lost(
        "LimitRSS LimitLOCKS LimitSIGPENDING LimitMSGQUEUE LimitNICE LimitRTPRIO LimitRTTIME",
        "this limit is not set",
        "in a shell: ulimit",
    ),
    lost(
        "CPUScheduling* IOScheduling* CPUAffinity NUMA* CoredumpFilter TimerSlackNSec Personality",
        "how the kernel schedules the process is not set",
        "in the command: ionice, chrt, taskset",
    ),
    lost(
        "Protect* Private* Read* Inaccessible* Exec*Paths NoExecPaths Temporary* Bind* Root* Mount* Restrict* SystemCall* Capability* AmbientCapabilities Lock* MemoryDenyWriteExecute RemoveIPC SecureBits Keyring* AppArmorProfile SELinuxContext SmackProcessLabel ProcSubset NetworkNamespacePath UtmpIdentifier UtmpMode",
        "the job runs outside of this sandbox",
        "nothing, or run the command by systemd-run --wait --pipe -p ..",
    ),
    lost(
        "CPUWeight StartupCPUWeight CPUShares IO* BlockIO* Memory* Tasks* Slice Delegate* Device* IPAddress* IPAccounting CPUAccounting AllowedCPUs AllowedMemoryNodes OOMPolicy ManagedOOM*",
        "of the cgroup only memory_max and cpu_max are set",
        "nothing, or run the command by systemd-run --scope -p ..",
    ),
    lost(
        "RuntimeDirectory* StateDirectory* CacheDirectory* LogsDirectory* ConfigurationDirectory*",
        "the folder is not made",
        "make it once, or in the command: install -d -m 700 DIR",
    ),
    lost(
        "LoadCredential* SetCredential* ImportCredential",
        "there is no folder of credentials",
        "secrets = { NAME = \"/path\" } puts a file into a variable",
    ),
    is(
        "StandardOutput StandardError",
        "output_bytes",
        output,
        "what a run writes is kept: `mainspring logs`",
    ),
    lost(
        "StandardInput StandardInputText StandardInputData TTY*",
        "standard input is empty",
        "stdin = \"..\"",
    ),
    unneeded(
        "Syslog* LogLevelMax LogExtraFields LogNamespace LogFilterPatterns LogRateLimit*",
        "the log of the server names the job",
    ),
    unneeded(
        "IgnoreSIGPIPE RootDirectoryStartOnly NonBlocking TimeoutStartFailureMode TimeoutStopFailureMode",
        "it means nothing for a command that ends",
    ),
];

/// Keys of `[Unit]`, of a timer and of a service.
pub(super) const UNIT_KEYS: &[Key<UnitWords, PlacedText>] = &[
    is("Description", "a comment", |reader, it| reader.job.comment(it.text.as_str()), ""),
    unneeded("Documentation SourcePath", "it is for people"),
    unneeded(
        "DefaultDependencies RefuseManual* StopWhenUnneeded AllowIsolate IgnoreOnIsolate CollectMode",
        "it is of the manager of units",
    ),
    lost(
        "OnFailure OnSuccess OnFailureJobMode",
        "no unit is started at the end",
        "notify = [..], or a job with after = { job, on = \"failed\" }",
    ),
    lost("Condition* Assert*", "the job starts in any case", "in the command: [ -e FILE ] || exit 0"),
    lost(
        "After Before Wants Requires Requisite BindsTo PartOf Upholds Conflicts RequiresMountsFor WantsMountsFor JoinsNamespaceOf",
        "a job does not wait for units",
        "nothing, or systemctl is-active UNIT in the command",
    ),
    lost(
        "StartLimit* FailureAction SuccessAction JobTimeout* RebootArgument",
        "starts are not counted like this",
        "pause_after = 5 pauses a job that fails",
    ),
];

/// Keys of `[Install]`.
pub(super) const INSTALL_KEYS: &[Key<UnitWords, PlacedText>] = &[unneeded(
    "WantedBy RequiredBy UpheldBy Also Alias DefaultInstance",
    "a job is in force when its file is",
)];

fn kind(reader: &mut UnitReader, given: &PlacedText) {
    reader.values.kind.clone_from(&given.text);
    if matches!(given.text.as_str(), "forking" | "dbus" | "notify" | "notify-reload" | "idle") {
        let message = format!("a service of the type `{}` is a run until its process ends", given.text);
        reader.findings.warn(&given.place, message, "have the program stay in the foreground");
    }
}

/// Adds a line; an empty one takes back those above.
fn add(lines: &mut Vec<PlacedText>, given: &PlacedText) {
    if given.text.is_empty() { lines.clear() } else { lines.push(given.clone()) }
}

fn exec_start(reader: &mut UnitReader, given: &PlacedText) {
    add(&mut reader.values.main, given);
}

fn exec_pre(reader: &mut UnitReader, given: &PlacedText) {
    add(&mut reader.values.pre, given);
}

fn exec_post(reader: &mut UnitReader, given: &PlacedText) {
    add(&mut reader.values.post, given);
}

fn working_directory(reader: &mut UnitReader, given: &PlacedText) {
    let Some(word) = reader.word(given) else { return };
    let path = word.trim_start_matches('-');
    if path != word {
        let message = "`-`: a folder that is not there fails the run here, and `/` does not stand in for it";
        reader.findings.remark(&given.place, message);
    }
    reader.values.has_cwd = true;
    match path {
        // The home of its user is the default here.
        "~" | "%h" => reader.job.body.cwd = None,
        path if path.starts_with('/') => reader.job.body.cwd = Some(path.into()),
        path => reader.findings.warn(
            &given.place,
            format!("`{path}` is no path that begins with /"),
            "write cwd into the job file",
        ),
    }
}

fn environment(reader: &mut UnitReader, given: &PlacedText) {
    if given.text.is_empty() {
        reader.values.env.take();
    }
    for word in reader.words(given) {
        match word.split_once('=') {
            Some((name, value)) => reader.values.env.set(name, value.to_owned()),
            None => reader.findings.problem(&given.place, format!("expected NAME=value, found `{word}`")),
        }
    }
}

fn environment_file(reader: &mut UnitReader, given: &PlacedText) {
    if given.text.is_empty() {
        reader.job.body.env_file.clear();
        return;
    }
    let Some(word) = reader.word(given) else { return };
    let path = word.trim_start_matches('-');
    match path.starts_with('/') && !path.contains(['*', '?', '[']) {
        true => reader.job.body.env_file.push(path.into()),
        false => reader.findings.warn(
            &given.place,
            format!("`{path}` is not the path of one file"),
            "write each file into env_file",
        ),
    }
}

fn timeout_start(reader: &mut UnitReader, given: &PlacedText) {
    let duration = reader.duration(given).filter(|duration| !duration.is_zero());
    reader.values.start_timeout = Some((given.clone(), duration));
}

fn timeout_stop(reader: &mut UnitReader, given: &PlacedText) {
    // As there, 0 is no end.
    let is_endless = timespan::parse(&given.text).is_some_and(|span| span.is_zero());
    let text = if is_endless { "infinity" } else { &given.text };
    let given = PlacedText { text: text.to_owned(), place: given.place.clone() };
    let warning = ["the time until SIGKILL is at most an hour here", "nothing has to be done"];
    if let Some(duration) = reader.up_to(MAX_KILL_GRACE, &given, warning) {
        reader.job.policies.timeout.kill.grace = duration;
    }
}

fn timeout(reader: &mut UnitReader, given: &PlacedText) {
    timeout_start(reader, given);
    timeout_stop(reader, given);
}

fn kill_signal(reader: &mut UnitReader, given: &PlacedText) {
    match Signal::from_name(&given.text) {
        Some(signal) => reader.job.policies.timeout.kill.signal = signal,
        None => reader.findings.warn(
            &given.place,
            format!("the signal `{}` is not sent here", given.text),
            "timeout = { signal = \"INT\" }, or another of the list",
        ),
    }
}

fn umask(reader: &mut UnitReader, given: &PlacedText) {
    match u32::from_str_radix(&given.text, 8) {
        Ok(mask) if mask <= MAX_UMASK => reader.job.body.umask = Some(mask),
        _ => reader
            .findings
            .problem(&given.place, format!("expected up to three octal digits, found `{}`", given.text)),
    }
}

/// A number of bytes: `2G`, `512M`, `1.5K`. `None` for `infinity`.
fn bytes(reader: &mut UnitReader, given: &PlacedText) -> Option<u64> {
    let text = given.text.trim();
    let found = bytes_of(text);
    if found.is_none() && !matches!(text, "" | "infinity") {
        let message = format!("`{text}` is no number of bytes here");
        reader.findings.warn(&given.place, message, "write it into the job file");
    }
    found
}

fn memory_max(reader: &mut UnitReader, given: &PlacedText) {
    reader.job.body.memory_max = bytes(reader, given);
}

fn cpu_quota(reader: &mut UnitReader, given: &PlacedText) {
    let units = [("%", 1.0), ("‰", 0.1), ("‱", 0.01)];
    let found = units.iter().find_map(|(suffix, percent)| {
        let number: f64 = given.text.strip_suffix(suffix)?.trim_end().parse().ok()?;
        Some(number * percent).filter(|percent| 0.0 < *percent)
    });
    reader.job.body.cpu_max = found.map(|percent| whole_percent(reader, given, percent));
    if found.is_none() && !given.text.is_empty() {
        reader.findings.problem(&given.place, format!("expected per cent, found `{}`", given.text));
    }
}

/// The least limit that is as high.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the range")]
fn whole_percent(reader: &mut UnitReader, given: &PlacedText, percent: f64) -> u32 {
    let (least, greatest) = (f64::from(*CPU_PERCENT.start()), f64::from(*CPU_PERCENT.end()));
    // What is no fraction of a binary number is not a bit more than it is.
    let whole = (percent - 1e-6).ceil().clamp(least, greatest) as u32;
    if 1e-6 < (f64::from(whole) - percent).abs() {
        let message = format!("a limit is a whole per cent up to {} here: it is {whole}%", CPU_PERCENT.end());
        reader.findings.warn(&given.place, message, "nothing, or write cpu_max into the job file");
    }
    whole
}

fn no_new_privileges(reader: &mut UnitReader, given: &PlacedText) {
    reader.job.body.no_new_privileges = reader.truth(given);
}

fn output(reader: &mut UnitReader, given: &PlacedText) {
    if ["file:", "append:", "truncate:", "socket", "tty", "fd:"]
        .iter()
        .any(|word| given.text.starts_with(word))
    {
        let message = format!("`{}`: what a run writes is kept by the server, and nowhere else", given.text);
        let todo = "mainspring logs JOB, or in a shell: PROGRAM >>FILE 2>&1";
        reader.findings.warn(&given.place, message, todo);
    }
}

/// Reads a limit: of "soft:hard" the soft one, which the program meets.
fn limit(
    reader: &mut UnitReader,
    name: &str,
    read: fn(&mut UnitReader, &PlacedText) -> Option<u64>,
    given: &PlacedText,
) {
    let (soft, _) = given.text.split_once(':').unwrap_or((&given.text, ""));
    let soft = PlacedText { text: soft.to_owned(), place: given.place.clone() };
    let value = if soft.text == "infinity" { Some(u64::MAX) } else { read(reader, &soft) };
    reader.job.body.limits.retain(|(known, _)| known != name);
    reader.job.body.limits.extend(value.map(|value| (name.to_owned(), value)));
}

fn seconds(reader: &mut UnitReader, given: &PlacedText) -> Option<u64> {
    reader.duration(given).map(|duration| duration.as_secs())
}

/// Judges what stands in several keys.
pub(super) fn finish(reader: &mut UnitReader) {
    let mut service = std::mem::take(&mut reader.values);
    reader.job.body.env = service.env.take();
    if let Some((given, duration)) = &service.start_timeout {
        match service.kind.as_str() {
            "oneshot" => reader.job.policies.timeout.after = *duration,
            _ => reader.findings.remark(
                &given.place,
                "of this type of service the time limits the start, and not the run: it is left out",
            ),
        }
    }
    for account in service.user.iter().chain(&service.group) {
        if account.text.bytes().all(|byte| byte.is_ascii_digit()) {
            let message =
                format!("`{}` is a number, and no name: the job is written as a comment", account.text);
            let todo = "user = \"NAME:GROUP\", as id and getent group show them";
            reader.findings.warn(&account.place, message, todo);
            reader.job.switch_off("its user or its group is a number");
        }
    }
    match (&service.user, &service.group) {
        (Some(user), Some(group)) => reader.job.body.user = Some(format!("{}:{}", user.text, group.text)),
        (Some(user), None) => reader.job.body.user = Some(user.text.clone()),
        (None, Some(group)) => reader.findings.warn(
            &group.place,
            "a group without a user has no equal here",
            "user = \"NAME:GROUP\"",
        ),
        (None, None) => {}
    }
    if !service.has_cwd {
        reader.job.body.cwd = Some("/".into());
    }
    let specifiers =
        Specifiers { unit: &service.unit, user: service.user.as_ref().map(|user| user.text.as_str()) };
    let lines: Vec<PlacedText> = service.pre.into_iter().chain(service.main).chain(service.post).collect();
    match run_of(&service.conditions, &lines, &specifiers, &mut reader.findings) {
        Some(Run::Words(words)) => reader.job.body.run = words,
        Some(Run::Shell(text)) => reader.job.body.shell = Some(text),
        None => reader.job.switch_off("its service has no ExecStart"),
    }
    let body = &reader.job.body;
    debug_assert!(body.run.is_empty() || body.shell.is_none(), "a job runs words or a line, and not both");
    debug_assert!(reader.job.policies.timeout.kill.grace <= MAX_KILL_GRACE, "the longest grace is an hour");
}
