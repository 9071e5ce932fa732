//! The processes of a communicator: the ranks of a run, and its clients.

use super::library::Library;
use super::watch::{ProcessId, Watch};
use crate::event::Rank;
use crate::limits;
use crate::sync::lock;
use crate::transport::TransportError;
use freestone_mpi::Handle;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// MPI counts bytes in ints, all ranks' together.
const ROUND: usize = 1 << 30;
/// How long ranks wait for each other at the beginning of a run, unless the program says.
pub const MEET_TIMEOUT: Duration = Duration::from_secs(300);
/// What processes of one run have to agree on: how frames and what runtimes tell each other look.
const PROTOCOL: u32 = 5;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Communicators are made one at a time.
static MAKING: Mutex<()> = Mutex::new(());

/// What a process is to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It has tasks, and threads that run them.
    Rank,
    /// It fires at ranks and receives from them, in its own thread.
    Client,
}

/// The processes of a communicator, for one run.
#[derive(Debug)]
pub struct World {
    pub(super) library: Library,
    /// Of all processes.
    pub(super) comm: Handle,
    /// Of those that are what this one is; the same as `comm`, if all are ranks.
    peers: Handle,
    /// The number of this process.
    process: u32,
    /// Its number as a rank, or after those of all ranks.
    number: Rank,
    ranks: u32,
    /// The processes of all ranks, then of all clients.
    processes: Vec<u32>,
    watch: Mutex<Watch>,
    /// Whether a process has ended: nothing that all have to do together ends then.
    has_loss: AtomicBool,
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
    /// processes of `comm`, or of all that `mpiexec` started, have to call it, each with its role.
    ///
    /// # Errors
    ///
    /// If there is no library, MPI does not let several threads call it, the processes have
    /// different versions, or not all have called it by `timeout`.
    pub fn begin(
        folders: &[PathBuf],
        comm: Option<Handle>,
        timeout: Duration,
        role: Role,
    ) -> Result<Self, TransportError> {
        limits::renew()?;
        let _making = lock(&MAKING);
        let library = Library::find(folders)?;
        let begun = library.begin(role)?;
        let comm = comm.unwrap_or(library.dialect.world);
        library.check_communicator(comm)?;
        if !library.meet(comm, timeout)? {
            return Err(TransportError::NotAll { timeout });
        }
        let comm = library.duplicate(comm)?;
        let (process, _) = library.place(comm)?;
        let cards = library.exchange(comm, &card(role, &ProcessId::own()), ROUND, &|| Ok(()))?;
        agree(&cards)?;
        let Roles { processes, ranks, ids } = Roles::of(&cards)?;
        let number = processes.iter().position(|&one| one == process).unwrap_or_default() as Rank;
        let peers = if processes.len() == ranks as usize {
            comm
        } else {
            library.split(comm, i32::from(role == Role::Client))?
        };
        let (watch, has_loss) = (Mutex::new(Watch::new(&ids, number)), AtomicBool::new(false));
        Ok(Self { library, comm, peers, process, number, ranks, processes, watch, has_loss, begun })
    }

    /// Which rank this is.
    pub fn rank(&self) -> Rank {
        self.number
    }

    /// How many there are.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The MPI that it is of.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The number of this process.
    pub(super) fn process(&self) -> u32 {
        self.process
    }

    /// The processes of all ranks, then of all clients.
    pub(super) fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// Whether all processes are on one machine, so that each sees who of the others ends.
    pub(super) fn sees_all(&self) -> bool {
        lock(&self.watch).sees_all()
    }

    /// Which ranks and clients have ended since this was asked last.
    /// It waits for one for at most `timeout`.
    pub(super) fn ended(&self, timeout: Duration) -> Vec<Rank> {
        lock(&self.watch).ended(timeout)
    }

    /// A rank is lost.
    pub(super) fn note_loss(&self) {
        self.has_loss.store(true, Ordering::Release);
    }

    /// Which ranks and clients of this machine, from this number on, have been stopped for too long, of which
    /// nobody heard before.
    pub(super) fn stopped(&self, first: Rank) -> Vec<Rank> {
        lock(&self.watch).stopped(first)
    }

    /// Whether a rank was lost: MPI can't be ended then, as that waits for all.
    pub fn has_loss(&self) -> bool {
        self.has_loss.load(Ordering::Acquire)
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
        let lost_at = Cell::new(None);
        self.library.exchange(self.peers, own, round, &|| {
            let Some(rank) = lock(&self.watch).gone_below(self.ranks) else { return Ok(()) };
            let since = lost_at.get().unwrap_or_else(Instant::now);
            lost_at.set(Some(since));
            // What it gave may still come: it may have ended in order.
            if since.elapsed() < limits::get().failure_wait {
                return Ok(());
            }
            self.note_loss();
            Err(TransportError::Lost(rank))
        })
    }

    /// Ends MPI, if it was begun here. All processes have to call it, once their ranks are done.
    pub fn end(&self) {
        if self.begun && !self.has_loss() {
            self.library.end();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _making = lock(&MAKING);
        // Where only one thread may call MPI, another one leaves them to the end of MPI.
        if !self.begun && !self.has_loss() && super::gate::may_call() {
            if self.peers != self.comm {
                self.library.free(self.peers);
            }
            self.library.free(self.comm);
        }
    }
}

/// What a process says of itself before all else: protocol, role, process number, version and machine.
fn card(role: Role, id: &ProcessId) -> Vec<u8> {
    let mut card = PROTOCOL.to_le_bytes().to_vec();
    card.push(u8::from(role == Role::Client));
    card.extend_from_slice(&id.pid.to_le_bytes());
    let texts = format!("{VERSION}\n{}\n{}", id.host, limits::get().shared());
    card.extend_from_slice(texts.as_bytes());
    card
}

/// Looks whether all processes have the same settings, of those that they share, as the first one.
fn agree(cards: &[Vec<u8>]) -> Result<(), TransportError> {
    let settings = |card: &Vec<u8>| {
        String::from_utf8_lossy(card).rsplit_once('\n').unwrap_or_default().1.to_owned()
    };
    let mut cards = (0..).zip(cards.iter().map(settings));
    let Some((_, expected)) = cards.next() else { return Ok(()) };
    for (rank, own) in cards {
        // Another version, with which nothing is shared, has an error of its own.
        if let Some((setting, expected, value)) = limits::disagreement(&expected, &own)
            && value != "unknown"
        {
            let (setting, value) = (setting.to_owned(), value.to_owned());
            let expected = expected.to_owned();
            return Err(TransportError::Disagreement { rank, setting, value, expected });
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Roles {
    /// Those of ranks, then those of clients.
    processes: Vec<u32>,
    ranks: u32,
    /// In the same order.
    ids: Vec<ProcessId>,
}

impl Roles {
    fn of(cards: &[Vec<u8>]) -> Result<Self, TransportError> {
        let (mut ranks, mut clients) = (Vec::new(), Vec::new());
        for (process, card) in (0..).zip(cards) {
            let (protocol, rest) = card.split_first_chunk().unwrap_or((&[0; 4], &[]));
            let (role, rest) = rest.split_first().unwrap_or((&0, &[]));
            let (pid, texts) = rest.split_first_chunk().unwrap_or((&[0; 4], &[]));
            let texts = String::from_utf8_lossy(texts);
            let (version, rest) = texts.split_once('\n').unwrap_or_default();
            let (host, _) = rest.split_once('\n').unwrap_or((rest, ""));
            if u32::from_le_bytes(*protocol) != PROTOCOL {
                let (version, own) = (version.to_owned(), VERSION.to_owned());
                return Err(TransportError::OtherVersion { process, version, own });
            }
            let id = ProcessId { pid: u32::from_le_bytes(*pid), host: host.to_owned() };
            (if *role == 0 { &mut ranks } else { &mut clients }).push((process, id));
        }
        if ranks.is_empty() {
            return Err(TransportError::NoRanks { processes: cards.len() });
        }
        let count = ranks.len() as u32;
        ranks.append(&mut clients);
        let (processes, ids) = ranks.into_iter().unzip();
        Ok(Self { processes, ranks: count, ids })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_card(role: Role) -> Vec<u8> {
        card(role, &ProcessId::own())
    }

    #[test]
    fn ranks_come_before_clients() {
        let cards = [Role::Client, Role::Rank, Role::Client, Role::Rank].map(own_card);
        let roles = Roles::of(&cards).unwrap();
        assert_eq!((&roles.processes[..], roles.ranks), (&[1, 3, 0, 2][..], 2));
        assert_eq!(roles.ids, vec![ProcessId::own(); 4]);
    }

    #[test]
    fn processes_with_other_settings_are_refused() {
        let cards = [Role::Rank, Role::Client].map(own_card);
        agree(&cards).unwrap();
        let text = String::from_utf8_lossy(&cards[1]).replace("_WINDOW=4MiB", "_WINDOW=1MiB");
        let other = text.into_bytes();
        let error = agree(&[cards[0].clone(), other]).unwrap_err().to_string();
        let start =
            "rank 1 has FREESTONE_EVENTS_WINDOW=1MiB, and rank 0 FREESTONE_EVENTS_WINDOW=4MiB";
        assert!(error.starts_with(start), "{error}");
    }

    #[test]
    fn processes_of_another_version_are_refused_and_so_are_clients_alone() {
        let mut other = own_card(Role::Rank);
        other[0] += 1;
        let error = Roles::of(&[own_card(Role::Rank), other]).unwrap_err();
        assert!(error.to_string().starts_with("process 1 has version "), "{error}");
        let error = Roles::of(&[own_card(Role::Client)]).unwrap_err();
        assert!(error.to_string().contains("no rank"), "{error}");
        assert!(Roles::of(&[vec![]]).is_err());
    }
}
