//! Reductions: many blocks combined into one, as they become ready.
//!
//! A reduction is a row of items. Each is a block that is there or to come; calls take up to
//! `arity` of them and put one in their place, until a last call makes the output. These calls
//! are tasks as any other.
//!
//! See docs/decisions/011-reductions-keep-the-order-unless-the-caller-says-commutes-true.md

use crate::manager::Manager;
use crate::manager::api::{Failure, Reduction, Submission, Why};
use crate::manager::graph::{Data, Slots};
use crate::manager::table::{BlockSlot, Occupant, ReductionSlot};
use crate::wire::{CallOptions, Keep};
use freestone_base::{Name, NameHasher, WorkerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where an item is: `None` with the manager, which is close to every worker.
type Holder = Option<WorkerId>;

#[derive(Serialize, Deserialize)]
struct Item {
    slot: BlockSlot,
    /// Where it is, if it is there.
    holder: Option<Holder>,
}

/// A reduction that goes on.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Row {
    output: BlockSlot,
    request: Reduction,
    /// How calls that do not make the output are run.
    partial: Arc<CallOptions>,
    arity: usize,
    items: BTreeMap<u32, Item>,
    /// Items that are there, by holder, if any of them may be combined.
    groups: BTreeMap<Holder, BTreeSet<u32>>,
    /// How many items are to come.
    pending: usize,
}

impl Occupant for Row {}

impl Row {
    fn new(request: Reduction, output: BlockSlot, inputs: &[BlockSlot]) -> Self {
        let items = inputs.iter().enumerate();
        Self {
            output,
            partial: partial_options(&request),
            arity: arity_of(&request),
            items: items
                .map(|(index, slot)| (index as u32, Item { slot: *slot, holder: None }))
                .collect(),
            groups: BTreeMap::new(),
            pending: inputs.len(),
            request,
        }
    }

    /// What it makes.
    pub fn output(&self) -> BlockSlot {
        self.output
    }

    /// The blocks that it waits for or holds.
    pub fn blocks(&self) -> Vec<BlockSlot> {
        self.items.values().map(|item| item.slot).collect()
    }

    /// The result is to be kept for longer than was asked for first.
    pub fn keep(&mut self, keep: Keep) {
        Arc::make_mut(&mut self.request.options).keep = keep;
    }

    /// An item is there (`Some`) or no longer.
    fn set_holder(&mut self, position: u32, holder: Option<Holder>) {
        let Some(item) = self.items.get_mut(&position) else { return };
        match (item.holder, holder) {
            (None, Some(new)) => {
                self.pending -= 1;
                self.groups.entry(new).or_default().insert(position);
            }
            (Some(old), None) => {
                self.pending += 1;
                self.leave_group(old, position);
            }
            _ => return,
        }
        if let Some(item) = self.items.get_mut(&position) {
            item.holder = holder;
        }
    }

    fn leave_group(&mut self, holder: Holder, position: u32) {
        if let Some(group) = self.groups.get_mut(&holder) {
            group.remove(&position);
            if group.is_empty() {
                self.groups.remove(&holder);
            }
        }
    }

    /// The next call to make: positions of its inputs, and whether it is the last.
    fn next(&self, arrived: Option<u32>) -> Option<(Vec<u32>, bool)> {
        if self.pending > 0 {
            let arrived = arrived?;
            let run = self.full_run(arrived).or_else(|| self.crowded_run(arrived))?;
            return Some((run, false));
        }
        if self.items.len() < 2 {
            return None;
        }
        if let Some(run) = self.local_run().filter(|run| run.len() < self.items.len()) {
            return Some((run, false));
        }
        let run: Vec<u32> = self.items.keys().copied().take(self.arity).collect();
        let last = run.len() == self.items.len();
        Some((run, last))
    }

    /// As many items as one call takes that are at the same holder as the one that arrived.
    fn full_run(&self, arrived: u32) -> Option<Vec<u32>> {
        let holder = self.items.get(&arrived)?.holder?;
        let run: Vec<u32> = if self.request.commutes {
            self.groups.get(&holder)?.iter().copied().take(self.arity).collect()
        } else {
            self.neighbours(arrived, holder)
        };
        (run.len() == self.arity).then_some(run)
    }

    /// Where order matters, items in a row that are there, once they are twice as many as one call
    /// takes: else nearly all would be kept until the last came, since neighbours are rarely at
    /// the same place. Those that are go first.
    fn crowded_run(&self, arrived: u32) -> Option<Vec<u32>> {
        if self.request.commutes {
            return None;
        }
        let row = self.stretch(arrived, 2 * self.arity, |item| item.holder.is_some());
        if row.len() < 2 * self.arity {
            return None;
        }
        let stays = |pair: &&[u32]| self.holder_of(pair[0]) == self.holder_of(pair[1]);
        let local =
            row.windows(2).find(stays).and_then(|pair| self.holder_of(pair[0]).zip(Some(pair[0])));
        Some(match local {
            Some((holder, position)) => self.neighbours(position, holder),
            None => row[..self.arity].to_vec(),
        })
    }

    fn holder_of(&self, position: u32) -> Option<Holder> {
        self.items.get(&position)?.holder
    }

    /// Items in a row around one, all at the same holder, as many as one call takes.
    fn neighbours(&self, position: u32, holder: Holder) -> Vec<u32> {
        self.stretch(position, self.arity, |item| item.holder == Some(holder))
    }

    /// Items in a row around one, `most` at most.
    fn stretch(&self, position: u32, most: usize, fits: impl Fn(&Item) -> bool) -> Vec<u32> {
        let fits = |(_, item): &(&u32, &Item)| fits(item);
        let before = self.items.range(..position).rev().take_while(fits).take(most - 1);
        let mut run: Vec<u32> = before.map(|(position, _)| *position).collect();
        run.reverse();
        let after = self.items.range(position..).take_while(fits).take(most);
        run.extend(after.map(|(position, _)| *position));
        run.truncate(most);
        run
    }

    /// When nothing more comes: items at one worker that are combined before anything moves.
    fn local_run(&self) -> Option<Vec<u32>> {
        if self.request.commutes {
            let group =
                self.groups.iter().find(|(holder, group)| holder.is_some() && group.len() > 1);
            return Some(group?.1.iter().copied().take(self.arity).collect());
        }
        let mut items = self.items.iter().peekable();
        while let Some((position, item)) = items.next() {
            let Some(holder @ Some(_)) = item.holder else { continue };
            if items.peek().is_some_and(|(_, next)| next.holder == Some(holder)) {
                return Some(self.neighbours(*position, holder));
            }
        }
        None
    }
}

/// How many inputs one call takes at most.
fn arity_of(request: &Reduction) -> usize {
    (request.arity as usize).min(request.arguments.len() + 1).max(2)
}

/// Calls take fewer items where as many as `arity` of this size, and what is made of them, would
/// not fit into the memory of a worker.
fn fitting(arity: usize, memory: u64, nbytes: u64) -> usize {
    let most = memory.checked_div(nbytes).unwrap_or(u64::MAX).saturating_sub(1).max(2);
    arity.min(usize::try_from(most).unwrap_or(usize::MAX))
}

/// The one output of a call.
fn one(output: BlockSlot) -> Slots {
    std::iter::once(output).collect()
}

/// How calls that do not make the output are run.
fn partial_options(request: &Reduction) -> Arc<CallOptions> {
    Arc::new(CallOptions { keep: Keep::Task, ..(*request.options).clone() })
}

/// One of a reduction's calls, of so many inputs.
fn call_of(request: &Reduction, options: &Arc<CallOptions>, inputs: usize) -> Submission {
    Submission {
        outputs: SmallVec::new(),
        function: request.function,
        arguments: request.arguments.get(inputs - 2).cloned().unwrap_or_default(),
        inputs: SmallVec::new(),
        options: Arc::clone(options),
        retries: request.retries,
        priority: request.priority,
        tenant: request.tenant,
        worker: None,
        near: None,
        tickets: SmallVec::new(),
    }
}

impl Manager {
    pub(in crate::manager) fn on_reduce(&mut self, request: Reduction) {
        let (outputs, keep) = ([request.output], request.options.keep);
        // One of one block is that block under another name: there is no call to make it once more.
        if request.inputs.len() > 1 && self.asks_to_keep_inline(&outputs, &request.inputs, keep) {
            self.forget_inline(&outputs);
        } else if self.answer_reduction(&request) {
            return;
        }
        let mut inputs = Vec::with_capacity(request.inputs.len());
        let mut unusable = None;
        for name in &request.inputs {
            match self.graph.blocks.find(name).filter(|slot| !self.graph.is_forgotten(*slot)) {
                Some(slot) => {
                    unusable = unusable.or_else(|| self.graph.blocks[slot].failure().cloned());
                    inputs.push(slot);
                }
                None => unusable = unusable.or_else(|| Some(self.unknown_input(&request, *name))),
            }
        }
        if let ([only], None) = (&inputs[..], &unusable) {
            return self.alias(*only, &request);
        }
        let output = self.graph.blocks.find_or_insert(request.output);
        let block = &mut self.graph.blocks[output];
        block.references += 1;
        block.keep = block.keep.max(request.options.keep);
        if block.failure().is_some() {
            block.data = Data::Absent;
        }
        block.tickets.push(request.ticket);
        match unusable {
            Some(failure) => self.fail_block(output, &failure),
            None if inputs.is_empty() => {
                let failure = Self::block_failure(request.output, Why::InputLost(request.output));
                self.fail_block(output, &failure);
            }
            None => self.start_reduction(request, output, &inputs),
        }
    }

    fn answer_reduction(&mut self, request: &Reduction) -> bool {
        let slot = self.graph.blocks.find(&request.output).filter(|slot| {
            !self.graph.is_forgotten(*slot) && self.graph.blocks[*slot].failure().is_none()
        });
        let Some(slot) = slot else { return false };
        self.counts.answered += 1;
        self.graph.blocks[slot].references += 1;
        self.raise_keep(slot, request.options.keep);
        self.promise(slot, request.ticket);
        self.demand(slot);
        self.remember_reduction(request, slot);
        true
    }

    /// A reduction is answered by a block that was retained or found: notes, as if they had been
    /// run, the calls by which it can be made again.
    fn remember_reduction(&mut self, request: &Reduction, output: BlockSlot) {
        let block = &self.graph.blocks[output];
        let Some(worker) = block.replicas().first().copied() else { return };
        if block.producer.is_some() || request.inputs.len() < 2 {
            return;
        }
        let Some(mut row) = self.graph.usable(&request.inputs) else { return };
        let nbytes = row.iter().map(|slot| self.graph.blocks[*slot].nbytes());
        let largest = nbytes.fold(block.nbytes(), u64::max);
        let memory = self.members.workers.smallest_memory.unwrap_or(u64::MAX);
        let arity = fitting(arity_of(request), memory, largest);
        let partial = partial_options(request);
        while row.len() > arity {
            let runs = row.chunks(arity).map(|run| match run {
                [only] => *only,
                _ => self.remember_partial(request, &partial, run, worker),
            });
            row = runs.collect();
        }
        let call = call_of(request, &request.options, row.len());
        self.remember_call(&call, row, one(output), worker);
    }

    fn remember_partial(
        &mut self,
        request: &Reduction,
        options: &Arc<CallOptions>,
        run: &[BlockSlot],
        worker: WorkerId,
    ) -> BlockSlot {
        let output = self.partial_output(request.output, run);
        let block = &mut self.graph.blocks[output];
        if block.failure().is_some() {
            block.data = Data::Absent;
        }
        if block.producer.is_none() && !block.is_available() {
            let call = call_of(request, options, run.len());
            self.remember_call(&call, run.iter().copied().collect(), one(output), worker);
        }
        output
    }

    fn unknown_input(&self, request: &Reduction, name: Name) -> Arc<Failure> {
        let label = self.graph.functions.label(request.function);
        Arc::new(Failure::before(label, request.output, Why::UnknownInput(name)))
    }

    /// A reduction of one block is that block under another name.
    fn alias(&mut self, slot: BlockSlot, request: &Reduction) {
        let former = self.graph.blocks.find(&request.output);
        let moved =
            former.map_or(0, |former| std::mem::take(&mut self.graph.blocks[former].references));
        self.graph.dirty.extend(former);
        self.graph.blocks.alias(request.output, slot);
        let block = &mut self.graph.blocks[slot];
        block.references += 1 + moved;
        self.raise_keep(slot, request.options.keep);
        self.promise(slot, request.ticket);
        self.demand(slot);
    }

    fn start_reduction(&mut self, request: Reduction, output: BlockSlot, inputs: &[BlockSlot]) {
        let row = self.clients.reductions.insert(Row::new(request, output, inputs));
        self.graph.blocks[output].extra().reducing = Some(row);
        for (position, slot) in inputs.iter().enumerate() {
            self.graph.blocks[*slot].extra().reductions.push((row, position as u32));
        }
        for (position, slot) in inputs.iter().enumerate() {
            if self.graph.blocks[*slot].is_available() {
                self.on_item(row, position as u32);
            } else {
                self.demand(*slot);
            }
            if self.clients.reductions.get(row).is_none() {
                return;
            }
        }
    }

    /// A block is there: it joins the reductions that wait for it.
    pub(in crate::manager) fn feed_reductions(&mut self, slot: BlockSlot) {
        let Some(extra) = &self.graph.blocks[slot].extra else { return };
        for (row, position) in extra.reductions.clone() {
            self.on_item(row, position);
        }
    }

    fn on_item(&mut self, slot: ReductionSlot, position: u32) {
        let Some(row) = self.clients.reductions.get_mut(slot) else { return };
        let Some(item) = row.items.get(&position) else { return };
        let block = &self.graph.blocks[item.slot];
        let holder = match &block.data {
            Data::Stored(stored) => stored.replicas.first().copied(),
            _ => None,
        };
        if let Some(memory) = self.members.workers.smallest_memory {
            row.arity = fitting(row.arity, memory, block.nbytes());
        }
        row.set_holder(position, Some(holder));
        let mut arrived = Some(position);
        while let Some(row) = self.clients.reductions.get(slot) {
            let Some((run, last)) = row.next(arrived.take()) else { return };
            self.combine(slot, &run, last);
        }
    }

    /// Makes the call that takes these items.
    fn combine(&mut self, slot: ReductionSlot, run: &[u32], last: bool) {
        let row = &mut self.clients.reductions[slot];
        let mut inputs = Slots::new();
        for position in run {
            row.set_holder(*position, None);
            row.pending -= 1;
            inputs.extend(row.items.remove(position).map(|item| item.slot));
        }
        let options = if last { &row.request.options } else { &row.partial };
        let submission = call_of(&row.request, options, run.len());
        let (output, result) = (row.output, row.request.output);
        let output = if last { output } else { self.partial_output(result, &inputs) };
        if last {
            self.graph.blocks[output].extra().reducing = None;
            self.graph.blocks[output].tidy();
            self.clients.reductions.remove(slot);
        } else {
            self.put_item(slot, run[0], output);
        }
        self.combine_into(&submission, &inputs, output);
        for (position, input) in run.iter().zip(inputs) {
            self.leave_reduction(input, (slot, *position));
        }
        if !last
            && self.graph.blocks.get(output).is_some_and(crate::manager::graph::Block::is_available)
        {
            self.on_item(slot, run[0]);
        }
    }

    /// The block that is made of some of the inputs of the reduction to a block of this name.
    fn partial_output(&mut self, output: Name, inputs: &[BlockSlot]) -> BlockSlot {
        let mut hasher = NameHasher::new("reduce");
        hasher.part(&output.0);
        for input in inputs {
            hasher.part(&self.graph.blocks[*input].name.0);
        }
        self.graph.blocks.find_or_insert(hasher.finish())
    }

    fn put_item(&mut self, slot: ReductionSlot, position: u32, block: BlockSlot) {
        let row = &mut self.clients.reductions[slot];
        row.items.insert(position, Item { slot: block, holder: None });
        row.pending += 1;
        self.graph.blocks[block].extra().reductions.push((slot, position));
    }

    /// Inserts the task, unless its output is known.
    fn combine_into(&mut self, call: &Submission, inputs: &[BlockSlot], output: BlockSlot) {
        let known = self.graph.blocks[output].is_available()
            || self.graph.blocks[output].producer.is_some();
        if known {
            return self.demand(output);
        }
        let depth = inputs.iter().map(|slot| self.graph.blocks[*slot].depth + 1).max().unwrap_or(0);
        let block = &mut self.graph.blocks[output];
        block.depth = block.depth.max(depth);
        self.insert_task(call, inputs.iter().copied().collect(), one(output), depth);
    }

    fn leave_reduction(&mut self, slot: BlockSlot, place: (ReductionSlot, u32)) {
        let Some(block) = self.graph.blocks.get_mut(slot) else { return };
        if let Some(extra) = &mut block.extra {
            extra.reductions.retain(|other| *other != place);
        }
        block.tidy();
        self.graph.dirty.push(slot);
    }

    /// A block is nowhere any more: reductions wait for it again.
    pub(in crate::manager) fn rewind_reductions(&mut self, slot: BlockSlot) {
        let Some(extra) = &self.graph.blocks[slot].extra else { return };
        for (row, position) in &extra.reductions {
            if let Some(row) = self.clients.reductions.get_mut(*row) {
                row.set_holder(*position, None);
            }
        }
    }

    /// A block has failed, and with it the reductions that wait for it; gives their outputs.
    pub(in crate::manager) fn fail_reductions(&mut self, slot: BlockSlot) -> Vec<BlockSlot> {
        let Some(extra) = &self.graph.blocks[slot].extra else { return Vec::new() };
        let rows: Vec<ReductionSlot> = extra.reductions.iter().map(|(row, _)| *row).collect();
        rows.into_iter().filter_map(|row| self.end_reduction(row)).collect()
    }

    /// Ends a reduction before it has come to its last call; gives its output.
    pub(in crate::manager) fn end_reduction(&mut self, slot: ReductionSlot) -> Option<BlockSlot> {
        let row = self.clients.reductions.remove(slot)?;
        for (position, item) in row.items {
            self.leave_reduction(item.slot, (slot, position));
        }
        let block = &mut self.graph.blocks[row.output];
        block.extra().reducing = None;
        block.tidy();
        Some(row.output)
    }
}

#[cfg(test)]
#[path = "reduction_tests.rs"]
mod tests;
