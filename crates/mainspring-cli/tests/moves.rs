//! A job whose group changes is another shard's: none of its times is lost, and none is done twice.
//!
//! ```text
//!  the file changes ── one server applies it ── the other stands still, or is killed ── and goes on
//! ```
//!
//! Each of two servers owns one of two shards. The job is moved from one into the other, while one of the
//! servers is stopped (SIGSTOP) for less than its lease.

use std::fs;
use std::path::PathBuf;

use mainspring_job::{JobName, Shard};
use nix::sys::signal::Signal;

use crate::asked::until;
use crate::cluster::{Member, started_twice};
use crate::database::Database;
use crate::program::mainspring;
use crate::test_server::{folder, write};

/// A name of a group that is in this shard of two.
fn group_in(shard: u16) -> String {
    let mut names = (0..).map(|number| format!("g{number}"));
    let is_there = |name: &String| Shard::of(&name.parse::<JobName>().unwrap(), 2) == Shard(shard);
    names.find(is_there).unwrap()
}

/// The job in the group of a shard, and in each shard a job that says whether the file was applied there.
fn jobs(shard: u16, version: u16) -> String {
    let mut text = format!(
        "[jobs.often]\nevery = '1s'\nretention = 'keep=100000'\nshell = 'true'\ngroup = '{}'\n\
         [jobs.resting]\nevery = '1s'\nretention = 'keep=100000'\nshell = 'true'\ngroup = '{}'\n",
        group_in(shard),
        group_in(shard)
    );
    for each in 0..2 {
        let group = group_in(each);
        text.push_str(&format!("[groups.{group}]\nlimit = 5\n"));
        text.push_str(&format!(
            "[jobs.version-{each}]\nat = 2100-01-01T00:00:00Z\ngroup = '{group}'\nshell = 'echo {version}'\n"
        ));
    }
    text
}

/// Waits until so many servers own so many shards.
fn has_owners(database: &Database, counts: &str) {
    let sql = "SELECT count(DISTINCT server) || ' ' || count(*) FROM mainspring.shard
        WHERE owner <> '' AND clock_timestamp() < until";
    until(database, sql, counts);
}

struct Pair {
    folder: PathBuf,
    database: Database,
    /// In the order of the shards that they own.
    members: [Option<Member>; 2],
}

impl Pair {
    fn start(name: &str) -> Option<Pair> {
        let database = Database::start()?;
        let folder = folder(name);
        write(&folder.join("jobs.toml"), &jobs(0, 1));
        fs::write(folder.join("store"), database.url() + "\n").unwrap();
        let told =
            mainspring(&["store", "shards", "2", "--store-file", folder.join("store").to_str().unwrap()]);
        assert_eq!(told.code, 0, "{}", told.stderr);
        let mut one = Member::start(&folder, "one", &database);
        one.running.wait_for(&["the jobs are spread over 2 shards"]);
        until(&database, "SELECT count(*) FROM mainspring.job WHERE source IS NOT NULL", "4");
        let other = Member::start(&folder, "other", &database);
        has_owners(&database, "2 2");
        one.says(&["pause", "resting", "--note", "till it is mended"], "");
        let owner = database.ask("SELECT owner FROM mainspring.shard WHERE shard = 0");
        let is_first = owner.contains(&one.running.pid().to_string());
        let members = if is_first { [one, other] } else { [other, one] };
        let pair = Pair { folder, database, members: members.map(Some) };
        pair.runs_on();
        Some(pair)
    }

    fn member(&self, shard: u16) -> &Member {
        self.members[usize::from(shard)].as_ref().expect("it was not killed")
    }

    fn kill(&mut self, shard: u16) {
        let member = self.members[usize::from(shard)].take().expect("it was not killed");
        member.running.signal(Signal::SIGKILL);
        assert_eq!(member.running.end().0.code(), None);
    }

    fn write(&self, shard: u16, version: u16) {
        write(&self.folder.join("jobs.toml"), &jobs(shard, version));
    }

    /// The file was applied in a shard.
    fn applied(&self, shard: u16, version: u16) {
        let sql =
            format!("SELECT text LIKE '%echo {version}%' FROM mainspring.job WHERE name = 'version-{shard}'");
        until(&self.database, &sql, "t");
    }

    /// Waits for times that the job has while a server stands still: a gap is seen then if there is one.
    fn some_times_pass(&self) {
        let now = self.database.ask("SELECT mainspring.now_ns()");
        until(&self.database, &format!("SELECT {now} + 3000000000 < mainspring.now_ns()"), "t");
    }

    /// The job is defined in that shard.
    fn is_in(&self, shard: u16) {
        let sql = "SELECT string_agg(name || ' ' || shard, ', ' ORDER BY name) FROM mainspring.job
            WHERE name IN ('often', 'resting') AND source IS NOT NULL";
        until(&self.database, sql, &format!("often {shard}, resting {shard}"));
    }

    /// Waits for more runs of the job that have ended well.
    fn runs_on(&self) {
        let count = "SELECT count(*) FROM mainspring.run WHERE job = 'often' AND state = 'succeeded'";
        let before: u64 = self.database.ask(count).parse().unwrap();
        until(&self.database, &format!("SELECT {} < ({count})", before + 1), "t");
    }

    /// Each second has a record, and none was done twice.
    fn ends_whole(self) {
        self.runs_on();
        let gaps = "SELECT count(*) FROM (
            SELECT coalesce(span_last, nominal) AS last, lead(nominal) OVER (ORDER BY nominal) AS next
                FROM mainspring.run WHERE job = 'often') AS r WHERE last + 1000000000 < next";
        assert_eq!(self.database.ask(gaps), "0", "times without a record");
        assert_eq!(started_twice(&self.database), "0");
        let twice = "SELECT count(*) FROM (SELECT coalesce(span_last, nominal) AS last,
                lead(nominal) OVER (ORDER BY nominal) AS next FROM mainspring.run WHERE job = 'often') AS r
            WHERE next <= last";
        assert_eq!(self.database.ask(twice), "0", "times with two records");
        let pause = "SELECT pause || ' ' || pause_note FROM mainspring.job WHERE name = 'resting'";
        assert_eq!(self.database.ask(pause), "asked till it is mended");
        let begun = "SELECT count(*) FROM mainspring.attempt WHERE job = 'resting'
            AND (SELECT min(at) FROM mainspring.audit WHERE action = 'pause') < started";
        assert_eq!(self.database.ask(begun), "0", "a paused job runs nowhere");
        for member in self.members.iter().flatten() {
            let listed = member.ask(&["list"]).stdout;
            assert_eq!(listed.matches("often").count(), 1, "{listed}");
            assert!(member.ask(&["show", "resting"]).stdout.contains("till it is mended"));
        }
        let counted = "SELECT string_agg(jobs::text, ' ') FROM (SELECT s.jobs - (SELECT count(*) FROM mainspring.job AS j
            WHERE j.shard = s.shard AND j.source IS NOT NULL) AS jobs FROM mainspring.shard AS s) AS s";
        assert_eq!(self.database.ask(counted), "0 0", "the numbers of jobs are right");
        for member in self.members.into_iter().flatten() {
            assert_eq!(member.running.stop().0.code(), Some(0));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_job_whose_old_shard_hears_of_it_first_goes_on_where_it_was() {
    let Some(pair) = Pair::start("moves-old-first") else { return };
    pair.member(1).running.signal(Signal::SIGSTOP);
    pair.write(1, 2);
    pair.applied(0, 2);
    pair.some_times_pass();
    pair.member(1).running.signal(Signal::SIGCONT);
    pair.is_in(1);
    pair.ends_whole();
}

#[test]
fn a_job_whose_new_shard_hears_of_it_first_goes_on_where_it_was() {
    let Some(pair) = Pair::start("moves-new-first") else { return };
    pair.member(0).running.signal(Signal::SIGSTOP);
    pair.write(1, 2);
    pair.applied(1, 2);
    pair.is_in(1);
    pair.some_times_pass();
    pair.member(0).running.signal(Signal::SIGCONT);
    pair.applied(0, 2);
    pair.runs_on();
    // And back.
    pair.write(0, 3);
    pair.is_in(0);
    pair.ends_whole();
}

#[test]
fn a_job_whose_new_shard_loses_its_server_before_it_has_it_stays_where_it_is() {
    let Some(mut pair) = Pair::start("moves-new-killed") else { return };
    pair.member(1).running.signal(Signal::SIGSTOP);
    pair.write(1, 2);
    pair.applied(0, 2);
    pair.kill(1);
    pair.some_times_pass();
    pair.runs_on();
    pair.is_in(0);
    // The shard has another owner when the lease is over, and that puts no file into force by itself.
    has_owners(&pair.database, "1 2");
    let path = pair.folder.join("jobs.toml");
    let told = pair.member(0).ask(&["apply", "--prune", path.to_str().unwrap()]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(
        told.stdout.contains("~ often  (changed)") && !told.stdout.contains("(added)"),
        "{}",
        told.stdout
    );
    pair.is_in(1);
    pair.ends_whole();
}

#[test]
fn a_job_whose_old_shard_has_no_server_when_the_new_one_takes_it_goes_on_where_it_was() {
    let Some(mut pair) = Pair::start("moves-old-killed") else { return };
    pair.kill(0);
    pair.some_times_pass();
    pair.write(1, 2);
    pair.is_in(1);
    pair.ends_whole();
}

/// The new owner has taken the job, and is killed before it has written the new definition.
#[test]
fn a_job_whose_new_owner_is_killed_when_it_has_taken_it_goes_on_there() {
    let Some(mut pair) = Pair::start("moves-taken-killed") else { return };
    pair.member(1).running.signal(Signal::SIGSTOP);
    let take = "SELECT t.status FROM mainspring.shard AS s,
        mainspring.take_1(s.shard, s.epoch, s.token::text, ARRAY['often', 'resting']) AS t WHERE s.shard = 1";
    assert_eq!(pair.database.ask(take), "done");
    pair.kill(1);
    // No server has it until the lease is over. What passes is recorded.
    has_owners(&pair.database, "1 2");
    pair.runs_on();
    pair.is_in(1);
    pair.write(1, 2);
    pair.applied(1, 2);
    pair.ends_whole();
}
