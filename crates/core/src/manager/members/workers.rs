//! Workers as the manager sees them, and the order in which they are asked to take work.

use crate::manager::clock::Now;
use crate::manager::graph::Queue;
use crate::manager::shapes::Shape;
use crate::manager::table::BlockSlot;
use crate::wire::{Address, Assignment, ToWorker, WorkerStatus};
use freestone_base::hash::{SetOf, hash_of};
use freestone_base::sizing::AHEAD_NS;
use freestone_base::{FunctionId, Name, Resources, TaskId, WorkerId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is sent to a worker at the end of an event, in this order: calls no longer need what is
/// dropped, and nothing is dropped while it is pinned.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Outbox {
    pub cancel: Vec<TaskId>,
    pub restart: bool,
    pub unpin: Vec<Name>,
    pub drop: Vec<Name>,
    pub run: Vec<Assignment>,
    pub other: Vec<ToWorker>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::manager) enum WorkerStage {
    /// Takes work.
    Active,
    /// Takes none, ends what runs, hands over what only it has.
    Retiring,
    /// Was told to end.
    Closing,
}

/// Of so many workers some are drawn, not all compared.
const MANY: usize = 32;
const DRAWS: u32 = 4;

/// So many executors of a worker are remembered: those that died are, too.
const REMEMBERED_EXECUTORS: usize = 256;

/// The most bytes that the process of each executor has had in memory.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct ExecutorPeaks(pub Vec<(u32, u64)>);

impl ExecutorPeaks {
    /// Takes in what a process has had; whether that is more than before.
    pub fn raise(&mut self, pid: u32, nbytes: u64) -> bool {
        if let Some((_, peak)) = self.0.iter_mut().find(|(known, _)| *known == pid) {
            let is_more = nbytes > *peak;
            *peak = nbytes.max(*peak);
            return is_more;
        }
        if self.0.len() == REMEMBERED_EXECUTORS {
            self.0.remove(0);
        }
        self.0.push((pid, nbytes));
        true
    }
}

#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Worker {
    pub id: WorkerId,
    pub stage: WorkerStage,
    pub resources: Resources,
    pub slots: u32,
    pub address: Address,
    pub pid: u32,
    pub host: String,
    pub folder: String,
    pub status: WorkerStatus,
    pub seen_ns: Now,
    /// How much its clock is behind the manager's.
    pub behind_ns: i64,
    pub done: u64,
    pub executors: ExecutorPeaks,
    /// The number of its shape, and its place among those of that shape.
    pub shape: usize,
    pub load: u32,

    /// What is not reserved. Custom resources are as soon as a task is sent, and while it waits.
    pub free: Resources,
    /// Tasks for which slots and resources are reserved.
    pub running: Vec<TaskId>,
    /// Tasks that wait for others, and whether they have gone on: then they need a slot and
    /// resources again.
    pub paused: Vec<(TaskId, bool)>,
    /// Tasks sent besides, in order, with their attempts; some may have ended or left since.
    pub ahead: VecDeque<(TaskId, u32)>,
    /// How many of `ahead` are still meant.
    pub ahead_len: u32,
    /// Time of all that was sent, no task counted as more than what travels ahead.
    pub held_ns: u64,
    /// Time of all that was sent or is queued for it.
    pub backlog_ns: u64,
    /// Ready tasks kept for it.
    pub queue: Queue,
    /// What a `Return` that is not answered asks for, with the attempts.
    pub returning: Option<Vec<(TaskId, u32)>>,
    /// While it retires: whether it was asked for all that has not begun.
    pub asked_all: bool,
    /// While it retires: whether others were there when that began.
    pub had_others: bool,
    /// While it retires: the blocks that have to be copied to others.
    pub handing: BTreeSet<BlockSlot>,
    pub defined: Vec<u64>,
    pub blocks: SetOf<BlockSlot>,
    pub nbytes: u64,
    /// Those of them that are only there so that others can be made again.
    pub roots: BTreeSet<BlockSlot>,
    pub roots_nbytes: u64,
    /// Dropped here while the tasks that make them might run here again: when a call reports one,
    /// it can't be told whether that was stored before it was dropped or after. And whether one did.
    pub doubted: Vec<(Name, bool)>,

    /// Blocks being received.
    pub receiving: Vec<BlockSlot>,
    /// Blocks being sent, and to whom.
    pub sending: Vec<(BlockSlot, WorkerId)>,
    /// All blocks that are wanted here, whether queued, being received or lacking.
    pub wanted: SetOf<BlockSlot>,
    /// To be received, and from where, once here and there a transfer has ended; largest first.
    pub inbox: BTreeMap<(Reverse<u64>, BlockSlot), WorkerId>,
    /// Bytes of what is in the inbox.
    coming_nbytes: u64,
    /// To be sent from here to others; largest first.
    pub outbox: BTreeSet<(Reverse<u64>, BlockSlot, WorkerId)>,

    pub touched: bool,
    pub post: Outbox,
}

impl Worker {
    /// A worker that has just joined.
    pub fn new(id: WorkerId, resources: Resources, slots: u32, address: Address) -> Self {
        Self {
            id,
            stage: WorkerStage::Active,
            free: resources.clone(),
            resources,
            slots,
            address,
            pid: 0,
            host: String::new(),
            folder: String::new(),
            status: WorkerStatus::default(),
            seen_ns: 0,
            behind_ns: 0,
            done: 0,
            executors: ExecutorPeaks::default(),
            shape: 0,
            load: 0,
            running: Vec::new(),
            paused: Vec::new(),
            ahead: VecDeque::new(),
            ahead_len: 0,
            held_ns: 0,
            backlog_ns: 0,
            queue: Queue::default(),
            returning: None,
            asked_all: false,
            had_others: false,
            handing: BTreeSet::new(),
            defined: Vec::new(),
            blocks: SetOf::default(),
            nbytes: 0,
            roots: BTreeSet::new(),
            roots_nbytes: 0,
            doubted: Vec::new(),
            receiving: Vec::new(),
            sending: Vec::new(),
            wanted: SetOf::default(),
            inbox: BTreeMap::new(),
            coming_nbytes: 0,
            outbox: BTreeSet::new(),
            touched: false,
            post: Outbox::default(),
        }
    }

    /// It has a block no more.
    pub fn remove_block(&mut self, slot: BlockSlot, nbytes: u64) {
        self.blocks.remove(&slot);
        self.nbytes -= nbytes;
        self.remove_root(slot, nbytes);
    }

    pub fn add_root(&mut self, slot: BlockSlot, nbytes: u64) {
        if self.roots.insert(slot) {
            self.roots_nbytes += nbytes;
        }
    }

    pub fn remove_root(&mut self, slot: BlockSlot, nbytes: u64) {
        if self.roots.remove(&slot) {
            self.roots_nbytes -= nbytes;
        }
    }

    pub fn held(&self) -> u32 {
        self.paused.len() as u32 + self.active()
    }

    /// Tasks that it has and that do not wait for others.
    fn active(&self) -> u32 {
        self.running.len() as u32 + self.ahead_len
    }

    /// A task that had begun holds nothing any more.
    pub fn release(&mut self, task: TaskId, needs: &Resources) {
        self.release_custom(needs);
        if let Some(at) = self.paused.iter().position(|(paused, _)| *paused == task) {
            self.paused.swap_remove(at);
            return;
        }
        self.vacate(task, needs);
    }

    /// A task that runs no more needs no slot, and nothing but its custom resources.
    pub fn vacate(&mut self, task: TaskId, needs: &Resources) {
        self.running.retain(|other| *other != task);
        self.free.give_back(&needs.without_custom());
    }

    /// A task that was sent here needs its custom resources no more: what waited for some may go.
    pub fn release_custom(&mut self, needs: &Resources) {
        if !needs.custom.is_empty() {
            self.free.give_back(&needs.only_custom());
            self.queue.unpark();
        }
    }

    pub fn free_slots(&self) -> u32 {
        self.slots.saturating_sub(self.running.len() as u32)
    }

    /// A block is to be received from there.
    pub fn expect(&mut self, slot: BlockSlot, nbytes: u64, source: WorkerId) {
        if self.inbox.insert((Reverse(nbytes), slot), source).is_none() {
            self.coming_nbytes += nbytes;
        }
    }

    /// A block is not to be received any more, or is being received.
    pub fn expect_no_more(&mut self, slot: BlockSlot, nbytes: u64) {
        if self.inbox.remove(&(Reverse(nbytes), slot)).is_some() {
            self.coming_nbytes -= nbytes;
        }
    }

    /// Bytes that it has, or waits for.
    fn filled_nbytes(&self) -> u64 {
        self.nbytes + self.coming_nbytes
    }

    /// Transfers from here, under way and to come.
    pub fn outgoing(&self) -> usize {
        self.sending.len() + self.outbox.len()
    }

    pub fn is_closing(&self) -> bool {
        self.stage == WorkerStage::Closing
    }

    pub fn is_active(&self) -> bool {
        self.stage == WorkerStage::Active
    }

    /// Tasks held and queued per slot, in 64ths.
    pub fn current_load(&self) -> u32 {
        let tasks = u64::from(self.active()) + self.queue.len();
        (tasks * 64 / u64::from(self.slots.max(1))).min(u64::from(u32::MAX)) as u32
    }

    /// Marks a function as sent; whether it was already.
    pub fn define(&mut self, function: FunctionId) -> bool {
        let (word, bit) = (function.0 as usize / 64, 1 << (function.0 % 64));
        if self.defined.len() <= word {
            self.defined.resize(word + 1, 0);
        }
        let known = self.defined[word] & bit != 0;
        self.defined[word] |= bit;
        known
    }

    /// Whether it could ever hold a call that asks for `needs`. One without executors holds none,
    /// only blocks.
    pub fn can_hold(&self, needs: &Resources) -> bool {
        self.slots > 0 && needs.fit(&self.resources)
    }

    /// How many calls that ask for `needs` can run here at once.
    pub fn fits_at_once(&self, needs: &Resources) -> u32 {
        if *needs == Resources::ONE_CORE && self.resources.cores >= self.slots {
            return self.slots;
        }
        self.resources.times(needs).min(self.slots.into()) as u32
    }

    /// Whether others hold custom resources that a call asks for.
    pub fn lacks_custom(&self, needs: &Resources) -> bool {
        needs.lacks(&self.free)
    }

    /// Whether a call that asks for `needs` can begin now.
    pub fn can_begin(&self, needs: &Resources) -> bool {
        self.free_slots() > 0 && self.ahead_len == 0 && needs.fit(&self.free)
    }

    /// Whether a call may be sent that has to wait here, when `ahead` of its kind may wait per
    /// slot.
    pub fn may_wait(&self, needs: &Resources, ahead: u32) -> bool {
        let at_once = self.fits_at_once(needs).max(1);
        self.ahead_len < at_once
            || (self.ahead_len < at_once.saturating_mul(ahead)
                && self.held_ns < u64::from(at_once + self.slots) * AHEAD_NS / 2)
    }

    /// When a further call could begin, as far as can be told: now, or after its share of the
    /// backlog.
    pub fn wait_ns(&self) -> u64 {
        if u64::from(self.active()) + self.queue.len() < u64::from(self.slots) {
            return 0;
        }
        self.backlog_ns / u64::from(self.slots.max(1))
    }
}

/// What is known of a worker's number.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Standing {
    /// Nobody has it.
    #[default]
    Unknown,
    /// Somebody connected, and did not join so far.
    Connected,
    /// Its worker has joined.
    Joined,
    /// Its worker takes no calls any more, since then.
    Gone(Now),
}

/// The workers, by id.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Workers {
    table: Vec<Option<Box<Worker>>>,
    /// What is known of each number.
    standings: Vec<Standing>,
    /// The machines of those that have left.
    hosts: BTreeMap<WorkerId, String>,
    shapes: Vec<Shape>,
    /// How many are in the table: this is asked for each task.
    len: usize,
    slots: u64,
    /// How many retire.
    pub retiring: u32,
    /// The least memory that a worker said it has for blocks.
    pub smallest_memory: Option<u64>,
}

impl Workers {
    pub fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.table.get(id.0 as usize)?.as_deref()
    }

    pub fn get_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.table.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// Whether a worker is here and was not told to end.
    pub fn is_present(&self, id: WorkerId) -> bool {
        self.get(id).is_some_and(|worker| worker.stage != WorkerStage::Closing)
    }

    fn standing(&self, id: WorkerId) -> Standing {
        self.standings.get(id.0 as usize).copied().unwrap_or_default()
    }

    fn set_standing(&mut self, id: WorkerId, standing: Standing) {
        let index = id.0 as usize;
        if self.standings.len() <= index {
            self.standings.resize(index + 1, Standing::Unknown);
        }
        self.standings[index] = standing;
    }

    /// A worker of that number is about to join.
    pub fn expect(&mut self, id: WorkerId) {
        if self.standing(id) == Standing::Unknown {
            self.set_standing(id, Standing::Connected);
        }
    }

    /// The worker of that number takes no calls from now on.
    pub fn give_up(&mut self, id: WorkerId, now: Now) {
        if !matches!(self.standing(id), Standing::Gone(_)) {
            self.set_standing(id, Standing::Gone(now));
        }
    }

    /// Whether no worker of that number has joined so far.
    pub fn is_yet_to_join(&self, id: WorkerId) -> bool {
        matches!(self.standing(id), Standing::Unknown | Standing::Connected)
    }

    /// Whether calls for this worker alone can wait for it: it is here, or about to join.
    pub fn is_expected(&self, id: WorkerId) -> bool {
        matches!(self.standing(id), Standing::Connected | Standing::Joined)
    }

    /// Since when a worker that was here takes no calls.
    pub fn gone_since(&self, id: WorkerId) -> Option<Now> {
        match self.standing(id) {
            Standing::Gone(since) => Some(since),
            _ => None,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Slots of all that take work.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    pub fn iter(&self) -> impl Iterator<Item = &Worker> {
        self.table.iter().filter_map(Option::as_deref)
    }

    pub fn ids(&self) -> Vec<WorkerId> {
        self.iter().map(|worker| worker.id).collect()
    }

    pub fn insert(&mut self, mut worker: Worker) {
        let (id, index) = (worker.id, worker.id.0 as usize);
        let known = self.shapes.iter().position(|shape| shape.has(worker.slots, &worker.resources));
        worker.shape = known.unwrap_or_else(|| {
            self.shapes.push(Shape::new(worker.slots, worker.resources.clone()));
            self.shapes.len() - 1
        });
        let shape = &mut self.shapes[worker.shape];
        shape.ceiling = shape.ceiling.larger(&worker.resources);
        worker.load = worker.current_load();
        self.shapes[worker.shape].order.insert(worker.load, id);
        self.slots += u64::from(worker.slots);
        if self.table.len() <= index {
            self.table.resize_with(index + 1, || None);
        }
        self.set_standing(id, Standing::Joined);
        self.len += usize::from(self.table[index].is_none());
        self.table[index] = Some(Box::new(worker));
    }

    pub fn remove(&mut self, id: WorkerId) -> Option<Box<Worker>> {
        self.rest(id);
        let worker = self.table.get_mut(id.0 as usize)?.take()?;
        self.len -= 1;
        self.retiring -= u32::from(worker.stage == WorkerStage::Retiring);
        self.hosts.insert(id, worker.host.clone());
        Some(worker)
    }

    /// The machine of a worker, also of one that has left; empty if it is not known.
    pub fn host_of(&self, id: WorkerId) -> &str {
        let former = || self.hosts.get(&id).map_or("", String::as_str);
        self.get(id).map_or_else(former, |worker| &worker.host)
    }

    /// The first worker that takes work on a machine; on any, if it is not known which.
    pub fn neighbour(&self, host: &str) -> Option<WorkerId> {
        let mut fits =
            self.iter().filter(|one| one.is_active() && (host.is_empty() || one.host == host));
        fits.next().map(|worker| worker.id)
    }

    /// The worker takes no more work.
    pub fn rest(&mut self, id: WorkerId) {
        let Some(worker) = self.get(id) else { return };
        let (shape, load, slots) = (worker.shape, worker.load, worker.slots);
        if self.shapes[shape].order.remove(load, id) {
            self.slots -= u64::from(slots);
        }
    }

    /// Puts the worker where its present load belongs.
    pub fn reorder(&mut self, id: WorkerId) {
        let Some(worker) = self.get_mut(id) else { return };
        let (old, new) = (worker.load, worker.current_load());
        if old == new || !worker.is_active() {
            return;
        }
        worker.load = new;
        let shape = worker.shape;
        let order = &mut self.shapes[shape].order;
        order.remove(old, id);
        order.insert(new, id);
    }

    /// The least loaded worker that could ever hold a call that asks for `needs`.
    pub fn least_loaded(&self, needs: &Resources) -> Option<WorkerId> {
        let each = self.shapes.iter();
        let each =
            each.filter_map(|shape| shape.least_loaded(needs, |id| &self[id].resources, |_| true));
        each.min().map(|(_, id)| id)
    }

    /// The least loaded worker for a call that asks for `needs`: among those that have the custom
    /// resources to spare, if there are any.
    pub fn least_loaded_for(&self, needs: &Resources) -> Option<WorkerId> {
        let has_custom = |id: WorkerId| self[id].free_slots() > 0 && !self[id].lacks_custom(needs);
        let each = self.shapes.iter().filter(|_| !needs.custom.is_empty());
        let each = each
            .filter_map(|shape| shape.least_loaded(needs, |id| &self[id].resources, has_custom));
        each.min().map(|(_, id)| id).or_else(|| self.least_loaded(needs))
    }

    /// The least loaded of each shape that could ever hold a call that asks for `needs`, passing
    /// over those to be avoided.
    pub fn least_loaded_of_each_shape<'a>(
        &'a self,
        needs: &'a Resources,
        avoid: &'a [WorkerId],
    ) -> impl Iterator<Item = WorkerId> + 'a {
        let passes = |id| !avoid.contains(&id);
        let each = self.shapes.iter();
        let each = each
            .filter_map(move |shape| shape.least_loaded(needs, |id| &self[id].resources, passes));
        each.map(|(_, id)| id)
    }

    /// The most loaded few of each shape.
    pub fn most_loaded(&self) -> impl Iterator<Item = WorkerId> + '_ {
        self.shapes.iter().flat_map(|shape| shape.order.iter().rev().take(4).map(|(_, id)| id))
    }

    /// Among some least loaded workers that pass, the one with the fewest bytes.
    pub fn least_filled(&self, most: usize, passes: impl Fn(WorkerId) -> bool) -> Option<WorkerId> {
        let passing = |shape: &Shape| {
            let each = shape.order.iter().map(|(_, id)| id).filter(|id| passes(*id));
            each.take(most).collect::<Vec<_>>()
        };
        self.shapes.iter().flat_map(passing).min_by_key(|id| (self[*id].filled_nbytes(), *id))
    }

    /// Among a few of many workers, drawn by a block's name, the one that passes with the fewest bytes. So
    /// blocks spread over all, where the least loaded would all be sent the same blocks at once.
    pub fn drawn(&self, name: &Name, passes: impl Fn(WorkerId) -> bool) -> Option<WorkerId> {
        if self.len < MANY {
            return None;
        }
        let drawn = (0..DRAWS).filter_map(|draw| {
            let number = hash_of(name).rotate_left(draw * 13) % self.table.len() as u64;
            self.get(WorkerId(number as u32))
        });
        drawn
            .filter(|worker| worker.is_active() && passes(worker.id))
            .min_by_key(|worker| (worker.filled_nbytes(), worker.id))
            .map(|worker| worker.id)
    }

    /// Some workers with free slots.
    pub fn idle(&self, most: usize) -> Vec<WorkerId> {
        let all = self
            .shapes
            .iter()
            .flat_map(|shape| shape.order.iter().take_while(|(load, _)| *load < 64).take(most));
        all.map(|(_, id)| id).collect()
    }

    /// Whether some worker that takes work could hold a call that asks for `needs`.
    pub fn can_hold(&self, needs: &Resources) -> bool {
        self.least_loaded(needs).is_some()
    }

    /// The most that any worker has, each resource for itself, to within a quarter.
    pub fn largest(&self) -> Resources {
        let shapes = self.shapes.iter().filter(|shape| !shape.order.is_empty());
        shapes.fold(Resources::default(), |most, shape| most.larger(&shape.ceiling))
    }
}

impl std::ops::Index<WorkerId> for Workers {
    type Output = Worker;

    fn index(&self, id: WorkerId) -> &Worker {
        self.get(id).expect("the worker is present")
    }
}

impl std::ops::IndexMut<WorkerId> for Workers {
    fn index_mut(&mut self, id: WorkerId) -> &mut Worker {
        self.get_mut(id).expect("the worker is present")
    }
}
