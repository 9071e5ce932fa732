//! Ranks that are processes of `mpiexec`: events as messages of MPI.
//!
//! Frames for one rank travel together if they follow each other closely. The receiver has some
//! receives posted at any time; the bytes that it has taken it gives back to the sender as credit,
//! so that no more than a window of them is ever on its way, whatever MPI can buffer.

pub mod gate;
mod lane;
mod library;

pub use library::{Handle, Library};

use super::late::{Flush, Late};
use super::sleep::Bell;
use super::{Incoming, Outgoing, Transport, TransportError, batch, frame};
use crate::event::Rank;
use crate::sync::lock;
use lane::Lane;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most bytes of a payload in one message.
const LONGEST: usize = 64 << 10;
/// The most bytes in one message: what a frame has besides is far less than the rest.
const BUFFER: usize = LONGEST + (8 << 10);
/// Bytes on their way from one rank to another.
const WINDOW: u64 = 4 << 20;
/// How many receives are posted at any time.
const POSTED: usize = 16;
/// So many receives may be missing before they are posted while there is something else to do.
const MISSING: usize = POSTED / 2;
/// How long who has nothing to do sleeps before it looks again: MPI wakes nobody.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];
/// How long the end waits for what has been sent.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// MPI counts bytes in ints, all ranks' together.
const ROUND: usize = 1 << 30;
/// How long ranks wait for each other at the beginning of a run, unless the program says.
pub const MEET_TIMEOUT: Duration = Duration::from_secs(300);

/// Communicators are made one at a time.
static MAKING: Mutex<()> = Mutex::new(());

/// The ranks that `mpiexec` started, for one run.
#[derive(Debug)]
pub struct World {
    library: Library,
    comm: Handle,
    rank: Rank,
    ranks: u32,
    /// Whether MPI is to be finalised here.
    begun: bool,
}

impl World {
    /// Whether `mpiexec` started this process, or it has loaded MPI and is one of several ranks.
    pub fn is_here() -> bool {
        const VARIABLES: [&str; 4] =
            ["PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"];
        VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
    }

    /// Loads MPI, or takes the one that the program has, and begins it if the program has not. All
    /// ranks of `comm`, or of all that `mpiexec` started, have to call it.
    ///
    /// # Errors
    ///
    /// If there is no library, MPI does not let several threads call it, or not all ranks have
    /// called it by `timeout`.
    pub fn begin(
        folders: &[PathBuf],
        comm: Option<Handle>,
        timeout: Duration,
    ) -> Result<Self, TransportError> {
        let _making = lock(&MAKING);
        let library = Library::find(folders)?;
        let begun = library.begin()?;
        let comm = comm.unwrap_or(library.dialect.world);
        if !library.meet(comm, timeout)? {
            return Err(TransportError::NotAll { timeout });
        }
        let comm = library.duplicate(comm)?;
        let (rank, ranks) = library.place(comm)?;
        Ok(Self { library, comm, rank, ranks, begun })
    }

    /// Which rank this is.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// How many there are.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// What every rank gives, for every rank. All have to call it, once their ranks are done.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn exchange(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, TransportError> {
        self.exchange_in_rounds(own, ROUND)
    }

    /// The same, in rounds of so many bytes, the same on all ranks.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn exchange_in_rounds(
        &self,
        own: &[u8],
        round: usize,
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        self.library.exchange(self.comm, own, round)
    }

    /// Ends MPI, if it was begun here. All ranks have to call it, once their ranks are done.
    pub fn end(&self) {
        if self.begun {
            self.library.end();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _making = lock(&MAKING);
        if !self.begun {
            self.library.free(self.comm);
        }
    }
}

/// Where a rank is: a process, and the tag of messages to it.
#[derive(Clone, Copy, Debug)]
struct Endpoint {
    process: u32,
    tag: i32,
}

/// One rank's part in a world.
#[derive(Debug)]
pub struct Mpi {
    shared: Arc<Shared>,
    late: Arc<Late>,
}

#[derive(Debug)]
struct Shared {
    world: Arc<World>,
    rank: Rank,
    lanes: Vec<Mutex<Lane>>,
    /// Lanes in which something waits.
    waiting: AtomicU32,
    /// Bytes that each rank has taken of those sent to it.
    credited: Vec<AtomicU64>,
    /// Messages that have come from each rank.
    heard: Vec<AtomicU64>,
    receiving: Mutex<Receiving>,
    bell: Bell,
    /// In nanoseconds; grows while nothing comes.
    nap: AtomicU64,
    has_left: AtomicBool,
}

#[derive(Debug)]
struct Receiving {
    posted: VecDeque<(Handle, Box<[u8]>)>,
    /// Buffers that are to be posted again.
    empty: Vec<Box<[u8]>>,
    tag: i32,
    /// The process that messages come from; any, if none.
    source: Option<u32>,
    /// Bytes taken and not yet given back, by source.
    taken: Vec<u64>,
}

impl Mpi {
    /// This process's rank.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn new(world: Arc<World>) -> Result<Self, TransportError> {
        let endpoint = |process| Endpoint { process, tag: 0 };
        let endpoints = (0..world.ranks).map(endpoint).collect();
        let rank = world.rank;
        Self::at_endpoint(world, rank, endpoints)
    }

    /// Several ranks in this process, each of which sends to it: for tests, and where one process
    /// is all there is.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn threads(world: &Arc<World>, ranks: u32) -> Result<Vec<Self>, TransportError> {
        let endpoint = |tag: u32| Endpoint { process: world.rank, tag: tag.cast_signed() };
        let endpoints: Vec<_> = (0..ranks).map(endpoint).collect();
        (0..ranks)
            .map(|rank| Self::at_endpoint(Arc::clone(world), rank, endpoints.clone()))
            .collect()
    }

    fn at_endpoint(
        world: Arc<World>,
        rank: Rank,
        endpoints: Vec<Endpoint>,
    ) -> Result<Self, TransportError> {
        let tag = endpoints[rank as usize].tag;
        // MPI takes longer to match a receive from any process.
        let source = (endpoints.len() == 2).then(|| endpoints[1 - rank as usize].process);
        let mut receiving = Receiving {
            posted: VecDeque::new(),
            empty: (0..POSTED).map(|_| vec![0; BUFFER].into()).collect(),
            tag,
            source,
            taken: vec![0; endpoints.len()],
        };
        receiving.post(&world)?;
        let shared = Arc::new(Shared {
            rank,
            credited: endpoints.iter().map(|_| AtomicU64::new(0)).collect(),
            heard: endpoints.iter().map(|_| AtomicU64::new(0)).collect(),
            lanes: endpoints
                .into_iter()
                .map(|endpoint| Mutex::new(Lane::new(rank, endpoint)))
                .collect(),
            waiting: AtomicU32::new(0),
            receiving: Mutex::new(receiving),
            bell: Bell::default(),
            nap: AtomicU64::new(0),
            has_left: AtomicBool::new(false),
            world,
        });
        let late = Arc::new(Late::default());
        late.start(Arc::downgrade(&shared)).map_err(no_thread)?;
        Ok(Self { shared, late })
    }
}

fn no_thread(source: std::io::Error) -> TransportError {
    TransportError::Io { what: "a thread can't be started".to_owned(), source }
}

impl Receiving {
    /// Posts receives into all buffers that are empty.
    fn post(&mut self, world: &World) -> Result<(), TransportError> {
        while let Some(mut buffer) = self.empty.pop() {
            // SAFETY: the buffer is kept beside its request, and looked at when that is done.
            let request =
                unsafe { world.library.irecv(world.comm, self.source, self.tag, &mut buffer)? };
            self.posted.push_back((request, buffer));
        }
        Ok(())
    }

    /// The next message, if one has come: they come in the order of the receives.
    fn next(&mut self, library: &Library) -> Result<Option<Box<[u8]>>, TransportError> {
        let Some((request, _)) = self.posted.front_mut() else { return Ok(None) };
        let done = library.test(request)?;
        Ok(done.then(|| self.posted.pop_front()).flatten().map(|(_, buffer)| buffer))
    }
}

impl Shared {
    /// Sends what waits in a lane.
    fn ship(&self, lane: &mut Lane) -> Result<(), TransportError> {
        if lane.ship(&self.world)? {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
        }
        Ok(())
    }

    fn flush_all(&self) -> Result<(), TransportError> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        self.lanes.iter().try_for_each(|lane| self.ship(&mut lock(lane)))
    }

    /// Puts a frame into a lane; whether it waits there.
    fn put(
        &self,
        target: Rank,
        lane: &mut Lane,
        parts: &[&[u8]],
        credited: Option<u64>,
    ) -> Result<bool, TransportError> {
        let len = super::total(parts);
        if credited.is_some_and(|credited| lane.on_way(len) > credited + WINDOW) {
            self.ship(lane)?;
            return Err(TransportError::Full);
        }
        if !lane.fits(len) {
            self.ship(lane)?;
        }
        if lane.put(parts) {
            self.waiting.fetch_add(1, Ordering::AcqRel);
        }
        // Its partner is in `open`; who counts late has a message wait that need not.
        if lane.may_wait(self.heard[target as usize].load(Ordering::Relaxed)) {
            return Ok(true);
        }
        self.ship(lane)?;
        Ok(false)
    }

    /// Gives back to a sender what was taken.
    fn give_credit(&self, source: Rank, taken: u64) -> Result<(), TransportError> {
        let word = taken.to_le_bytes();
        let message = Outgoing::Credit(&word);
        let mut lane = lock(&self.lanes[source as usize]);
        let put = |parts: &[&[u8]]| self.put(source, &mut lane, parts, None);
        frame::encode(&message).with_parts(&message, put)?;
        self.ship(&mut lane)
    }

    /// Hands over the frames of a message; how many.
    fn open(
        &self,
        message: &[u8],
        take: &mut dyn FnMut(Rank, Incoming),
    ) -> Result<(Rank, u64, usize), TransportError> {
        let bad = |what| TransportError::BadFrame { len: message.len(), what };
        let (source, rest) = message.split_first_chunk::<4>().ok_or(bad("it has no head"))?;
        let (len, rest) = rest.split_first_chunk::<4>().ok_or(bad("it has no head"))?;
        let source = Rank::from_le_bytes(*source);
        let len = u32::from_le_bytes(*len) as usize;
        let frames = rest.get(..len).ok_or(bad("it is cut off"))?;
        let credited = self.credited.get(source as usize).ok_or(bad("it is from no rank"))?;
        // Its partner is in `put`.
        self.heard[source as usize].fetch_add(1, Ordering::Relaxed);
        let mut count = 0;
        batch::split(frames, BUFFER, |frame| {
            match frame::decode(source, frame, || None)? {
                // Its partner is the load in `send`.
                Incoming::Credit(taken) => {
                    credited.fetch_add(taken, Ordering::AcqRel);
                }
                incoming => take(source, incoming),
            }
            count += 1;
            Ok(())
        })?;
        Ok((source, len as u64, count))
    }
}

impl Flush for Shared {
    fn flush_late(&self) -> bool {
        let waited = self.waiting.load(Ordering::Acquire) > 0;
        // What is wrong is found again, and told, by who sends or polls next.
        let _ = self.flush_all();
        waited
    }
}

impl Transport for Mpi {
    fn rank(&self) -> Rank {
        self.shared.rank
    }

    fn ranks(&self) -> u32 {
        self.shared.lanes.len() as u32
    }

    fn send(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        let shared = &self.shared;
        if shared.has_left.load(Ordering::Acquire) {
            return Err(TransportError::Lost(target));
        }
        // What runtimes tell each other is little, and has to come through.
        let credited = match message {
            Outgoing::Control(_) => None,
            _ => Some(shared.credited[target as usize].load(Ordering::Acquire)),
        };
        let mut lane = lock(&shared.lanes[target as usize]);
        let put = |parts: &[&[u8]]| shared.put(target, &mut lane, parts, credited);
        let waits = frame::encode(message).with_parts(message, put)?;
        drop(lane);
        if waits {
            self.late.note();
        }
        Ok(())
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn poll(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError> {
        let shared = &self.shared;
        let mut receiving = lock(&shared.receiving);
        if shared.has_left.load(Ordering::Acquire) {
            return Ok(0);
        }
        shared.flush_all()?;
        // One message a turn: to look for another takes as long as many a task.
        let Some(message) = receiving.next(&shared.world.library)? else {
            receiving.post(&shared.world)?;
            return Ok(0);
        };
        let (source, nbytes, count) = shared.open(&message, take)?;
        receiving.empty.push(message);
        if receiving.empty.len() > MISSING {
            receiving.post(&shared.world)?;
        }
        let taken = &mut receiving.taken[source as usize];
        *taken += nbytes;
        if *taken > WINDOW / 4 {
            shared.give_credit(source, std::mem::take(taken))?;
        }
        shared.nap.store(0, Ordering::Relaxed);
        Ok(count)
    }

    fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>) {
        let shared = &self.shared;
        let nap = Duration::from_nanos(shared.nap.load(Ordering::Relaxed));
        let nap = (nap * 2).clamp(NAPS[0], NAPS[1]);
        shared.nap.store(nap.as_nanos() as u64, Ordering::Relaxed);
        shared.bell.sleep(is_idle, Some(timeout.map_or(nap, |timeout| timeout.min(nap))));
    }

    fn wake(&self) {
        self.shared.bell.ring(i32::MAX);
    }

    fn flush(&self) {
        // What is wrong is found again, and told, by who sends or polls next.
        let _ = self.shared.flush_all();
    }

    fn leave(&self) {
        self.late.stop();
        let shared = &self.shared;
        let _ = shared.flush_all();
        let end = Instant::now() + CLOSE_TIMEOUT;
        for lane in &shared.lanes {
            lock(lane).finish(&shared.world, end);
        }
        let mut receiving = lock(&shared.receiving);
        if !shared.has_left.swap(true, Ordering::AcqRel) {
            for (mut request, buffer) in receiving.posted.drain(..) {
                shared.world.library.cancel(&mut request);
                drop(buffer);
            }
        }
    }
}
