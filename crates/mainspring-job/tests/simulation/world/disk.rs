//! The disk of a history: commits that go wrong in every way that a store's contract allows.

use super::*;

impl World<'_> {
    /// Commits and performs until nothing is left to write.
    pub(super) fn write(&mut self) -> Result<(), Crash> {
        while let Some(batch) = self.planner.take_batch() {
            let number = batch.number;
            let answers = if self.flaw == Flaw::EffectBeforeCommit {
                // Believes the answers of a store that has not written them.
                let mut copy = self.disk.clone();
                let answers = copy.commit(self.lease, &batch).unwrap().answers;
                let mut outputs = Vec::new();
                let committed = Input::Committed { number, answers };
                self.hand(self.now, committed, &mut outputs);
                self.perform(outputs)?;
                self.commit(batch)?;
                continue;
            } else {
                self.commit(batch)?
            };
            let mut outputs = Vec::new();
            self.hand(self.now, Input::Committed { number, answers }, &mut outputs);
            self.planner.check();
            self.perform(outputs)?;
        }
        let is_single = self.input_count == 1;
        self.input_count = 0;
        self.log.push(Event::Settled { at: self.told_at, is_single });
        Ok(())
    }

    fn commit(&mut self, mut batch: mainspring_job::Batch) -> Result<Vec<Answer>, Crash> {
        loop {
            match self.try_commit(&batch)? {
                Ok(answers) => return Ok(answers),
                Err(StoreError::Busy(_)) => (),
                Err(StoreError::Unknown) => {
                    if self.flaw == Flaw::RetriedUnderNewNumber {
                        batch.number += 1_000_000;
                    }
                }
                Err(_) => return Err(Crash),
            }
        }
    }

    fn try_commit(
        &mut self,
        batch: &mainspring_job::Batch,
    ) -> Result<Result<Vec<Answer>, StoreError>, Crash> {
        // Faults that strike later stay for `perform`.
        let at_commit =
            |fault: &mut Fault| !matches!(fault, Fault::CrashAfterOneOutput | Fault::CrashAfterTwoOutputs);
        let fault = self.fault.take_if(at_commit);
        self.seen.extend(fault.map(|fault| format!("{fault:?}")));
        match fault {
            Some(Fault::Busy) => return Ok(Err(StoreError::Busy(String::new()))),
            Some(Fault::UnknownLost) => return Ok(Err(StoreError::Unknown)),
            Some(Fault::CrashBeforeCommit | Fault::IoLost) => return Err(Crash),
            _ => (),
        }
        let before = (self.flaw == Flaw::FlushLies).then(|| (self.disk.clone(), self.log.len()));
        let number = (self.lease.epoch, batch.number);
        let answers = self.disk.commit(self.lease, batch).unwrap().answers;
        if self.logged != Some(number) {
            self.before_last = before;
            self.logged = Some(number);
            let written = batch.operations.iter().cloned().zip(answers.iter().copied());
            let event = |(operation, answer)| Event::Wrote { batch: number, operation, answer };
            self.log.extend(written.map(event));
        }
        match fault {
            Some(Fault::UnknownApplied) => Ok(Err(StoreError::Unknown)),
            Some(Fault::CrashAfterCommit | Fault::IoApplied) => Err(Crash),
            _ => Ok(Ok(answers)),
        }
    }
}
