//! Claims: which file defines the job of a name.
//!
//! ```text
//! files that are good ─▶ names they had before ─▶ two that say one name: a problem of the second ─┬─▶ all others get names
//!                                                        ▲                                        │
//!                                                        └── that file is not good any more: again ┘
//! ```
//!
//! | a file defines a name, and | then |
//! |---|---|
//! | no file or command has it | the file gets it; of two files the one that comes first |
//! | this file has it | the file keeps it |
//! | another file has it, is read now, and does not define it any more | the job moves, with all that is known of it |
//! | the file that has it is gone, and its jobs wait for it | the job moves in the same way |
//! | any other file or command has it | that is a problem of this file |
//!
//! A group belongs to all files that define it, and has one limit and one rate. Another limit or rate is a
//! problem of the file that comes later, be it in the order of the files or in time.
//!
//! A circle of jobs that follow each other is a problem of the file that comes last. So are too many jobs
//! that follow one.
//!
//! Cost: a map of all names, built again for each file that turns out to have a problem.
//!
//! Does not change what is in force: it says which claims are allowed.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::JobName;

use crate::crontab::names::{self, Likeness};
use crate::problem::Problem;

mod claimant;
mod following;
mod groups;

pub use claimant::{Claimant, Holder, InForce};
use claimant::{good, is_replaced};
pub use following::unknown;

/// Gives every job of the good files a name that it may have; where there is none, the file gets a problem.
pub fn settle(files: &mut [Claimant], in_force: &InForce<'_>) {
    recall(files, in_force);
    let owners = loop {
        let found = owners(files, &in_force.held);
        let judged = found.and_then(|owners| {
            groups::judge(files, in_force).and_then(|()| following::judge(files, in_force)).map(|()| owners)
        });
        match judged {
            Ok(owners) => break owners,
            Err((index, problems)) => {
                files[index].loaded.problems.extend(problems);
                files[index].loaded.problems.sort_by_key(|problem| problem.line_number);
                debug_assert!(!files[index].loaded.is_good(), "each round leaves a file fewer");
            }
        }
    };
    let resting = in_force.retired.iter().chain(&in_force.absent).cloned();
    let mut taken: BTreeSet<JobName> = owners.into_keys().chain(resting).collect();
    for file in files.iter_mut().filter(|file| file.loaded.is_good()) {
        let name = file.loaded.source.name().to_owned();
        taken.extend(file.loaded.switched_off.iter().cloned());
        names::choose(&mut file.loaded.jobs, &name, &mut taken);
        debug_assert!(!file.loaded.lacks_names(), "what comes into force has a name");
    }
}

/// Gives entries of crontabs the names that they had.
fn recall(files: &mut [Claimant], in_force: &InForce<'_>) {
    let mut retired = None;
    for file in files.iter_mut().filter(|file| file.loaded.is_good()) {
        if file.loaded.lacks_names() {
            let mut own = (in_force.known)(Some(&file.job_source));
            names::recall(&mut file.loaded, &mut own, Likeness::InWord);
        }
        if file.loaded.lacks_names() && !in_force.retired.is_empty() {
            let retired = retired.get_or_insert_with(|| (in_force.known)(None));
            names::recall(&mut file.loaded, retired, Likeness::InCommand);
        }
    }
}

/// Who has each name that is said, if the good files are taken over. Or the first file that says a name of
/// another, with its problems.
fn owners(
    files: &[Claimant],
    held: &BTreeMap<JobName, Holder>,
) -> Result<BTreeMap<JobName, Holder>, (usize, Vec<Problem>)> {
    let stays = |(_, holder): &(&JobName, &Holder)| !is_replaced(&holder.job_source, files);
    let mut owners: BTreeMap<JobName, Holder> =
        held.iter().filter(stays).map(|(name, holder)| (name.clone(), holder.clone())).collect();
    for (_, file) in good(files) {
        for (name, holder) in names_of(file) {
            if held.get(&name).is_some_and(|before| before.job_source == holder.job_source) {
                owners.insert(name, holder);
            }
        }
    }
    for (index, file) in good(files) {
        let mut problems = Vec::new();
        for (name, holder) in names_of(file) {
            match owners.get(&name) {
                None => drop(owners.insert(name, holder)),
                Some(other) if other.job_source == file.job_source => {}
                Some(other) => problems.push(problem(file, &name, other)),
            }
        }
        if !problems.is_empty() {
            return Err((index, problems));
        }
    }
    Ok(owners)
}

/// The names that a file says, each with its place.
fn names_of(file: &Claimant) -> impl Iterator<Item = (JobName, Holder)> {
    file.loaded.jobs.iter().filter(|placed| placed.is_named).map(|placed| {
        let place = format!("{}:{}", file.loaded.source.name(), placed.line_number);
        (placed.job.name.clone(), Holder { job_source: file.job_source.clone(), place })
    })
}

fn problem(file: &Claimant, name: &JobName, other: &Holder) -> Problem {
    let placed = file.loaded.jobs.iter().find(|placed| placed.job.name == *name);
    let number = placed.expect("the name is one that the file says").line_number;
    let message = format!("the name `{name}` is that of {}", other.place);
    file.loaded.problem_on(number, message, "give one of the two another name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crontab::Format;
    use crate::crontab::names::KnownJob;
    use crate::loaded_file::LoadedFile;
    use crate::source::Source;
    use jiff::tz::TimeZone;

    fn file(path: &str, text: &str) -> Claimant {
        let loaded = LoadedFile::parse(&Source::new(path, text), Format::User, &TimeZone::UTC);
        Claimant { job_source: path.to_owned(), loaded }
    }

    fn job(name: &str) -> String {
        format!("[jobs.{name}]\nevery = '1h'\nshell = 'true'\n")
    }

    fn held(pairs: &[(&str, &str)]) -> BTreeMap<JobName, Holder> {
        let holder =
            |job_source: &str| Holder { job_source: job_source.to_owned(), place: format!("({job_source})") };
        pairs.iter().map(|(name, job_source)| (JobName::new(name).unwrap(), holder(job_source))).collect()
    }

    /// The names of each file's jobs, or the messages of its problems.
    fn settled(mut files: Vec<Claimant>, held: &BTreeMap<JobName, Holder>) -> Vec<Vec<String>> {
        settle(&mut files, &InForce { held: held.clone(), ..InForce::nothing() });
        let of = |file: &Claimant| match file.loaded.is_good() {
            true => file.loaded.jobs.iter().map(|placed| placed.job.name.to_string()).collect(),
            false => file.loaded.problems.iter().map(|problem| problem.fault.message.clone()).collect(),
        };
        files.iter().map(of).collect()
    }

    #[test]
    fn the_name_of_an_entry_that_is_a_comment_now_goes_to_no_other() {
        let before = file("n", "# mainspring: name=backup\n30 2 * * * /opt/backup --all\n").loaded.jobs;
        let known = |_: Option<&str>| before.iter().filter_map(|placed| KnownJob::of(&placed.job)).collect();
        let after = |text: &str| {
            let mut files = [file("n", text)];
            settle(&mut files, &InForce { known: &known, ..InForce::nothing() });
            files[0].loaded.jobs.iter().map(|placed| placed.job.name.to_string()).collect::<Vec<_>>()
        };
        for entry in ["0 6 * * * backup --report", "30 2 * * * /opt/backup --all", "@daily sleep 7; backup"] {
            let off = format!("# mainspring: name=backup\n#30 2 * * * /opt/backup --all\n{entry}\n");
            assert_ne!(after(&off), ["backup"], "{entry}");
            let both = off.replace("# m", "## m");
            assert_ne!(after(&both), ["backup"], "{entry}");
        }
        let again = "# mainspring: name=backup\n#@daily backup\n# mainspring: name=backup\n@hourly backup\n";
        assert_eq!(after(again), ["backup"], "an entry that says it has it");
        assert_eq!(after("30 2 * * * /opt/backup --all\n"), ["backup"], "without its line it stays the job");
    }

    #[test]
    fn a_name_that_two_files_say_is_a_problem_of_the_second_which_names_both() {
        let files = || vec![file("a.toml", &job("x")), file("b.toml", &(job("y") + &job("x")))];
        let problem = "the name `x` is that of a.toml:1".to_owned();
        assert_eq!(settled(files(), &held(&[])), [vec!["x".to_owned()], vec![problem.clone()]]);
        let mut files = files();
        settle(&mut files, &InForce::nothing());
        assert_eq!(files[1].loaded.problems[0].line_number, 4);
    }

    #[test]
    fn what_has_a_name_keeps_it() {
        let files = || vec![file("a.toml", &job("x")), file("b.toml", &job("x"))];
        let x = || vec!["x".to_owned()];
        let taken = |place: &str| vec![format!("the name `x` is that of {place}")];
        assert_eq!(settled(files(), &held(&[("x", "b.toml")])), [taken("b.toml:1"), x()]);
        assert_eq!(settled(files(), &held(&[("x", "other")])), [taken("(other)"), taken("(other)")]);
        // The second does not say it any more, but is not good: what it had stays.
        let files = vec![file("a.toml", &job("x")), file("b.toml", "[jobs.y]\nevry = 1\n")];
        assert_eq!(settled(files, &held(&[("x", "b.toml")]))[0], taken("(b.toml)"));
    }

    #[test]
    fn a_job_may_move_and_two_may_change_places() {
        let files = vec![file("a.toml", &job("y")), file("b.toml", &job("x"))];
        let held = held(&[("x", "a.toml"), ("y", "b.toml")]);
        assert_eq!(settled(files, &held), [["y"], ["x"]]);
    }

    #[test]
    fn a_file_that_becomes_bad_keeps_what_it_had_from_the_others() {
        // a says x, which is another's, so that a stays as it is, with y; so b cannot have y, and c cannot
        // have z.
        let files = vec![
            file("a.toml", &job("x")),
            file("b.toml", &job("y")),
            file("c.toml", &(job("z") + &job("w"))),
        ];
        let held = held(&[("x", "other"), ("y", "a.toml"), ("z", "b.toml")]);
        let found = settled(files, &held);
        assert_eq!(found[0], ["the name `x` is that of (other)"]);
        assert_eq!(found[1], ["the name `y` is that of (a.toml)"]);
        assert_eq!(found[2], ["the name `z` is that of (b.toml)"]);
    }

    #[test]
    fn a_group_that_two_files_define_has_one_rate() {
        let group = |rest: &str| format!("[groups.db]\nlimit = 2\n{rest}");
        let files = |one: &str, other: &str| {
            vec![file("a.toml", &(group(one) + &job("x"))), file("b.toml", &(group(other) + &job("y")))]
        };
        let rate = "rate = '60/1m'\n";
        assert_eq!(settled(files(rate, "rate = '60/60s'\n"), &held(&[])), [["x"], ["y"]]);
        let problem = |bounds: &str| vec![format!("the group `db` has {bounds} in a.toml:1")];
        let x = || vec!["x".to_owned()];
        let found = settled(files(rate, "rate = '1/1s'\n"), &held(&[]));
        assert_eq!(found, [x(), problem("the limit 2 and the rate 60/1m")]);
        assert_eq!(settled(files("", rate), &held(&[])), [x(), problem("the limit 2")]);
    }

    #[test]
    fn a_group_that_is_in_force_has_the_limit_of_it_unless_its_file_is_read_now() {
        let text = |limit: u32| format!("[groups.db]\nlimit = {limit}\n{}", job("x"));
        let holder = Holder { job_source: "b.toml".to_owned(), place: "(b.toml)".to_owned() };
        let of_b = file("b.toml", &text(2)).loaded.groups.remove(0);
        let problem = |text: String| {
            let mut files = vec![file("a.toml", &text)];
            let groups = vec![(of_b.clone(), holder.clone())];
            settle(&mut files, &InForce { groups, ..InForce::nothing() });
            files.remove(0).loaded.problems.pop().map(|problem| problem.fault.message)
        };
        assert_eq!(problem(text(2)), None);
        assert_eq!(problem(text(3)).unwrap(), "the group `db` has the limit 2 in (b.toml)");
        let groups = vec![(of_b.clone(), holder.clone())];
        let mut both = vec![file("a.toml", &text(3)), file("b.toml", &text(3).replace('x', "y"))];
        settle(&mut both, &InForce { groups, ..InForce::nothing() });
        assert!(both.iter().all(|file| file.loaded.is_good()), "both change it at once");
    }

    #[test]
    fn a_group_that_two_files_define_has_one_limit() {
        let group = |limit: u32| format!("# The database.\n[groups.db]\nlimit = {limit}\n");
        let files = |one: u32, other: u32| {
            vec![file("a.toml", &(group(one) + &job("x"))), file("b.toml", &(group(other) + &job("y")))]
        };
        assert_eq!(settled(files(2, 2), &held(&[])), [["x"], ["y"]]);
        let problem = "the group `db` has the limit 2 in a.toml:2".to_owned();
        assert_eq!(settled(files(2, 1), &held(&[])), [vec!["x".to_owned()], vec![problem]]);
        let mut files = files(2, 1);
        settle(&mut files, &InForce::nothing());
        assert_eq!(files[1].loaded.problems[0].line_number, 2);
    }

    #[test]
    fn entries_without_names_never_collide() {
        let files =
            vec![file("a", "@daily echo a\n"), file("b", "@daily echo b\n"), file("c.toml", &job("echo"))];
        assert_eq!(settled(files, &held(&[])), [["a-echo"], ["b-echo"], ["echo"]]);
    }
}
