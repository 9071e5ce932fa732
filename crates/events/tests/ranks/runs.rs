//! Runs of a program as ranks of this process, over every transport.

use freestone_events::rank::Summary;
use freestone_events::transport::{Layout, Node, Region};
use freestone_events::{Config, Dependency, EventsError, Progress, Rank, Source};
use std::os::fd::AsRawFd;
use std::sync::Arc;

const ARENA: usize = 16 << 20;

/// How ranks are connected.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// One mapping of memory for all.
    Threads,
    /// A mapping for each rank, as processes have.
    Mapped,
}

pub const WAYS: [Way; 2] = [Way::Threads, Way::Mapped];

/// Memory for ranks, and what is needed to tell that one is lost.
pub struct Cell {
    pub region: Arc<Region>,
    pub layout: Layout,
}

pub fn start(way: Way, ranks: u32, config: &Config) -> (Vec<Rank>, Cell) {
    let layout = Layout::new(ranks, ARENA);
    let (region, fd) = Region::create(layout.nbytes()).unwrap();
    let region_of = |_| match way {
        Way::Threads => Arc::clone(&region),
        Way::Mapped => Region::open(fd.as_raw_fd(), layout.nbytes()).unwrap(),
    };
    let node = |rank| Node::new(&region_of(rank), layout, rank);
    let start = |rank| Rank::start(Box::new(node(rank)), config.clone()).unwrap();
    let ranks = (0..ranks).map(start).collect();
    (ranks, Cell { region, layout })
}

pub type Outcome = Result<Summary, EventsError>;

/// Runs `main` as every rank; how each one ended.
pub fn outcomes(
    way: Way,
    ranks: u32,
    config: &Config,
    main: impl Fn(&Rank) + Send + Sync,
) -> Vec<Outcome> {
    let (ranks, _cell) = start(way, ranks, config);
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

/// Runs `main` as every rank, over every transport, with one worker and more, and either way of
/// progress; all have to end well.
pub fn everywhere(ranks: u32, main: impl Fn(&Rank) + Send + Sync) {
    for way in WAYS {
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
