//! How a worker passes on what its executors print.

use super::prints::Piece;
use super::worker::{Shell, now};
use crate::wire::{CallResult, FromWorker, Payload, Printed, Stream};
use std::time::Duration;

impl Shell {
    /// An executor has printed something.
    pub(super) fn on_printed(&mut self, executor: u32) {
        let Some(Some(process)) = self.executors.get_mut(executor as usize) else { return };
        if process.prints().again_at().is_none() {
            let pieces = process.read_prints(now());
            self.tell_printed(executor, pieces);
        }
    }

    /// Reads of those executors again that print so much that others had their turn.
    pub(super) fn read_paused_prints(&mut self) {
        let now = now();
        for executor in 0..self.executors.len() as u32 {
            let Some(Some(process)) = self.executors.get_mut(executor as usize) else { continue };
            if process.prints().again_at().is_some_and(|at| at <= now) {
                let pieces = process.read_prints(now);
                self.tell_printed(executor, pieces);
            }
        }
    }

    /// Until when the worker may sleep, as far as its executors' prints are concerned.
    pub(super) fn prints_patience(&mut self) -> Duration {
        let processes = self.executors.iter_mut().flatten();
        let next = processes.filter_map(|process| process.prints().again_at()).min();
        next.map_or(Duration::MAX, |at| Duration::from_nanos(at.saturating_sub(now())))
    }

    /// Calls have ended: what they printed is told before that.
    pub(super) fn finish_prints(&mut self, executor: u32, results: &[CallResult]) {
        let Some(Some(process)) = self.executors.get_mut(executor as usize) else { return };
        let mut pieces = process.catch_up_with_prints(now());
        let prints = process.prints();
        if !prints.is_quiet() {
            pieces.extend(results.iter().flat_map(|ended| prints.finish(Some(ended.sequence))));
        }
        self.tell_printed(executor, pieces);
    }

    /// An executor has ended: what it printed last is told before that.
    pub(super) fn finish_all_prints(&mut self, executor: u32) {
        let Some(Some(process)) = self.executors.get_mut(executor as usize) else { return };
        let mut pieces = process.read_prints(now());
        pieces.extend(process.prints().finish(None));
        self.tell_printed(executor, pieces);
    }

    fn tell_printed(&mut self, executor: u32, pieces: Vec<Piece>) {
        for Piece { sequence, is_error, text, left_out } in pieces {
            let task = self.worker.task_of(executor, sequence);
            let stream = if is_error { Stream::Error } else { Stream::Output };
            let printed = Printed { task, stream, text: text.into(), left_out };
            self.tell(FromWorker::Printed(Box::new(printed)));
        }
    }

    /// Passes on where a call has spent its time.
    pub(super) fn tell_profiled(&mut self, executor: u32, sequence: u32, samples: Payload) {
        let task = self.worker.task_of(executor, sequence);
        let printed = Printed { task, stream: Stream::Profile, text: samples, left_out: 0 };
        self.tell(FromWorker::Printed(Box::new(printed)));
    }
}
