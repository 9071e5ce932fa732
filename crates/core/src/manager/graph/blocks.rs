//! Blocks: what tasks make and need, and where it is.

use crate::manager::api::Failure;
use crate::manager::clock::Now;
use crate::manager::few::Few;
use crate::manager::table::{BlockSlot, Occupant, ReductionSlot, Table, TaskSlot};
use crate::wire::{BlockDesc, Form, Input, Keep, Output, Payload};
use freestone_base::hash::{ByName, hash_of};
use freestone_base::{FunctionId, Name, TaskId, Ticket, WorkerId};
use hashbrown::HashTable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::sync::Arc;

/// What is known of a block's bytes.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) enum Data {
    /// Not made yet, or dropped.
    Absent,
    /// Held here.
    Inline(Payload),
    /// At workers; at none if there are no replicas (any more).
    Stored(Box<Stored>),
    /// It will never be there.
    Failed(Arc<Failure>),
}

#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Stored {
    pub nbytes: u64,
    pub checksum: u64,
    pub form: Option<Box<Form>>,
    /// The function that made it, if one did.
    pub maker: Option<FunctionId>,
    /// Who took it over from a client, as long as it has it.
    pub home: Option<WorkerId>,
    pub replicas: SmallVec<[WorkerId; 4]>,
    /// When it came to be somewhere, or was last used.
    pub used_ns: Now,
}

/// A transfer that is wanted or under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::manager) struct Want {
    pub target: WorkerId,
    pub stage: WantStage,
    /// How many assigned tasks, client pins and hand-overs ask for it.
    pub users: u32,
    pub failures: u32,
    /// Whether the source has lost the block since the transfer began: what is there now is another
    /// replica, and says nothing about why this transfer fails.
    pub stale: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::manager) enum WantStage {
    /// The block is nowhere.
    Lacking,
    /// In the target's inbox and a source's outbox.
    Queued(WorkerId),
    /// Being sent.
    Active(WorkerId),
}

impl WantStage {
    pub fn is_active(self) -> bool {
        matches!(self, Self::Active(_))
    }
}

/// A pin of a client that is not resolved: a `Gather` that it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::manager) struct ClientPin {
    pub worker: WorkerId,
    pub ticket: Ticket,
    pub stage: ClientPinStage,
    pub attempts: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::manager) enum ClientPinStage {
    /// The block is not there yet.
    Waiting,
    /// Under way to the worker.
    Fetching,
    /// `Pin` was sent.
    Pinning,
}

/// A file that is to become a block.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Adoption {
    /// Who was asked; none while no worker of its machine is there.
    pub worker: Option<WorkerId>,
    /// To be resolved.
    pub ticket: Option<Ticket>,
    /// The file, if it is the cache's to take over: then others can, too.
    pub file: Option<Box<AdoptedFile>>,
}

/// A file that a client wrote for a worker's cache to take over.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct AdoptedFile {
    pub block: BlockDesc,
    pub path: String,
    pub keep: Keep,
    /// Its machine, once the worker that it was for is gone; empty if that was never known.
    pub host: String,
}

/// What most blocks never need.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Extra {
    pub wants: Vec<Want>,
    pub client_pins: Vec<ClientPin>,
    /// Files that workers are to adopt and that are not in their caches so far.
    pub adopting: Vec<Adoption>,
    /// Where clients map it, once per `Gather`: it must not be dropped.
    pub pins: Vec<WorkerId>,
    /// Reductions (and the positions in them) that wait for it.
    pub reductions: Vec<(ReductionSlot, u32)>,
    /// The reduction that will make it.
    pub reducing: Option<ReductionSlot>,
    /// Why it can't be made again, if it is lost: its task failed over another output.
    pub doomed: Option<Arc<Failure>>,
    /// Other names of it.
    pub aliases: Vec<Name>,
}

impl Extra {
    fn is_empty(&self) -> bool {
        self.wants.is_empty()
            && self.client_pins.is_empty()
            && self.adopting.is_empty()
            && self.pins.is_empty()
            && self.reductions.is_empty()
            && self.reducing.is_none()
            && self.doomed.is_none()
            && self.aliases.is_empty()
    }
}

#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Block {
    pub name: Name,
    pub data: Data,
    pub producer: Option<TaskSlot>,
    /// How many the client holds.
    pub references: u32,
    /// Input positions of unfinished tasks.
    pub unfinished: u32,
    /// Input positions of done tasks that are kept as lineage.
    pub lineage: u32,
    pub depth: u32,
    pub keep: Keep,
    /// How often it was dropped although something waits for it, since it was last asked for.
    pub displaced: u8,
    /// Unfinished tasks, once per position; those that ended since are skipped.
    pub consumers: Few<TaskId, 1>,
    /// To be resolved.
    pub tickets: Few<Ticket, 1>,
    pub extra: Option<Box<Extra>>,
}

impl Block {
    pub fn new(name: Name) -> Self {
        Self {
            name,
            data: Data::Absent,
            producer: None,
            references: 0,
            unfinished: 0,
            lineage: 0,
            depth: 0,
            keep: Keep::Task,
            displaced: 0,
            consumers: Few::new(),
            tickets: Few::new(),
            extra: None,
        }
    }

    pub fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Gives the memory of an empty `extra` back.
    pub fn tidy(&mut self) {
        if self.extra.as_ref().is_some_and(|extra| extra.is_empty()) {
            self.extra = None;
        }
    }

    /// Whether it will be there without a task that makes it.
    pub fn is_coming(&self) -> bool {
        self.extra
            .as_ref()
            .is_some_and(|extra| !extra.adopting.is_empty() || extra.reducing.is_some())
    }

    /// Whether a worker was sent `Adopt` for it and has not answered.
    pub fn is_to_be_adopted_by(&self, id: WorkerId) -> bool {
        let extra = self.extra.as_ref();
        extra.is_some_and(|extra| extra.adopting.iter().any(|one| one.worker == Some(id)))
    }

    pub fn is_available(&self) -> bool {
        match &self.data {
            Data::Inline(_) => true,
            Data::Stored(stored) => !stored.replicas.is_empty(),
            Data::Absent | Data::Failed(_) => false,
        }
    }

    /// Whether someone waits for it, or may come for it, right now.
    pub fn is_wanted(&self) -> bool {
        self.references > 0
            || self.unfinished > 0
            || self
                .extra
                .as_ref()
                .is_some_and(|extra| !extra.client_pins.is_empty() || !extra.reductions.is_empty())
    }

    /// Whether its data must stay.
    pub fn is_needed(&self) -> bool {
        let pinned = self.extra.as_ref().is_some_and(|extra| !extra.pins.is_empty());
        self.is_wanted() || pinned || (self.keep > Keep::Task && self.is_available())
    }

    pub fn failure(&self) -> Option<&Arc<Failure>> {
        match &self.data {
            Data::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    pub fn stored(&self) -> Option<&Stored> {
        match &self.data {
            Data::Stored(stored) => Some(stored),
            _ => None,
        }
    }

    /// When it came to be somewhere, or was last used.
    pub fn used_ns(&self) -> Now {
        self.stored().map_or(0, |stored| stored.used_ns)
    }

    /// It is used now.
    pub fn touch(&mut self, now: Now) {
        if let Data::Stored(stored) = &mut self.data {
            stored.used_ns = now;
        }
    }

    pub fn replicas(&self) -> &[WorkerId] {
        self.stored().map_or(&[], |stored| &stored.replicas)
    }

    pub fn is_at(&self, worker: WorkerId) -> bool {
        self.replicas().contains(&worker)
    }

    pub fn nbytes(&self) -> u64 {
        match &self.data {
            Data::Inline(bytes) => bytes.len() as u64,
            Data::Stored(stored) => stored.nbytes,
            _ => 0,
        }
    }

    pub fn desc(&self) -> Option<BlockDesc> {
        let stored = self.stored()?;
        Some(BlockDesc {
            name: self.name,
            nbytes: stored.nbytes,
            checksum: stored.checksum,
            form: stored.form.as_deref().cloned().unwrap_or(Form::Value),
        })
    }

    /// Whether it is of use only where it is.
    pub fn is_group(&self) -> bool {
        self.stored().is_some_and(|stored| stored.form.as_deref() == Some(&Form::Group))
    }

    pub fn as_input(&self) -> Option<Input> {
        match &self.data {
            Data::Inline(bytes) => Some(Input::Inline(bytes.clone())),
            _ => self.desc().map(Input::Stored),
        }
    }

    pub fn as_output(&self) -> Option<Output> {
        match &self.data {
            Data::Inline(bytes) => Some(Output::Inline(bytes.clone())),
            _ => self.desc().map(Output::Stored),
        }
    }

    pub fn want_mut(&mut self, target: WorkerId) -> Option<&mut Want> {
        self.extra.as_mut()?.wants.iter_mut().find(|want| want.target == target)
    }

    pub fn wants(&self) -> &[Want] {
        self.extra.as_ref().map_or(&[], |extra| &extra.wants)
    }
}

impl Stored {
    pub fn new(desc: BlockDesc, maker: Option<FunctionId>) -> Self {
        Self {
            maker,
            nbytes: desc.nbytes,
            checksum: desc.checksum,
            form: (desc.form != Form::Value).then(|| Box::new(desc.form)),
            home: None,
            replicas: SmallVec::new(),
            used_ns: 0,
        }
    }
}

impl Occupant for Block {}

/// The blocks, by slot and by name.
pub(in crate::manager) struct Blocks {
    table: Table<BlockSlot, Block>,
    /// By the names that stand in the blocks.
    names: HashTable<BlockSlot>,
    /// By other names, which go first.
    aliases: ByName<BlockSlot>,
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut blocks = Self { table: Table::deserialize(deserializer)?, ..Self::new() };
        for slot in blocks.table.slots() {
            let block = &blocks.table[slot];
            let aliases = block.extra.iter().flat_map(|extra| &extra.aliases);
            blocks.aliases.extend(aliases.map(|name| (*name, slot)));
            blocks.index(slot);
        }
        Ok(blocks)
    }
}

impl Blocks {
    pub fn new() -> Self {
        Self { table: Table::new(), names: HashTable::new(), aliases: ByName::default() }
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn slots(&self) -> Vec<BlockSlot> {
        self.table.slots()
    }

    pub fn iter(&self) -> impl Iterator<Item = (BlockSlot, &Block)> {
        self.table.iter()
    }

    pub fn find(&self, name: &Name) -> Option<BlockSlot> {
        if let Some(slot) = self.aliases.get(name) {
            return Some(*slot);
        }
        let is_it = |slot: &BlockSlot| self.table[*slot].name == *name;
        self.names.find(hash_of(name), is_it).copied()
    }

    pub fn get(&self, slot: BlockSlot) -> Option<&Block> {
        self.table.get(slot)
    }

    pub fn get_mut(&mut self, slot: BlockSlot) -> Option<&mut Block> {
        self.table.get_mut(slot)
    }

    pub fn find_or_insert(&mut self, name: Name) -> BlockSlot {
        self.find(&name).unwrap_or_else(|| {
            let slot = self.table.insert(Block::new(name));
            self.index(slot);
            slot
        })
    }

    /// A block is found by its name from now on.
    fn index(&mut self, slot: BlockSlot) {
        let table = &self.table;
        let hash = |slot: &BlockSlot| hash_of(&table[*slot].name);
        self.names.insert_unique(hash(&slot), slot, hash);
    }

    /// Gives a block another name besides.
    pub fn alias(&mut self, name: Name, slot: BlockSlot) {
        if let Some(former) = self.aliases.insert(name, slot) {
            debug_assert!(former != slot);
        }
        self.table[slot].extra().aliases.push(name);
    }

    pub fn remove(&mut self, slot: BlockSlot) {
        if let Some(block) = self.table.remove(slot) {
            for alias in block.extra.iter().flat_map(|extra| &extra.aliases) {
                if self.aliases.get(alias) == Some(&slot) {
                    self.aliases.remove(alias);
                }
            }
            if let Ok(entry) = self.names.find_entry(hash_of(&block.name), |one| *one == slot) {
                entry.remove();
            }
        }
        if self.names.is_empty() && self.names.capacity() > 1024 {
            self.names = HashTable::new();
        }
    }
}

impl std::ops::Index<BlockSlot> for Blocks {
    type Output = Block;

    fn index(&self, slot: BlockSlot) -> &Block {
        &self.table[slot]
    }
}

impl std::ops::IndexMut<BlockSlot> for Blocks {
    fn index_mut(&mut self, slot: BlockSlot) -> &mut Block {
        &mut self.table[slot]
    }
}
