//! Laws for two owners of one store, of which one has taken it from the other.
//!
//! ```text
//! one:    acquire ── commit 1 ───────────────────── commit 2, renew, release: Fenced
//! other:                       acquire ── commit 1 ──────────────────────────────────▶ continues
//! ```
//!
//! Where the store can be opened a second time beside the first, each owner has a connection of its own; else
//! both share one.

use super::laws::{Law, at, define, key, name, once, running};
use super::store_fixture::{LawResult, StoreFixture, acquired, answered, committed, is_fenced, same};
use crate::operation::{Answer, Batch, Operation};
use crate::record::{Mark, PauseTerms};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::store::{Lease, Owner, Query, Reader, Store, StoreError};

/// How many steps a random history of two owners has.
const STEPS: u64 = 60;

pub(super) fn all<G: StoreFixture>() -> Vec<Law<G>> {
    vec![
        ("a lease is not given to another while its lease lasts", held_while_the_lease_lasts),
        ("a batch in time renews the lease, and one that is sent again does too", renewed_by_a_batch),
        ("who lost its lease to another writes nothing", fenced_after_a_steal),
        ("a batch whose answer was lost is not applied for who lost its lease", lost_answer_after_a_steal),
        ("an owner finds all that the one before it wrote", taken_over_whole),
        ("the store's time never runs back", time_never_runs_back),
        ("of two owners only the latest writes", random_steals),
    ]
}

/// A store, and the connection of a second owner if there is one.
struct Hands<S> {
    one: S,
    other: Option<S>,
}

impl<S: Store> Hands<S> {
    fn fresh<G: StoreFixture<Store = S>>(fixture: &mut G) -> Hands<S> {
        let one = fixture.fresh();
        let other = fixture.beside(&one);
        Hands { one, other }
    }

    fn one(&mut self) -> &mut S {
        &mut self.one
    }

    fn other(&mut self) -> &mut S {
        self.other.as_mut().unwrap_or(&mut self.one)
    }
}

/// Acquires the lease for an owner of that name.
fn taken_by<G: StoreFixture>(fixture: &mut G, store: &mut G::Store, owner: &str) -> LawResult<Lease> {
    acquired(fixture, store, &Owner::new(owner))
}

fn plan(nominal: i64) -> Operation {
    let key = RunKey::new(name("job"), at(nominal));
    Operation::Plan(Run::new(key, Cause::Trigger, RunState::Queued, at(nominal), at(nominal)))
}

/// Of a store whose leases last as long as it is open the latest owner is the owner at once.
fn held_while_the_lease_lasts<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut hands = Hands::fresh(fixture);
    let first = taken_by(fixture, hands.one(), "one")?;
    let Some(lasts) = first.lasts else { return Ok(()) };
    for number in 1..=3 {
        match hands.other().acquire(&Owner::new("other")) {
            Err(StoreError::Held { by, left }) => {
                same("who holds it", &by.as_str(), &"one")?;
                if left.is_zero() {
                    return Err(format!("a lease of {lasts:?} lasts {left:?} more").into());
                }
            }
            found => return Err(format!("another that asked for it was answered {found:?}").into()),
        }
        let run = plan(i64::try_from(number * 60).unwrap_or(0));
        answered(hands.one(), first, number, &[run], &[Answer::New])?;
        hands.one().renew(first)?;
    }
    let second = taken_by(fixture, hands.other(), "other")?;
    is_fenced("a renewal", hands.one().renew(first))?;
    hands.other().release(second)?;
    // Nothing is waited for after an owner has left.
    hands.one().acquire(&Owner::new("one"))?;
    Ok(())
}

/// An owner whose lease has run out is the owner until another takes the lease, and with its next batch the
/// lease lasts again.
fn renewed_by_a_batch<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut hands = Hands::fresh(fixture);
    let lease = taken_by(fixture, hands.one(), "one")?;
    if lease.lasts.is_none() {
        return Ok(());
    }
    for sent_again in 0..2 {
        fixture.lapse(hands.one());
        answered(hands.one(), lease, 1, &[plan(60)], &[Answer::New])?;
        match hands.other().acquire(&Owner::new("other")) {
            Err(StoreError::Held { .. }) => {}
            found => {
                return Err(format!("after a batch sent {sent_again} times another got {found:?}").into());
            }
        }
    }
    Ok(())
}

/// Also over a connection of its own.
fn fenced_after_a_steal<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut hands = Hands::fresh(fixture);
    let old = taken_by(fixture, hands.one(), "one")?;
    committed(hands.one(), old, 1, &[plan(60)])?;
    let new = taken_by(fixture, hands.other(), "other")?;
    let batch = Batch::new(2, vec![plan(120)]);
    is_fenced("a commit", hands.one().commit(old, &batch))?;
    is_fenced("a renewal", hands.one().renew(old))?;
    is_fenced("a release", hands.one().release(old))?;
    hands.other().renew(new)?;
    let found = hands.other().find(&Query { limit: 9, ..Query::default() })?;
    same("runs", &found.len(), &1)
}

/// The answer of a batch was lost, and the lease with it: the batch is not answered as if it were still the
/// owner's.
fn lost_answer_after_a_steal<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut hands = Hands::fresh(fixture);
    let old = taken_by(fixture, hands.one(), "one")?;
    committed(hands.one(), old, 1, &[plan(60)])?;
    let new = taken_by(fixture, hands.other(), "other")?;
    let again = Batch::new(1, vec![plan(60)]);
    is_fenced("a batch that was sent again", hands.one().commit(old, &again))?;
    // The new owner counts from one: its first batch is not taken for that of the old one.
    answered(hands.other(), new, 1, &[plan(120)], &[Answer::New])?;
    // What the old owner wrote is there.
    answered(hands.other(), new, 2, &[plan(60)], &[Answer::Duplicate(None)])
}

/// What one owner committed, the other finds, and can go on with.
fn taken_over_whole<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut hands = Hands::fresh(fixture);
    let old = taken_by(fixture, hands.one(), "one")?;
    let mark = Mark::new(name("job"), at(60), "@daily".to_owned());
    let operations = [define(&mark), Operation::Plan(running(&key())), Operation::Submit(once(1, 99))];
    committed(hands.one(), old, 1, &operations)?;
    let new = taken_by(fixture, hands.other(), "other")?;
    let store = hands.other();
    let (jobs, _) = store.jobs()?;
    same("marks", &jobs.into_iter().map(|record| record.mark).collect(), &vec![mark])?;
    same("open runs", &store.open_runs(None, 9)?, &vec![running(&key())])?;
    let (state, reason) = (RunState::Abandoned, None);
    let end = Operation::End { key: key(), attempt: 1, state, at: at(70), outcome: None, crashes: 1, reason };
    answered(store, new, 1, &[end], &[Answer::New])?;
    let pending = hands.one().counts()?.pending;
    same("pending jobs, as the old owner may still read them", &pending, &1)
}

/// Where the store tells its time, it never runs back, and a lease lasts for some of it.
fn time_never_runs_back<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut hands = Hands::fresh(fixture);
    let (mut latest, mut is_one) = (None, true);
    for _ in 0..4 {
        let store = if is_one { hands.one() } else { hands.other() };
        let lease = taken_by(fixture, store, "an owner")?;
        let batch = Batch::new(1, vec![Operation::PauseAll(is_one.then(PauseTerms::default))]);
        let committed = store.commit(lease, &batch)?;
        let renewed = store.renew(lease)?;
        for now in [committed.now, renewed.now] {
            if now < latest {
                return Err(format!("it told {now:?} after {latest:?}").into());
            }
            latest = now;
        }
        if [lease.lasts, renewed.lasts].iter().flatten().any(std::time::Duration::is_zero) {
            return Err("a lease lasts no time at all".into());
        }
        if lease.lasts.is_some() != renewed.lasts.is_some() {
            return Err("a lease ends by itself before or after a renewal only".into());
        }
        is_one = !is_one;
    }
    Ok(())
}

/// Two owners steal, commit, renew and release at random; the holder of the latest lease writes, and no other
/// else does.
fn random_steals<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut hands = Hands::fresh(fixture);
    // A generator of Lehmer's: the steps are the same each time.
    let mut state: u64 = 0x2545_f491;
    let mut draw = |count: u64| {
        state = state * 48_271 % 0x7fff_ffff;
        state % count
    };
    let mut leases: [Option<Lease>; 2] = [None, None];
    let mut holder: Option<usize> = None;
    let mut numbers = [0, 0];
    let mut written = 0;
    for step in 1..=STEPS {
        let index = usize::try_from(draw(2)).unwrap_or(0);
        let store = if index == 0 { hands.one() } else { hands.other() };
        let (kind, lease) = (draw(6), leases[index]);
        let Some(lease) = lease.filter(|_| 0 < kind) else {
            leases[index] = Some(taken_by(fixture, store, "an owner")?);
            (holder, numbers[index]) = (Some(index), 0);
            continue;
        };
        let result = match kind {
            1 => store.release(lease),
            2 => store.renew(lease).map(|_| ()),
            _ => {
                numbers[index] += 1;
                let operations = vec![plan(i64::try_from(step * 60).unwrap_or(0))];
                store.commit(lease, &Batch::new(numbers[index], operations)).map(|_| ())
            }
        };
        match (holder == Some(index), result) {
            (true, Ok(())) => written += usize::from(2 < kind),
            (false, Err(StoreError::Fenced)) => {}
            (is_holder, found) => {
                return Err(format!("step {step}: {found:?} where holding the lease is {is_holder}").into());
            }
        }
        if kind == 1 && holder == Some(index) {
            holder = None;
        }
        let query = Query { limit: 100, ..Query::default() };
        same("runs", &hands.one().find(&query)?.len(), &written)?;
    }
    Ok(())
}
