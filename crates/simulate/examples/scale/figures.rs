//! What a run tells, from the log of the workers.

use freestone_core::manager::Statistics;
use freestone_simulate::Graph;

/// The times of a run as its program saw it.
#[derive(Debug, Default)]
pub struct Run {
    pub began_ns: u64,
    pub submitted_ns: u64,
    pub ended_ns: u64,
    pub joined_cpu_s: f64,
    pub cpu_s: f64,
    pub joined_writes: u64,
    pub writes: u64,
    pub failed: usize,
    pub cores: u64,
}

/// What the workers wrote down.
#[derive(Debug, Default)]
pub struct Log {
    /// Which task ran from when to when.
    tasks: Vec<(usize, u64, u64)>,
    /// Attempts that a loss ended.
    broken: Vec<(u64, u64)>,
    joined: Vec<u64>,
    left: Vec<u64>,
    violations: Vec<String>,
}

impl Log {
    /// Reads the lines of the process of the workers.
    pub fn read(text: &str) -> Self {
        let mut log = Self::default();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').expect("a kind and more");
            if kind == "violation" {
                log.violations.push(rest.to_owned());
                continue;
            }
            let numbers: Vec<u64> =
                rest.split(' ').map(|word| word.parse().expect("a number")).collect();
            match (kind, &numbers[..]) {
                ("task", [task, start, end]) => log.tasks.push((*task as usize, *start, *end)),
                ("broken", [start, end]) => log.broken.push((*start, *end)),
                ("joined", [at]) => log.joined.push(*at),
                ("left", [at]) => log.left.push(*at),
                _ => panic!("{line:?} can't be read"),
            }
        }
        log
    }

    /// Core seconds in which calls ran until `until_ns`.
    fn busy_s(&self, until_ns: u64) -> f64 {
        let whole = self.tasks.iter().map(|(_, start, end)| (start, end));
        let all = whole.chain(self.broken.iter().map(|(start, end)| (start, end)));
        all.map(|(start, end)| seconds((*end).min(until_ns).saturating_sub(*start))).sum()
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Run {
    /// The figures by name.
    pub fn figures(
        &self,
        graph: &Graph,
        log: &Log,
        statistics: &Statistics,
    ) -> Vec<(&'static str, f64)> {
        assert!(log.violations.is_empty(), "{:?}", log.violations);
        let dry_ns = self.dry_ns(graph, log);
        let capacity_s = self.capacity_s(log, dry_ns);
        let busy_s = log.busy_s(dry_ns);
        let all_s = seconds(self.ended_ns - self.began_ns);
        let tasks = graph.len() as f64;
        let started = log.tasks.iter().filter(|(_, start, _)| *start <= dry_ns).count() as f64;
        vec![
            ("tasks", tasks),
            ("cores", self.cores as f64),
            ("failed", self.failed as f64),
            ("submitted_s", seconds(self.submitted_ns - self.began_ns)),
            ("drained_s", all_s),
            ("ideal_s", seconds(graph.ideal_ns(self.cores))),
            ("drained_over_ideal", all_s / seconds(graph.ideal_ns(self.cores))),
            ("dry_s", seconds(dry_ns - self.began_ns)),
            ("busy_until_dry", busy_s / capacity_s),
            ("rate_until_dry", started / seconds(dry_ns - self.began_ns)),
            ("manager_cpu_s", self.cpu_s),
            ("manager_cpu_us_per_task", self.cpu_s * 1e6 / tasks),
            ("manager_writes_per_1000_tasks", self.writes as f64 * 1e3 / tasks),
            ("manager_cpu_share", self.cpu_s / all_s),
            ("workers_lost", log.left.iter().filter(|at| **at < self.ended_ns).count() as f64),
            ("broken", log.broken.len() as f64),
            ("recovered", statistics.recovered as f64),
            ("transfers", statistics.transfers as f64),
        ]
    }

    /// From when on fewer tasks could run than there are cores: none but those that wait for
    /// others. A task could run from the end of the last of its inputs to its own end.
    fn dry_ns(&self, graph: &Graph, log: &Log) -> u64 {
        let mut ends = vec![u64::MAX; graph.len()];
        for (task, _, end) in &log.tasks {
            ends[*task] = ends[*task].min(*end);
        }
        let mut changes: Vec<(u64, i64)> = Vec::with_capacity(2 * graph.len());
        for task in 0..graph.len() {
            let inputs = graph.inputs(task).iter().map(|input| ends[*input as usize]);
            changes.push((inputs.max().unwrap_or(self.began_ns), 1));
            changes.push((ends[task], -1));
        }
        // At the same moment, those that come count first.
        changes.sort_unstable_by_key(|(at, change)| (*at, -change));
        let mut could_run = 0;
        for (at_ns, change) in changes {
            could_run += change;
            if change < 0 && could_run < self.cores.cast_signed() {
                return at_ns;
            }
        }
        self.ended_ns
    }

    /// Core seconds that were there until `until_ns`.
    fn capacity_s(&self, log: &Log, until_ns: u64) -> f64 {
        let there = |at: &u64| seconds(until_ns.saturating_sub((*at).max(self.began_ns)));
        let joined: f64 = log.joined.iter().map(there).sum();
        let left: f64 = log.left.iter().map(there).sum();
        let workers = log.joined.iter().filter(|at| **at < self.began_ns).count();
        (joined - left) * (self.cores as f64 / workers as f64)
    }
}
