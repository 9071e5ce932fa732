//! Ranks that are processes of `mpiexec`: events as messages of MPI.
//!
//! Frames for one rank travel together if they follow each other closely. The receiver has some
//! receives posted at any time; the bytes that it has taken it gives back to the sender as credit,
//! so that no more than a window of them is ever on its way, whatever MPI can buffer.

pub mod gate;
mod lane;
mod library;
mod receiving;
mod signs;
mod stopped;
mod watch;
mod world;

pub use freestone_mpi::Handle;
pub use library::Library;
pub use world::{MEET_TIMEOUT, Role, World};

use super::late::{Flush, Late};
use super::sleep::Bell;
use super::{Incoming, Life, Outgoing, Transport, TransportError, batch, frame};
use crate::event::Rank;
use crate::limits;
use crate::sync::lock;
use lane::Lane;
use receiving::{Behind, Receiving};
use signs::Signs;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most bytes of a payload in a message with others; longer ones go apart, and MPI moves them from
/// where they were copied to where they are consumed.
const LONGEST: usize = 64 << 10;
/// The most bytes in one message: what a frame has besides is far less than the rest.
const BUFFER: usize = LONGEST + (8 << 10);
/// Bytes on their way from one rank to another.
fn window() -> u64 {
    limits::get().window.0 as u64
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
    /// None, where one thread does all.
    late: Option<Arc<Late>>,
}

#[derive(Debug)]
struct Shared {
    world: Arc<World>,
    rank: Rank,
    /// How many ranks the run has; those after them are clients.
    ranks: u32,
    lanes: Vec<Mutex<Lane>>,
    /// Lanes in which something waits.
    waiting: AtomicU32,
    /// Bytes that each rank has taken of those sent to it.
    credited: Vec<AtomicU64>,
    /// Messages that have come from each rank.
    heard: Vec<AtomicU64>,
    receiving: Mutex<Receiving>,
    /// Where each rank is.
    endpoints: Vec<Endpoint>,
    signs: Mutex<Signs>,
    bell: Bell,
    /// In nanoseconds; grows while nothing comes.
    nap: AtomicU64,
    has_left: AtomicBool,
    /// When it was last looked who has ended.
    looked: Mutex<Instant>,
    /// Who has ended and is to be reported as lost.
    ended: Mutex<Vec<Rank>>,
    /// To whom nothing goes any more: who is lost, and clients that have detached.
    gone: Vec<AtomicBool>,
    /// Whether a payload may be on its way that goes apart: MPI moves it only while it is called.
    sends_apart: AtomicBool,
}

impl Mpi {
    /// This process's rank.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn new(world: Arc<World>) -> Result<Self, TransportError> {
        let endpoint = |&process| Endpoint { process, tag: 0 };
        let endpoints = world.processes().iter().map(endpoint).collect();
        let (rank, ranks) = (world.rank(), world.ranks());
        Self::at_endpoint(world, (rank, ranks), endpoints)
    }

    /// Several ranks in this process, each of which sends to it: for tests, and where one process
    /// is all there is.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn threads(world: &Arc<World>, ranks: u32) -> Result<Vec<Self>, TransportError> {
        let endpoint = |tag: u32| Endpoint { process: world.process(), tag: tag.cast_signed() };
        let endpoints: Vec<_> = (0..ranks).map(endpoint).collect();
        (0..ranks)
            .map(|rank| Self::at_endpoint(Arc::clone(world), (rank, ranks), endpoints.clone()))
            .collect()
    }

    fn begin_send(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        let shared = &self.shared;
        if shared.has_left.load(Ordering::Acquire) {
            return Err(TransportError::Lost(target));
        }
        if shared.gone[target as usize].load(Ordering::Acquire) {
            return Err(TransportError::Lost(target));
        }
        if let Outgoing::Event { parts, .. } = message
            && super::total(parts) > LONGEST
        {
            return shared.send_apart(target, message);
        }
        // What runtimes tell each other is little, and has to come through.
        let credited = match message {
            Outgoing::Control(_) => None,
            _ => Some(shared.credited[target as usize].load(Ordering::Acquire)),
        };
        let mut lane = lock(&shared.lanes[target as usize]);
        let put = |parts: &[&[u8]]| shared.put(target, &mut lane, parts, credited);
        let is_waiting = frame::encode(message).with_parts(message, put)?;
        match &self.late {
            Some(thread) if is_waiting => thread.note(),
            Some(_) => {}
            None if gate::may_call() => shared.ship(&mut lane)?,
            None => {
                shared.bell.ring(i32::MAX);
            }
        }
        Ok(())
    }

    fn at_endpoint(
        world: Arc<World>,
        (rank, ranks): (Rank, u32),
        endpoints: Vec<Endpoint>,
    ) -> Result<Self, TransportError> {
        let tag = endpoints[rank as usize].tag;
        // MPI takes longer to match a receive from any process.
        let source = (endpoints.len() == 2).then(|| endpoints[1 - rank as usize].process);
        let mut receiving = Receiving::new(tag, source, endpoints.len());
        receiving.post(&world)?;
        // One thread sends at once: it may not come back for long.
        let count = endpoints.len();
        let is_alone = gate::is_funneled() || rank >= ranks;
        let shared = Arc::new(Shared {
            rank,
            ranks,
            credited: endpoints.iter().map(|_| AtomicU64::new(0)).collect(),
            heard: endpoints.iter().map(|_| AtomicU64::new(0)).collect(),
            lanes: endpoints
                .iter()
                .map(|&endpoint| Mutex::new(Lane::new(rank, endpoint)))
                .collect(),
            waiting: AtomicU32::new(0),
            receiving: Mutex::new(receiving),
            signs: Mutex::new(Signs::new(rank, tag, count)),
            endpoints,
            bell: Bell::default(),
            nap: AtomicU64::new(0),
            has_left: AtomicBool::new(false),
            looked: Mutex::new(Instant::now()),
            ended: Mutex::default(),
            sends_apart: AtomicBool::new(false),
            gone: (0..count).map(|_| AtomicBool::new(false)).collect(),
            world,
        });
        if is_alone {
            return Ok(Self { shared, late: None });
        }
        let late = Arc::new(Late::default());
        late.start(Arc::downgrade(&shared)).map_err(no_thread)?;
        Ok(Self { shared, late: Some(late) })
    }
}

fn no_thread(source: std::io::Error) -> TransportError {
    TransportError::Io { what: "a thread can't be started".to_owned(), source }
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
        if credited.is_some_and(|credited| lane.on_way(len) > credited + window()) {
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

    /// Sends an event whose payload goes apart.
    fn send_apart(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        let Outgoing::Event { id, lasting, kind, parts } = *message else { return Ok(()) };
        let nbytes = super::total(parts);
        let credited = self.credited[target as usize].load(Ordering::Acquire);
        let mut lane = lock(&self.lanes[target as usize]);
        if !lane.has_room_apart(nbytes, credited) {
            self.ship(&mut lane)?;
            return Err(TransportError::Full);
        }
        let mut payload = Vec::new();
        if let Err(error) = payload.try_reserve_exact(nbytes) {
            let what = format!("there is no memory to send the event '{id}' of {nbytes} bytes");
            return Err(TransportError::Io { what, source: std::io::Error::other(error) });
        }
        for part in parts {
            payload.extend_from_slice(part);
        }
        let head = Outgoing::Apart { id, lasting, kind, total: nbytes as u64 };
        let put = |parts: &[&[u8]]| self.put(target, &mut lane, parts, None);
        frame::encode(&head).with_parts(&head, put)?;
        if lane.put_apart(payload) {
            self.waiting.fetch_add(1, Ordering::AcqRel);
        }
        self.sends_apart.store(true, Ordering::Release);
        self.ship(&mut lane)?;
        drop(lane);
        if !gate::may_call() {
            self.bell.ring(i32::MAX);
        }
        Ok(())
    }

    /// Whether payloads are on their way that go apart.
    fn moves_apart(&self) -> Result<bool, TransportError> {
        if !self.sends_apart.swap(false, Ordering::AcqRel) {
            return Ok(false);
        }
        let mut any = false;
        for (lane, gone) in self.lanes.iter().zip(&self.gone) {
            any |= !gone.load(Ordering::Acquire) && lock(lane).is_apart(&self.world)?;
        }
        if any {
            self.sends_apart.store(true, Ordering::Release);
        }
        Ok(any)
    }

    /// Gives back what was taken of whom much was.
    fn give_credits(&self, receiving: &mut Receiving) -> Result<(), TransportError> {
        for (source, taken) in (0..).zip(&mut receiving.taken) {
            if *taken > window() / 4 {
                self.give_credit(source, std::mem::take(taken))?;
            }
        }
        Ok(())
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

    /// Looks from time to time who has ended.
    fn look(&self) {
        let mut looked = lock(&self.looked);
        if looked.elapsed() < limits::get().look_interval {
            return;
        }
        *looked = Instant::now();
        self.look_for(Duration::ZERO);
    }

    /// Looks who has ended, for at most so long until somebody has.
    fn look_for(&self, timeout: Duration) {
        let mut ended = lock(&self.ended);
        ended.extend(self.world.ended(timeout));
        // Ranks give signs of life where any thread may call MPI, clients never do.
        let first = if gate::is_free() { self.ranks } else { 0 };
        for rank in self.world.stopped(first) {
            let (why, what) =
                (super::pulse::WHY, if rank < self.ranks { "rank" } else { "bridge" });
            crate::say(&format!(
                "freestone events: {what} {rank} is taken for lost by rank {}: {why}",
                self.rank
            ));
            ended.push(rank);
        }
    }

    /// Whether a process has ended, to which MPI could not send.
    fn has_ended(&self, rank: Rank) -> bool {
        // MPI can fail to read the memory of a process before that has ended.
        self.look_for(limits::get().failure_wait);
        lock(&self.ended).contains(&rank)
    }

    /// Takes in what has come; how many events and other things that is.
    fn take_message(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError> {
        let mut receiving = lock(&self.receiving);
        if self.has_left.load(Ordering::Acquire) || !gate::may_call() {
            return Ok(0);
        }
        self.flush_all()?;
        self.moves_apart()?;
        if !receiving.delayed.is_empty() {
            let count = receiving.hand_over(&self.world.library, take)?;
            if count > 0 {
                self.give_credits(&mut receiving)?;
                self.nap.store(0, Ordering::Relaxed);
                return Ok(count);
            }
        }
        // One message a turn: to look for another takes as long as many a task.
        let Some(message) = receiving.next(&self.world.library)? else {
            receiving.post(&self.world)?;
            return Ok(self.report_lost(&mut receiving, take));
        };
        let (source, nbytes, count) = self.open(&mut receiving, &message, take)?;
        receiving.empty.push(message);
        if receiving.empty.len() > limits::get().posted / 2 {
            receiving.post(&self.world)?;
        }
        let taken = &mut receiving.taken[source as usize];
        *taken += nbytes;
        if *taken > window() / 4 {
            self.give_credit(source, std::mem::take(taken))?;
        }
        self.nap.store(0, Ordering::Relaxed);
        Ok(count)
    }

    /// Hands over who has ended; how many. What they sent before has been handed over.
    fn report_lost(
        &self,
        receiving: &mut Receiving,
        take: &mut dyn FnMut(Rank, Incoming),
    ) -> usize {
        let ended = std::mem::take(&mut *lock(&self.ended));
        for &rank in &ended {
            self.lose(rank);
            receiving.give_up(rank);
            take(rank, Incoming::Lost);
        }
        ended.len()
    }

    fn lose(&self, rank: Rank) {
        self.world.note_loss();
        self.gone[rank as usize].store(true, Ordering::Release);
    }

    /// Hands over the frames of a message; how many.
    fn open(
        &self,
        receiving: &mut Receiving,
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
                Incoming::Apart(event, total) => {
                    let process = lock(&self.lanes[source as usize]).process();
                    receiving.receive_apart(&self.world, process, event, total)?;
                }
                incoming if receiving.behind[source as usize].is_empty() => take(source, incoming),
                incoming => {
                    receiving.behind[source as usize].push_back(Behind::Other(incoming));
                }
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
        self.shared.ranks
    }

    fn clients(&self) -> u32 {
        self.shared.lanes.len() as u32 - self.shared.ranks
    }

    fn shows_life(&self) -> bool {
        gate::is_free()
    }

    fn show_life(&self, target: Rank) {
        let shared = &self.shared;
        let mut signs = lock(&shared.signs);
        if !shared.has_left.load(Ordering::Acquire) {
            // What is wrong is found again, and told, by who sends or polls next.
            let _ = signs.show(&shared.world, target, shared.endpoints[target as usize]);
        }
    }

    fn life(&self, source: Rank) -> Option<Life> {
        let shared = &self.shared;
        let mut signs = lock(&shared.signs);
        if shared.has_left.load(Ordering::Acquire) {
            return None;
        }
        signs.life(&shared.world, source).ok().flatten()
    }

    fn lose(&self, rank: Rank) {
        self.shared.lose(rank);
    }

    fn release(&self, client: Rank) {
        self.shared.gone[client as usize].store(true, Ordering::Release);
    }

    fn is_informed_of_losses(&self, _other: Rank) -> bool {
        !self.shared.world.sees_all()
    }

    fn may_poll(&self) -> bool {
        gate::may_call()
    }

    fn send(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        self.begin_send(target, message).map_err(|error| match error {
            TransportError::Io { .. } if self.shared.has_ended(target) => {
                TransportError::Lost(target)
            }
            error => error,
        })
    }

    fn longest(&self, _target: Rank) -> usize {
        isize::MAX as usize
    }

    fn poll(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError> {
        let shared = &self.shared;
        shared.take_message(take).or_else(|error| {
            shared.look_for(limits::get().failure_wait);
            let count = shared.report_lost(&mut lock(&shared.receiving), take);
            if count > 0 { Ok(count) } else { Err(error) }
        })
    }

    fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>) {
        let shared = &self.shared;
        shared.look();
        if !lock(&shared.ended).is_empty() {
            return;
        }
        let moves = !lock(&shared.receiving).delayed.is_empty();
        if moves || shared.sends_apart.load(Ordering::Acquire) {
            std::thread::yield_now();
            return;
        }
        let nap = Duration::from_nanos(shared.nap.load(Ordering::Relaxed));
        // MPI wakes nobody.
        let nap = (nap * 2).max(limits::get().nap_min).min(limits::get().nap_max);
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
        if let Some(late) = &self.late {
            late.stop();
        }
        let shared = &self.shared;
        let _ = shared.flush_all();
        let end = Instant::now() + limits::get().close_timeout;
        for (lane, gone) in shared.lanes.iter().zip(&shared.gone) {
            // What is for a lost rank never goes.
            let end = if gone.load(Ordering::Acquire) { Instant::now() } else { end };
            lock(lane).finish(&shared.world, end);
        }
        let mut receiving = lock(&shared.receiving);
        for behind in receiving.behind.iter_mut().flat_map(|behind| behind.drain(..)) {
            // MPI may write there until the end of the process.
            std::mem::forget(behind);
        }
        let mut signs = lock(&shared.signs);
        if !shared.has_left.swap(true, Ordering::AcqRel) {
            signs.finish(&shared.world, end);
            for (mut request, buffer) in receiving.posted.drain(..) {
                if shared.world.has_loss() {
                    // MPI may wait for the lost rank: it keeps the buffer.
                    std::mem::forget(buffer);
                } else {
                    shared.world.library.cancel(&mut request);
                }
            }
        }
    }
}
