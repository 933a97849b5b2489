//! Computes the number of shards that a server should own, from the servers that are live.
//!
//! ```text
//!  16 shards, 3 servers: each owns 5 or 6      a server comes: those with more give up one each 10 s      one goes: its shards are taken
//! ```
//!
//! Every server decides for itself from what all of them see in the database. Two that decide at the same
//! time ask for the same shard at worst, and the lease says who has it.
//!
//! Cost: a walk over the shards.
//!
//! Does not take or give up anything. Does not know how much a shard has to do.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::Shard;
use mainspring_postgres::Look;

/// What a server should do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask for these, which no server owns.
    Take(Vec<Shard>),
    /// Give one up, so that another server may have it.
    Leave,
    /// Nothing has to change.
    Rest,
}

/// What the server `ours` should do that owns these shards, or begins to.
pub(super) fn decide(look: &Look, ours: &str, owned: &BTreeSet<Shard>) -> Step {
    let servers = look.servers.len().max(1);
    let (least, most) = (look.shards.len() / servers, look.shards.len().div_ceil(servers));
    let free: Vec<Shard> = look
        .shards
        .iter()
        .filter(|held| held.server.is_empty() && !owned.contains(&held.shard))
        .map(|held| held.shard)
        .collect();
    if owned.len() < most && !free.is_empty() {
        // Servers that begin together do not all ask for the first.
        let place = look.servers.iter().position(|server| server == ours).unwrap_or(0);
        let first = place * free.len() / servers;
        let turned = free.iter().cycle().skip(first).take(free.len());
        return Step::Take(turned.take(most - owned.len()).copied().collect());
    }
    let mut counts: BTreeMap<&str, usize> = look.servers.iter().map(|server| (server.as_str(), 0)).collect();
    for held in &look.shards {
        if let Some(count) = counts.get_mut(held.server.as_str()) {
            *count += 1;
        }
    }
    let wants = |(server, count): (&&str, &usize)| *server != ours && *count < least;
    if least < owned.len() && counts.iter().any(wants) { Step::Leave } else { Step::Rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_postgres::ShardHolder;

    fn look(servers: &[&str], owners: &[&str]) -> Look {
        let held = |(number, server): (usize, &&str)| ShardHolder {
            shard: Shard(u16::try_from(number).unwrap()),
            server: (*server).to_owned(),
            name: (*server).to_owned(),
            epoch: 1,
            left_ms: 0,
            batch: 0,
        };
        Look {
            shards: owners.iter().enumerate().map(held).collect(),
            servers: servers.iter().map(ToString::to_string).collect(),
        }
    }

    fn owned(look: &Look, server: &str) -> BTreeSet<Shard> {
        look.shards.iter().filter(|held| held.server == server).map(|held| held.shard).collect()
    }

    /// What the servers come to, if each does what it should, one after another.
    fn settled(mut look: Look) -> Vec<usize> {
        for _ in 0..200 {
            for server in look.servers.clone() {
                match decide(&look, &server, &owned(&look, &server)) {
                    Step::Take(shards) => {
                        for shard in shards {
                            let held = &mut look.shards[usize::from(shard.0)];
                            assert!(held.server.is_empty(), "nobody is asked for what another has");
                            held.server.clone_from(&server);
                        }
                    }
                    Step::Leave => {
                        let last = *owned(&look, &server).last().unwrap();
                        look.shards[usize::from(last.0)].server.clear();
                    }
                    Step::Rest => {}
                }
            }
        }
        let at_rest =
            look.servers.iter().all(|server| decide(&look, server, &owned(&look, server)) == Step::Rest);
        assert!(at_rest, "it comes to rest: {look:?}");
        look.servers.iter().map(|server| owned(&look, server).len()).collect()
    }

    #[test]
    fn servers_come_to_own_as_many_as_each_other_but_for_one() {
        assert_eq!(settled(look(&["a"], &[""; 16])), [16]);
        assert_eq!(settled(look(&["a", "b", "c"], &[""; 16])).into_iter().sum::<usize>(), 16);
        for counts in
            [settled(look(&["a", "b", "c"], &[""; 16])), settled(look(&["a", "b", "c"], &["a"; 16]))]
        {
            assert!(counts.iter().all(|count| [5, 6].contains(count)), "{counts:?}");
        }
        // One has gone, and its lease has run out.
        let gone: Vec<&str> = (0..16).map(|number| if number % 3 == 0 { "" } else { "b" }).collect();
        assert_eq!(settled(look(&["a", "b"], &gone)), [8, 8]);
    }

    #[test]
    fn more_servers_than_shards_leave_some_with_none() {
        let mut counts = settled(look(&["a", "b", "c"], &["", ""]));
        counts.sort_unstable();
        assert_eq!(counts, [0, 1, 1]);
    }

    #[test]
    fn servers_that_begin_together_ask_for_different_shards() {
        let look = look(&["a", "b"], &[""; 4]);
        let first = |server: &str| match decide(&look, server, &BTreeSet::new()) {
            Step::Take(shards) => shards[0],
            other => panic!("{other:?}"),
        };
        assert_ne!(first("a"), first("b"));
    }

    #[test]
    fn a_server_that_is_not_there_any_more_keeps_what_it_has_until_its_lease_is_over() {
        let look = look(&["a"], &["gone", "gone", "a", "a"]);
        assert_eq!(decide(&look, "a", &owned(&look, "a")), Step::Rest);
    }
}
