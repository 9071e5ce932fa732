//! Graphs for a simulated run, and what no schedule can beat.

use super::random::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The tasks of a graph, in an order in which inputs come before those that need them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    duration_ns: Vec<u64>,
    nbytes: Vec<u64>,
    inputs: Vec<u32>,
    /// Where the inputs of a task end; they begin where those of the one before end.
    ends: Vec<u32>,
}

impl Graph {
    /// Adds a task and gives its index. `inputs` are indexes of tasks added before; `nbytes` is
    /// the size of its output.
    ///
    /// # Panics
    ///
    /// If an input was not added before.
    pub fn add(&mut self, duration_ns: u64, nbytes: u64, inputs: &[u32]) -> u32 {
        let index = self.len() as u32;
        assert!(inputs.iter().all(|input| *input < index), "inputs come first");
        self.duration_ns.push(duration_ns);
        self.nbytes.push(nbytes);
        self.inputs.extend_from_slice(inputs);
        self.ends.push(self.inputs.len() as u32);
        index
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.duration_ns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.duration_ns.is_empty()
    }

    /// How long a task runs.
    pub fn duration_ns(&self, task: usize) -> u64 {
        self.duration_ns[task]
    }

    /// The size of a task's output.
    pub fn nbytes(&self, task: usize) -> u64 {
        self.nbytes[task]
    }

    /// The tasks whose outputs a task needs.
    pub fn inputs(&self, task: usize) -> &[u32] {
        let begin = if task == 0 { 0 } else { self.ends[task - 1] };
        &self.inputs[begin as usize..self.ends[task] as usize]
    }

    /// Which tasks no other one needs.
    pub fn sinks(&self) -> Vec<bool> {
        let mut sinks = vec![true; self.len()];
        for input in &self.inputs {
            sinks[*input as usize] = false;
        }
        sinks
    }

    /// Tasks without inputs, of log-normal durations.
    pub fn flat(tasks: usize, mean_s: f64, sigma: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut graph = Self::default();
        for _ in 0..tasks {
            let duration_ns = (random.log_normal(mean_s, sigma) * 1e9) as u64;
            graph.add(duration_ns, 8, &[]);
        }
        graph
    }

    /// An analysis as in the taskvine paper, of about 18.5 tasks per root: each root reads a chunk
    /// of events, systematic variations of it are computed in two layers of maps, and each of
    /// `roots` / 50 histograms is summed by a tree over the variations of 50 chunks.
    /// Durations: 1 to 10 s for maps, 1 to 2 s for sums.
    pub fn analysis(roots: usize, seed: u64) -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self::analysis_lasting(roots, (SECOND, 10 * SECOND), (SECOND, 2 * SECOND), seed)
    }

    /// The same with tasks that all last from half of `mean_s` to one and a half of it.
    pub fn analysis_of(roots: usize, mean_s: f64, seed: u64) -> Self {
        let lasting = ((mean_s * 0.5e9) as u64, (mean_s * 1.5e9) as u64);
        Self::analysis_lasting(roots, lasting, lasting, seed)
    }

    fn analysis_lasting(roots: usize, map_ns: (u64, u64), sum_ns: (u64, u64), seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut graph = Self::default();
        let sizes = |random: &mut Random, (shortest, longest): (u64, u64)| {
            (random.between(shortest, longest), random.between(100_000, 2_000_000))
        };
        for set in 0..roots.div_ceil(CHUNKS) {
            let chunks = CHUNKS.min(roots - set * CHUNKS);
            let mut leaves = Vec::with_capacity(chunks * VARIATIONS);
            for _ in 0..chunks {
                let (duration_ns, nbytes) = sizes(&mut random, map_ns);
                let root = graph.add(duration_ns, nbytes, &[]);
                for _ in 0..VARIATIONS {
                    let (duration_ns, nbytes) = sizes(&mut random, map_ns);
                    let varied = graph.add(duration_ns, nbytes, &[root]);
                    let (duration_ns, nbytes) = sizes(&mut random, map_ns);
                    leaves.push(graph.add(duration_ns, nbytes, &[varied]));
                }
            }
            while leaves.len() > 1 {
                let sums = leaves.chunks(ARITY).map(|inputs| {
                    let (duration_ns, nbytes) = sizes(&mut random, sum_ns);
                    graph.add(duration_ns, nbytes, inputs)
                });
                leaves = sums.collect();
            }
        }
        graph
    }

    /// The sum of all durations.
    pub fn work_ns(&self) -> u128 {
        self.duration_ns.iter().map(|duration_ns| u128::from(*duration_ns)).sum()
    }

    /// How long the tasks after each task take at least, itself not counted.
    fn tails_ns(&self) -> Vec<u64> {
        let mut tails_ns = vec![0; self.len()];
        for task in (0..self.len()).rev() {
            let whole_ns = tails_ns[task] + self.duration_ns[task];
            for input in self.inputs(task) {
                let of_input = &mut tails_ns[*input as usize];
                *of_input = whole_ns.max(*of_input);
            }
        }
        tails_ns
    }

    /// The longest chain of tasks.
    pub fn critical_path_ns(&self) -> u64 {
        let tails_ns = self.tails_ns();
        self.duration_ns.iter().zip(tails_ns).map(|(own, tail)| own + tail).max().unwrap_or(0)
    }

    /// The ideal makespan: all cores busy all the time, or the longest chain.
    pub fn ideal_ns(&self, cores: u64) -> u64 {
        let even = self.work_ns() / u128::from(cores.max(1));
        (even as u64).max(self.critical_path_ns())
    }

    /// A makespan that no schedule beats, at least the ideal one: whatever has `d` of work after
    /// it must be finished `d` before the end, for every `d`.
    pub fn bound_ns(&self, cores: u64) -> u64 {
        let mut by_tail: Vec<(u64, u64)> =
            self.tails_ns().into_iter().zip(self.duration_ns.iter().copied()).collect();
        by_tail.sort_unstable_by(|one, other| other.cmp(one));
        let mut before = 0_u128;
        let mut bound_ns = self.critical_path_ns();
        for (tail_ns, duration_ns) in by_tail {
            before += u128::from(duration_ns);
            bound_ns = bound_ns.max(tail_ns + (before / u128::from(cores.max(1))) as u64);
        }
        bound_ns
    }
}

/// What a list scheduler reaches that costs nothing: whenever a core is free, it begins the ready
/// task that goes first, and no message or transfer takes any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lister {
    /// It knows the graph, but not how long tasks take: most levels left first.
    Blind,
    /// It knows how long each task takes: longest chain left first.
    Clairvoyant,
}

impl Graph {
    /// How many levels of tasks come after each task at least, itself counted.
    pub fn levels(&self) -> Vec<i32> {
        let mut levels = vec![1; self.len()];
        for task in (0..self.len()).rev() {
            let whole = levels[task] + 1;
            for input in self.inputs(task) {
                let of_input = &mut levels[*input as usize];
                *of_input = whole.max(*of_input);
            }
        }
        levels
    }

    /// The makespan of a list scheduler.
    pub fn listed_ns(&self, cores: u64, lister: Lister) -> u64 {
        let ranks: Vec<u64> = match lister {
            Lister::Blind => self.levels().into_iter().map(|levels| levels as u64).collect(),
            Lister::Clairvoyant => {
                let tails_ns = self.tails_ns();
                self.duration_ns.iter().zip(tails_ns).map(|(own, tail)| own + tail).collect()
            }
        };
        let mut missing: Vec<u32> =
            (0..self.len()).map(|task| self.inputs(task).len() as u32).collect();
        let mut consumers = vec![Vec::new(); self.len()];
        for task in 0..self.len() {
            for input in self.inputs(task) {
                consumers[*input as usize].push(task as u32);
            }
        }
        let mut ready: BinaryHeap<(u64, Reverse<u32>)> = BinaryHeap::new();
        let roots = (0..self.len()).filter(|task| self.inputs(*task).is_empty());
        ready.extend(roots.map(|task| (ranks[task], Reverse(task as u32))));
        let mut running: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut now = 0;
        loop {
            while (running.len() as u64) < cores {
                let Some((_, Reverse(task))) = ready.pop() else { break };
                running.push(Reverse((now + self.duration_ns[task as usize], task)));
            }
            let Some(Reverse((at_ns, task))) = running.pop() else { return now };
            now = at_ns;
            for consumer in &consumers[task as usize] {
                let left = &mut missing[*consumer as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push((ranks[*consumer as usize], Reverse(*consumer)));
                }
            }
        }
    }
}

const CHUNKS: usize = 50;
const VARIATIONS: usize = 8;
const ARITY: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_a_diamond() {
        let mut graph = Graph::default();
        let top = graph.add(10, 1, &[]);
        let left = graph.add(20, 1, &[top]);
        let right = graph.add(30, 1, &[top]);
        graph.add(40, 1, &[left, right]);
        assert_eq!(graph.critical_path_ns(), 80);
        assert_eq!(graph.ideal_ns(1), 100);
        assert_eq!(graph.ideal_ns(2), 80);
        assert_eq!(graph.bound_ns(1), 100);
        assert_eq!(graph.listed_ns(1, Lister::Blind), 100);
        assert_eq!(graph.listed_ns(2, Lister::Clairvoyant), 80);
        assert_eq!(graph.sinks(), [false, false, false, true]);
    }

    #[test]
    fn the_analysis_has_the_papers_size() {
        let tasks = Graph::analysis(10_000, 1).len();
        assert!((180_000..190_000).contains(&tasks), "{tasks}");
    }
}
