//! Ranks of one node: rings and arenas in memory that they share, be they threads or processes.

use super::arena::total;
use super::arena::{Arena, ArenaMemory, Block};
use super::frame;
use super::pipe;
use super::pulse::{Pulse, interval};
use super::region::Region;
use super::ring::{self, Reader, Writer};
use super::sleep::Bell;
use super::{Incoming, Outgoing, Transport, TransportError};
use crate::event::Rank;
use crate::limits;
use crate::sync::lock;
use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

const PAGE: usize = 4096;
/// What each rank has besides its rings and its arena: a bell, its state, what was let go.
const CELL: usize = 256;
const STATE: usize = 64;
/// Counts while the rank's process runs.
const BEATS: usize = 68;
const FREED: usize = 128;
/// After the count of losses: how often ranks count, in milliseconds; never, if it is 0.
const INTERVAL: usize = 64;
/// Bytes before the bits of those who have opened a ring: how many they are.
const OPENED: usize = 64;
const WORD_BITS: u32 = u32::BITS;
/// How many frames of one rank are read before the next rank's turn.
const TURN: usize = 128;
const SMALLEST_RING: usize = 16 << 10;

const ALIVE: u32 = 0;
const LEFT: u32 = 1;
const LOST: u32 = 2;
/// Its run is over because another is lost, and its program has not ended yet.
const GIVEN_UP: u32 = 3;

/// What lies where in the memory that the ranks of a node share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    ranks: u32,
    ring: usize,
    arena: usize,
}

impl Layout {
    /// For so many ranks, each of which may have `arena` bytes of large payloads on their way.
    pub fn new(ranks: u32, arena: usize) -> Self {
        let pairs = (ranks as usize).pow(2).max(1);
        // Rings have a power of two.
        let at_most = |nbytes: usize| (nbytes + 1).next_power_of_two() / 2;
        let limits = limits::get();
        let largest = at_most(limits.ring_max.0).max(SMALLEST_RING);
        let ring = at_most(limits.rings.0 / pairs).clamp(SMALLEST_RING, largest);
        Self { ranks, ring, arena: arena.max(ring).next_multiple_of(PAGE) }
    }

    /// Bytes of memory; taken only as they are touched.
    pub fn nbytes(&self) -> usize {
        self.arena_of(self.ranks)
    }

    fn cell(rank: Rank) -> usize {
        rank as usize * CELL
    }

    fn losses(&self) -> usize {
        Self::cell(self.ranks)
    }

    /// Where it says who has opened a ring to a rank: how many, and a bit for each.
    fn opened(&self, to: Rank) -> usize {
        let words = (self.ranks as usize).div_ceil(WORD_BITS as usize);
        let len = (OPENED + words * size_of::<u32>()).next_multiple_of(CELL);
        Self::cell(self.ranks + 1) + to as usize * len
    }

    fn ring_of(&self, from: Rank, to: Rank) -> usize {
        let number = from as usize * self.ranks as usize + to as usize;
        self.opened(self.ranks) + number * ring::footprint(self.ring)
    }

    fn arena_of(&self, rank: Rank) -> usize {
        let first = self.ring_of(self.ranks, 0).next_multiple_of(PAGE);
        first + rank as usize * self.arena
    }
}

/// One rank's part in the memory of a node.
#[derive(Debug)]
pub struct Node {
    rank: Rank,
    layout: Layout,
    region: Arc<Region>,
    /// Opened when something is sent.
    writers: Vec<OnceLock<Mutex<Writer>>>,
    reading: Mutex<Reading>,
    arena: Mutex<Arena>,
    /// None if the ranks are threads.
    pulse: Option<Pulse>,
    /// What those that send and receive call the ranks, by number.
    names: Vec<Rank>,
    /// What wakes the ranks, by number, if they do not sleep by their bells; none for one that is gone.
    pipes: Option<Vec<Option<File>>>,
}

#[derive(Debug)]
struct Reading {
    /// Of the rings that were opened, in the order of the ranks.
    readers: Vec<(Rank, Reader)>,
    /// How many were seen to be opened.
    opened: u32,
    /// Who was told to be lost.
    lost: Vec<bool>,
    losses: u32,
}

impl Node {
    /// The part of `rank` in `region`, which is as `layout` says. There must be no other.
    pub fn new(region: &Arc<Region>, layout: Layout, rank: Rank) -> Self {
        let ranks = layout.ranks;
        let reading = Reading {
            readers: Vec::new(),
            opened: 0,
            lost: vec![false; ranks as usize],
            losses: 0,
        };
        Self {
            rank,
            layout,
            region: Arc::clone(region),
            writers: (0..ranks).map(|_| OnceLock::new()).collect(),
            reading: Mutex::new(reading),
            arena: Mutex::new(Arena::new(place(region, layout, rank))),
            pulse: None,
            names: (0..ranks).collect(),
            pipes: None,
        }
    }

    /// The same for ranks that have other names, and sleep until something is written to their pipes.
    pub fn of_named(
        region: &Arc<Region>,
        layout: Layout,
        rank: Rank,
        names: Vec<Rank>,
        pipes: Vec<Option<File>>,
    ) -> Self {
        Self { names, pipes: Some(pipes), ..Self::new(region, layout, rank) }
    }

    /// The same, for a rank that is a process: it shows that it runs, if [`Node::watch`] has asked for that.
    ///
    /// # Errors
    ///
    /// If the system has no thread.
    pub fn of_process(
        region: &Arc<Region>,
        layout: Layout,
        rank: Rank,
    ) -> Result<Self, TransportError> {
        let mut node = Self::new(region, layout, rank);
        let millis = node.word(layout.losses() + INTERVAL).load(Ordering::Relaxed);
        if millis > 0 {
            let every = Duration::from_millis(millis.into());
            let pulse = Pulse::start(region, Layout::cell(rank) + BEATS, every);
            node.pulse = Some(pulse.map_err(|source| TransportError::Io {
                what: "no thread to show that this rank runs".to_owned(),
                source,
            })?);
        }
        Ok(node)
    }

    /// Has ranks that are processes show that they run; for who starts them, before that.
    pub fn watch(region: &Region, layout: Layout, stopped: Duration) {
        let millis = interval(stopped).as_millis().try_into().unwrap_or(u32::MAX);
        word(region, layout.losses() + INTERVAL).store(millis, Ordering::Relaxed);
    }

    /// What [`Pulses::look`](super::Pulses::look) looks at.
    pub fn beats(region: &Region, rank: Rank) -> u32 {
        word(region, Layout::cell(rank) + BEATS).load(Ordering::Relaxed)
    }

    /// Shows that this rank's process runs, where nobody has asked it to count by itself.
    pub fn beat(&self) {
        self.word(Layout::cell(self.rank) + BEATS).fetch_add(1, Ordering::Relaxed);
    }

    /// How often another rank has shown that.
    pub fn beats_of(&self, rank: Rank) -> u32 {
        Self::beats(&self.region, rank)
    }

    /// All ranks of a node, as threads of this process.
    ///
    /// # Errors
    ///
    /// If there is no memory for them.
    pub fn threads(ranks: u32, arena: usize) -> Result<Vec<Self>, TransportError> {
        let layout = Layout::new(ranks, arena);
        let region = Region::anonymous(layout.nbytes())?;
        Ok((0..ranks).map(|rank| Self::new(&region, layout, rank)).collect())
    }

    /// Tells all ranks that one is lost, unless it has left; whether that was so. Called by who
    /// watches over them.
    pub fn lose(region: &Region, layout: Layout, rank: Rank) -> bool {
        let state = word(region, Layout::cell(rank) + STATE);
        let is_recorded = [ALIVE, GIVEN_UP].into_iter().any(|before| {
            state.compare_exchange(before, LOST, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        });
        if is_recorded {
            // Its partner is the load in `poll`: who sees the count sees the state.
            word(region, layout.losses()).fetch_add(1, Ordering::Release);
            for rank in 0..layout.ranks {
                bell(region, rank).ring(i32::MAX);
            }
        }
        is_recorded
    }

    /// Whether the run is over for a rank because another is lost, while its program may still
    /// compute. For who watches over them.
    pub fn has_given_up(region: &Region, rank: Rank) -> bool {
        word(region, Layout::cell(rank) + STATE).load(Ordering::Acquire) == GIVEN_UP
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        word(&self.region, at)
    }

    /// Where this rank says that it sleeps.
    pub fn own_bell(&self) -> &Bell {
        bell(&self.region, self.rank)
    }

    /// Wakes up to `count` threads of a rank.
    fn ring(&self, rank: Rank, count: i32) {
        let bell = bell(&self.region, rank);
        match &self.pipes {
            None => {
                bell.ring(count);
            }
            Some(pipes) if bell.has_sleeper() => {
                pipes[rank as usize].iter().for_each(pipe::wake);
            }
            Some(_) => {}
        }
    }

    /// Tells all ranks that another is lost, unless it has left; whether that was so.
    pub fn lose_other(&self, rank: Rank) -> bool {
        let is_recorded = Self::lose(&self.region, self.layout, rank);
        if is_recorded {
            for other in 0..self.layout.ranks {
                self.ring(other, i32::MAX);
            }
        }
        is_recorded
    }

    /// Whether there is something to take.
    pub fn has_news(&self) -> bool {
        self.has_frames(&lock(&self.reading))
    }

    fn has_frames(&self, reading: &Reading) -> bool {
        self.word(self.layout.losses()).load(Ordering::Relaxed) != reading.losses
            || self.word(self.layout.opened(self.rank)).load(Ordering::Relaxed) != reading.opened
            || reading.readers.iter().any(|(_, reader)| reader.has_frame())
    }

    /// The way to a rank. Memory of a ring is touched from its first use on, by both sides: most
    /// pairs of many ranks never talk.
    fn writer(&self, target: Rank) -> &Mutex<Writer> {
        self.writers[target as usize].get_or_init(|| {
            let offset = self.layout.ring_of(self.rank, target);
            let writer = Writer::new(Arc::clone(&self.region), offset, self.layout.ring);
            let opened = self.layout.opened(target);
            let (index, bit) = (self.rank / WORD_BITS, self.rank % WORD_BITS);
            let word = self.word(opened + OPENED + index as usize * size_of::<u32>());
            word.fetch_or(1 << bit, Ordering::Relaxed);
            // Its partner is the load in `poll`: who sees the count sees the bit.
            self.word(opened).fetch_add(1, Ordering::Release);
            Mutex::new(writer)
        })
    }

    /// Reads from now on also those rings that were opened since.
    fn find_opened(&self, reading: &mut Reading) {
        let bits = self.layout.opened(self.rank) + OPENED;
        for source in 0..self.layout.ranks {
            let index = (source / WORD_BITS) as usize;
            let word = self.word(bits + index * size_of::<u32>()).load(Ordering::Relaxed);
            let Err(position) = reading.readers.binary_search_by_key(&source, |(rank, _)| *rank)
            else {
                continue;
            };
            if word & (1 << (source % WORD_BITS)) != 0 {
                let offset = self.layout.ring_of(source, self.rank);
                let reader = Reader::new(Arc::clone(&self.region), offset, self.layout.ring);
                reading.readers.insert(position, (source, reader));
            }
        }
    }

    fn push(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        let encoded = frame::encode(message);
        let mut writer = lock(self.writer(target));
        encoded.with_parts(message, |parts| {
            let len = total(parts);
            if writer.push(parts) || (!writer.wait_for_room(len) && writer.push(parts)) {
                return Ok(());
            }
            if len > writer.longest() {
                return Err(TransportError::TooLarge { nbytes: len, limit: writer.longest() });
            }
            Err(TransportError::Full)
        })
    }
}

impl Transport for Node {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.layout.ranks
    }

    fn send(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        if self.word(Layout::cell(target) + STATE).load(Ordering::Relaxed) == LOST {
            return Err(TransportError::Lost(self.names[target as usize]));
        }
        if let Outgoing::Placed { block, .. } = message {
            block.hold();
            self.push(target, message).inspect_err(|_| block.unhold())?;
        } else {
            self.push(target, message)?;
        }
        self.ring(target, 1);
        Ok(())
    }

    fn longest(&self, _target: Rank) -> usize {
        // With what a frame has besides.
        self.layout.ring / 4
    }

    fn place(&self, parts: &[&[u8]]) -> Result<Option<Arc<Block>>, TransportError> {
        if total(parts) <= self.layout.ring / 16 {
            return Ok(None);
        }
        lock(&self.arena).place(parts).map(|block| Some(Arc::new(block)))
    }

    fn poll(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError> {
        let mut reading = lock(&self.reading);
        // Its partner is the store in `lose`. Read before the rings: what a rank sent before it
        // was lost is in them.
        let losses = self.word(self.layout.losses()).load(Ordering::Acquire);
        let opened = self.word(self.layout.opened(self.rank)).load(Ordering::Acquire);
        if opened != reading.opened {
            self.find_opened(&mut reading);
            reading.opened = opened;
        }
        let mut count = 0;
        for (source, reader) in &mut reading.readers {
            let (source, mut read) = (*source, 0);
            let name = self.names[source as usize];
            let arena = || Some(place(&self.region, self.layout, source));
            while read < TURN
                && let Some(incoming) = reader.pop(|frame| frame::decode(name, frame, arena))
            {
                take(name, incoming?);
                read += 1;
            }
            if read > 0 && reader.release() {
                self.ring(source, i32::MAX);
            }
            count += read;
        }
        if losses != reading.losses && count == 0 {
            reading.losses = losses;
            for rank in 0..self.layout.ranks {
                let state = self.word(Layout::cell(rank) + STATE).load(Ordering::Relaxed);
                let is_known = &mut reading.lost[rank as usize];
                if state == LOST && rank != self.rank && !std::mem::replace(is_known, true) {
                    take(self.names[rank as usize], Incoming::Lost);
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>) {
        let is_idle = || !self.has_news() && is_idle();
        self.own_bell().sleep(&is_idle, timeout);
    }

    fn wake(&self) {
        self.ring(self.rank, i32::MAX);
    }

    fn give_up(&self) {
        let state = self.word(Layout::cell(self.rank) + STATE);
        let _ = state.compare_exchange(ALIVE, GIVEN_UP, Ordering::AcqRel, Ordering::Relaxed);
    }

    fn leave(&self) {
        let state = self.word(Layout::cell(self.rank) + STATE);
        // Who is told to be lost stays so: the others have been told.
        let _ = state.compare_exchange(ALIVE, LEFT, Ordering::AcqRel, Ordering::Relaxed);
        let _ = state.compare_exchange(GIVEN_UP, LEFT, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Where the arena of a rank lies.
fn place(region: &Arc<Region>, layout: Layout, rank: Rank) -> ArenaMemory {
    ArenaMemory {
        region: Arc::clone(region),
        offset: layout.arena_of(rank),
        len: layout.arena,
        freed: Layout::cell(rank) + FREED,
    }
}

fn word(region: &Region, at: usize) -> &AtomicU32 {
    region.word(at)
}

#[allow(clippy::cast_ptr_alignment)] // cells are aligned to 256 bytes
fn bell(region: &Region, rank: Rank) -> &Bell {
    let at = region.at(Layout::cell(rank), size_of::<Bell>());
    // SAFETY: in the region, aligned, zeros at first, and only ever used as a bell.
    unsafe { &*at.cast::<Bell>() }
}
