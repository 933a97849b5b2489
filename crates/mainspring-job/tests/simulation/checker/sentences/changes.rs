//! Sentences on changes to a job or its clock: the manual from `Pause` on.
//!
//! The order is that of the manual.

/// Sentences, and the names of their checks; none where it is not about planning.
pub(super) const SENTENCES: &[(&str, &[&str])] = &[
    ("A paused job plans nothing.", &["coverage::check", "rest::check_pauses"]),
    (
        "When the job is resumed, the occurrences that passed meanwhile become one record, \
         `skipped_paused`, with their count.",
        &["coverage::check"],
    ),
    (
        "An `at_boot` or `at_server_start` occurrence during the pause is recorded at once.",
        &["starting::check_boots"],
    ),
    ("Runs that are running go on.", &["attempts::check_retries"]),
    ("Runs that wait go on waiting.", &["rest::check_pauses"]),
    (
        "A retry waits too, and so does a dead letter that is tried again.",
        &[
            "rest::check_pauses",
            "rules/pause::of_a_paused_job_a_run_by_hand_starts_and_a_dead_letter_that_is_tried_again_waits",
        ],
    ),
    (
        "Only a run by hand (`run`) starts all the same, if it is for now: one for a later time waits, and so does \
         another attempt.",
        &[
            "rest::check_pauses",
            "rules/roads::every_road_but_a_run_by_hand_now_is_held_by_a_pause",
            "rules/roads::a_run_by_hand_that_is_tried_again_waits_while_its_job_is_paused",
            "rules/pause::of_a_paused_job_a_run_by_hand_starts_and_a_dead_letter_that_is_tried_again_waits",
        ],
    ),
    ("While everything is paused, nothing starts at all.", &["rest::check_pauses"]),
    (
        "`pause --until TIME` ends by itself, also after a restart, and the log says so.",
        &["rest::check_pauses", "rules/pause::a_pause_for_a_while_ends_by_itself_also_after_a_restart"],
    ),
    ("A new `pause` replaces the one before.", &["rest::check_pauses"]),
    ("A pause with `--until` gives way to a pause for failures or crashes.", &["quarantine::check"]),
    (
        "So does one that follows a pause without an end, behind which the job failed as often.",
        &["rules/pause::failures_behind_a_pause_without_an_end_outlast_one_with_an_end"],
    ),
    (
        "Such a pause ends only when a person resumes the job: `pause --until` sets its note, and no end.",
        &["rest::check_kept", "rules/pause::a_pause_for_a_while_gives_way_to_one_after_failures"],
    ),
    (
        "A job in quarantine is in it still when its pause has ended.",
        &[
            "quarantine::check",
            "rules/states::a_pause_for_a_while_ends_also_of_a_job_in_quarantine_and_after_a_crash",
        ],
    ),
    (
        "`show` names each reason why a job does not run now, and what ends it; `list` and `doctor` name each state of the job.",
        &["rules/states::each_pair_of_states_is_told_ends_as_it_says_and_then_the_job_runs"],
    ),
    (
        "`run JOB` runs a job at once, and `run JOB --at TIME` or `--in DURATION` at a time.",
        &["acknowledged::check_asked"],
    ),
    (
        "It is a run of the job: it has the job's group, priority, overlap rule, notifications and history, and \
         does what the definition says when it starts.",
        &[
            "rules/roads::every_road_waits_for_a_place_of_the_group",
            "rules/roads::every_road_has_the_priority_of_the_job",
            "rules/roads::every_road_that_was_asked_for_waits_for_the_run_before_and_a_trigger_is_skipped",
            "rules/roads::of_every_road_a_failure_is_told_and_counted_once_under_the_job",
            "rules/roads::by_every_road_a_run_that_waits_does_what_the_definition_says_when_it_starts",
        ],
    ),
    (
        "It waits for its time as `scheduled`; `show` and `history` have it, and `cancel` takes it back.",
        &["rules/roads::a_run_for_a_later_time_is_cancelled_alone_and_with_its_job"],
    ),
    (
        "With `--key KEY` a second request of the same key for the same job changes nothing, and names the run of the \
         first, until the history drops that.",
        &[
            "acknowledged::check_asked",
            "rules/roads::a_key_is_that_of_one_run_of_a_job_as_long_as_the_run_is_kept",
        ],
    ),
    (
        "A clock that is set forward is handled like a time without a server: see [Misfire](#misfire).",
        &["coverage::check"],
    ),
    (
        "When the clock is set back, nothing that is on record fires again.",
        &["attempts::stories", "rules::a_clock_that_is_set_back_fires_nothing_again_and_is_noted"],
    ),
    (
        "A job rests until the clock has caught up with the last time that was planned of it; `list` and \
         `doctor` say so.",
        &["coverage::check", "rules::a_clock_that_is_set_back_fires_nothing_again_and_is_noted"],
    ),
    (
        "A run that is due at a time waits until the clock shows that time.",
        &["acknowledged::watch_once", "rules::a_clock_that_is_set_back_fires_nothing_again_and_is_noted"],
    ),
    (
        "The backoff of a retry and the delay within `spread` are lengths of time: from then on they take \
         at most their full length.",
        &["rules/clock::a_wait_that_is_a_length_of_time_takes_no_longer_for_a_clock_that_is_set_back"],
    ),
    (
        "So a catch-up run that is planned then may run before one that was planned earlier.",
        &["slots::watch_catching_up"],
    ),
    (
        "`rewind JOB` lets a job that rests plan from now on: the command shows what would run then, and \
         asks.",
        &["coverage::check", "rules/clock::a_job_that_rests_for_a_clock_that_was_ahead_is_rewound"],
    ),
    (
        "An occurrence that has a record of its own does not run again.",
        &["attempts::stories", "rules/clock::a_job_that_rests_for_a_clock_that_was_ahead_is_rewound"],
    ),
    (
        "A missed stretch is one record, under its first time.",
        &["coverage::check", "rules/clock::a_job_that_rests_for_a_clock_that_was_ahead_is_rewound"],
    ),
    (
        "So its first occurrence does not run again, and the others do.",
        &["attempts::stories", "rules/clock::a_job_that_rests_for_a_clock_that_was_ahead_is_rewound"],
    ),
    (
        "Where retention has dropped the record of an occurrence, the occurrence runs again.",
        &["rules/retention::a_time_whose_record_was_dropped_runs_again_after_a_rewind"],
    ),
    (
        "A job with `after = [\"extract\"]` follows the job `extract`: each run of `extract` that has ended \
         for good is an occurrence of this job.",
        &["following::check"],
    ),
    (
        "The end of a run is followed once, however many attempts it had.",
        &["following::check", "rules/follow::an_end_is_followed_by_those_that_name_it_and_by_each_once"],
    ),
    (
        "Of a dead letter that is tried again only success is followed, by what follows success alone.",
        &[
            "following::check",
            "rules/follow::a_dead_letter_that_fails_again_is_followed_and_counted_once_also_when_the_server_dies",
        ],
    ),
    (
        "The run that follows is on disk together with the end, so no crash can come between the two.",
        &[
            "following::check",
            "rules/follow::what_follows_is_planned_in_the_batch_of_the_end_and_survives_a_crash",
        ],
    ),
    ("| `\"extract\"` | success |", &["following::check"]),
    (
        "| `{ job = \"extract\", on = \"failed\" }` | failure, timeout, and `abandoned` |",
        &["following::check"],
    ),
    (
        "| `{ job = \"extract\", on = \"any\" }` | all of these, and the cancellation of a run that was \
         running |",
        &["following::check"],
    ),
    (
        "A run that never started is not followed, for example a missed or a skipped one.",
        &[
            "following::check",
            "rules/follow::what_never_started_is_followed_by_nothing_and_a_run_by_hand_by_a_run",
        ],
    ),
    (
        "A run by hand and a run of a backfill are followed.",
        &[
            "following::check",
            "rules/follow::what_never_started_is_followed_by_nothing_and_a_run_by_hand_by_a_run",
        ],
    ),
    (
        "A job that names several others follows each of them.",
        &[
            "following::check",
            "rules/follow::a_job_of_its_own_times_follows_too_and_one_of_two_names_follows_each",
        ],
    ),
    (
        "A run that follows is due at the end of the other run, plus its own `jitter`.",
        &["attempts::check_starts"],
    ),
    (
        "The rules of its own job decide about it as about a run of a trigger.",
        &["rules/follow::the_rules_of_what_follows_decide_about_it"],
    ),
    ("It is missed if as many runs are open as may be.", &["following::check"]),
    (
        "Nothing follows at a time that `exclude`, `exclude_dates`, `start` or `end` leaves out, nor after \
         `max_runs` runs.",
        &[
            "following::check",
            "rules/follow::a_job_has_no_more_runs_that_follow_than_it_may_and_none_where_it_is_excluded",
        ],
    ),
    (
        "If `after` names a job that does not exist, nothing follows, and `check`, `serve` and `doctor` \
         warn.",
        &[],
    ),
    (
        "A circle of jobs that follow each other is a problem of the last file that takes part in it.",
        &[
            "rules/follow::a_set_that_would_close_a_circle_is_refused_in_part_and_one_that_turns_it_round_is_not",
        ],
    ),
    (
        "A changed timetable counts from the moment at which the server knows of it, whatever the clock \
         showed before.",
        &["coverage::check", "rules/clock::a_changed_timetable_counts_from_now_whatever_the_clock_showed"],
    ),
    (
        "A time of it that has a run on record does not run again.",
        &["coverage::check", "rules/clock::a_time_that_has_run_does_not_run_again_by_another_timetable"],
    ),
    (
        "The times of the old timetable up to that moment that were not planned are now planned by it, or \
         recorded.",
        &[
            "coverage::check",
            "rules/change::what_is_due_at_the_moment_of_the_change_runs_by_the_old_timetable",
        ],
    ),
    (
        "They are `missed` if the server was down, and `skipped_paused` if the job was paused.",
        &["coverage::check"],
    ),
    ("The same holds when a job is removed.", &["coverage::check"]),
    (
        "A job is removed by `remove`, by `apply --prune`, or because its file does not hold it any more.",
        &["rest::watch_removal"],
    ),
    ("From then on it starts nothing.", &["rest::watch_removal"]),
    (
        "A job that `remove` removes is gone for good.",
        &[
            "rules/removal::what_waits_is_cancelled_also_where_the_job_was_paused",
            "rules/absence::another_source_and_a_person_end_an_absence",
        ],
    ),
    (
        "A job that its file does not hold any more comes back as it was if the same file holds it again, \
         under its name, or another holds it unchanged, within a day.",
        &[
            "rest::watch_removal",
            "rules/absence::a_job_that_moves_by_two_changes_is_as_it_was",
            "rules/absence::a_job_that_is_back_within_a_day_has_its_pause_its_marks_and_its_retry",
        ],
    ),
    (
        "Its pause, its counts and what waits of it, a retry too, are as they were.",
        &["rest::check_pauses", "rest::check_kept", "rest::watch_removal", "attempts::check_failures"],
    ),
    (
        "What its timetable named meanwhile is judged by its misfire policy, as if no server had run.",
        &[
            "coverage::check",
            "rules/absence::what_a_timetable_named_while_its_job_was_absent_is_judged_by_the_misfire_policy",
        ],
    ),
    (
        "With another timetable it counts from when it is back.",
        &["rules/absence::another_timetable_counts_from_when_the_job_is_back"],
    ),
    (
        "A run of it that is running when its job is removed runs to its end.",
        &["rules/absence::a_run_that_fails_while_its_job_is_absent_is_tried_again_when_it_is_back"],
    ),
    (
        "If the job does not come back, that run is not tried again and is no dead letter, and what waits is \
         `cancelled` when the day is over.",
        &["attempts::check_retries", "rest::watch_removal"],
    ),
    (
        "When a server has died, the jobs of the runs that were running are in quarantine; of a one-shot job \
         the run itself is.",
        &["quarantine::check"],
    ),
    (
        "A run that had started ten seconds or more before the last sign of life of its server does not count: what \
         is on record is such a sign, and where leases run out the lease is.",
        &[
            "quarantine::check",
            "rules/quarantine::a_death_or_a_lost_lease_long_after_the_start_of_a_run_is_not_its_fault",
            "rules/quarantine::what_is_on_record_after_the_start_of_a_run_says_that_the_server_lived_on",
        ],
    ),
    ("All other jobs start as ever.", &["quarantine::check"]),
    (
        "At most 16 runs from quarantine start at a time.",
        &["quarantine::check", "rules/quarantine::after_a_crash_a_few_start_at_a_time_and_it_is_said_why"],
    ),
    ("Each is on probation for ten seconds.", &["quarantine::check"]),
    (
        "The next starts when one of them has ended or its probation is over.",
        &["quarantine::check", "rules/quarantine::after_a_crash_a_few_start_at_a_time_and_it_is_said_why"],
    ),
    ("Either takes its job out of quarantine.", &["quarantine::check"]),
    (
        "If the server dies again, each job that was on probation then starts alone, while no other is on \
         probation.",
        &[
            "quarantine::check",
            "rules/quarantine::those_that_were_on_probation_when_the_server_died_again_start_alone",
        ],
    ),
    (
        "After the third crash in a row the run is a dead letter, \"the server died in it 3 times\", and \
         the job is paused until it is resumed.",
        &["quarantine::check"],
    ),
    ("With `dead_letters = never` the run stays `abandoned`, for the same reason.", &["quarantine::check"]),
    (
        "`list`, `show`, `status` and `doctor` say what is in quarantine.",
        &["rules/quarantine::after_a_crash_a_few_start_at_a_time_and_it_is_said_why"],
    ),
    (
        "A server that was asked to end and had to kill its runs has not died.",
        &["quarantine::check", "starting::watch_dead_first"],
    ),
    (
        "If the machine was started again since (its boot id is another), nothing is in quarantine and \
         nothing is counted.",
        &["quarantine::check", "rules/quarantine::after_a_power_cut_all_start_at_once_and_none_is_counted"],
    ),
];
