//! Which check judges which sentence of the manual.
//!
//! All that the sections on the promise and on the rules say stands here, word for word; of the tables of the
//! job file what is about planning. A sentence that changes has to be read again, and so does its check. A
//! check is a function of the checker, or a test of `rules` where a history cannot tell.

use std::fs;
use std::path::Path;

/// The sections of which every sentence has its row.
const SECTIONS: [(&str, &str); 2] =
    [("## The promise\n", "## Installing"), ("### Misfire\n", "## Who is told")];

/// Sentences, and the names of their checks; none where it is not about planning.
const SENTENCES: &[(&str, &[&str])] = &[
    (
        "**Acknowledged means on disk.** `at`, `every`, `apply`, `pause` and the rest answer only after \
         the commit.",
        &["acknowledged::check"],
    ),
    (
        "**One start record per (job, nominal time and attempt) is on disk before anything starts**, \
         and nothing that is recorded fires again: not after a crash, nor when the clock is set back.",
        &[
            "attempts::check_starts",
            "attempts::stories",
            "rules/clock::a_time_that_has_run_does_not_run_again_by_another_timetable",
        ],
    ),
    (
        "**At most once by default.** A run that the end of the server or of the machine cut off has a \
         start and no end.",
        &["attempts::check_retries", "starting::watch_dead_first"],
    ),
    (
        "It is recorded as `abandoned`; what it has done is unknown, so it is not started again.",
        &["attempts::check_retries", "starting::watch_dead_first"],
    ),
    (
        "**At least once on request**: `retry = { max = 3, on = [\"failed\", \"timed_out\", \
         \"abandoned\"] }`.",
        &["attempts::check_retries"],
    ),
    (
        "**Effectively once** for a receiver that keeps the key that each run carries: \
         `$MAINSPRING_KEY`, and the header `Idempotency-Key` of a webhook.",
        &[],
    ),
    ("Never \"exactly once\": no scheduler can promise that of an effect outside.", &[]),
    (
        "**Never silently lost.** What was due while no server was there is made good for by the job's \
         misfire policy, or recorded as `missed` with the reason.",
        &["coverage::check", "coverage::watch_end"],
    ),
    (
        "Every occurrence of a job is on record once: as a run, or in a record of what did not run, and \
         why.",
        &["coverage::check", "coverage::watch_end", "starting::check_boots"],
    ),
    (
        "**Never early**: nothing starts before the server's clock has shown the time at which it is \
         due.",
        &["attempts::check_starts"],
    ),
    (
        "Once is enough, so that what waits for a place does not wait again when the clock is set back.",
        &["attempts::check_starts", "places::watch"],
    ),
    (
        "Server down, machine suspended, process stopped and clock set forward are one thing: the time \
         is compared with the last nominal time that was planned.",
        &["coverage::check"],
    ),
    ("The newest occurrence is on time if it is at most `grace` old.", &["coverage::check"]),
    ("Of the others,", &["coverage::check"]),
    ("| `none` | nothing | missed |", &["coverage::check"]),
    (
        "| `latest` | the latest, if at most `window` old and no newer one is on time | missed |",
        &["coverage::check"],
    ),
    ("| `earliest` | the earliest that is at most `window` old | missed |", &["coverage::check"]),
    (
        "| `all` | the latest `cap` of those at most `window` old, in order, one after the other | \
         missed |",
        &["coverage::check", "places::watch_catching_up"],
    ),
    (
        "What is missed is one record with the first time, the last, and the count (exact up to 1,000), \
         and the reason.",
        &["coverage::check"],
    ),
    (
        "So a job of each second after three years costs what it costs after a minute.",
        &["rules::three_years_of_a_job_that_is_due_each_second_are_a_constant_amount_of_work"],
    ),
    (
        "What is made good for is due within `spread`, at a place that is fixed for (job, first nominal \
         time), so that a hundred jobs do not start together.",
        &["coverage::check", "rules::jitter_is_the_same_after_a_restart_and_for_every_planner"],
    ),
    (
        "What `all` makes good for runs in the order of its nominal times, and under every overlap rule \
         one after the other.",
        &["places::watch_catching_up"],
    ),
    (
        "A one-shot job whose time has passed runs as soon as a server is there; with `none` it is \
         missed if it is more than `grace` late.",
        &["acknowledged::watch_once"],
    ),
    (
        "A run that waited for its `jitter` is missed if it is later than `window` and `grace` by then, \
         with `none` later than `grace`.",
        &["rest::watch_stale"],
    ),
    (
        "What finds as many runs open as there may be waits for room, and is judged when there is some.",
        &[
            "overlap::watch",
            "coverage::check",
            "rules/crowd::what_finds_no_room_waits_for_it_and_is_then_judged_by_the_misfire_rule",
        ],
    ),
    ("A run is in the way while it runs, and while it is queued.", &["overlap::watch"]),
    ("One that waits for its retry is not.", &["overlap::watch"]),
    ("| `skip` | the new one is `skipped_overlap` |", &["overlap::watch"]),
    ("| `queue-one` | it waits, unless one waits already |", &["overlap::watch"]),
    ("| `queue-all` | it waits, unless `cap` wait already |", &["overlap::watch"]),
    ("| `replace` | it waits, and takes the place of one that waited |", &["overlap::watch"]),
    (
        "| `kill-old` | the running one is killed, and it follows |",
        &["overlap::watch", "overlap::watch_kills"],
    ),
    ("| `allow` | it starts |", &["overlap::watch", "places::watch"]),
    ("What does not wait is `skipped_overlap`, and so is the one whose place is taken.", &["overlap::watch"]),
    (
        "The reason says whether the earlier run ran, waited for its place, or was in quarantine.",
        &["overlap::watch"],
    ),
    (
        "Retries, runs made good for, and runs that a person asked for wait under every rule but \
         `allow` rather than being dropped, and take no other's place.",
        &["overlap::watch"],
    ),
    ("Runs of one job start in the order in which they are due.", &["places::watch_order"]),
    (
        "A run that is due and has its turn starts when there is a place for it: its group has `limit`, \
         and the server 256.",
        &["places::watch", "places::watch_side_by_side"],
    ),
    (
        "Of all that wait for a place, and of all that are due at one moment, the highest `priority` \
         starts first, of equals the one that was due first.",
        &["places::watch"],
    ),
    ("No run waits while a place is free for it.", &["places::watch"]),
    (
        "The wait before attempt n + 1 is `min(cap, backoff * factor^(n - 1))`, give or take `jitter` \
         per cent, counted from the end of attempt n.",
        &["attempts::check_retries"],
    ),
    (
        "The jitter is a hash of run and attempt: it is not drawn again.",
        &["rules::jitter_is_the_same_after_a_restart_and_for_every_planner"],
    ),
    ("The last attempt decides what becomes of the run:", &["attempts::check_retries"]),
    ("| names | yes | scheduled again |", &["attempts::check_retries"]),
    (
        "| names | no | `dead`: with `dead_letters = after-retries` if the job has retries, with \
         `always` in any case, with `never` not |",
        &["attempts::check_retries"],
    ),
    (
        "| does not name | | what the attempt was, for good: `abandoned` by default when the server \
         died in it; never a dead letter |",
        &["attempts::check_retries"],
    ),
    (
        "`dead retry` gives a run all its attempts again, and no crash takes them back.",
        &[
            "attempts::check_retries",
            "rules::a_dead_letter_that_is_tried_again_has_all_its_attempts_also_when_the_server_dies",
        ],
    ),
    ("What was cancelled is never tried again.", &["attempts::stories", "attempts::check_retries"]),
    (
        "`pause_after` counts runs and not attempts: one that failed or took too long for good, and an \
         abandoned one only where `on` names that.",
        &["attempts::check_failures"],
    ),
    ("Only a run that succeeds ends the row.", &["attempts::check_failures"]),
    (
        "What is skipped, missed, cancelled or otherwise abandoned neither counts nor ends it.",
        &["attempts::check_failures"],
    ),
    ("A paused job plans nothing.", &["coverage::check", "rest::check_pauses"]),
    (
        "What passes meanwhile is one record when it is resumed, `skipped_paused` with its count; a \
         start of the server that it leaves out is one at once.",
        &["coverage::check", "starting::check_boots"],
    ),
    ("What runs goes on.", &["attempts::check_retries"]),
    (
        "What waits goes on waiting, and a retry or a dead letter that is tried again waits with it; \
         only a run by hand (`run`) starts all the same.",
        &[
            "rest::check_pauses",
            "rules/pause::of_a_paused_job_a_run_by_hand_starts_and_a_dead_letter_that_is_tried_again_waits",
        ],
    ),
    ("While everything is paused nothing starts at all.", &["rest::check_pauses"]),
    ("`pause --until TIME` ends by itself, also after a restart.", &["rest::check_pauses"]),
    ("`--note TEXT` says to others why: `show`, `status` and `audit` have it.", &[]),
    ("Another `pause` takes the place of the one before.", &["rest::check_pauses"]),
    ("It gives way to a pause for failures or crashes.", &["quarantine::check"]),
    ("The pause of a job in quarantine does not end by itself.", &["quarantine::check"]),
    ("Forward is as if the server had been away: see above.", &["coverage::check"]),
    (
        "Back, nothing that is on record fires again: a job rests until the clock has caught up with \
         what was planned of it (`list` and `doctor` say so), and what is due at a time waits for that \
         time.",
        &[
            "attempts::stories",
            "coverage::check",
            "rules::a_clock_that_is_set_back_fires_nothing_again_and_is_noted",
        ],
    ),
    (
        "`rewind JOB` lets it plan from now on: it shows what would run then, and asks.",
        &["coverage::check", "rules/clock::a_job_that_rests_for_a_clock_that_was_ahead_is_rewound"],
    ),
    (
        "What has a record under its own time does not run again, nor does the first of a stretch that \
         is on record as one; the others of it do.",
        &["attempts::stories", "rules/clock::a_job_that_rests_for_a_clock_that_was_ahead_is_rewound"],
    ),
    (
        "A wait that is a length of time, that of a retry or within `spread`, takes no longer for it.",
        &["rules/clock::a_wait_that_is_a_length_of_time_takes_no_longer_for_a_clock_that_is_set_back"],
    ),
    (
        "For that, what is made good for by a look after the clock was set back may run before what was \
         made good for by a look before it.",
        &["places::watch_catching_up"],
    ),
    (
        "A job with `after = [\"extract\"]` follows `extract`: each run of that, when it has ended for good, is \
         an occurrence of this job.",
        &["following::check"],
    ),
    (
        "However often the other was tried, its end is followed once.",
        &["following::check", "rules/follow::an_end_is_followed_by_those_that_name_it_and_by_each_once"],
    ),
    (
        "What follows is on disk together with the end, so that no crash lies between the two.",
        &[
            "following::check",
            "rules/follow::what_follows_is_planned_in_the_batch_of_the_end_and_survives_a_crash",
        ],
    ),
    (
        "With `{ job = \"extract\", on = \"failed\" }` it is the ends by which the run failed, took too long or \
         was abandoned; with `on = \"any\"` these, success, and the end of a run that was cancelled while it \
         ran; without `on` success alone.",
        &["following::check"],
    ),
    (
        "What never started, such as a missed or a skipped run, is not followed; a run by hand or of a \
         backfill is, and so is what a removed job still runs.",
        &[
            "following::check",
            "rules/follow::what_never_started_is_followed_by_nothing_and_a_run_by_hand_by_a_run",
            "rules/follow::what_the_end_of_the_server_cut_off_is_followed_at_the_next_start",
        ],
    ),
    (
        "Of several names each is followed for itself.",
        &[
            "following::check",
            "rules/follow::a_job_of_its_own_times_follows_too_and_one_of_two_names_follows_each",
        ],
    ),
    (
        "What follows is due at the end of the other, and not before its jitter is over; the rules of its own \
         job decide about it as about a run of a trigger.",
        &["attempts::check_starts", "rules/follow::the_rules_of_what_follows_decide_about_it"],
    ),
    (
        "It is missed where no more runs may be open, or where it is later than `window` and `grace` when it \
         could start, with `none` later than `grace`.",
        &["following::check", "rest::watch_stale"],
    ),
    (
        "Where nothing is due by `exclude`, `exclude_dates`, `start`, `end` or `max_runs`, nothing follows.",
        &[
            "following::check",
            "rules/follow::a_job_has_no_more_runs_that_follow_than_it_may_and_none_where_it_is_excluded",
        ],
    ),
    ("A name that no job has is followed by nothing, and `check`, `serve` and `doctor` warn of it.", &[]),
    (
        "Jobs that would follow themselves by way of others are a problem of the file that says so, and so are \
         more than 256 that follow one.",
        &[
            "rules/follow::a_set_that_would_close_a_circle_is_refused_in_part_and_one_that_turns_it_round_is_not",
        ],
    ),
    (
        "A timetable that changes counts from the moment at which the server knows of it, whatever the \
         clock showed before; a time of it that has a run on record does not run again.",
        &["coverage::check", "rules/clock::a_changed_timetable_counts_from_now_whatever_the_clock_showed"],
    ),
    (
        "What the old one had named by then and was not planned is planned by it, or recorded: as \
         `missed` if the server was down, as `skipped_paused` if the job was paused.",
        &[
            "coverage::check",
            "rules/change::what_is_due_at_the_moment_of_the_change_runs_by_the_old_timetable",
        ],
    ),
    ("The same holds when a job is removed.", &["coverage::check"]),
    (
        "A job that is removed, by `remove`, by `apply --prune` or because its file holds it no more, \
         starts nothing any more.",
        &["rest::watch_removal"],
    ),
    (
        "What runs goes on to its end, and is neither tried again nor a dead letter.",
        &["attempts::check_retries"],
    ),
    ("What waits, a retry too, is `cancelled`.", &["rest::watch_removal"]),
    (
        "Each start is on disk before it happens, so a server that died knows what was running.",
        &["attempts::check_starts"],
    ),
    (
        "Those jobs are in quarantine (of one-shot jobs the run itself is); all other jobs start as \
         ever.",
        &["quarantine::check"],
    ),
    (
        "At most 16 runs from quarantine start at a time, and the next when one of them has ended or \
         has outlived its probation of ten seconds; either lets its job out of quarantine.",
        &["quarantine::check", "rules/quarantine::after_a_crash_a_few_start_at_a_time_and_it_is_said_why"],
    ),
    (
        "If the server dies during a probation, each job that ran then starts alone, while no other is \
         on probation.",
        &["quarantine::check"],
    ),
    (
        "After the third time in a row the run is a dead letter, \"the server died in it 3 times\" \
         (with `dead_letters = never` it stays `abandoned`, for the same reason), and the job is paused \
         until it is resumed.",
        &["quarantine::check"],
    ),
    (
        "`list`, `show`, `status` and `doctor` say what is in quarantine, and an occurrence that is \
         skipped for it says so.",
        &["overlap::watch", "rules/quarantine::after_a_crash_a_few_start_at_a_time_and_it_is_said_why"],
    ),
    (
        "A server that was asked to end and had to kill what ran has not died, nor is a power cut the \
         fault of a job: where the machine itself was started anew since (its boot id is another), \
         nothing is in quarantine and nothing is counted.",
        &[
            "quarantine::check",
            "starting::watch_dead_first",
            "rules/quarantine::after_a_power_cut_all_start_at_once_and_none_is_counted",
        ],
    ),
];

/// Rows of the job file's tables, and the names of their checks.
const ROWS: &[(&str, &[&str])] = &[
    ("| `at_boot` | `true`: once at each start of the server |", &["starting::check_boots"]),
    (
        "| `exclude`, `exclude_dates` | expressions, dates and `FIRST..LAST` of dates on which nothing \
         is due |",
        &["coverage::check"],
    ),
    (
        "| `max_runs` | how many occurrences become runs, ever; what is skipped or missed does not \
         count, nor does a run by hand |",
        &["coverage::watch_end"],
    ),
    (
        "| `start`, `end` | from when, and until when |",
        &["rules::a_job_ends_after_its_last_run_or_at_its_end"],
    ),
    (
        "| `retention` | `keep=100,days=90` | how much history is kept; up to 15 rows more stay until \
         the next portion of it goes |",
        &["rules::history_is_kept_as_long_as_retention_says"],
    ),
    ("| `jitter` | `0s` | how much later than its nominal time may it start |", &["coverage::check"]),
];

/// Sentences of other sections that are about planning, and the names of their checks.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "Where jobs that came by `apply` give it another limit than a file does, the smaller one holds.",
        &["rules/group::the_smallest_limit_holds_as_long_as_a_source_defines_it"],
    ),
    (
        "A webhook's answer may put the next attempt off: `Retry-After`, in seconds or as a date, holds \
         where the policy would try again earlier, for at most a day.",
        &["rules/server::a_receiver_may_put_the_next_attempt_off"],
    ),
    (
        "What the server killed is recorded as `abandoned`, with the time of its end, and its retry \
         policy decides what follows at the next start.",
        &["attempts::check_retries", "starting::watch_dead_first"],
    ),
];

/// A text without its line ends.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a paragraph, or the rows of a table.
fn sentences(paragraph: &str) -> Vec<String> {
    let lines: Vec<&str> = paragraph.lines().filter(|line| !line.starts_with('#')).collect();
    if lines.first().is_some_and(|line| line.starts_with('|')) {
        return lines[2..].iter().map(|line| (*line).to_owned()).collect();
    }
    let mut items: Vec<String> = Vec::new();
    for line in lines {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(item), _) => items.push(item.to_owned()),
            (None, Some(last)) => *last = format!("{last} {line}"),
            (None, None) => items.push(line.to_owned()),
        }
    }
    items.iter().flat_map(|item| split(&joined(item))).collect()
}

/// Ends a sentence at a full stop before a capital, a backquote or a star.
fn split(text: &str) -> Vec<String> {
    let ends = text.match_indices(". ").map(|(index, _)| index + 1);
    let starts_next =
        |end: &usize| text[end + 1..].starts_with(|c: char| c.is_uppercase() || "`*".contains(c));
    let mut start = 0;
    let mut found = Vec::new();
    for end in ends.filter(starts_next).chain([text.len()]) {
        found.push(text[start..end].trim().to_owned());
        start = end;
    }
    found
}

/// `None` away from the repository: the package of this crate has no manual.
fn manual() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_package = !root.join("docs").exists() && !root.join("xtask").exists();
    (!is_package).then(|| read("../../docs/manual.md"))
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_sentence_of_the_manual_about_planning_names_its_check() {
    let Some(manual) = manual() else { return println!("skipped: the manual is not in the package") };
    let mut rows = SENTENCES.iter();
    for (from, to) in SECTIONS {
        let start = manual.find(from).unwrap() + from.len();
        let section = &manual[start..start + manual[start..].find(to).unwrap()];
        for sentence in section.split("\n\n").flat_map(sentences) {
            let row = rows.next().map(|(sentence, _)| *sentence);
            assert_eq!(row, Some(sentence.as_str()), "each sentence has its row, in the order of the manual");
        }
    }
    assert_eq!(rows.next(), None);
    for (row, _) in ROWS {
        assert!(manual.lines().any(|line| line == *row), "the manual has no row {row}");
    }
    for (sentence, _) in ELSEWHERE {
        assert!(joined(&manual).contains(sentence), "the manual does not say: {sentence}");
    }
}

#[test]
fn every_check_that_a_sentence_names_is_there() {
    for (sentence, checks) in SENTENCES.iter().chain(ROWS).chain(ELSEWHERE) {
        for check in *checks {
            let (file, function) = check.split_once("::").unwrap();
            let path = match file.strip_prefix("rules") {
                Some(rest) => format!("tests/rules{rest}.rs"),
                None => format!("tests/simulation/checker/{file}.rs"),
            };
            let is_there = read(&path).contains(&format!("fn {function}("));
            assert!(is_there, "{check} is not there, and judges: {sentence}");
        }
    }
}
