//! What single routes of the HTTP API promise, beside the checks that all of them have in common: see `http`.

use mainspring_web::scope::Scope;

use crate::site::Site;

#[test]
fn what_is_due_says_how_long_it_takes_however_many_jobs_there_are() {
    let never: Vec<String> =
        (0..200).map(|index| format!("[jobs.a-{index:03}]\nevery = '1h'\nrun = ['true']\n")).collect();
    let jobs = format!("{}[jobs.z]\nevery = '1h'\nrun = ['true']\n", never.concat());
    let site = Site::start("http-lanes", &jobs, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "z", "--wait"], 0, "succeeded");
    let upcoming = site.get("/api/v1/upcoming", &token).json();
    let lane = upcoming["lanes"].as_array().unwrap().iter().find(|lane| lane["job"] == "z").unwrap();
    assert!(lane["median_ms"].is_number(), "{lane}");
    site.stop();
}
