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
    cache_entries_expire: "../examples/cache_expiry.rs",
    a_ticker_ticks_until_the_timeout: "../examples/ticker.rs",
    a_crontab_runs_for_a_week: "../examples/crontab.rs",
    a_server_gives_up_on_slow_headers_and_slow_answers: "../examples/hyper_timeouts.rs",
    actors_ignore_old_sessions: "../examples/actors.rs",
}
