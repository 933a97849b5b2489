//! The shards of a database: how many there are, who owns them, and where a job is.
//!
//! ```text
//!  meta.shards ─ how many        shard ─ who owns each        server ─ which servers are there
//! ```
//!
//! Cost: a round trip for each call.
//!
//! Does not take a shard, nor give one up: [`PostgresStore`](super::PostgresStore) does.

use mainspring_job::{JobName, JobRecord, Reader, RunKey, Shard, StoreError};
use mainspring_rows::nanoseconds;
use tokio_postgres::Row;

use super::connection::Connection;
use super::escape;
use super::location::{Location, OF_READER, OF_SPREAD};
use super::read;
use super::reader::PostgresReader;
use super::schema;
use super::store::Identity;
use super::value::Value;

/// How long after a server was heard of it counts among those that share the shards. A server says each
/// second that it is there, of which each fifth is written; twice that, and some time to spare.
const HERE_S: i64 = 12;

/// A shard, and who owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardHolder {
    /// Its number.
    pub shard: Shard,
    /// The process that owns it, as [`Identity::server`] names it; empty if it may be taken.
    pub server: String,
    /// What people call it.
    pub name: String,
    /// The number of its owner.
    pub epoch: u64,
    /// How long its lease lasts unless it is renewed.
    pub left_ms: u64,
    /// The number of its last batch.
    pub batch: u64,
}

/// What a look has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// All shards, in their order.
    pub shards: Vec<ShardHolder>,
    /// The servers that are there, as [`Identity::server`] names them, in the order of their names; the
    /// server that looks is among them.
    pub servers: Vec<String>,
}

/// A session that looks.
#[derive(Debug)]
pub struct Shards {
    connection: Connection,
    location: Location,
}

impl Shards {
    /// Connects with the first call.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn new(location: &Location) -> Result<Shards, StoreError> {
        Ok(Shards { connection: Connection::new(location, OF_READER)?, location: location.clone() })
    }

    /// How many shards there are. A database without our tables has one.
    ///
    /// # Errors
    /// When the database does not answer; `TooNew` if this program is too old for it.
    pub fn count(&mut self) -> Result<u16, StoreError> {
        if schema::version(&mut self.connection)? < schema::SHARDED {
            return Ok(1);
        }
        let rows = self.connection.call("count the shards", "SELECT shards FROM mainspring.meta", &[])?;
        let count: i64 = rows.first().ok_or(StoreError::Busy)?.get(0);
        Ok(u16::try_from(count).unwrap_or(1).max(1))
    }

    /// Who owns which shard.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn held(&mut self) -> Result<Vec<ShardHolder>, StoreError> {
        let sql = "SELECT n, CASE WHEN s.owner = '' OR s.until + interval '1 s' < clock_timestamp() THEN ''
                    ELSE coalesce(s.server::text, '') END,
                coalesce(s.owner, ''), coalesce(s.epoch, 0),
                greatest(0, CASE WHEN s.until > '-infinity'
                    THEN extract(epoch FROM s.until - clock_timestamp()) * 1000 ELSE 0 END)::int8,
                coalesce(s.batch, 0)
            FROM mainspring.meta AS m CROSS JOIN generate_series(0, m.shards - 1) AS n
            LEFT JOIN mainspring.shard AS s ON s.shard = n ORDER BY n";
        let rows = self.connection.call("look at the shards", sql, &[])?;
        let held = |row: &Row| ShardHolder {
            shard: Shard(u16::try_from(row.get::<_, i64>(0)).unwrap_or(u16::MAX)),
            server: row.get::<_, Option<String>>(1).unwrap_or_default(),
            name: escape::read(row.get(2)).into_owned(),
            epoch: mainspring_rows::unsigned(row.get(3)),
            left_ms: mainspring_rows::unsigned(row.get(4)),
            batch: mainspring_rows::unsigned(row.get(5)),
        };
        Ok(rows.iter().map(held).collect())
    }

    /// Says that a server is there, and looks who is beside it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn look(&mut self, identity: &Identity, name: &str) -> Result<Look, StoreError> {
        let sql = "WITH said AS MATERIALIZED (SELECT mainspring.seen_1($1, $2, $3, $4)::text)
            SELECT s.id::text FROM said, mainspring.server AS s
            WHERE s.id::text = $1 OR clock_timestamp() < s.seen + $5 * interval '1 s' ORDER BY 1";
        let [id, name, address] = [&identity.server, name, &identity.address].map(Value::text);
        let values = [id, name, address, Value::text(env!("CARGO_PKG_VERSION")), Value::Int(HERE_S)];
        let rows = self.connection.call("look at the servers", sql, &values)?;
        let mut servers: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        // The statement that says it first does not see it yet.
        if !servers.contains(&identity.server) {
            servers.push(identity.server.clone());
            servers.sort_unstable();
        }
        Ok(Look { shards: self.held()?, servers })
    }

    /// The shard of a job that is or was defined, or of a one-shot job that waits. `None`: there is none of
    /// that name.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn of_job(&mut self, name: &JobName) -> Result<Option<Shard>, StoreError> {
        let sql = "SELECT shard, 1 AS place FROM mainspring.job WHERE name = $1 AND source IS NOT NULL
            UNION ALL (SELECT shard, 2 FROM mainspring.pending WHERE name = $1 AND is_named)
            UNION ALL (SELECT shard, 3 FROM mainspring.open_run WHERE job = $1 LIMIT 1)
            UNION ALL (SELECT shard, 4 FROM mainspring.job WHERE name = $1)
            UNION ALL (SELECT shard, 5 FROM mainspring.history WHERE job = $1 LIMIT 1) ORDER BY place LIMIT 1";
        read::flush_for(&mut self.connection, [name])?;
        self.one("find a job's shard", sql, &[Value::text(name.as_str())])
    }

    /// The shard of a job that is defined.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn defined(&mut self, name: &JobName) -> Result<Option<Shard>, StoreError> {
        let sql = "SELECT shard FROM mainspring.job WHERE name = $1 AND source IS NOT NULL";
        self.one("find a definition's shard", sql, &[Value::text(name.as_str())])
    }

    /// Keeps that these sources were applied in all shards, as far as any job of them was ever defined: in a
    /// shard to which no job of a source belongs nothing else says so.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn keep_sources(&mut self, names: &[String]) -> Result<(), StoreError> {
        let sql = "INSERT INTO mainspring.source_part (name, shard)
            SELECT s.name, n FROM mainspring.source AS s, mainspring.meta AS m, generate_series(0, m.shards - 1) AS n
            WHERE s.name = ANY ($1) ON CONFLICT DO NOTHING";
        self.connection.call("keep the sources", sql, &[Value::Texts(names.to_vec())]).map(drop)
    }

    /// The number of the last owner of each shard that ever had one.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn epochs(&mut self) -> Result<Vec<(Shard, u64)>, StoreError> {
        let sql = "SELECT s.shard, s.epoch FROM mainspring.shard AS s, mainspring.meta AS m
            WHERE s.shard < m.shards ORDER BY s.shard";
        let rows = self.connection.call("look at the owners", sql, &[])?;
        let number = |row: &Row, index: usize| row.get::<_, i64>(index);
        let owner = |row: &Row| {
            (
                Shard(u16::try_from(number(row, 0)).unwrap_or(u16::MAX)),
                mainspring_rows::unsigned(number(row, 1)),
            )
        };
        Ok(rows.iter().map(owner).collect())
    }

    /// The shard of a run. `None`: there is none of that key.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn of_run(&mut self, key: &RunKey) -> Result<Option<Shard>, StoreError> {
        let sql = "SELECT shard FROM mainspring.run WHERE job = $1 AND nominal = $2 AND series = $3 LIMIT 1";
        let (nominal, series) = (nanoseconds(key.nominal), i64::from(key.series));
        let values = [Value::text(key.job.as_str()), Value::Int(nominal), Value::Int(series)];
        read::flush_for(&mut self.connection, [&key.job])?;
        self.one("find a run's shard", sql, &values)
    }

    /// The shard of a one-shot job that waits, by its time and number. `None`: there is none.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn of_once(&mut self, due: jiff::Timestamp, number: u64) -> Result<Option<Shard>, StoreError> {
        let sql = "SELECT shard FROM mainspring.pending WHERE due = $1 AND number = $2 LIMIT 1";
        let values = [Value::Int(nanoseconds(due)), Value::Int(mainspring_rows::number(number))];
        read::flush(&mut self.connection)?;
        self.one("find a submission's shard", sql, &values)
    }

    fn one(&mut self, what: &str, sql: &str, values: &[Value]) -> Result<Option<Shard>, StoreError> {
        let rows = self.connection.call(what, sql, values)?;
        let number = |row: &Row| u16::try_from(row.get::<_, i64>(0)).ok();
        Ok(rows.first().and_then(number).map(Shard))
    }

    /// All that is known of jobs, for [`spread`](Self::spread): those of all shards, in the order of names.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn records(&mut self) -> Result<Vec<JobRecord>, StoreError> {
        let mut reader = PostgresReader::new(&self.location)?;
        let mut records = Vec::new();
        for number in 0..self.count()? {
            records.extend(reader.jobs(Shard(number))?.0);
        }
        records.sort_by(|a, b| a.mark.job.cmp(&b.mark.job));
        Ok(records)
    }

    /// Spreads all that there is over so many shards, while no server owns any. `homes` says where each job
    /// belongs, and `of_group` where the one-shot jobs of a group do. Returns who owns one, if anybody does:
    /// then nothing is changed.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn spread(
        &mut self,
        count: u16,
        homes: &[(JobName, Shard)],
        of_group: impl Fn(&JobName) -> Shard,
    ) -> Result<Option<String>, StoreError> {
        let mut connection = Connection::new(&self.location, OF_SPREAD)?.patient();
        read::flush(&mut connection)?;
        let sql = "SELECT DISTINCT work_group FROM mainspring.pending WHERE work_group IS NOT NULL
            UNION SELECT DISTINCT work_group FROM mainspring.open_run WHERE work_group IS NOT NULL";
        let rows = connection.call("look at the groups", sql, &[])?;
        let groups = rows.iter().filter_map(|row| JobName::new(row.get::<_, &str>(0)).ok());
        let groups: Vec<(JobName, Shard)> = groups.map(|name| (name.clone(), of_group(&name))).collect();
        let parts = |homes: &[(JobName, Shard)]| {
            let names = homes.iter().map(|(name, _)| name.to_string()).collect();
            let shards = homes.iter().map(|(_, shard)| i64::from(shard.0)).collect();
            [Value::Texts(names), Value::Ints(shards)]
        };
        let ([jobs, of_jobs], [groups, of_groups]) = (parts(homes), parts(&groups));
        let values = [Value::Int(i64::from(count)), jobs, of_jobs, groups, of_groups];
        let sql = "SELECT mainspring.spread_1($1, $2, $3, $4, $5)";
        let rows = connection.call("spread the jobs", sql, &values)?;
        let said: &str = rows.first().ok_or(StoreError::Busy)?.get(0);
        Ok(Some(said).filter(|said| *said != "done").map(|said| escape::read(said).into_owned()))
    }
}
