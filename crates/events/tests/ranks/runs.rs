//! Runs of a program as ranks of this process, over every transport.

use freestone_events::rank::Summary;
use freestone_events::transport::hybrid::{Met, Sharing};
use freestone_events::transport::mpi::{Mpi, Role, World};
use freestone_events::transport::tcp::{Meeting, Tcp};
use freestone_events::transport::{Layout, Node, Region, Transport, TransportError};
use freestone_events::{Access, Identity};
use freestone_events::{Config, Dependency, EventsError, Progress, Rank, Source};
use std::os::fd::AsRawFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long ranks may take to meet.
const TIMEOUT: Duration = Duration::from_secs(60);
const ARENA: usize = 16 << 20;

/// How ranks are connected.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// One mapping of memory for all.
    Threads,
    /// A mapping for each rank, as processes have.
    Mapped,
    /// Connections with TLS.
    Tcp,
    /// Memory of two nodes, and connections between them.
    Hybrid,
    /// Messages of MPI.
    Mpi,
}

/// All ways that this machine has.
pub fn ways() -> Vec<Way> {
    static WORLD: OnceLock<Option<World>> = OnceLock::new();
    // The first one keeps MPI up for all others.
    let world = WORLD.get_or_init(|| match World::begin(&[], None, TIMEOUT, Role::Rank) {
        Ok(world) => Some(world),
        Err(error) => {
            println!("not over MPI: {error}");
            None
        }
    });
    let mpi = world.is_some().then_some(Way::Mpi);
    [Way::Threads, Way::Mapped, Way::Tcp, Way::Hybrid].into_iter().chain(mpi).collect()
}

/// Memory for ranks of one node, and what is needed to tell that one is lost.
pub struct Cell {
    pub region: Arc<Region>,
    pub layout: Layout,
}

/// Ranks of one node.
pub fn start(way: Way, ranks: u32, config: &Config) -> (Vec<Rank>, Cell) {
    let layout = Layout::new(ranks, ARENA);
    let (region, fd) = Region::create(layout.nbytes()).unwrap();
    let region_of = |_| match way {
        Way::Mapped => Region::open(fd.as_raw_fd(), layout.nbytes()).unwrap(),
        _ => Arc::clone(&region),
    };
    let node = |rank| Node::new(&region_of(rank), layout, rank);
    let start = |rank| Rank::start(Box::new(node(rank)), config.clone()).unwrap();
    let ranks = (0..ranks).map(start).collect();
    (ranks, Cell { region, layout })
}

/// Ranks that have met, and their meeting, which watches over them.
pub fn met(ranks: u32) -> (Vec<Tcp>, Meeting) {
    met_as(ranks, |address, rank, access| Tcp::meet(address, rank, ranks, access, TIMEOUT))
}

/// Ranks of two nodes, the first two on one, and their meeting.
pub fn met_on_nodes(ranks: u32) -> (Vec<Box<dyn Transport>>, Meeting) {
    met_as(ranks, |address, rank, access| {
        let sharing = Sharing { name: Some(format!("node-{}", rank / 2 % 2)), arena: ARENA };
        Ok(Met::new(address, rank, ranks, access, TIMEOUT, &sharing)?.transport())
    })
}

fn met_as<R: Send>(
    ranks: u32,
    meet: impl Fn(&str, u32, &Access) -> Result<R, TransportError> + Sync,
) -> (Vec<R>, Meeting) {
    let access = Access::new(&Identity::make(1).unwrap()).unwrap();
    let meeting = Meeting::new("127.0.0.1:0", &access).unwrap();
    let (address, access) = (meeting.address().unwrap().to_string(), &access);
    let here = std::thread::scope(|scope| {
        let begin = |rank| {
            let (address, meet) = (&address, &meet);
            scope.spawn(move || meet(address, rank, access).unwrap())
        };
        let here: Vec<_> = (0..ranks).map(begin).collect();
        meeting.hold(ranks, ranks, TIMEOUT).unwrap();
        here.into_iter().map(|one| one.join().unwrap()).collect()
    });
    (here, meeting)
}

/// Ranks that are connected in a way.
pub fn connected(way: Way, ranks: u32, config: &Config) -> Vec<Rank> {
    let started = |transport: Box<dyn Transport>| Rank::start(transport, config.clone()).unwrap();
    match way {
        Way::Threads | Way::Mapped => start(way, ranks, config).0,
        Way::Tcp => {
            let (here, _) = met(ranks);
            here.into_iter().map(|one| started(Box::new(one))).collect()
        }
        Way::Hybrid => met_on_nodes(ranks).0.into_iter().map(started).collect(),
        Way::Mpi => {
            let world = Arc::new(World::begin(&[], None, TIMEOUT, Role::Rank).unwrap());
            let ranks = Mpi::threads(&world, ranks).unwrap();
            ranks.into_iter().map(|rank| started(Box::new(rank))).collect()
        }
    }
}

pub type Outcome = Result<Summary, EventsError>;

/// Runs `main` as every rank; how each one ended.
pub fn outcomes(
    way: Way,
    ranks: u32,
    config: &Config,
    main: impl Fn(&Rank) + Send + Sync,
) -> Vec<Outcome> {
    let ranks = connected(way, ranks, config);
    std::thread::scope(|scope| {
        let main = &main;
        let run = |rank: Rank| {
            scope.spawn(move || {
                main(&rank);
                rank.finish()
            })
        };
        let threads: Vec<_> = ranks.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// How many runs `everywhere` makes.
pub fn runs() -> i64 {
    4 * i64::try_from(ways().len()).unwrap()
}

/// Runs `main` as every rank, over every transport, with one worker and more, and either way of
/// progress; all have to end well.
pub fn everywhere(ranks: u32, main: impl Fn(&Rank) + Send + Sync) {
    for way in ways() {
        for (workers, progress) in [
            (1, Progress::IdleWorker),
            (3, Progress::IdleWorker),
            (1, Progress::Thread),
            (2, Progress::Thread),
        ] {
            let config = Config { workers, progress, ..Config::default() };
            for outcome in outcomes(way, ranks, &config, &main) {
                assert_eq!(outcome.unwrap().held, [], "{way:?}, {workers} workers, {progress:?}");
            }
        }
    }
}

pub fn from(rank: u32, id: &str) -> Dependency {
    Dependency::new(Source::Rank(rank), id)
}

pub fn any(id: &str) -> Dependency {
    Dependency::new(Source::Any, id)
}
