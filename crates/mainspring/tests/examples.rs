//! Every example runs and claims what is true: each asserts what it prints.

macro_rules! examples {
    ($($name:ident: $path:literal),+ $(,)?) => {$(
        #[path = $path]
        #[allow(unreachable_pub, reason = "an example's main is public only so that this can call it")]
        mod $name;

        #[test]
        fn $name() {
            $name::main().unwrap();
        }
    )+};
}

examples! {
    a_request_is_answered_or_given_up: "../examples/request_timeout.rs",
    a_call_is_retried_with_backoff: "../examples/retry_backoff.rs",
    delayed_tasks_are_put_off_and_withdrawn: "../examples/delayed_tasks.rs",
    silent_connections_are_closed: "../examples/heartbeat.rs",
    the_ten_first_programs: "../examples/programs/main.rs",
    a_ticker_ticks_until_the_timeout: "../examples/ticker.rs",
    a_crontab_runs_for_a_week: "../examples/crontab.rs",
    a_server_gives_up_on_slow_headers_and_slow_answers: "../examples/hyper_timeouts.rs",
    actors_ignore_old_sessions: "../examples/actors.rs",
}

/// The lines of a program: what stands between its marks, but for lines of braces alone.
fn line_count(program: &str) -> usize {
    let between = program.split("// Begin.").nth(1).and_then(|rest| rest.split("// End.").next());
    let lines = between.expect("a program has its marks").lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && *line != "}").count()
}

#[test]
fn the_guide_counts_the_lines_of_the_ten_programs() {
    let guide = include_str!("../src/guide.md");
    let programs = [
        ("watchdog", include_str!("../examples/programs/watchdog.rs")),
        ("request", include_str!("../examples/programs/request.rs")),
        ("keep_alive", include_str!("../examples/programs/keep_alive.rs")),
        ("ticker", include_str!("../examples/programs/ticker.rs")),
        ("debounce", include_str!("../examples/programs/debounce.rs")),
        ("delay_queue", include_str!("../examples/programs/delay_queue.rs")),
        ("cache", include_str!("../examples/programs/cache.rs")),
        ("cron", include_str!("../examples/programs/cron.rs")),
        ("actor", include_str!("../examples/programs/actor.rs")),
        ("shutdown", include_str!("../examples/programs/shutdown.rs")),
    ];
    for (name, program) in programs {
        let row = guide.lines().find(|line| line.contains(&format!("`programs/{name}.rs`")));
        let row = row.unwrap_or_else(|| panic!("the guide has a row for {name}"));
        let counts: Vec<usize> =
            row.split('|').filter_map(|cell| cell.trim().trim_start_matches('~').parse().ok()).collect();
        assert_eq!(counts.first(), Some(&line_count(program)), "{name}: {row}");
        let does_more = row.contains("(more)");
        let is_short = counts.iter().all(|&other| counts[0] <= other);
        assert!(is_short || does_more, "{name} is longer than its counterparts and does no more");
    }
}
