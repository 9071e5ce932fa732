//! Ranks as processes of this machine, or where somebody else has placed them.

use crate::options::Options;
use freestone_events::transport::mpi::{MEET_TIMEOUT, Mpi, Role, World};
use freestone_events::transport::tcp::Invitation;
use freestone_events::transport::{Layout, Node, Region, TransportError};
use freestone_events::{Config, EventsError, Rank};
use std::io;
use std::os::fd::AsRawFd;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

/// Large events of a rank that are on their way; more waits.
const ARENA: usize = 1 << 30;
/// How long ranks on several machines wait for each other.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Why ranks did not run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no memory for them to share.
    #[error(transparent)]
    Memory(#[from] TransportError),
    /// A process could not be started or waited for.
    #[error("a rank could not be started: {0}")]
    Process(#[from] io::Error),
}

/// Starts this program once for each rank, with the same options, and waits for all; whether they
/// ended well. Those that remain are told of one that dies.
///
/// # Errors
///
/// If there is no memory for them, or one cannot be started.
pub fn launch(options: &Options, words: &[String]) -> Result<bool, LaunchError> {
    let layout = Layout::new(options.ranks, ARENA);
    let (region, fd) = Region::create(layout.nbytes())?;
    let program = std::env::current_exe()?;
    let mut children = Vec::new();
    for rank in 0..options.ranks {
        let child = format!("{rank}:{}", fd.as_raw_fd());
        let started = Command::new(&program).args(words).args(["--child", &child]).spawn();
        match started {
            Ok(child) => children.push((rank, child)),
            Err(error) => {
                for (_, child) in &mut children {
                    child.kill()?;
                }
                return Err(error.into());
            }
        }
    }
    wait(children, |rank| {
        // Says no if the rank has left in good order.
        Node::lose(&region, layout, rank);
    })
}

fn wait(mut children: Vec<(u32, Child)>, lose: impl Fn(u32)) -> Result<bool, LaunchError> {
    let mut well = true;
    while !children.is_empty() {
        // Any of our children; who it was is found below, without taking its status away.
        // SAFETY: `info` is only written to.
        unsafe {
            let mut info = std::mem::zeroed::<libc::siginfo_t>();
            libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOWAIT);
        }
        let mut left = Vec::new();
        for (rank, mut child) in children {
            match child.try_wait()? {
                None => left.push((rank, child)),
                Some(status) => {
                    well &= status.success();
                    lose(rank);
                }
            }
        }
        children = left;
    }
    Ok(well)
}

/// The rank that this process is.
///
/// # Errors
///
/// If the memory or a thread is not there.
pub fn join(options: &Options, rank: u32, fd: i32) -> Result<Rank, EventsError> {
    let layout = Layout::new(options.ranks, ARENA);
    let region = Region::open(fd, layout.nbytes())?;
    Rank::start(Box::new(Node::new(&region, layout, rank)), config(options.ranks))
}

/// A rank that somebody else has started.
pub struct Placed {
    /// It.
    pub rank: Rank,
    world: Option<Arc<World>>,
}

impl Placed {
    /// The rank that this process is by its environment: of those that meet by TCP, or those of
    /// `mpiexec`; none, if it was started alone.
    ///
    /// # Errors
    ///
    /// If the others, or MPI, are not there.
    pub fn find() -> Result<Option<Self>, EventsError> {
        if let Some(invitation) = Invitation::from_environment()? {
            let transport = invitation.accept(TIMEOUT, ARENA)?;
            let rank = Rank::start(transport, config(invitation.ranks()))?;
            return Ok(Some(Self { rank, world: None }));
        }
        if !World::is_here() {
            return Ok(None);
        }
        let world = Arc::new(World::begin(&[], None, MEET_TIMEOUT, Role::Rank)?);
        let rank = Rank::start(Box::new(Mpi::new(Arc::clone(&world))?), config(world.ranks()))?;
        Ok(Some(Self { rank, world: Some(world) }))
    }

    /// Ends MPI, if it was begun here. The run has to be over.
    pub fn leave(self) {
        if let Some(world) = self.world {
            world.end();
        }
    }
}

/// One worker, as in the paper: then no vertex needs a lock. Who waits looks for a while only if
/// there is a processor for each rank.
pub fn config(ranks: u32) -> Config {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let spin = if ranks as usize <= processors { 100 } else { 0 };
    Config { spin: Duration::from_micros(spin), ..Config::default() }
}
