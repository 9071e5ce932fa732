//! The graphs of the taskvine paper's two analyses, as far as its text, its artifact and the
//! manager's counters in there tell.

use super::graph::Graph;
use super::random::Random;

/// Calls of a run of DV3-Large, sums included.
const DV3_CALLS: usize = 17_523;
const DV3_ARITY: usize = 8;
/// Of the normal behind DV3's durations: a majority is between 1 and 10 s (Figure 8).
const DV3_SIGMA: f64 = 0.5;
const DV3_NBYTES: u64 = 1_000_000;
/// A sum of histograms.
const SUM_S: f64 = 1.5;

const SETS: usize = 20;
/// Tasks of RS-TriPhoton that read events; with the pairwise merges there are 4,055 tasks.
const SKIMS: usize = 2_037;
const SKIM_SIGMA: f64 = 0.4;
const SKIM_NBYTES: u64 = 100_000_000;

impl Graph {
    /// DV3-Large: chunks of events, each of which gives histograms, and a tree of sums over eight.
    /// `work_s`: what all tasks take together.
    pub fn dv3_large(work_s: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut graph = Self::default();
        let chunks = DV3_CALLS * (DV3_ARITY - 1) / DV3_ARITY;
        let mean_s = (work_s - (DV3_CALLS - chunks) as f64 * SUM_S) / chunks as f64;
        let durations: Vec<f64> =
            (0..chunks).map(|_| random.log_normal(mean_s, DV3_SIGMA)).collect();
        // Exactly that much work, whatever the seed.
        let scale = mean_s * chunks as f64 / durations.iter().sum::<f64>();
        let add = |seconds: &f64| graph.add(ns(seconds * scale), DV3_NBYTES, &[]);
        let mut level: Vec<u32> = durations.iter().map(add).collect();
        while level.len() > 1 {
            let sums = level.chunks(DV3_ARITY);
            level = sums.map(|inputs| graph.add(ns(SUM_S), DV3_NBYTES, inputs)).collect();
        }
        graph
    }

    /// RS-TriPhoton: events of 20 sets are skimmed with all their columns, and merged in pairs;
    /// a merge of as many skims as `n` takes `n * merge_s`, and all tasks together `work_s`.
    pub fn triphoton(work_s: f64, merge_s: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let skims: Vec<f64> = (0..SKIMS).map(|_| random.log_normal(1.0, SKIM_SIGMA)).collect();
        let bare = Self::merged(&skims, 0.0, merge_s);
        let merging_s = bare.work_ns() as f64 / 1e9;
        let scale = (work_s - merging_s).max(0.0) / skims.iter().sum::<f64>();
        Self::merged(&skims, scale, merge_s)
    }

    fn merged(skims: &[f64], scale: f64, merge_s: f64) -> Self {
        let mut graph = Self::default();
        for set in skims.chunks(skims.len().div_ceil(SETS)) {
            let add = |seconds: &f64| (graph.add(ns(seconds * scale), SKIM_NBYTES, &[]), 1_u64);
            let mut level: Vec<(u32, u64)> = set.iter().map(add).collect();
            while level.len() > 1 {
                let merge = |parts: &[(u32, u64)]| {
                    if let [one] = parts {
                        return *one;
                    }
                    let inputs: Vec<u32> = parts.iter().map(|(task, _)| *task).collect();
                    let size: u64 = parts.iter().map(|(_, size)| size).sum();
                    let task = graph.add(ns(size as f64 * merge_s), size * SKIM_NBYTES, &inputs);
                    (task, size)
                };
                level = level.chunks(2).map(merge).collect();
            }
        }
        graph
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graphs_have_the_papers_sizes() {
        let dv3 = Graph::dv3_large(162_594.0, 1);
        assert!((17_000..18_000).contains(&dv3.len()), "{}", dv3.len());
        assert!(dv3.work_ns().abs_diff(162_594_000_000_000) < 10_000_000_000);
        let triphoton = Graph::triphoton(265_000.0, 3.0, 1);
        assert!((4_000..4_100).contains(&triphoton.len()), "{}", triphoton.len());
        assert!(triphoton.work_ns().abs_diff(265_000_000_000_000) < 10_000_000_000);
    }
}
