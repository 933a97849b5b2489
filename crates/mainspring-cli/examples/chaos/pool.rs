//! Four servers, two that plan and two that carry out, each with relays of its own before the two places
//! where the database may be.
//!
//! ```text
//!  server ─┬─▶ relay ─▶ the database
//!          └─▶ relay ─▶ the place of a standby: nothing, until there is one
//! ```
//!
//! Cost: the programs that it starts.
//!
//! Does not judge what comes of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::database::Database;
use super::dice::Dice;
use super::history::Unheard;
use super::relay::{Relay, Way};
use super::{Fault, Role};

/// What each server is told to be.
const ROLES: [&str; 4] = ["--no-work", "--no-work", "--no-plan", "--no-plan"];

/// How many servers there are, and how many of them may plan: the first.
const SERVERS: usize = ROLES.len();
const PLANNERS: usize = 2;

/// How often something is asked for that takes a lease at most; a question takes a few milliseconds.
const MAX_TRIES: usize = 20_000;

/// How many submissions a round begins with.
const SUBMISSIONS: usize = 5;

/// A line each when the run begins and ends: which, its attempt, when, and by which owner.
const SCRIPT: &str = "echo \"start $MAINSPRING_RUN $MAINSPRING_ATTEMPT $(date +%s%N) $MAINSPRING_FENCE\" >> \"$0\"; \
    sleep 0.05; echo \"end $MAINSPRING_RUN $MAINSPRING_ATTEMPT $(date +%s%N)\" >> \"$0\"";

/// What the database notes of itself: by which planner each start was decided, judged in its transaction.
/// Servers search no schema that others may write to, so these functions name theirs.
const WATCH: &str = "CREATE TABLE violation (what text);
    CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql SET search_path = mainspring AS $$ BEGIN
        IF NEW.assigned IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.assigned IS DISTINCT FROM NEW.assigned)
            AND NOT EXISTS (SELECT FROM mainspring.planner AS p
                WHERE p.epoch = (NEW.document::jsonb ->> 'fence')::int8 >> 40) THEN
            INSERT INTO public.violation VALUES (format('%s started by %s', NEW.job, NEW.document));
        END IF; RETURN NULL; END $$;
    CREATE TRIGGER watch AFTER INSERT OR UPDATE ON mainspring.open_run FOR EACH ROW EXECUTE FUNCTION watch();
    CREATE FUNCTION watch_planner() RETURNS trigger LANGUAGE plpgsql SET search_path = mainspring AS $$ BEGIN
        IF NEW.epoch < OLD.epoch OR (NEW.epoch = OLD.epoch AND NEW.batch NOT IN (OLD.batch, OLD.batch + 1)) THEN
            INSERT INTO public.violation VALUES (format('%s.%s after %s.%s', NEW.epoch, NEW.batch, OLD.epoch, OLD.batch));
        END IF; RETURN NULL; END $$;
    CREATE TRIGGER watch AFTER UPDATE ON mainspring.planner FOR EACH ROW EXECUTE FUNCTION watch_planner()";

/// What the database says of the owner.
#[derive(Clone, Debug)]
struct OwnerRow {
    epoch: u64,
    token: String,
    batch: u64,
}

struct Member {
    data: PathBuf,
    /// One for each place.
    relays: [Relay; 2],
    child: Child,
}

/// All of it.
pub(crate) struct Pool {
    program: PathBuf,
    pub(crate) folder: PathBuf,
    // Before the database, which ends last.
    members: Vec<Member>,
    pub(crate) database: Database,
    /// At which place it is.
    place: usize,
    /// The keys of what was acknowledged; of what has none its name.
    pub(crate) acknowledged: BTreeSet<String>,
    submitted_count: usize,
    /// What the standbys that were promoted had never heard of.
    pub(crate) unheard: Vec<Unheard>,
    /// In how many rounds a run was cut off though only a planner fell.
    pub(crate) ended_by_planners: usize,
}

/// The file: a job that is due each second.
fn jobs_text(folder: &Path) -> String {
    let lines = folder.join("lines").display().to_string();
    format!(
        "[jobs.often]\nevery = '1s'\nretention = 'keep=100000'\nrun = ['/bin/sh', '-c', '''{SCRIPT}''', '{lines}']\n"
    )
}

fn started(program: &Path, folder: &Path, data: &Path, role: &str) -> Child {
    let log = fs::OpenOptions::new().create(true).append(true).open(data.with_extension("log")).unwrap();
    let mut command = Command::new(program);
    command.args(["serve", role, "--data"]).arg(data).arg("--store-file").arg(data.with_extension("store"));
    command.arg(folder.join("jobs.toml")).stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

impl Pool {
    /// Starts the database and the servers; `None` where there is no PostgreSQL.
    pub(crate) fn start(program: PathBuf) -> Option<Pool> {
        let database = Database::start()?;
        let folder = std::env::temp_dir().join(format!("mainspring-chaos-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("jobs.toml"), jobs_text(&folder)).unwrap();
        let members = (0..SERVERS).map(|index| {
            let data = folder.join(format!("server{index}"));
            let relays = [(); 2].map(|()| Relay::before(&database));
            // Where there is no database yet.
            relays[1].cut();
            let [one, other] = relays.each_ref().map(Relay::host);
            let url = format!(
                "host={one},{other} user=mainspring dbname=mainspring target_session_attrs=read-write"
            );
            fs::write(data.with_extension("store"), url).unwrap();
            let child = started(&program, &folder, &data, ROLES[index]);
            Member { data, relays, child }
        });
        let members = members.collect();
        let (acknowledged, submitted_count, unheard) = (BTreeSet::new(), 0, Vec::new());
        let place = 0;
        let mut pool = Pool {
            program,
            folder,
            members,
            database,
            place,
            acknowledged,
            submitted_count,
            unheard,
            ended_by_planners: 0,
        };
        pool.submit_until_acknowledged();
        assert!(pool.database.psql("mainspring", WATCH).status.success(), "the database watches");
        Some(pool)
    }

    /// What a question is answered with, empty while the database does not answer.
    pub(crate) fn ask(&self, sql: &str) -> String {
        String::from_utf8_lossy(&self.database.psql("mainspring", sql).stdout).trim().to_owned()
    }

    /// Submits some jobs, each through a server or in a transaction. What is acknowledged is noted.
    pub(crate) fn submit(&mut self) {
        for _ in 0..SUBMISSIONS {
            self.submit_one();
        }
    }

    fn new_key(&mut self) -> String {
        self.submitted_count += 1;
        format!("key-{}", self.submitted_count)
    }

    fn submit_one(&mut self) -> bool {
        let key = self.new_key();
        let lines = self.folder.join("lines").display().to_string();
        let which = self.submitted_count % (SERVERS + 1);
        let done = if which == SERVERS {
            let script = SCRIPT.replace('"', "\\\"").replace('\'', "''");
            let sql = format!(
                "SELECT mainspring.submit('{{\"process\": {{\"run\": [\"/bin/sh\", \"-c\", \"{script}\", \"{lines}\"]}}}}', key => '{key}')"
            );
            self.database.psql("mainspring", &sql).status.success().then_some(key)
        } else if which + 1 == SERVERS {
            self.submission(which, Some(&key)).status().unwrap().success().then_some(key)
        } else {
            // `NAME is due now ..`
            let output = self.submission(which, None).stdout(Stdio::piped()).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            output.status.success().then(|| said.split(' ').next().unwrap().to_owned())
        };
        let is_done = done.is_some();
        self.acknowledged.extend(done);
        is_done
    }

    /// The command that submits at a server.
    fn submission(&self, which: usize, key: Option<&str>) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("at").arg("--data").arg(&self.members[which].data).arg("now");
        command.args(key.map(|key| ["--key", key]).into_iter().flatten());
        command.args(["--", "/bin/sh", "-c", SCRIPT]).arg(self.folder.join("lines"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Submits until a server has acknowledged: so there is an owner.
    pub(crate) fn submit_until_acknowledged(&mut self) {
        for _ in 0..MAX_TRIES {
            // What a transaction submits needs no owner.
            if self.submit_one() && self.submitted_count % (SERVERS + 1) != SERVERS {
                return;
            }
        }
        panic!("no server acknowledges any more: see {}", self.folder.display());
    }

    /// Which member owns the jobs.
    fn owner(&self) -> usize {
        for _ in 0..MAX_TRIES {
            let owner = self.ask("SELECT owner FROM mainspring.planner WHERE clock_timestamp() < until");
            let is_it = |member: &Member| owner.starts_with(&format!("process {} on ", member.child.id()));
            if let Some(index) = self.members.iter().position(is_it) {
                return index;
            }
        }
        panic!("no server owns the jobs: see {}", self.folder.display());
    }

    /// Removes what the servers left.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn signal(&self, index: usize, signal: Signal) {
        let id = i32::try_from(self.members[index].child.id()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
    }

    /// Waits until another plans, or the worker is taken for lost.
    fn wait_until_lost(&self, target: usize, process: u32) {
        let name = format!("process {process} on ");
        let is_lost = || match target < PLANNERS {
            true => self.owner() != target,
            false => {
                self.ask(&format!("SELECT count(*) FROM mainspring.worker WHERE starts_with(name, '{name}')"))
                    == "0"
            }
        };
        assert!((0..MAX_TRIES).any(|_| is_lost()), "it is lost: see {}", self.folder.display());
    }

    /// How many runs were cut off by the end of their worker.
    pub(crate) fn abandoned(&self) -> String {
        self.ask("SELECT count(*) FROM mainspring.attempt WHERE state = 'abandoned'")
    }

    /// Has it happen, to the planner or to a worker.
    pub(crate) fn suffer(&mut self, fault: Fault, role: Role, dice: &mut Dice) {
        let target = match role {
            Role::Planner => self.owner(),
            Role::Worker => PLANNERS + usize::try_from(dice.below(2)).unwrap(),
        };
        let process = self.members[target].child.id();
        match fault {
            Fault::Kill | Fault::Leave => {
                let signal = if matches!(fault, Fault::Kill) { Signal::SIGKILL } else { Signal::SIGTERM };
                self.signal(target, signal);
                self.members[target].child.wait().unwrap();
                let child = started(&self.program, &self.folder, &self.members[target].data, ROLES[target]);
                self.members[target].child = child;
                if role == Role::Worker {
                    self.wait_until_lost(target, process);
                }
            }
            Fault::Stop => {
                self.signal(target, Signal::SIGSTOP);
                self.wait_until_lost(target, process);
                self.signal(target, Signal::SIGCONT);
            }
            Fault::Cut => self.suffer_at(target, Relay::cut),
            Fault::Mute => self.suffer_at(target, |relay| relay.hold(Way::ToDatabase)),
            Fault::Deaf => self.suffer_at(target, |relay| relay.hold(Way::FromDatabase)),
            Fault::Promote => self.promote(false),
            Fault::Behind => self.promote(true),
            Fault::Lose => {
                let relay = &self.members[target].relays[self.place];
                relay.swallow(1 + usize::try_from(dice.below(3)).unwrap());
                // A session that is told something and then ends has swallowed no whole answer.
                assert!(
                    (0..MAX_TRIES).any(|_| {
                        self.ask("SELECT 1");
                        !relay.swallows()
                    }),
                    "the server asks the database"
                );
            }
            Fault::Crash => {
                self.database.kill();
                self.database.begin();
            }
        }
    }

    /// Has it happen to the sessions of a server until it is lost.
    fn suffer_at(&self, target: usize, fault: impl Fn(&Relay)) {
        let relay = &self.members[target].relays[self.place];
        fault(relay);
        self.wait_until_lost(target, self.members[target].child.id());
        relay.mend();
    }

    /// The database dies while each server has submissions, and continues at the other place: there is all of
    /// it, or what the standby had until it heard nothing more.
    fn promote(&mut self, is_behind: bool) {
        let standby = if is_behind { self.database.follower() } else { self.database.standby() };
        let mut before = None;
        if is_behind {
            // Asked before the standby hears no more, so that what is excused is at most what it lacks, and
            // what was on its way then.
            before = Some((self.lines_length(), self.owner_row(), self.acknowledged.clone()));
            standby.stop_following(&self.database);
        }
        let place = 1 - self.place;
        for member in &self.members {
            member.relays[place].lead_to(&standby);
            member.relays[place].mend();
        }
        self.submit();
        let keys: Vec<String> = (0..SUBMISSIONS).map(|_| self.new_key()).collect();
        let submitting = keys.iter().zip((0..SERVERS).cycle());
        let submitting: Vec<Child> =
            submitting.map(|(key, which)| self.submission(which, Some(key)).spawn().unwrap()).collect();
        let owner = self.owner_row();
        self.database.kill();
        for member in &self.members {
            member.relays[self.place].cut();
        }
        standby.promote();
        (self.database, self.place) = (standby, place);
        for (key, mut child) in keys.into_iter().zip(submitting) {
            if child.wait().unwrap().success() {
                self.acknowledged.insert(key);
            }
        }
        if let Some((from, first, acknowledged)) = before {
            // The lease may have been given up and taken again meanwhile.
            let epoch = |row: &Option<OwnerRow>| row.as_ref().map_or(0, |it| it.epoch);
            let epochs = epoch(&first)..=epoch(&owner);
            // By the same answer no server knows which of them the standby has.
            self.acknowledged = acknowledged;
            self.submit_until_noticed(owner.as_ref());
            self.unheard.push(Unheard { from, to: self.lines_length(), epochs });
        }
    }

    /// Submits until another owns the jobs, by its token, if the owner remembers more than the database has:
    /// it is fenced out by its next batch. What it ran has ended before.
    fn submit_until_noticed(&mut self, before: Option<&OwnerRow>) {
        let Some(before) = before else { return };
        for _ in 0..MAX_TRIES {
            let is_noticed = |now: OwnerRow| now.token != before.token || before.batch <= now.batch;
            if self.owner_row().is_some_and(is_noticed) {
                return;
            }
            self.submit_one();
        }
        panic!("an owner continues without its batches: see {}", self.folder.display());
    }

    /// Who owns the jobs, or did last.
    fn owner_row(&self) -> Option<OwnerRow> {
        let row = self.ask("SELECT epoch, token, batch FROM mainspring.planner");
        let [epoch, token, batch] = row.split('|').collect::<Vec<_>>()[..] else { return None };
        Some(OwnerRow { epoch: epoch.parse().ok()?, token: token.to_owned(), batch: batch.parse().ok()? })
    }

    fn lines_length(&self) -> usize {
        fs::metadata(self.folder.join("lines")).map_or(0, |file| usize::try_from(file.len()).unwrap())
    }

    /// Waits until all that was acknowledged has ended, and stops the servers.
    pub(crate) fn settle(&mut self) {
        let open =
            "SELECT (SELECT count(*) FROM mainspring.inbox WHERE NOT is_taken AND response IS NULL) + (SELECT count(*) FROM mainspring.pending)
            + (SELECT count(*) FROM mainspring.run WHERE cause = 'once' AND state IN ('scheduled', 'queued', 'running'))";
        let has_ended = || self.ask(open) == "0";
        assert!((0..MAX_TRIES).any(|_| has_ended()), "all ends: see {}", self.folder.display());
        for index in 0..SERVERS {
            self.signal(index, Signal::SIGTERM);
            self.members[index].child.wait().unwrap();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}
