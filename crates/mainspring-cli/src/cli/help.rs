//! The text below the options in the help of each command: its behaviour, examples, exit codes.
//!
//! Cost: none.
//!
//! Does not describe the options: their comments do, beside their types.
//!
//! Source: the conventions of <https://clig.dev>.

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: a file could not be read, the output could not be written, a limit cut the output short,
     there is no exact translation
  2  the command line was not understood
  6  a file or an expression has a problem; for check --strict: or a warning";

pub(super) const EXAMPLES: &str = "\
Examples:
  mainspring serve examples/jobs.toml
  mainspring list
  mainspring at +10m -- echo 'tea is ready'
  mainspring check --strict ~/my.crontab
  mainspring next '*/15 9-17 * * mon-fri'
  mainspring explain '30 2 * * *' --tz America/New_York
  mainspring simulate ~/my.crontab --from 2026-03-01T00:00:00Z --to 2026-04-01T00:00:00Z";

pub(super) const CHECK: &str = "\
Each problem is shown with its line and column and the characters it is about. A file without a problem
gets one line. The exit code is 6 if there was any problem.

Warnings are about what is valid and probably not meant: 5/15, a step that does not divide its field,
two restricted day fields, a day that never comes, a time that a change of the clock leaves out within
a year, an unescaped % in a date's format, a user's name in a crontab without a user column, a secret
that is sent nowhere, a comment that is nearly a line for Mainspring, PATH=$PATH:/opt, FOO=bar # note,
2&1, bash where /bin/sh runs the command, an option or a setting of another cron. They leave the exit
code alone, except with --strict. A note says that a line for Mainspring is switched off with its
entry; it never changes the exit code.

Without --here nothing is judged by this machine, as the file may be for another: a user that is not
there is a warning. With it, that is a problem; a program, interpreter, folder, home, file of a secret
or program for mails that is not there is a warning; and a file that serve would refuse for its owner or
mode makes the exit code 7.

With --json one document is printed: files (file, jobs, problems, warnings, findings (severity, line,
column, message, hint), left_out).

Examples:
  mainspring check ~/my.crontab
  mainspring check --strict --tz America/New_York ~/my.crontab
  mainspring check --system --here /etc/crontab /etc/cron.d";

pub(super) const IMPORT: &str = "\
Each file shows what it is by its name or what stands in it; --from says it. Read are crontabs, timers
of systemd with their services (beside them, or all together as `systemctl cat` prints them), CronJobs
of Kubernetes, expressions of Quartz (properties files, XML), and the tables of sidekiq-cron and
APScheduler (YAML, JSON). A job file goes to standard output or to -o FILE; what has no equal here is
said on standard error, with file and line, and what to do. `mainspring check` finds no problem in it.

A job that is suspended there, or whose command is not in the table, is written as a comment. --run is
the command of the latter: {name} is the name of the job, {call} what it calls, and {image} that of its
container, each in the quotes of a shell. A file that cannot be read is a problem, and then nothing is
written. The other scheduler is not switched off: a job that both run runs twice.

Examples:
  mainspring import --system /etc/crontab -o jobs.toml
  mainspring import /etc/systemd/system/backup.timer
  systemctl cat backup.timer backup.service | mainspring import -
  kubectl get cronjobs -o yaml | mainspring import --from kubernetes -
  mainspring import config/schedule.yml --run 'cd /srv/app && bin/rails runner {call}'";

pub(super) const CRONTAB: &str = "\
The crontab is that of cron: /var/spool/cron/crontabs/USER. It is checked before it is installed, and
with a problem nothing is changed. What is wrong or doubtful is shown with the characters it is about.
Where there is /etc/cron.allow, it names who may have a crontab; else /etc/cron.deny names who may not.

The package mainspring-cron has this command as crontab. Its file has the group crontab (2755).

Examples:
  crontab -e
  crontab my.crontab
  sudo mainspring crontab -u mara -l";

pub(super) const NEXT: &str = "\
Times are printed in RFC 3339 with the offset of the zone, one a line. An expression that never matches
prints nothing. Quote the expression, or the shell will replace its stars. With --until alone all times
up to it are printed, at most 1000000.

A word that is no expression is the name of a job of the server, or with --in of a job in those files:
the times are those of all its triggers, without what it excludes. Its document has the fields job,
zone, from and times.

--dst is about times without * at the start of minute or hour, and changes of less than three hours, in
spring and in autumn: cron runs at the end of the gap and in the first pass of the overlap; literal not
at all and in both; skip not at all and in the first; shift later by the length of the gap and in the
first. A pair such as run+last names both (run, skip, shift; first, last, both). The default is cron,
and skip for oncalendar.

With --explain lines that begin with # say what the expression means, before the times. With --json one
document is printed, with the fields expression, dialect, zone, dst, day_rule, from, until, count,
is_cut_short, times, and explanation if it was asked for. A bad expression gives the fields expression
and problem (message, start, end: bytes of the expression, hint).

Examples:
  mainspring next '0 9 * * mon-fri'
  mainspring next backup --in examples/jobs.toml
  mainspring next '@daily' -n 3 --tz America/New_York
  mainspring next '*/10 * * * * *' --from 2026-12-31T23:59:00Z --until 2027-01-01T00:01:00Z
  mainspring next '0 0 12 ? * 6L' --dialect quartz --json
  mainspring next 'Mon..Fri 09:00' --dialect oncalendar --explain";

pub(super) const EXPLAIN: &str = "\
Printed are one English sentence, the zone, the values of each field, how the dialect and the day rule
read it, the zone's changes of the clock within a year and what they do to this schedule, the next
three times, and warnings with the characters they are about. For --dst see mainspring next --help.

With --json one document is printed, with the fields expression, dialect, zone, dst, day_rule, from, and
explanation: sentence, fields (unit, text, values), notes, changes (at, text, effect) and warnings
(text, start, end).

Examples:
  mainspring explain '*/7 9-17 * * mon-fri'
  mainspring explain '30 2 * * *' --tz America/New_York --dst shift
  mainspring explain 'H 3 * * *' --name backup
  mainspring explain 'Mon *-*~07/1 00:00' --dialect oncalendar";

pub(super) const TRANSLATE: &str = "\
The translation is printed on standard output, and what it does not carry over on standard error. It
names the same wall-clock times as the expression. Where no exact one exists, the reason is shown and
the exit code is 1; it is 6 only for an expression that cannot be read.

With --json one document is printed, with the fields expression, dialect, to, translation (null if there
is none), notes and reason.

Examples:
  mainspring translate '*/15 9-17 * * mon-fri' --to oncalendar
  mainspring translate '0 15 10 ? * 6L' --dialect quartz --to unix
  mainspring translate 'Mon..Fri 09:00' --dialect oncalendar --to quartz";

pub(super) const SIMULATE: &str = "\
The files are given to the planner of serve, on a virtual clock from --from up to but not at --to;
nothing is executed. Policies, groups and exclusions hold as they do in serve. Printed are the first
events, the totals of each job, the busiest minutes and, for jobs with a duration, how many runs are
running at once.

NAME in --durations is a job's name as it is printed, or * for all others. A run takes exactly that
long and succeeds, or ends at its timeout; without a duration it ends at once. With --off the server
dies and what ran is abandoned; the next one catches up on what was due, as the misfire policy
says. With --set-clock the clock is set, forward or back. Not part of the simulation: slow starts,
and commands that fail. A simulation ends early, with a message and exit code 1, after 1000000
events.

With --json one document is printed, with the fields zone, from, to, end, is_cut_short, event_count,
start_count, events (time, job, what, nominal, attempt, count), jobs (name, file, line, start_count,
first, last, skipped_count, first_skipped, missed_count, cut_count, late_s_max, duration_s),
busiest_minutes (minute, start_count), most_at_once (time, run_count), and timed_job_count.

Examples:
  mainspring simulate ~/my.crontab --from 2026-03-01T00:00:00Z --to 2026-04-01T00:00:00Z
  mainspring simulate a.crontab b.crontab --from 2026-11-01T00:00:00-04:00 \\
      --to 2026-11-02T00:00:00-05:00 --tz America/New_York --durations 'backup=90m,*=10s'
  mainspring simulate jobs.toml --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z \\
      --off 2026-03-01T01:00:00Z..2026-03-01T05:00:00Z";
