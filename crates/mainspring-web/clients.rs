//! Uses the client that openapi-generator has made of the description: clients ADDRESS TOKEN.

use std::time::Duration;

use mainspring_client::apis::configuration::Configuration;
use mainspring_client::apis::jobs_api::{get_jobs, post_jobs_job_run};
use mainspring_client::apis::once_api::{delete_once_id, get_once, post_once};
use mainspring_client::apis::runs_api::{get_runs, get_runs_job_nominal_series, post_runs_job_nominal_series_cancel};
use mainspring_client::apis::Error;
use mainspring_client::models::{Noted, OnceParams, Process, RunParams, Work, WorkOneOf};

/// A run, by its address: job, time and number.
type Place = (String, String, i64);

fn place(href: &str) -> Place {
    let mut parts = href.rsplit('/').map(str::to_owned);
    let (series, nominal, job) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    (job, nominal, series.parse().unwrap())
}

fn wait(server: &Configuration, (job, nominal, series): &Place, state: &str) {
    // For a minute.
    for _ in 0..600 {
        let found = get_runs_job_nominal_series(server, job, nominal, *series).unwrap();
        if found.state.to_string() == state {
            // An output may be longer than 32 bits can say.
            let _: Option<i64> = found.output_bytes;
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{job} has not come to {state}");
}

fn run(server: &Configuration, job: &str, params: RunParams) -> Place {
    // A body that is left out is sent as `null` by this generator, which is none.
    place(&post_jobs_job_run(server, job, Some(params)).unwrap().href)
}

fn main() {
    let [address, token] = std::env::args().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let server = Configuration {
        base_path: address.trim_end_matches('/').to_owned(),
        bearer_access_token: Some(token),
        ..Configuration::default()
    };
    // List.
    let jobs = get_jobs(&server, None, None, None, None, None, None, None, None).unwrap();
    let names: Vec<&str> = jobs.items.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["idle", "long"]);
    // Run, and wait.
    wait(&server, &run(&server, "idle", RunParams::new()), "succeeded");
    let runs = get_runs(&server, None, Some("idle"), None, None, None, None, None, None, None, None, None).unwrap();
    assert_eq!(runs.items.len(), 1);
    // The same key is the same run.
    let keyed = || RunParams { key: Some(Some("once".to_owned())), ..RunParams::new() };
    assert_eq!(run(&server, "idle", keyed()), run(&server, "idle", keyed()));
    // Submit, list, withdraw.
    let process = Process { run: Some(vec!["true".to_owned()]), ..Process::new() };
    let work = Work::WorkOneOf(Box::new(WorkOneOf::new(process)));
    let later = OnceParams {
        name: Some(Some("later".to_owned())),
        r#in: Some(Some("1h".to_owned())),
        work: Some(Some(Box::new(work))),
        ..OnceParams::new()
    };
    let submitted = post_once(&server, later).unwrap();
    let waiting = || get_once(&server, None, None).unwrap().items.into_iter().map(|once| once.name).collect::<Vec<_>>();
    assert_eq!(waiting(), ["later"]);
    delete_once_id(&server, &submitted.id.unwrap()).unwrap();
    assert!(waiting().is_empty());
    // Cancel what runs.
    let long = run(&server, "long", RunParams::new());
    wait(&server, &long, "running");
    let note = Noted { note: Some(Some("enough".to_owned())) };
    post_runs_job_nominal_series_cancel(&server, &long.0, &long.1, long.2, Some(note)).unwrap();
    wait(&server, &long, "cancelled");
    // What is refused has its reason.
    match post_jobs_job_run(&server, "nobody", Some(RunParams::new())) {
        Err(Error::ResponseError(refused)) => assert_eq!(refused.status.as_u16(), 404),
        other => panic!("{other:?}"),
    }
    println!("rust: submit, run, wait, list, cancel");
}
