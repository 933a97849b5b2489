//! The promise, and the rules by which runs start: what the manual says up to `Retry`.
//!
//! The order is that of the manual.

/// Sentences, and the names of their checks; none where it is not about planning.
pub(super) const SENTENCES: &[(&str, &[&str])] = &[
    (
        "**Acknowledged means on disk.** `at`, `every`, `apply`, `pause` and the other commands answer only \
         after the commit.",
        &["acknowledged::check"],
    ),
    (
        "**One start record per (job, nominal time and attempt) is on disk before anything starts.** An \
         occurrence that is on record does not fire again: not after a crash, and not when the clock is set \
         back.",
        &[
            "attempts::check_starts",
            "attempts::stories",
            "rules/clock::a_time_that_has_run_does_not_run_again_by_another_timetable",
        ],
    ),
    (
        "**At most once by default.** When the server or the machine ends during a run, that run has a \
         start record and no end.",
        &["attempts::check_retries", "starting::watch_dead_first"],
    ),
    ("It is recorded as `abandoned`.", &["attempts::check_retries", "starting::watch_dead_first"]),
    (
        "The server cannot know what the run has done, so it does not start it again.",
        &["attempts::check_retries"],
    ),
    (
        "**At least once on request**: `retry = { max = 3, on = [\"failed\", \"timed_out\", \"abandoned\"] \
         }`.",
        &["attempts::check_retries"],
    ),
    (
        "**Effectively once** for a receiver that remembers the key of each run: `$MAINSPRING_KEY`, and the \
         header `Idempotency-Key` of a webhook.",
        &[],
    ),
    ("No scheduler can promise \"exactly once\" for an effect outside of it.", &[]),
    (
        "**Never silently lost.** An occurrence that was due while no server ran is caught up by the job's \
         misfire policy, or recorded as `missed` with the reason.",
        &["coverage::check", "coverage::watch_end"],
    ),
    (
        "Every occurrence of a job is on record once: as a run, or in a record that says what did not run, \
         and why.",
        &["coverage::check", "coverage::watch_end", "starting::check_boots"],
    ),
    (
        "**Never early**: nothing starts before the server's clock has shown its due time.",
        &["attempts::check_starts", "attempts::check_put_off"],
    ),
    (
        "The clock has to show that time only once, so a run that waits for a place does not wait again \
         when the clock is set back.",
        &["attempts::check_starts", "slots::watch"],
    ),
    (
        "An occurrence misfires if its time passes while no server can plan it: the server is down, the \
         machine suspended, the process stopped, or the clock set forward.",
        &["coverage::check"],
    ),
    ("The newest occurrence is on time if it is at most `grace` old.", &["coverage::check"]),
    ("The rule decides about the others:", &["coverage::check"]),
    ("| `none` | nothing | missed |", &["coverage::check"]),
    (
        "| `latest` | the latest, if at most `window` old and no newer one is on time | missed |",
        &["coverage::check"],
    ),
    ("| `earliest` | the earliest that is at most `window` old | missed |", &["coverage::check"]),
    (
        "| `all` | the latest `cap` of those at most `window` old, in order, one after the other | missed |",
        &["coverage::check", "slots::watch_catching_up"],
    ),
    ("Example: a job is due each hour, and the server is down from 00:30 to 05:30.", &["coverage::check"]),
    (
        "`latest` runs 05:00, `earliest` runs 01:00, `all,cap=2` runs 04:00 and 05:00, and `none` runs \
         nothing.",
        &["coverage::check"],
    ),
    (
        "Missed occurrences that follow one another are one record: the first time, the last time, the \
         count (exact up to 1,000) and the reason.",
        &["coverage::check"],
    ),
    ("A run that starts late by this rule is a catch-up run.", &["coverage::check"]),
    ("It is due at most `spread` after the server plans it.", &["coverage::check"]),
    (
        "Its delay is fixed for (job, first nominal time), so that a hundred jobs do not start together.",
        &["rules::jitter_is_the_same_after_a_restart_and_for_every_planner"],
    ),
    ("The catch-up runs of `all` run in the order of their nominal times.", &["slots::watch_catching_up"]),
    ("They run one after the other under every overlap rule.", &["slots::watch_catching_up"]),
    ("A one-shot job whose time has passed runs as soon as a server runs.", &["acknowledged::watch_once"]),
    ("With `none` it is missed if it is more than `grace` late.", &["acknowledged::watch_once"]),
    (
        "The start record of a one-shot job is on disk up to 20 ms before its time, so that a slow disk does not \
         make it late.",
        &["rules/lead::a_start_is_on_disk_ahead_of_its_time_and_says_that_time"],
    ),
    (
        "Its command begins when its time comes, and the record has that time.",
        &["rules/lead::a_start_is_on_disk_ahead_of_its_time_and_says_that_time"],
    ),
    (
        "In these 20 ms it is too late to withdraw the job, and a crash leaves its run `abandoned`.",
        &["rules/lead::a_crash_ahead_of_the_time_leaves_a_start_that_is_not_doubled"],
    ),
    (
        "A job in a group, or one that waits for a free place, is recorded when it is due.",
        &[
            "rules/lead::a_job_of_a_group_starts_when_it_is_due",
            "rules/lead::without_a_place_a_job_starts_when_it_is_due_and_the_best_first",
        ],
    ),
    (
        "A run may have to wait further: for its `jitter` or `spread`, an earlier run of its job, a place, \
         the end of a pause, or its next attempt.",
        &["lateness::watch", "rules/lateness::what_waited_in_a_living_server_is_judged_when_its_turn_comes"],
    ),
    (
        "It is missed if it could start only when it has been due for longer than both `window` and `grace`; \
         with `none`, if no server ran when its time came, for longer than `grace`.",
        &[
            "lateness::watch",
            "rules/lateness::what_a_pause_held_for_longer_than_its_window_is_missed_when_the_pause_ends",
        ],
    ),
    (
        "A retry that is missed so is no dead letter.",
        &[
            "lateness::watch",
            "rules/lateness::what_a_pause_held_for_longer_than_its_window_is_missed_when_the_pause_ends",
        ],
    ),
    (
        "Runs by hand, runs of a backfill, one-shot jobs and dead letters that are tried again start however late.",
        &["lateness::watch", "rules/lateness::what_may_still_start_is_one_rule_for_all_that_waits"],
    ),
    (
        "At most 100,000 runs are open at a time: scheduled, queued or running.",
        &[
            "coverage::check",
            "rules/crowd::what_finds_no_room_waits_for_it_and_is_then_judged_by_the_misfire_rule",
        ],
    ),
    (
        "An occurrence beyond that limit waits until there is room.",
        &[
            "overlap::watch",
            "coverage::check",
            "rules/crowd::what_finds_no_room_waits_for_it_and_is_then_judged_by_the_misfire_rule",
        ],
    ),
    (
        "Then the rule above decides about it.",
        &[
            "coverage::check",
            "rules/crowd::what_finds_no_room_waits_for_it_and_is_then_judged_by_the_misfire_rule",
        ],
    ),
    ("A run blocks the next run of its job while it is running or queued.", &["overlap::watch"]),
    ("A run that waits for its retry blocks nothing.", &["overlap::watch"]),
    ("| `skip` | is `skipped_overlap` |", &["overlap::watch"]),
    ("| `queue-one` | waits, unless one waits already |", &["overlap::watch"]),
    ("| `queue-all` | waits, unless `cap` runs wait already |", &["overlap::watch"]),
    ("| `replace` | waits, and replaces a run that waited |", &["overlap::watch"]),
    (
        "| `kill-old` | waits as with `replace`, and the running one is killed |",
        &["overlap::watch", "overlap::watch_kills"],
    ),
    ("| `allow` | starts |", &["overlap::watch", "slots::watch"]),
    ("A run that may not wait is `skipped_overlap`, and so is a run that is replaced.", &["overlap::watch"]),
    (
        "The reason says whether the earlier run was running, waiting for its place, or in quarantine.",
        &["overlap::watch"],
    ),
    (
        "Retries, catch-up runs and runs that a person asked for are not skipped: they wait under every \
         rule but `allow`.",
        &["overlap::watch"],
    ),
    ("They replace no other run.", &["overlap::watch"]),
    ("Runs of one job start in the order in which they are due.", &["slots::watch_order"]),
    (
        "A run that is due and not blocked starts as soon as there is a place for it and the rate of its group \
         allows it.",
        &["slots::watch", "rules/rate::the_planner_looks_when_the_rate_allows_the_next_start"],
    ),
    (
        "Its group has `limit` places, and the server has 256 (`--max-running`).",
        &["slots::watch_side_by_side"],
    ),
    (
        "With `rate = \"10/1s\"` at most ten runs of the group start in any second, over all servers; each \
         attempt counts.",
        &["slots::watch_rate", "rules/rate::each_attempt_counts_one_that_is_given_back_too"],
    ),
    (
        "A new planner first waits for as long, but at most ten seconds: its start may let a group exceed the \
         rate of a longer period.",
        &[
            "slots::watch_rate",
            "rules/rate::a_new_planner_takes_all_as_started_for_the_period_or_ten_seconds",
        ],
    ),
    (
        "Of the runs that wait or are due at one moment, the one with the highest `priority` starts first, and \
         of equals the one that was due first.",
        &["slots::watch"],
    ),
    (
        "The wait before attempt n + 1 is `min(cap, backoff * factor^(n - 1))`, give or take `jitter` per \
         cent.",
        &["attempts::check_retries"],
    ),
    ("It begins at the end of attempt n.", &["attempts::check_retries"]),
    ("The last attempt decides what becomes of the run:", &["attempts::check_retries"]),
    ("| yes | yes | is scheduled again |", &["attempts::check_retries"]),
    (
        "| yes | no | is `dead` with `dead_letters = always`, or with `after-retries` if the job has \
         retries; it is not with `never` |",
        &["attempts::check_retries"],
    ),
    (
        "| no | | keeps the state of the attempt, and is no dead letter; by default it is `abandoned` if \
         the server died in it |",
        &["attempts::check_retries"],
    ),
    (
        "`dead retry` gives a run all its attempts again.",
        &[
            "attempts::check_retries",
            "rules::a_dead_letter_that_is_tried_again_has_all_its_attempts_also_when_the_server_dies",
        ],
    ),
    ("A cancelled run is never tried again.", &["attempts::stories", "attempts::check_retries"]),
    ("`pause_after` counts runs, not attempts.", &["attempts::check_failures"]),
    ("A run counts if it failed or timed out for good.", &["attempts::check_failures"]),
    (
        "A dead letter that fails again does not count again.",
        &[
            "attempts::check_failures",
            "rules/follow::a_dead_letter_that_fails_again_is_followed_and_counted_once_also_when_the_server_dies",
        ],
    ),
    ("An abandoned run counts only if `on` names `abandoned`.", &["attempts::check_failures"]),
    ("Only a run that succeeds ends the series of failures.", &["attempts::check_failures"]),
    (
        "A run that is skipped, missed, cancelled or otherwise abandoned neither counts nor ends the series.",
        &["attempts::check_failures"],
    ),
    (
        "Up to 15 more runs than `keep` stay until they are pruned together.",
        &["rules::history_is_kept_as_long_as_retention_says"],
    ),
    (
        "What earlier servers left is pruned at each start, and all once a day, at most 1,000 runs of a job each \
         time.",
        &[
            "rules/retention::many_short_lives_of_a_server_leave_no_more_than_one_long_one",
            "rules/retention::what_is_too_old_goes_at_a_start_and_once_a_day",
        ],
    ),
    (
        "The history of a removed job goes by the retention that it had, and with the last of it its name.",
        &[
            "rules/retention::a_removed_job_goes_by_the_retention_that_it_had_and_its_name_with_the_last_of_its_runs",
            "rules/retention::a_run_of_a_removed_job_that_runs_or_is_a_dead_letter_keeps_its_name",
            "rules/retention::a_store_in_which_names_come_and_go_has_those_of_the_last_days",
        ],
    ),
    (
        "One-shot jobs have [one history](reference/limits.md#those-that-people-meet) together.",
        &["rules/retention::one_shot_jobs_of_many_short_lives_are_pruned_together"],
    ),
];
