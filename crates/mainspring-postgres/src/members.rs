//! The workers of a pool: who is there, what each is to do, and what it says of that.
//!
//! ```text
//!  worker   join ─ renew .. renew ─ leave              wait ─▶ assignments, kills ─▶ (it runs) ─▶ report
//!                     │ silent too long                  ▲ NOTIFY                                  │
//!  planner  list ─────┴─▶ declare_lost            commit, kill ◀── End, Begin .. ◀── reports ◀─────┘
//! ```
//!
//! A life of a worker has a number that never comes again and a lease of its own, which the database judges
//! by its clock. A worker that is declared lost is not there any more: its renewals and its reports are
//! refused.
//!
//! An assignment is in the row of the open run, so it is there from the commit that begins the attempt to the
//! end of the attempt, and costs no row of its own: an entry of an index when it begins, and nothing when it
//! ends. A row of its own would be one more to write and one more to drop for each attempt.
//!
//! A worker counts its reports itself, and sends them in order. So the database has no number that is given
//! early and seen late, and a report that is sent again is there once. What the planner does with a report is
//! done once by itself: the end of an attempt is answered with `Gone` the second time. So no transaction
//! joins the two.
//!
//! Cost: a round trip for each call. A report waits for no flush of the disk.
//!
//! Does not choose a worker, and does not decide who is lost: the planner does both.

use std::collections::BTreeMap;
use std::time::Duration;

use mainspring_job::{
    Assignment, AttemptEnd, MAX_PAGE, Outcome, RunKey, StoreError, Worker, WorkerId, WorkerLabel,
};
use mainspring_rows::questions::{key_values, page};
use mainspring_rows::{ReadResult, nanoseconds, number, run_key, time, unreadable, unsigned};
use serde_json::{Value as Json, json};
use tokio_postgres::Row;

use super::connection::{Connection, WaitNotifier};
use super::escape::{escape, read};
use super::location::Location;
use super::reader::HeldPlan;
use super::row::{CurrentRow, milliseconds, small};
use super::schema::{self, VERSION};
use super::store::Fence;
use super::value::Value;

/// How many lives of workers are known, for people who look at a history: some megabytes, and twenty servers
/// that are replaced each day for more than a year.
const MAX_KNOWN_LIVES: i64 = 10_000;

/// The channel of assignments and kills; its text is the number of the worker.
const WORKER_CHANNEL: &str = "mainspring_worker";

/// The channel of reports.
pub(super) const REPORT_CHANNEL: &str = "mainspring_report";

/// The table of workers, over a session of its own.
#[derive(Debug)]
pub struct Members {
    pub(super) connection: Connection,
}

/// A server that joins.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// The process, as [`Identity::server`](super::Identity::server) names it.
    pub server: String,
    /// For people, and for who is chosen among equals.
    pub name: String,
    /// Its machine.
    pub host: String,
    /// Where people find it.
    pub address: String,
    /// Of the program.
    pub version: String,
    /// What may change later.
    pub state: MemberState,
}

/// What a worker says again with each renewal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberState {
    /// What it has, each with its level.
    pub labels: BTreeMap<WorkerLabel, u32>,
    /// How many runs may run at it at once.
    pub capacity: usize,
    /// How many more may be started there, which wait.
    pub ahead: usize,
    /// It goes, and is to be given nothing more.
    pub is_leaving: bool,
    /// How far what runs at it is, in a text of the servers' own; empty if nothing tells that.
    pub progress: String,
}

/// A worker that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentMember {
    /// As the planner knows it.
    pub worker: Worker,
    /// The process, as in [`Member::server`].
    pub server: String,
    /// It goes, and is to be given nothing more.
    pub is_leaving: bool,
    /// How long ago it was heard of, by the clock of the database.
    pub silent: Duration,
    /// After how long without a renewal it may be declared lost: its lease has run out then, and a second.
    pub lapses_in: Duration,
    /// How far what runs at it is: see [`MemberState`].
    pub progress: String,
}

/// What became of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWorker {
    /// It is lost: what it says from now on is refused.
    Lost,
    /// It was heard of again, or its lease lasts still.
    Present,
    /// There is none of that number: it left, or was lost before.
    Absent,
}

/// An assignment, and its place in the order of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedAssignment {
    /// Greater than that of each that was committed before.
    pub number: u64,
    /// What to start.
    pub assignment: Assignment,
}

/// What a worker is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerOrders {
    /// What it is to start.
    pub assignments: Vec<PlacedAssignment>,
    /// What it is to end.
    pub kills: Vec<(RunKey, u32)>,
    /// Whose output somebody reads at another server: it is to be kept in the database, as it grows.
    pub read: Vec<(RunKey, u32)>,
}

/// How an attempt ended, as its worker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which worker.
    pub worker: WorkerId,
    /// The worker's own count of its reports, from 1 without a gap.
    pub number: u64,
    /// What it has learnt. Its age is that when it is sent, and when it is read.
    pub end: AttemptEnd,
}

impl Members {
    /// That of a worker, which waits for what it is to do. Connects with the first call.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn of_worker(location: &Location) -> Result<Members, StoreError> {
        Ok(Members { connection: Connection::listening(location, WORKER_CHANNEL)? })
    }

    /// That of the planner, which waits for reports. Connects with the first call.
    ///
    /// # Errors
    /// The same.
    pub fn of_planner(location: &Location) -> Result<Members, StoreError> {
        Ok(Members { connection: Connection::listening(location, REPORT_CHANNEL)? })
    }

    /// What ends [`wait`](Members::wait) from another thread.
    pub fn notifier(&self) -> WaitNotifier {
        self.connection.notifier()
    }

    /// Whether it is told nothing, as a pooler in transaction mode stands before the database. Then only who
    /// looks finds something new.
    pub fn is_pooled(&self) -> bool {
        self.connection.is_pooled()
    }

    /// Whether the database has told of something since the last call, or may have.
    pub fn was_told(&self) -> bool {
        self.connection.was_told()
    }

    /// Waits until there may be something new, at most so long. Returns whether there may be. Through a
    /// pooler in transaction mode the wait is over when its time is.
    pub fn wait(&mut self, longest: Duration) -> bool {
        self.connection.wait(longest)
    }

    /// A new life of a worker, whose lease lasts so long; that before of its process is over with it. From
    /// here on this session hears what is for it.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if it may be there, as a life that no worker leads.
    pub fn join(&mut self, member: &Member, lasts: Duration) -> Result<WorkerId, StoreError> {
        let sql = "WITH joined AS (INSERT INTO mainspring.worker
                (server, name, host, address, version, labels, capacity, ahead, is_leaving, until)
                SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + $10 * interval '1 ms'
                FROM mainspring.planner AS p WHERE p.floor <= $13 RETURNING id),
            forgotten AS (DELETE FROM mainspring.worker_life AS l USING joined AS j WHERE l.gone IS NOT NULL AND l.id <= j.id - $11),
            back AS (UPDATE mainspring.worker_life SET gone = 'back' WHERE server = $1 AND (gone IS NULL OR gone = 'lost'))
            SELECT id, pg_notify($12, '')::text FROM joined";
        let Member { server, name, host, address, version, state } = member;
        let mut values = [server, name, host, address, version].map(|text| Value::text(text)).to_vec();
        values.extend(state.values());
        values.extend([Value::milliseconds(lasts), Value::Int(MAX_KNOWN_LIVES), Value::text(REPORT_CHANNEL)]);
        values.push(Value::Int(i64::from(VERSION)));
        let rows = self.connection.call("join", sql, &values)?;
        // Without a row this program is too old, which the question says.
        let Some(row) = rows.first() else { return Err(schema::too_old(&mut self.connection)) };
        let id = WorkerId(unsigned(row.get(0)));
        self.connection.hear(id.to_string());
        Ok(id)
    }

    /// Says that a worker is there, and how it is now. The planner is told if that is new, but for how many
    /// may wait there: that changes as runs end, of which it is told. Returns the first [`MAX_PAGE`] of its
    /// [`orders`](Members::orders), and who plans if that is another server.
    ///
    /// # Errors
    /// `Fenced` when it was declared lost, or has left, or this program has become too old.
    pub fn renew(
        &mut self,
        id: WorkerId,
        state: &MemberState,
        lasts: Duration,
        after: u64,
    ) -> Result<(WorkerOrders, Option<HeldPlan>), StoreError> {
        let sql = "WITH renewed AS (UPDATE mainspring.worker AS w SET labels = $1, capacity = $2, ahead = $3, is_leaving = $4,
                renewed = clock_timestamp(), until = clock_timestamp() + $5 * interval '1 ms',
                progress = $11, progress_count = w.progress_count + (w.progress <> $11)::int
                FROM mainspring.worker AS b, mainspring.planner AS p
                WHERE w.id = $6 AND b.id = w.id AND p.floor <= $10 RETURNING w.id,
                (b.labels, b.capacity, b.is_leaving) <> (w.labels, w.capacity, w.is_leaving) AS is_new,
                CASE WHEN p.owner <> '' AND p.server <> w.server THEN p.owner END AS planner,
                CASE WHEN isfinite(p.until) THEN greatest(0, extract(epoch FROM p.until - clock_timestamp()) * 1000)::int8 END AS lasts)
            SELECT o.job, o.nominal, o.series, o.attempt, o.assigned, o.document,
                CASE WHEN r.is_new THEN pg_notify($9, '')::text END, r.planner, r.lasts
            FROM renewed AS r LEFT JOIN LATERAL mainspring.orders(r.id, $7, $8) AS o ON true";
        let mut values = state.values().to_vec();
        values.extend([Value::milliseconds(lasts), of(id), Value::Int(number(after))]);
        values.push(page(MAX_PAGE).into());
        values.extend([Value::text(REPORT_CHANNEL), Value::Int(i64::from(VERSION))]);
        values.push(Value::text(&state.progress));
        let rows = self.connection.call("renew a worker", sql, &values)?;
        let first = rows.first().ok_or(StoreError::Fenced)?;
        let planner: Option<&str> = first.get(7);
        let plan = planner
            .zip(first.get::<_, Option<i64>>(8))
            .map(|(by, left)| HeldPlan { by: read(by).into_owned(), left: milliseconds(left) });
        let is_empty = first.get::<_, Option<&str>>(0).is_none();
        let orders = if is_empty { WorkerOrders::default() } else { orders(id, &rows)? };
        Ok((orders, plan))
    }

    /// The workers that are there, in the order in which they joined.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn list(&mut self) -> Result<Vec<PresentMember>, StoreError> {
        let sql = "SELECT id, name, capacity, labels, server, is_leaving,
                greatest(0, extract(epoch FROM clock_timestamp() - renewed) * 1000)::int8,
                ceil(extract(epoch FROM greatest(until + interval '1 s', clock_timestamp()) - clock_timestamp()) * 1000)::int8, ahead, progress
            FROM mainspring.worker ORDER BY id";
        self.connection.call("list workers", sql, &[])?.iter().map(present).collect()
    }

    /// Has the database forget a worker whose lease ran out a second ago. Only reports that it sent before
    /// are there afterwards, and none comes any more: what it was assigned, and has no report of, never ends
    /// there.
    ///
    /// # Errors
    /// `Fenced` when the caller plans no more.
    pub fn declare_lost(&mut self, planner: &Fence, id: WorkerId) -> Result<LostWorker, StoreError> {
        // A report under way holds the row of its worker, and a server that wants to plan waits for this.
        let sql = "WITH p AS MATERIALIZED (SELECT FROM mainspring.planner WHERE epoch = $1 AND token = $2::uuid FOR SHARE),
            ended AS (UPDATE mainspring.worker AS w SET gone = 'lost', gone_at = clock_timestamp() FROM p
                WHERE w.id = $3 AND w.until + interval '1 s' < clock_timestamp() RETURNING w.id)
            SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM mainspring.worker WHERE id = $3) FROM p";
        let [epoch, token] = planner.values();
        let values = [epoch, token, of(id)];
        let rows = self.connection.call("declare a worker lost", sql, &values)?;
        let row = rows.first().ok_or(StoreError::Fenced)?;
        Ok(match (row.get::<_, i64>(0), row.get::<_, i64>(1)) {
            (1, _) => LostWorker::Lost,
            (_, 0) => LostWorker::Absent,
            _ => LostWorker::Present,
        })
    }

    /// What a worker is to do: what it is to start, after one that it knows (0: from the first), in the order
    /// of commits, what it is to end, and whose output is read. At most `limit` and [`MAX_PAGE`] of each.
    /// What has ended is not among what it is to start or end.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn orders(&mut self, id: WorkerId, after: u64, limit: usize) -> Result<WorkerOrders, StoreError> {
        let sql =
            "SELECT job, nominal, series, attempt, assigned, document FROM mainspring.orders($1, $2, $3)";
        let values = [of(id), Value::Int(number(after)), page(limit).into()];
        let read = orders(id, &self.connection.call("read orders", sql, &values)?)?;
        debug_assert!(read.assignments.len() <= limit.min(MAX_PAGE));
        debug_assert!(read.assignments.iter().all(|each| after < each.number), "these are known already");
        Ok(read)
    }

    /// Asks a worker to end an attempt, and tells it. It is asked until the attempt has ended. Says whether
    /// that attempt runs there.
    ///
    /// # Errors
    /// `Fenced` when the caller plans no more.
    pub fn kill(
        &mut self,
        planner: &Fence,
        id: WorkerId,
        (key, attempt): &(RunKey, u32),
    ) -> Result<bool, StoreError> {
        let sql = "WITH p AS MATERIALIZED (SELECT FROM mainspring.planner WHERE epoch = $1 AND token = $2::uuid FOR SHARE),
            asked AS (UPDATE mainspring.open_run AS r SET is_killed = true FROM p WHERE r.job = $3 AND r.nominal = $4
                AND r.series = $5 AND r.attempt = $6 AND r.worker = $7 AND r.state = 'running' RETURNING r.worker)
            SELECT (SELECT pg_notify($8, a.worker::text)::text FROM asked AS a) IS NOT NULL FROM p";
        let mut values = planner.values().to_vec();
        values.extend(key_values::<Value>(key));
        values.extend([Value::Int(i64::from(*attempt)), of(id), Value::text(WORKER_CHANNEL)]);
        let rows = self.connection.call("kill", sql, &values)?;
        Ok(rows.first().ok_or(StoreError::Fenced)?.get(0))
    }

    /// Tells the planner how attempts ended: all of a worker, or none. What was told before under its number
    /// is not told twice.
    ///
    /// # Errors
    /// `Fenced` when it was declared lost, or has left; `Unknown` if they may be there: send them again.
    pub fn report(&mut self, id: WorkerId, reports: &[Report]) -> Result<(), StoreError> {
        debug_assert!(reports.iter().all(|report| report.worker == id), "a worker reports its own ends");
        debug_assert!(reports.is_sorted_by_key(|report| report.number), "reports come in their order");
        let sql = "SELECT mainspring.report($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let numbers = |of: fn(&Report) -> i64| Value::Ints(reports.iter().map(of).collect());
        let outcome = |report: &Report| escape(&report.end.outcome.to_string()).into_owned();
        let values = [
            of(id),
            numbers(|report| number(report.number)),
            Value::Texts(reports.iter().map(|report| report.end.key.job.to_string()).collect()),
            numbers(|report| nanoseconds(report.end.key.nominal)),
            numbers(|report| i64::from(report.end.key.series)),
            numbers(|report| i64::from(report.end.attempt)),
            Value::Texts(reports.iter().map(outcome).collect()),
            Value::MaybeInts(reports.iter().map(|report| report.end.retry_at.map(nanoseconds)).collect()),
            numbers(|report| i64::try_from(report.end.age.as_micros()).unwrap_or(i64::MAX)),
        ];
        let rows = self.connection.call("report", sql, &values)?;
        if rows.first().is_some_and(|row| row.get(0)) { Ok(()) } else { Err(StoreError::Fenced) }
    }

    /// The workers of which reports are there.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn reporters(&mut self) -> Result<Vec<WorkerId>, StoreError> {
        let sql = "SELECT DISTINCT worker FROM mainspring.report";
        let rows = self.connection.call("read reporters", sql, &[])?;
        Ok(rows.iter().map(|row| WorkerId(unsigned(row.get(0)))).collect())
    }

    /// What these workers have told beyond what was read of each: at most a page, those of a worker in their
    /// order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn reports(&mut self, read_up_to: &[(WorkerId, u64)]) -> Result<Vec<Report>, StoreError> {
        let sql = "SELECT job, nominal, series, attempt, worker, number, outcome, retry_at, \
            (extract(epoch FROM clock_timestamp() - ended) * 1000000)::int8 FROM mainspring.reports($1, $2, $3)";
        let [workers, numbers] = parts(read_up_to);
        let rows = self.connection.call("read reports", sql, &[workers, numbers, page(MAX_PAGE).into()])?;
        let report = |row: &Row| {
            let (key, attempt) = attempt_of(row)?;
            let mut end = AttemptEnd::new(key, attempt, Outcome::from(&*read(row.get(6))));
            end.retry_at = row.get::<_, Option<i64>>(7).map(time);
            // The database's clock may have been set back since.
            end.age = Duration::from_micros(unsigned(row.get(8)));
            Ok(Report { worker: WorkerId(unsigned(row.get(4))), number: unsigned(row.get(5)), end })
        };
        let found = rows.iter().map(report).collect::<Result<Vec<_>, _>>()?;
        debug_assert!(found.len() <= MAX_PAGE);
        debug_assert!(found.is_sorted_by_key(|report| (report.worker, report.number)));
        Ok(found)
    }

    /// Drops the reports of attempts that run no more by the records: all that follows from these is
    /// committed.
    ///
    /// # Errors
    /// `Fenced` when the caller plans no more.
    pub fn forget_reports(&mut self, planner: &Fence) -> Result<(), StoreError> {
        let sql = "SELECT mainspring.forget_reports($1, $2)";
        let rows = self.connection.call("forget reports", sql, &planner.values())?;
        if rows.first().is_some_and(|row| row.get(0)) { Ok(()) } else { Err(StoreError::Fenced) }
    }
}

impl MemberState {
    fn values(&self) -> [Value; 4] {
        let labels: serde_json::Map<String, Json> = self
            .labels
            .iter()
            .map(|(label, level)| (escape(label.as_str()).into_owned(), json!(level)))
            .collect();
        let count = |places: usize| Value::Int(i64::try_from(places).unwrap_or(i64::MAX));
        let (capacity, ahead) = (count(self.capacity), count(self.ahead));
        [Value::Document(Json::Object(labels)), capacity, ahead, Value::Bool(self.is_leaving)]
    }
}

pub(super) fn of(id: WorkerId) -> Value {
    Value::Int(number(id.0))
}

fn parts(of: &[(WorkerId, u64)]) -> [Value; 2] {
    let workers = of.iter().map(|(worker, _)| number(worker.0)).collect();
    let numbers = of.iter().map(|(_, count)| number(*count)).collect();
    [Value::Ints(workers), Value::Ints(numbers)]
}

/// Out of the rows of `mainspring.orders`.
fn orders(id: WorkerId, rows: &[Row]) -> Result<WorkerOrders, StoreError> {
    let mut orders = WorkerOrders::default();
    for row in rows {
        let (key, attempt) = attempt_of(row)?;
        let Some(assigned) = row.get::<_, Option<i64>>(4) else {
            match row.get::<_, Option<&str>>(5) {
                None => orders.kills.push((key, attempt)),
                Some(_) => orders.read.push((key, attempt)),
            }
            continue;
        };
        let document = read(row.get(5)).into_owned();
        let assignment = Assignment::new(id, key, attempt, document);
        orders.assignments.push(PlacedAssignment { number: unsigned(assigned), assignment });
    }
    orders.assignments.sort_unstable_by_key(|placed| placed.number);
    Ok(orders)
}

/// Out of the first four columns.
fn attempt_of(row: &Row) -> ReadResult<(RunKey, u32)> {
    Ok((run_key(&CurrentRow(row))?, small(row.get(3))?))
}

fn present(row: &Row) -> ReadResult<PresentMember> {
    let text = |index: usize| read(row.get(index)).into_owned();
    let id = WorkerId(unsigned(row.get(0)));
    let labels: Json = row.get(3);
    let places = |index| usize::try_from(row.get::<_, i64>(index)).unwrap_or_default();
    let mut worker = Worker::new(id, text(1), places(2)).with_ahead(places(8));
    for (label, level) in labels.as_object().into_iter().flatten() {
        let label = WorkerLabel::new(&read(label)).map_err(|_| unreadable("label", label))?;
        let level = level.as_i64().ok_or_else(|| unreadable("level", &level.to_string()))?;
        worker = worker.with_label(label, small(level)?);
    }
    Ok(PresentMember {
        worker,
        server: text(4),
        is_leaving: row.get(5),
        silent: milliseconds(row.get(6)),
        lapses_in: milliseconds(row.get(7)),
        progress: text(9),
    })
}
