//! Which blocks are here, where they lie, and who uses them.
//!
//! A block that is used is neither moved nor removed. Uses are counted: one per call that has it
//! as an input (from the moment when both are here until the executor no longer maps it), per
//! pin, per peer that is being sent it, and while it is copied.

mod room;

use super::api::{Action, ExternalFile, FileStamp, WorkerConfig};
use crate::store::{Tier, files};
use crate::wire::{BlockDesc, Keep};
use freestone_base::Name;
pub(super) use room::Room;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Where a block lies.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Location {
    /// In a tier of the cache.
    Tier(Tier),
    /// Among those that are kept for later runs, and nowhere else.
    Forever,
    /// A file of the user's.
    External(ExternalFile),
}

/// Whether a block can be used at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    /// It is not here.
    Absent,
    /// It is here, but was not verified yet.
    Unverified,
    /// It is being moved or verified.
    Busy,
    /// It can be used.
    Usable,
}

/// What is being done to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing.
    Stable,
    /// Nothing yet: it must be verified before it is used.
    Unverified,
    /// It is read, and its checksum compared.
    Verifying,
    /// It is moved from memory to disk.
    Leaving,
}

/// Whether there is a copy of a block among those that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Preserved {
    No,
    /// It is being made.
    Soon,
    Yes,
}

/// A block that is here.
#[derive(Debug)]
pub(super) struct Block {
    pub desc: BlockDesc,
    pub place: Location,
    pub keep: Keep,
    pub uses: u32,
    /// How many calls with it were sent to executors.
    pub calls: u32,
    /// To be removed when the last use ends.
    pub doomed: bool,
    pub state: State,
    /// Whether there is a copy among those that are kept.
    pub preserved: Preserved,
    /// A file of it came to disk while it is moved there.
    came_to_disk: bool,
    /// Its key in `Cache::idle`, and when it was last used.
    used_at: u64,
}

impl Block {
    /// Whether it is being read and compared with its checksum.
    pub fn is_verifying(&self) -> bool {
        self.state == State::Verifying
    }

    /// Whether there is a copy of it among those that are kept.
    pub fn is_preserved(&self) -> bool {
        self.preserved == Preserved::Yes
    }

    /// Whether it lies in memory, and is to stay there for now.
    pub fn is_in_memory(&self) -> bool {
        self.place == Location::Tier(Tier::Memory) && self.state != State::Leaving && !self.doomed
    }
}

/// What is on disk is checked before its first use: it may have been there for long.
fn first_state(place: &Location) -> State {
    match place {
        Location::Forever | Location::Tier(Tier::Disk) => State::Unverified,
        Location::Tier(Tier::Memory) | Location::External(_) => State::Stable,
    }
}

/// The blocks of a worker.
#[derive(Debug)]
pub(super) struct Cache {
    config: WorkerConfig,
    blocks: HashMap<Name, Block>,
    /// Blocks whose files others may put in their places at any moment, and how many do.
    coming: HashMap<Name, u32>,
    /// Uses of blocks that were taken out while they were used. Calls that were sent may not have
    /// opened a file yet: if the block comes again, they may use the new one, so it has them all.
    ghosts: HashMap<Name, u32>,
    /// Blocks in memory that may go to disk, by last use.
    idle: BTreeMap<u64, Name>,
    clock: u64,
    /// Bytes of blocks in memory, and bytes promised to blocks on their way there.
    memory: u64,
    memory_promised: u64,
    /// The part of `memory` that is on its way to disk.
    leaving: u64,
    disk: u64,
    disk_promised: u64,
    /// Bytes in memory and on disk of files that others write and have not reported.
    taken: [u64; 2],
    /// Bytes that no quota counts.
    elsewhere: u64,
    /// Bytes of the disk that calls which run may take for their files, and
    disk_reserved: u64,
    /// what files of calls were last seen to take.
    scratch: u64,
    /// The disk turned out to be full although its quota is not used up.
    disk_blocked: bool,
}

impl Cache {
    pub fn new(config: WorkerConfig) -> Self {
        Self {
            config,
            blocks: HashMap::new(),
            coming: HashMap::new(),
            ghosts: HashMap::new(),
            idle: BTreeMap::new(),
            clock: 0,
            memory: 0,
            memory_promised: 0,
            leaving: 0,
            disk: 0,
            disk_promised: 0,
            taken: [0; 2],
            elsewhere: 0,
            disk_reserved: 0,
            scratch: 0,
            disk_blocked: false,
        }
    }

    pub fn get(&self, name: Name) -> Option<&Block> {
        self.blocks.get(&name)
    }

    /// What is here and not on its way out, by name.
    pub fn descriptions(&self) -> Vec<BlockDesc> {
        let here = self.blocks.values().filter(|block| !block.doomed);
        let mut here: Vec<BlockDesc> = here.map(|block| block.desc.clone()).collect();
        here.sort_unstable_by_key(|desc| desc.name);
        here
    }

    pub fn memory_nbytes(&self) -> u64 {
        self.memory
    }

    /// Bytes in memory and on disk that blocks have, and that are promised to some.
    pub fn held_nbytes(&self) -> [u64; 2] {
        [self.memory + self.memory_promised, self.disk + self.disk_promised]
    }

    /// Others write files of so many bytes in memory and on disk.
    pub fn note_taken(&mut self, nbytes: [u64; 2]) {
        self.taken = nbytes;
    }

    pub fn memory_quota(&self) -> u64 {
        self.config.memory_quota
    }

    pub fn disk_nbytes(&self) -> u64 {
        self.disk
    }

    pub fn presence(&self, name: Name) -> Presence {
        match self.blocks.get(&name) {
            None => Presence::Absent,
            Some(block) => match block.state {
                State::Stable => Presence::Usable,
                State::Unverified => Presence::Unverified,
                State::Verifying | State::Leaving => Presence::Busy,
            },
        }
    }

    /// The file of a block that is here.
    pub fn path(&self, name: Name) -> Option<PathBuf> {
        let block = self.blocks.get(&name)?;
        let folder = match &block.place {
            Location::Tier(Tier::Memory) => &self.config.memory_folder,
            Location::Tier(Tier::Disk) => &self.config.disk_folder,
            Location::Forever => self.config.forever_folder.as_ref()?,
            Location::External(file) => return Some(PathBuf::from(&file.path)),
        };
        files::place(folder, name, &block.desc.form).ok()
    }

    /// What a file of the user's must look like.
    pub fn stamp(&self, name: Name) -> Option<FileStamp> {
        match &self.blocks.get(&name)?.place {
            Location::External(file) => Some(file.stamp),
            _ => None,
        }
    }

    /// Takes a block in, whose file is in its place.
    pub fn insert(&mut self, desc: BlockDesc, place: Location, keep: Keep, out: &mut Vec<Action>) {
        let name = desc.name;
        if self.blocks.contains_key(&name) {
            self.insert_again(desc, &place, keep, out);
        } else {
            let is_kept = place == Location::Forever;
            let state = first_state(&place);
            let uses = self.ghosts.remove(&name).unwrap_or(0);
            *self.bytes_in(&place) += desc.nbytes;
            let block = Block {
                desc,
                place,
                keep,
                uses,
                calls: 0,
                doomed: false,
                state,
                preserved: if is_kept { Preserved::Yes } else { Preserved::No },
                came_to_disk: false,
                used_at: 0,
            };
            self.blocks.insert(name, block);
        }
        self.release_or_rank(name, out);
    }

    /// A block that is here came a second time.
    fn insert_again(
        &mut self,
        desc: BlockDesc,
        place: &Location,
        keep: Keep,
        out: &mut Vec<Action>,
    ) {
        let Some(old) = self.blocks.get(&desc.name) else { return };
        let (name, form) = (desc.name, desc.form.clone());
        let is_in_use = old.uses > 0 || old.state == State::Leaving;
        let is_on_its_way = old.state == State::Leaving && *place == Location::Tier(Tier::Disk);
        match (&old.place, place) {
            // The move puts its file into the same place, now or just before: neither can be removed.
            _ if is_on_its_way => self.note_came_to_disk(name),
            // The file was replaced, and whatever is being done to it goes on with the new one.
            (old, new) if old == new => self.replace_file(desc),
            (Location::Tier(_), Location::Tier(tier)) if is_in_use => {
                out.push(Action::Remove { name, form, tier: *tier });
            }
            (Location::Tier(tier), Location::Tier(_)) => {
                let tier = *tier;
                self.replace_place(desc, place);
                out.push(Action::Remove { name, form, tier });
            }
            (Location::External(_) | Location::Forever, Location::Tier(_)) => {
                self.replace_place(desc, place);
            }
            // Ours is as good as the user's.
            _ => {}
        }
        self.revive(name, keep);
    }

    fn note_came_to_disk(&mut self, name: Name) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.came_to_disk = true;
        }
    }

    fn replace_file(&mut self, desc: BlockDesc) {
        let Some(block) = self.blocks.get_mut(&desc.name) else { return };
        let (new, old) = (desc.nbytes, block.desc.nbytes);
        block.desc = desc;
        if block.state == State::Leaving {
            self.leaving = self.leaving + new - old;
            self.disk_promised = self.disk_promised + new - old;
        }
        let place = block.place.clone();
        let bytes = self.bytes_in(&place);
        *bytes = *bytes + new - old;
    }

    fn replace_place(&mut self, desc: BlockDesc, place: &Location) {
        let Some(block) = self.blocks.get_mut(&desc.name) else { return };
        let (new, old) = (desc.nbytes, block.desc.nbytes);
        block.desc = desc;
        block.state = first_state(place);
        let old_place = std::mem::replace(&mut block.place, place.clone());
        *self.bytes_in(&old_place) -= old;
        *self.bytes_in(place) += new;
    }

    /// One use more. The block must be usable.
    pub fn hold(&mut self, name: Name) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.uses += 1;
            self.idle.remove(&block.used_at);
        }
    }

    /// A call with it is sent to an executor; how many were.
    pub fn note_call(&mut self, name: Name) -> u32 {
        let Some(block) = self.blocks.get_mut(&name) else { return 0 };
        block.calls = block.calls.saturating_add(1);
        block.calls
    }

    /// One use less.
    pub fn release(&mut self, name: Name, out: &mut Vec<Action>) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.uses = block.uses.saturating_sub(1);
            self.release_or_rank(name, out);
        } else if let Some(count) = self.ghosts.get_mut(&name) {
            *count -= 1;
            if *count == 0 {
                self.ghosts.remove(&name);
            }
        }
    }

    /// Blocks in memory, whatever uses them.
    pub fn in_memory(&self) -> impl Iterator<Item = Name> {
        self.blocks.values().filter(|block| block.is_in_memory()).map(|block| block.desc.name)
    }

    /// Someone else is about to put a block's file in its place: an executor, a transfer. Until
    /// [`come`](Self::come) no file is removed from there, since it could be that one.
    pub fn expect(&mut self, name: Name) {
        *self.coming.entry(name).or_insert(0) += 1;
    }

    /// Whether someone else may put a block's file in its place at any moment.
    pub fn is_expected(&self, name: Name) -> bool {
        self.coming.contains_key(&name)
    }

    /// What was expected was taken in, or will not come.
    pub fn come(&mut self, name: Name, out: &mut Vec<Action>) {
        let Some(count) = self.coming.get_mut(&name) else { return };
        *count -= 1;
        if *count == 0 {
            self.coming.remove(&name);
            self.release_or_rank(name, out);
        }
    }

    /// Whether a block is here and something needs it.
    pub fn is_needed(&self, name: Name) -> bool {
        self.blocks.get(&name).is_some_and(|block| !block.doomed)
    }

    /// The manager needs the block no more. What is kept forever stays all the same: its copy among
    /// those that are kept is what memory is freed for.
    pub fn doom(&mut self, name: Name, out: &mut Vec<Action>) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.doomed = block.keep != Keep::Forever;
            self.release_or_rank(name, out);
        }
    }

    /// Something needs it again, for as long as `keep` says.
    pub fn revive(&mut self, name: Name, keep: Keep) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.doomed = false;
            block.keep = block.keep.max(keep);
        }
    }

    /// It is being verified.
    pub fn set_verifying(&mut self, name: Name) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.state = State::Verifying;
        }
    }

    /// It was verified, and is what it should be.
    pub fn set_verified(&mut self, name: Name, out: &mut Vec<Action>) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.state = State::Stable;
            self.release_or_rank(name, out);
        }
    }

    /// It is being copied to those that are kept, and used meanwhile.
    pub fn set_preserving(&mut self, name: Name) {
        self.hold(name);
        if let Some(block) = self.blocks.get_mut(&name) {
            block.preserved = Preserved::Soon;
        }
    }

    /// There is a copy of it among those that are kept, or none could be made.
    pub fn end_preserving(&mut self, name: Name, is_there: bool, out: &mut Vec<Action>) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.preserved = if is_there { Preserved::Yes } else { Preserved::No };
        }
        self.release(name, out);
    }

    /// Its copy among those that are kept was damaged, and is gone.
    pub fn set_not_preserved(&mut self, name: Name) {
        if let Some(block) = self.blocks.get_mut(&name).filter(|block| block.is_preserved()) {
            block.preserved = Preserved::No;
        }
    }

    /// Removes a block from the books, used or not.
    pub fn take_out(&mut self, name: Name) -> Option<Block> {
        let block = self.blocks.remove(&name)?;
        self.idle.remove(&block.used_at);
        if block.state == State::Leaving {
            self.leaving -= block.desc.nbytes;
            self.disk_promised -= block.desc.nbytes;
        }
        *self.bytes_in(&block.place) -= block.desc.nbytes;
        if block.place == Location::Tier(Tier::Disk) {
            self.disk_blocked = false;
        }
        if block.uses > 0 {
            *self.ghosts.entry(name).or_insert(0) += block.uses;
        }
        Some(block)
    }

    /// A block was moved to disk, or could not be.
    pub fn moved(&mut self, name: Name, is_there: bool, out: &mut Vec<Action>) {
        let Some(block) = self.blocks.get_mut(&name) else { return };
        if block.state != State::Leaving {
            return;
        }
        block.state = State::Stable;
        let nbytes = block.desc.nbytes;
        self.leaving -= nbytes;
        self.disk_promised -= nbytes;
        let came = std::mem::take(&mut block.came_to_disk);
        if came && !is_there {
            let form = block.desc.form.clone();
            out.push(Action::Remove { name, form, tier: Tier::Memory });
        }
        if is_there || came {
            block.state = State::Unverified;
            block.place = Location::Tier(Tier::Disk);
            self.memory -= nbytes;
            self.disk += nbytes;
        } else {
            self.disk_blocked = true;
        }
        self.release_or_rank(name, out);
    }

    /// After a while, a disk that was full may no longer be.
    pub fn unblock_disk(&mut self) {
        self.disk_blocked = false;
    }

    fn free_memory(&self) -> u64 {
        let taken = self.memory + self.memory_promised + self.taken[0];
        self.config.memory_quota.saturating_sub(taken)
    }

    pub fn free_disk(&self) -> u64 {
        if self.disk_blocked {
            return 0;
        }
        // Calls that did not say how much they need take room as well.
        let calls = self.disk_reserved.max(self.scratch);
        let taken = self.disk + self.disk_promised + self.taken[1];
        self.config.disk_quota.saturating_sub(taken + calls)
    }

    fn send_away(&mut self, name: Name, out: &mut Vec<Action>) -> bool {
        let free_disk = self.free_disk();
        let Some(block) = self.blocks.get_mut(&name) else { return false };
        let nbytes = block.desc.nbytes;
        let form = block.desc.form.clone();
        if block.is_preserved() {
            // The kept copy stands in for it.
            block.place = Location::Forever;
            block.state = State::Unverified;
            self.memory -= nbytes;
            out.push(Action::Remove { name, form, tier: Tier::Memory });
        } else if nbytes <= free_disk {
            block.state = State::Leaving;
            self.leaving += nbytes;
            self.disk_promised += nbytes;
            out.push(Action::MoveToDisk { name, form });
        } else {
            return false;
        }
        let used_at = block.used_at;
        self.idle.remove(&used_at);
        true
    }

    /// After a change: removes a doomed block that is no longer used, or notes that it may be
    /// moved.
    fn release_or_rank(&mut self, name: Name, out: &mut Vec<Action>) {
        let Some(block) = self.blocks.get_mut(&name) else { return };
        self.idle.remove(&block.used_at);
        if block.uses > 0 || matches!(block.state, State::Verifying | State::Leaving) {
            return;
        }
        if block.doomed {
            if self.coming.contains_key(&name) {
                return;
            }
            if let Some(Block { desc, place: Location::Tier(tier), .. }) = self.take_out(name) {
                out.push(Action::Remove { name, form: desc.form, tier });
            }
        } else if block.place == Location::Tier(Tier::Memory) {
            // Those last used are the last to go.
            self.clock += 1;
            block.used_at = self.clock;
            self.idle.insert(self.clock, name);
        }
    }

    fn bytes_in(&mut self, place: &Location) -> &mut u64 {
        match place {
            Location::Tier(Tier::Memory) => &mut self.memory,
            Location::Tier(Tier::Disk) => &mut self.disk,
            Location::Forever | Location::External(_) => &mut self.elsewhere,
        }
    }

    fn promised_in(&mut self, tier: Tier) -> &mut u64 {
        match tier {
            Tier::Memory => &mut self.memory_promised,
            Tier::Disk => &mut self.disk_promised,
        }
    }
}
