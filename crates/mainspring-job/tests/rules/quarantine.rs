//! Runs open at the server's death start a few at a time, and those that a power cut ended start as ever.

use super::*;

/// So many jobs that run for a long time, each due once, and tried again when they were cut off.
fn long_jobs(count: usize) -> Vec<Job> {
    let policies = "retry=9,backoff=0s,jitter=0%,on=abandoned";
    (0..count).map(|index| job(&format!("j{index:02}"), "0 1 * * *", policies)).collect()
}

fn started_after_boot(shell: &mut Shell) -> usize {
    shell.started.clear();
    shell.boot();
    shell.started.len()
}

#[test]
fn after_a_power_cut_all_start_at_once_and_none_is_counted() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", long_jobs(40));
    shell.live("2026-01-01T01:00:00Z");
    shell.machine_start = "another".to_owned();
    assert_eq!(started_after_boot(&mut shell), 40);
    assert!(shell.planner.jobs().all(|(_, mark)| mark.crashes == 0));
    let ended = shell.operations.iter().filter_map(|operation| match operation {
        Operation::End { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    let ended: Vec<Option<Reason>> = ended.collect();
    assert!(
        !ended.is_empty() && ended.iter().all(|reason| *reason == Some(Reason::MachineDown)),
        "{ended:?}"
    );
    assert!(!shell.notes.iter().any(|note| matches!(note, Note::Quarantine { .. })));
}

#[test]
fn after_a_crash_a_few_start_at_a_time_and_it_is_said_why() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", long_jobs(40));
    shell.jobs.push(job("skips", "*/5 * 1 * * *", ""));
    shell.apply(shell.jobs.clone());
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(started_after_boot(&mut shell), MAX_ON_PROBATION);
    assert!(shell.notes.contains(&Note::Quarantine { count: 41 }));
    assert_eq!(shell.planner.quarantined().count(), 41);
    // Each that outlives its probation makes room for the next.
    shell.live("2026-01-01T01:00:09Z");
    assert_eq!(shell.started.len(), MAX_ON_PROBATION);
    shell.live("2026-01-01T01:00:10Z");
    assert_eq!(shell.started.len(), 2 * MAX_ON_PROBATION);
    shell.live("2026-01-01T01:00:30Z");
    assert_eq!(shell.started.len(), 41);
    shell.live("2026-01-01T01:00:40Z");
    assert!(shell.notes.contains(&Note::QuarantineOver));
    assert_eq!(shell.planner.quarantined().count(), 0);
    // Why an occurrence was skipped: the one before it was in quarantine, and then it ran.
    let reasons: Vec<Option<Reason>> = shell.runs("skips").into_iter().map(|run| run.reason).collect();
    assert_eq!(reasons[0], Some(Reason::ServerDied));
    assert_eq!(reasons[2], Some(Reason::EarlierQuarantined), "{reasons:?}");
    assert_eq!(*reasons.last().unwrap(), Some(Reason::EarlierRunning));
    let skipped = shell.notes.iter().find_map(|note| match note {
        Note::Skipped { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(skipped, reasons[2]);
}

#[test]
fn those_that_were_on_probation_when_the_server_died_again_start_alone() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", long_jobs(20));
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(started_after_boot(&mut shell), MAX_ON_PROBATION);
    // The four that were not on probation may start together; the others one by one, when those are through.
    assert_eq!(started_after_boot(&mut shell), 4);
    for count in 5..=20 {
        shell.live(&(shell.now + SignedDuration::from_secs(10)).to_string());
        assert_eq!(shell.started.len(), count);
    }
    let crashes = |shell: &Shell| shell.planner.jobs().map(|(_, mark)| mark.crashes).collect::<Vec<_>>();
    assert_eq!(crashes(&shell).iter().sum::<u32>(), 2, "the last is on probation");
    shell.started.clear();
    shell.boot();
    assert_eq!(crashes(&shell).iter().max(), Some(&3), "it is a crash loop");
    assert!(shell.notes.iter().any(|note| matches!(note, Note::PausedAfterCrashes(_))));
}

fn crashes(shell: &Shell, job: &str) -> u32 {
    shell.planner.job(&name(job)).unwrap().1.crashes
}

/// A lease that ran out a second ago.
const SILENT: std::time::Duration = std::time::Duration::from_secs(16);

#[test]
fn a_death_or_a_lost_lease_long_after_the_start_of_a_run_is_not_its_fault() {
    let mut shell = Shell::new("2026-01-01T01:59:30Z", vec![job("long", "0 2 * * *", "")]);
    shell.silent = Some(SILENT);
    for day in 1..=4 {
        shell.live(&format!("2026-01-0{day}T02:00:00Z"));
        assert_eq!(shell.started.len(), day, "a job that is healthy continues every night");
        // Its server cannot reach the store for 18 s, and another takes over.
        shell.live(&format!("2026-01-0{day}T03:30:18Z"));
        shell.boot();
        assert_eq!((crashes(&shell, "long"), shell.planner.quarantined().count()), (0, 0));
    }
    assert!(shell.runs("long").iter().all(|run| run.state == RunState::Abandoned));
}

#[test]
fn a_death_soon_after_the_start_of_a_run_counts_however_late_the_next_server_comes() {
    for until_next in [SignedDuration::from_secs(16), SignedDuration::from_hours(3)] {
        let poison = job("poison", "0 2 * * *", "retry=9,backoff=0s,jitter=0%,on=abandoned");
        let mut shell = Shell::new("2026-01-01T01:59:30Z", vec![poison]);
        shell.live("2026-01-01T02:00:00Z");
        for count in 1..=3 {
            // It dies at once, a second after it has renewed its lease.
            shell.now += until_next;
            shell.silent = Some((until_next + SignedDuration::from_secs(1)).unsigned_abs());
            shell.boot();
            assert_eq!(crashes(&shell, "poison"), count, "{until_next:#}");
        }
        assert!(shell.notes.iter().any(|note| matches!(note, Note::PausedAfterCrashes(_))));
    }
}

#[test]
fn what_is_on_record_after_the_start_of_a_run_says_that_the_server_lived_on() {
    for (until, expected) in [("2026-01-01T02:00:09Z", 1), ("2026-01-01T02:00:10Z", 0)] {
        let jobs = vec![job("long", "0 2 * * *", ""), job("tick", "* * * * * *", "overlap=allow")];
        let mut shell = Shell::new("2026-01-01T01:59:59Z", jobs);
        shell.live(until);
        // The next server comes hours later.
        shell.now += SignedDuration::from_hours(3);
        shell.boot();
        assert_eq!(crashes(&shell, "long"), expected, "{until}");
        assert_eq!(crashes(&shell, "tick"), 1, "its last run had just started");
    }
}

#[test]
fn three_cuts_of_workers_that_live_on_pause_nothing_and_three_deaths_do() {
    for lives in [true, false] {
        let policies = "retry=9,backoff=0s,jitter=0%,on=abandoned";
        let mut shell = workers::pool(vec![job("j", "0 2 * * *", policies)], &[1]);
        shell.live("2026-01-01T02:00:00Z");
        for cut in 1..=3 {
            assert_eq!(shell.started.len(), cut);
            // It was last heard of when the run began.
            shell.now += SignedDuration::from_secs(16);
            let id = 100 + cut as u64;
            shell.tell(workers::gone(id, Takeover::Unclean, Some(16)));
            assert_eq!(crashes(&shell, "j"), if lives { 1 } else { cut as u32 });
            if lives {
                shell.tell(Input::Worker(WorkerEvent::Survived(WorkerId(id))));
                assert_eq!((crashes(&shell, "j"), shell.planner.quarantined().count()), (0, 0));
            }
            shell.tell(Input::Worker(WorkerEvent::Present(workers::worker(id + 1, 1, &["process"]))));
            let now = shell.now.to_string();
            shell.wake(&now);
        }
        let is_paused = shell.notes.iter().any(|note| matches!(note, Note::PausedAfterCrashes(_)));
        assert_eq!((is_paused, shell.started.len()), (!lives, if lives { 4 } else { 3 }));
    }
}
