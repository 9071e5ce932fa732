//! The whole benchmark, as a rank runs it.

use crate::bitmap::Bitmap;
use crate::building::{Built, build};
use crate::edges::Edge;
use crate::exchange::share;
use crate::kronecker::Kronecker;
use crate::numbering::NONE;
use crate::options::Options;
use crate::random::Stream;
use crate::search::{Found, Kernel};
use crate::validation::{Invalid, Tree, UNREACHED};
use crate::words;
use freestone_events::{Event, EventsError, Payload, Rank};
use std::time::Instant;

/// What a run measured; the same on every rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Seconds that making the list of edges took; not part of any figure.
    pub generation_s: f64,
    /// Seconds that kernel 1 took.
    pub construction_s: f64,
    /// The searches.
    pub searches: Vec<Searched>,
}

/// One search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Searched {
    /// From where, by label.
    pub root: u64,
    /// Seconds that kernel 2 took.
    pub search_s: f64,
    /// Seconds that checking the tree took; 0 if it was not checked.
    pub check_s: f64,
    /// Edges of the list that were traversed, loops and twins too.
    pub edges: u64,
    /// Levels that were searched.
    pub levels: u32,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Events did not come through.
    #[error(transparent)]
    Events(#[from] EventsError),
    /// A tree is none.
    #[error("the search from {root} is wrong: {why}")]
    Invalid {
        /// From where.
        root: u64,
        /// What is wrong.
        why: String,
    },
    /// The graph has too few vertices with edges.
    #[error("only {found} of {wanted} roots were found: a graph of this scale has no more")]
    NoRoots {
        /// How many there are.
        found: usize,
        /// How many were asked for.
        wanted: usize,
    },
}

/// Runs the benchmark on a rank; all ranks have to. The rank must have one worker.
///
/// # Errors
///
/// If a tree is wrong, roots are too few, or the run ends before.
pub fn run(rank: &Rank, options: &Options) -> Result<Measured, RunError> {
    let started = Instant::now();
    let list = Kronecker::new(options.scale, options.edge_factor, options.seed);
    let edges = list.part(u64::from(rank.rank()), u64::from(rank.ranks()));
    share(rank, "generated", &[])?;
    let generation_s = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let built = build(rank, list.vertices(), &edges)?;
    let kernel = Kernel::new(rank, &built, options.turns)?;
    let construction_s = started.elapsed().as_secs_f64();
    let roots = roots(&list, &built, options)?;
    let mut searches = Vec::with_capacity(roots.len());
    for root in roots {
        let found = kernel.search(rank, built.numbering.number(root))?;
        let mut one = Searched {
            root,
            search_s: found.elapsed.as_secs_f64(),
            levels: found.levels,
            ..Searched::default()
        };
        let started = Instant::now();
        let tree = Checked { rank, built: &built, edges: &edges, check: options.check };
        one.edges = tree.traversed(root, list.vertices(), &found)?;
        one.check_s = if options.check { started.elapsed().as_secs_f64() } else { 0.0 };
        searches.push(one);
    }
    Ok(Measured { generation_s, construction_s, searches })
}

/// Random vertices with edges, none twice. Every rank finds the same.
fn roots(list: &Kronecker, built: &Built, options: &Options) -> Result<Vec<u64>, RunError> {
    let mut draws = Stream::new(options.seed, u64::MAX - 1);
    let mut roots = Vec::with_capacity(options.roots);
    // So many draws miss one of a graph's vertices with a probability of e^-32.
    for _ in 0..list.vertices() * 32 {
        if roots.len() == options.roots {
            break;
        }
        let root = draws.below(list.vertices());
        if built.numbering.number(root) != NONE && !roots.contains(&root) {
            roots.push(root);
        }
    }
    let (found, wanted) = (roots.len(), options.roots);
    if found < wanted { Err(RunError::NoRoots { found, wanted }) } else { Ok(roots) }
}

/// A rank's part in looking at a tree.
struct Checked<'a> {
    rank: &'a Rank,
    built: &'a Built,
    edges: &'a [Edge],
    check: bool,
}

impl Checked<'_> {
    /// How many edges of the list were traversed, after checking the tree if that is asked for.
    fn traversed(&self, root: u64, vertices: u64, found: &Found) -> Result<u64, RunError> {
        let parents = self.gather(vertices, &found.parents)?;
        let outcome = if self.check {
            let mut joined = Bitmap::new(parents.len());
            let own = Tree::new(root, parents).and_then(|tree| {
                let traversed = tree.look_at(self.edges, &mut joined)?;
                Ok((tree, traversed))
            });
            // All ranks take part, also those that have found something wrong.
            for event in share(self.rank, "joined", &words::from_u64s(joined.words()))? {
                joined.add_bytes(event.payload.bytes());
            }
            own.and_then(|(tree, traversed)| tree.look_at_joined(&joined).map(|()| traversed))
        } else {
            let is_reached = |edge: &&Edge| parents[edge.ends().0 as usize] != UNREACHED;
            Ok(self.edges.iter().filter(is_reached).count() as u64)
        };
        self.agree(root, &outcome)
    }

    /// The parents of all vertices, by label.
    fn gather(&self, vertices: u64, own: &[i64]) -> Result<Vec<i64>, EventsError> {
        let numbering = &self.built.numbering;
        let bytes: Vec<u8> = own.iter().flat_map(|parent| parent.to_le_bytes()).collect();
        let mut parents = vec![UNREACHED; vertices as usize];
        for event in share(self.rank, "parents", &bytes)? {
            let labels = &numbering.labels()[numbering.stride() * event.source as usize..];
            for (label, parent) in labels.iter().zip(words::u64s(event.payload.bytes())) {
                parents[*label as usize] = parent.cast_signed();
            }
        }
        Ok(parents)
    }

    /// What all ranks say together: the sum of what they counted, or what the first has found.
    fn agree(&self, root: u64, own: &Result<u64, Invalid>) -> Result<u64, RunError> {
        let (count, why) = match own {
            Ok(count) => (*count, String::new()),
            Err(invalid) => (0, invalid.to_string()),
        };
        let failures = share(self.rank, "said", &[&count.to_le_bytes(), why.as_bytes()].concat())?;
        let mut total = 0;
        for event in &failures {
            let (count, why) = split(event);
            if !why.is_empty() {
                return Err(RunError::Invalid { root, why });
            }
            total += count;
        }
        Ok(total)
    }
}

fn split(event: &Event<Payload>) -> (u64, String) {
    let (count, why) = event.payload.bytes().split_at(8);
    let count = words::u64s(count).next().unwrap_or_default();
    (count, String::from_utf8_lossy(why).into_owned())
}
