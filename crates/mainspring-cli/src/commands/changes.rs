//! The commands that change something: `run`, `at`, `every`, `pause`, `resume`, `cancel`, `remove`,
//! `backfill`, `rewind`, `dead`.
//!
//! Cost: one connection.
//!
//! Does not check what the server checks better.

use std::env;
use std::io::{self, BufRead, IsTerminal, Read, Write};

use jiff::Timestamp;
use mainspring_job::{Outcome, Policies, RunKey, RunState};

use super::answers::{ask, show};
use super::progress::Progress;
use super::views::first_rows;
use super::{instant, print, print_json, printed, zone_or_system};
use crate::cli::changes::{
    AtArgs, BackfillArgs, CancelArgs, DeadArgs, DeadCommand, EveryArgs, PauseArgs, RemoveArgs, RewindArgs,
    RunArgs, ScopeArgs,
};
use crate::cli::serve::AskArgs;
use crate::cli::value::Moment as When;
use crate::client::Client;
use mainspring_action::body::{ProcessBody, WebhookBody};
use mainspring_exec::clock::Moment;
use mainspring_file::crontab::word;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::rfc3339;
use mainspring_server::message::{counted, note};
use mainspring_server::protocol::{
    ALL_CAUSES, ErrorKind, EveryWire, HistoryWire, MAX_REQUEST_BYTES, MAX_ROWS, PauseWire, Request, Response,
    SubmitWire, WorkWire,
};
use mainspring_server::relative::relative;

/// How far a time may be past for `at`: the minute that a clock shows is not over.
const MAX_PAST_SECONDS: i64 = 60;

/// The longest script that `at` takes: half of what one argument of a program may have in Linux.
const MAX_SCRIPT_BYTES: u64 = 64 << 10;

const _: () = assert!(2 * MAX_SCRIPT_BYTES <= 128 << 10, "`MAX_ARG_STRLEN` of Linux is that of `sh -c`");
const _: () =
    assert!(6 * MAX_SCRIPT_BYTES < MAX_REQUEST_BYTES as u64, "a script of escapes fits into a request");

pub(super) fn run(args: &RunArgs) -> Result<Exit, Error> {
    let mut client = Client::connect(&args.ask.server.address())?;
    if args.wait
        && let Response::Status(status) = client.ask(Request::Status)?
        && status.paused
    {
        note("everything is paused: the run waits until `mainspring resume --all`");
    }
    let due = args.at.as_ref().or(args.r#in.as_ref());
    let due = due.map(|due| wanted(due, "without --at it runs now")).transpose()?.map(|due| due.to_string());
    let (job, key) = (args.job.clone(), args.key.clone());
    let first = ask_of_job(&mut client, &args.job, Request::Run { job, wait: args.wait, due, key })?;
    if !args.wait {
        return show(&args.ask, &first);
    }
    if !args.ask.json {
        show(&args.ask, &first)?;
    }
    let last = match &first {
        // A request before this one, with the same key, has made the run: it is waited for all the same.
        Response::Duplicate { name: Some(run), .. } => client.ask(Request::Wait { run: run.clone() })?,
        _ => client.next_answer()?,
    };
    let mut exit = exit_of(&args.ask, &last)?;
    // The command ends as the first that failed.
    for run in runs_elsewhere(&mut client, &first)? {
        let end = client.ask(Request::Wait { run: run.to_string() })?;
        let next = exit_of(&args.ask, &end)?;
        exit = if exit == Exit::Ok { next } else { exit };
    }
    Ok(exit)
}

/// Asks for something of a job. What came by `at` is no job, and the message says what there is for it.
fn ask_of_job(client: &mut Client, job: &str, request: Request) -> Result<Response, Error> {
    match client.ask(request) {
        Err(Error::Refused(mut refusal)) if refusal.kind == ErrorKind::NotFound => {
            if let Ok(Response::Once(_)) = client.ask(Request::Show { job: job.to_owned() }) {
                refusal.message += &format!(": `{job}` came by `at`, and `mainspring cancel {job}` ends it");
            }
            Err(Error::Refused(refusal))
        }
        answer => answer,
    }
}

/// The same, and shows the answer. `None` is every job.
fn change(args: &AskArgs, job: Option<&str>, request: Request) -> Result<Exit, Error> {
    let mut client = Client::connect(&args.server.address())?;
    let answer = match job {
        Some(job) => ask_of_job(&mut client, job, request)?,
        None => client.ask(request)?,
    };
    show(args, &answer)
}

/// Shows the end of a run. Returns how the command ends.
fn exit_of(arguments: &AskArgs, last: &Response) -> Result<Exit, Error> {
    show(arguments, last)?;
    Ok(match last {
        Response::Ended(run) if run.state == RunState::Succeeded => Exit::Ok,
        Response::Ended(run) if run.outcome_code.as_deref() == Some(Outcome::TimedOut.code()) => {
            Exit::TimedOut
        }
        _ => Exit::Failed,
    })
}

/// The other runs of what was asked for, if its job has one for each server: they have its time.
fn runs_elsewhere(client: &mut Client, planned: &Response) -> Result<Vec<RunKey>, Error> {
    let Response::Planned { run } = planned else { return Ok(Vec::new()) };
    if run.series == 0 {
        return Ok(Vec::new());
    }
    let query = HistoryWire {
        job: Some(run.job.to_string()),
        cause: Some(ALL_CAUSES.to_owned()),
        since: Some(run.nominal.to_string()),
        limit: MAX_ROWS,
        ..HistoryWire::default()
    };
    let Response::Runs { runs, .. } = client.ask(Request::History(query))? else { return Ok(Vec::new()) };
    let keys = runs.into_iter().map(|found| found.run);
    Ok(keys.filter(|key| key.nominal == run.nominal && key != run).collect())
}

/// A time that people ask for, which is not past.
fn wanted(when: &When, hint: &str) -> Result<Timestamp, Error> {
    let (now, due) = (Moment::now().wall, instant(when)?);
    if now.as_second() <= due.as_second() + MAX_PAST_SECONDS {
        return Ok(due);
    }
    let was = rfc3339(&due.to_zoned(zone_or_system(None)));
    Err(Error::Usage(format!("{was} was {}: a mistake? {hint}", relative(due, now))))
}

pub(super) fn at(args: &AtArgs) -> Result<Exit, Error> {
    let due = if args.even_if_past {
        instant(&args.when)?
    } else {
        wanted(&args.when, "`now` runs a command at once, and --even-if-past what is late")?
    };
    let work = match &args.webhook {
        Some(url) => request(url, args.body.as_deref()),
        None if args.command.is_empty() => script(args.user.clone())?,
        None => command(&args.command, args.user.clone())?,
    };
    let submission = SubmitWire {
        due: due.to_string(),
        name: args.name.as_ref().map(ToString::to_string),
        key: args.key.clone(),
        work: WorkWire { policies: policies(&args.policies)?.to_string(), ..work },
        ..SubmitWire::default()
    };
    ask(&args.ask, Request::Submit(Box::new(submission)))
}

pub(super) fn every(args: &EveryArgs) -> Result<Exit, Error> {
    let word = || word::of_words(&args.command).unwrap_or_else(|| "command".to_owned());
    let definition = EveryWire {
        name: args.name.as_ref().map_or_else(word, ToString::to_string),
        period: args.period.clone(),
        replace: args.replace,
        work: WorkWire {
            policies: policies(&args.policies)?.to_string(),
            ..command(&args.command, args.user.clone())?
        },
    };
    ask(&args.ask, Request::Every(Box::new(definition)))
}

/// A command, started where the caller is and found as the caller finds it.
fn command(words: &[String], user: Option<String>) -> Result<WorkWire, Error> {
    process(ProcessBody { run: words.to_vec(), user, ..ProcessBody::default() })
}

/// A script for `/bin/sh` on standard input, as at(1) takes one.
fn script(user: Option<String>) -> Result<WorkWire, Error> {
    let input = io::stdin();
    if input.is_terminal() {
        let text = "there is no command: `at TIME -- COMMAND`, or a script on standard input";
        return Err(Error::Usage(text.to_owned()));
    }
    let mut text = String::new();
    let read = input.lock().take(MAX_SCRIPT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| Error::Usage(format!("the script on standard input cannot be read: {error}")))?;
    if MAX_SCRIPT_BYTES < text.len() as u64 {
        let most = MAX_SCRIPT_BYTES;
        return Err(Error::Usage(format!("the script on standard input is longer than {most} bytes")));
    }
    if text.trim().is_empty() {
        let text = "there is no command behind --, and no script on standard input";
        return Err(Error::Usage(text.to_owned()));
    }
    process(ProcessBody { shell: Some(text), user, ..ProcessBody::default() })
}

/// A process, started where the caller is and with what the caller finds programs by.
fn process(body: ProcessBody) -> Result<WorkWire, Error> {
    let away =
        |error| Error::Usage(format!("it is to start in the current directory, which is gone: {error}"));
    let cwd = env::current_dir().map_err(away)?;
    // Job files and the API are texts.
    let nameless =
        |what: &str| Error::Usage(format!("{what} is no UTF-8: it cannot start there as it does here"));
    cwd.to_str().ok_or_else(|| nameless("the current directory"))?;
    let path = env::var_os("PATH").map(|path| path.into_string().map_err(|_| nameless("PATH")));
    let env = path.transpose()?.map(|path| ("PATH".to_owned(), path)).into_iter().collect();
    Ok(WorkWire { process: ProcessBody { cwd: Some(cwd), env, ..body }, ..WorkWire::default() })
}

/// A request to a URL.
fn request(url: &str, body: Option<&str>) -> WorkWire {
    let body = body.unwrap_or_default().to_owned();
    let webhook = WebhookBody { url: url.to_owned(), body, ..WebhookBody::default() };
    WorkWire { webhook: Some(webhook), ..WorkWire::default() }
}

pub(super) fn pause(args: &PauseArgs) -> Result<Exit, Error> {
    let until = args.until.as_ref().map(instant).transpose()?.map(|until| until.to_string());
    let (job, note) = (args.scope.job.clone(), args.note.clone());
    change(&args.scope.ask, args.scope.job.as_deref(), Request::Pause(PauseWire { job, until, note }))
}

pub(super) fn resume(args: &ScopeArgs) -> Result<Exit, Error> {
    change(&args.ask, args.job.as_deref(), Request::Resume { job: args.job.clone() })
}

pub(super) fn cancel(args: &CancelArgs) -> Result<Exit, Error> {
    ask(&args.ask, Request::Cancel { of: args.of.clone() })
}

pub(super) fn remove(args: &RemoveArgs) -> Result<Exit, Error> {
    let request = Request::Remove { job: args.job.clone(), drop_history: args.drop_history };
    change(&args.ask, Some(&args.job), request)
}

pub(super) fn backfill(args: &BackfillArgs) -> Result<Exit, Error> {
    let (from, to) = (instant(&args.from)?, instant(&args.to)?);
    if to < from {
        let zone = zone_or_system(None);
        let (from, to) = (rfc3339(&from.to_zoned(zone.clone())), rfc3339(&to.to_zoned(zone)));
        return Err(Error::Usage(format!("FROM is after TO: {from}, {to}")));
    }
    let (from, to) = (from.to_string(), to.to_string());
    let request =
        |preview| Request::Backfill { job: args.job.clone(), from: from.clone(), to: to.clone(), preview };
    let mut client = Client::connect(&args.ask.server.address())?;
    let mut times = Vec::new();
    if !args.yes || args.wait {
        let preview = client.ask(request(true))?;
        if !args.yes {
            show(&args.ask, &preview)?;
        }
        let Response::Preview { times: found } = preview else { return Ok(Exit::Failed) };
        times = found;
    }
    if !args.yes && times.is_empty() {
        note(&format!("{} is due at no time from {from} to {to}", args.job));
        return Ok(Exit::Ok);
    }
    if !args.yes {
        let (runs, job) = (counted(times.len(), "run"), &args.job);
        let summary = format!("{runs} of {job} would be added; --yes adds them");
        if !is_confirmed(&summary, &format!("Add {runs} of {job}?"))? {
            return Ok(Exit::Ok);
        }
    }
    let answer = client.ask(request(false))?;
    show(&args.ask, &answer)?;
    match answer {
        Response::Backfilled { series, .. } if args.wait => wait_for_all(args, &mut client, &times, series),
        _ => Ok(Exit::Ok),
    }
}

/// Waits for the runs of a backfill, and says how each ended that did not succeed.
fn wait_for_all(
    args: &BackfillArgs,
    client: &mut Client,
    times: &[Timestamp],
    series: u32,
) -> Result<Exit, Error> {
    let mut progress = Progress::new(&args.ask, "runs", times.len());
    let mut failed = Vec::new();
    progress.add(0);
    for time in times {
        let run = format!("{}@{time}#{series}", args.job);
        match client.ask(Request::Wait { run })? {
            Response::Ended(run) if run.state == RunState::Succeeded => {}
            ended => failed.push(ended),
        }
        progress.add(1);
    }
    drop(progress);
    failed.iter().try_for_each(|ended| show(&args.ask, ended).map(drop))?;
    if !args.ask.json {
        print(&format!("{} of {} succeeded\n", times.len() - failed.len(), counted(times.len(), "run")))?;
    }
    Ok(if failed.is_empty() { Exit::Ok } else { Exit::Failed })
}

pub(super) fn rewind(args: &RewindArgs) -> Result<Exit, Error> {
    let request = |preview| Request::Rewind { job: args.job.clone(), preview };
    let mut client = Client::connect(&args.ask.server.address())?;
    if !args.yes {
        show(&args.ask, &client.ask(request(true))?)?;
        let job = &args.job;
        let (summary, question) =
            (format!("{job} would plan from now on; --yes lets it"), format!("Rewind {job}?"));
        if !is_confirmed(&summary, &question)? {
            return Ok(Exit::Ok);
        }
    }
    let answer = client.ask(request(false))?;
    show(&args.ask, &answer)
}

/// Asks a person; where there is none, says what would be done, and the answer is no.
fn is_confirmed(summary: &str, question: &str) -> Result<bool, Error> {
    if !io::stdin().is_terminal() {
        note(summary);
        return Ok(false);
    }
    print(&format!("{question} [y/N] "))?;
    // Without a line end the question would stay in the buffer.
    printed(io::stdout().flush())?;
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}

pub(super) fn dead(command: DeadCommand) -> Result<Exit, Error> {
    match command {
        DeadCommand::List(args) if !args.state.is_empty() => {
            let text = "dead letters are in the state dead: `mainspring history --state` shows others";
            Err(Error::Usage(text.to_owned()))
        }
        DeadCommand::List(mut args) => {
            args.state = vec![RunState::Dead];
            super::views::history(&args)
        }
        DeadCommand::Retry(args) => each_dead(&args, "retried", |run| Request::DeadRetry { run }),
        DeadCommand::Drop(args) => each_dead(&args, "dropped", |run| Request::DeadDrop { run }),
    }
}

/// Asks for one dead letter, or for each of those that there are now.
fn each_dead(args: &DeadArgs, done: &str, request: fn(String) -> Request) -> Result<Exit, Error> {
    if let Some(run) = &args.run {
        return ask(&args.ask, request(run.clone()));
    }
    let mut client = Client::connect(&args.ask.server.address())?;
    let runs = dead_runs(&mut client)?;
    let mut progress = Progress::new(&args.ask, "dead letters", runs.len());
    let mut count = 0;
    for run in runs {
        match client.ask(request(run)) {
            Ok(_) => count += 1,
            // Somebody else was quicker.
            Err(Error::Refused(error)) if error.kind == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        progress.add(1);
    }
    drop(progress);
    if args.ask.json {
        print_json(&serde_json::json!({ done: count }))?;
    } else {
        print(&format!("{} {done}\n", counted(count, "dead letter")))?;
    }
    Ok(Exit::Ok)
}

/// The names of all dead letters, gathered first, because asking for one changes the pages that follow.
fn dead_runs(client: &mut Client) -> Result<Vec<String>, Error> {
    let states = vec![RunState::Dead.name().to_owned()];
    let query = HistoryWire { states, ..HistoryWire::default() };
    let page = |limit, cursor| {
        Ok(match client.ask(Request::History(HistoryWire { limit, cursor, ..query.clone() }))? {
            Response::Runs { runs, cursor } => Some((runs, cursor)),
            _ => None,
        })
    };
    let (runs, _) = first_rows(usize::MAX, page)?.unwrap_or_default();
    Ok(runs.iter().map(|run| run.run.to_string()).collect())
}

/// The policies of `--policy`, checked here so that a mistake is one of the command line.
fn policies(words: &[String]) -> Result<Policies, Error> {
    let mut policies = Policies::default();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| Error::Usage(format!("--policy {word}: expected a word such as retry=3")))?;
        let set = policies.set(&name.replace('_', "-"), value);
        set.map_err(|error| Error::Usage(format!("--policy {word}: {error}")))?;
    }
    Ok(policies)
}
