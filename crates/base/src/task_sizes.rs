//! How rows are cut into tasks: the self-scheduling schemes, from one row at a time to one share
//! for each worker.
//!
//! `n` rows, `p` workers, `R` rows left, `s` requests before this one, `g` the grain: every size
//! is `min(R, max(g, f))`, and each scheme says what `f` is.

use std::str::FromStr;

/// A way of cutting rows into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the literature")]
pub enum Scheme {
    Static,
    Ss,
    Gss,
    Tss,
    Fac2,
    Tfss,
    Fiss,
    Viss,
    Pls,
    Pss,
    Mfsc,
    Mstatic,
    Auto,
}

/// All schemes, with their names.
pub const SCHEMES: [(&str, Scheme); 13] = [
    ("STATIC", Scheme::Static),
    ("SS", Scheme::Ss),
    ("GSS", Scheme::Gss),
    ("TSS", Scheme::Tss),
    ("FAC2", Scheme::Fac2),
    ("TFSS", Scheme::Tfss),
    ("FISS", Scheme::Fiss),
    ("VISS", Scheme::Viss),
    ("PLS", Scheme::Pls),
    ("PSS", Scheme::Pss),
    ("MFSC", Scheme::Mfsc),
    ("MSTATIC", Scheme::Mstatic),
    ("AUTO", Scheme::Auto),
];

impl FromStr for Scheme {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = SCHEMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, scheme)| *scheme).ok_or_else(|| name.to_owned())
    }
}

/// The sizes of the tasks that `n` rows are cut into for `p` workers.
#[derive(Clone, Debug)]
pub struct TaskSizes {
    scheme: Scheme,
    rows: u64,
    workers: u64,
    grain: u64,
    left: u64,
    requests: u64,
    stages: u64,
}

impl TaskSizes {
    /// Cuts `rows` rows for `workers` workers; no task but the last has fewer rows than `grain`.
    pub fn new(scheme: Scheme, rows: u64, workers: u64, grain: u64) -> Self {
        let workers = workers.max(1);
        let (scheme, grain) = match scheme {
            Scheme::Auto => (Scheme::Ss, grain.max(auto_grain(rows, workers))),
            other => (other, grain.max(1)),
        };
        let stages = match scheme {
            Scheme::Fiss | Scheme::Viss => stages(rows, workers),
            _ => 0,
        };
        Self { scheme, rows, workers, grain, left: rows, requests: 0, stages }
    }

    fn wanted(&self) -> u64 {
        let (n, p, left, s) = (self.rows, self.workers, self.left, self.requests);
        match self.scheme {
            Scheme::Static => n / p,
            Scheme::Ss | Scheme::Auto => 1,
            Scheme::Tss => trapezoid(n, p, s),
            Scheme::Fac2 => halved(n / p, s / p + 1),
            Scheme::Tfss => left.div_ceil(2 * p),
            Scheme::Fiss => fixed_increase(n, p, s, self.stages),
            Scheme::Viss => variable_increase(n, p, s, self.stages),
            Scheme::Pls if left > n / 2 => n.div_ceil(2 * p),
            Scheme::Gss | Scheme::Pls => left.div_ceil(p),
            Scheme::Pss => (2 * left).div_ceil(3 * p),
            Scheme::Mfsc => fixed_size(n, p),
            Scheme::Mstatic => (n / p).div_ceil(4),
        }
    }
}

/// Makes sizes that somebody else chose those of tasks of `rows` rows: none but the last is below the
/// grain. `None` if the sizes end before the rows do.
pub fn fitted(sizes: impl IntoIterator<Item = u64>, rows: u64, grain: u64) -> Option<Vec<u64>> {
    let (mut left, mut fitted) = (rows, Vec::new());
    let mut sizes = sizes.into_iter();
    while left > 0 {
        let size = sizes.next()?.max(grain).max(1).min(left);
        left -= size;
        fitted.push(size);
    }
    Some(fitted)
}

impl Iterator for TaskSizes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        let size = self.wanted().max(self.grain).min(self.left);
        self.left -= size;
        self.requests += 1;
        Some(size)
    }
}

/// How many whole stages, one task for each worker, factoring takes; at least the two that the
/// increasing schemes need to grow at all.
fn stages(n: u64, p: u64) -> u64 {
    (TaskSizes::new(Scheme::Fac2, n, p, 1).count() as u64 / p).max(2)
}

fn halved(share: u64, times: u64) -> u64 {
    if times >= 63 { 1 } else { share.div_ceil(1 << times) }
}

fn trapezoid(n: u64, p: u64, s: u64) -> u64 {
    let first = n.div_ceil(2 * p);
    let count = (2 * n).div_ceil(first + 1);
    // One task has nothing to fall to.
    let step = if count > 1 { (first - 1) / (count - 1) } else { 0 };
    first.saturating_sub(s * step)
}

fn fixed_increase(n: u64, p: u64, s: u64, b: u64) -> u64 {
    n.div_ceil((2 + b) * p) + s * (2 * n).div_ceil(p * b * (b - 1))
}

fn variable_increase(n: u64, p: u64, s: u64, b: u64) -> u64 {
    let base = n.div_ceil((2 + b) * p);
    let share = (1.0 - 0.5_f64.powi((s / p).min(1000) as i32)) / 0.5;
    base * share.ceil() as u64
}

fn fixed_size(n: u64, p: u64) -> u64 {
    let share = (n + p - 1) as f64 / p as f64;
    if share <= 1.0 {
        return 1;
    }
    let size = share * std::f64::consts::LN_2 / share.ln();
    if size.is_finite() { size.ceil() as u64 } else { 1 }
}

/// Tasks of AUTO: as many for each worker as leave neither idle time nor much to do for queues.
fn auto_grain(n: u64, p: u64) -> u64 {
    let share = (n / p).max(1) as f64;
    let k = (0.618 * share.log2()).floor().max(0.0) as u32;
    (n / (p << (k + 1).min(40))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(scheme: Scheme) -> Vec<u64> {
        TaskSizes::new(scheme, 10003, 4, 1).collect()
    }

    #[test]
    fn numbers_and_first_sizes_are_those_of_the_table() {
        let table: [(Scheme, usize, &[u64]); 12] = [
            (Scheme::Static, 5, &[2500, 2500, 2500, 2500, 3]),
            (Scheme::Ss, 10003, &[1, 1]),
            (Scheme::Gss, 30, &[2501, 1876, 1407]),
            (Scheme::Tss, 15, &[1251, 1168, 1085]),
            (Scheme::Fac2, 39, &[1250, 1250, 1250, 1250, 625]),
            (Scheme::Tfss, 58, &[1251, 1094, 958]),
            (Scheme::Fiss, 15, &[228, 298, 368]),
            (Scheme::Viss, 28, &[1, 1, 1, 1, 228, 228, 228, 228, 456]),
            (Scheme::Pls, 32, &[1251, 1251, 1251, 1251, 1250, 938]),
            (Scheme::Pss, 45, &[1668, 1390]),
            (Scheme::Mfsc, 46, &[222]),
            (Scheme::Mstatic, 17, &[625, 625]),
        ];
        for (scheme, count, first) in table {
            let found = sizes(scheme);
            assert_eq!(&found[..first.len()], first, "{scheme:?}");
            assert_eq!(found.len(), count, "{scheme:?}");
        }
    }

    #[test]
    fn every_row_is_in_one_task() {
        for (name, scheme) in SCHEMES {
            for (rows, workers, grain) in [(0, 1, 1), (1, 4, 1), (7, 3, 2), (100, 8, 5), (1, 1, 9)]
            {
                let found: Vec<u64> = TaskSizes::new(scheme, rows, workers, grain).collect();
                assert_eq!(found.iter().sum::<u64>(), rows, "{name}");
                let but_last = found.len().saturating_sub(1);
                assert!(found[..but_last].iter().all(|size| *size >= grain), "{name}");
            }
        }
    }

    #[test]
    fn sizes_of_others_are_fitted() {
        assert_eq!(fitted([5, 1, 9, 9], 20, 2), Some(vec![5, 2, 9, 4]));
        assert_eq!(fitted([0, 0], 2, 0), Some(vec![1, 1]));
        assert_eq!(fitted([u64::MAX], 7, 1), Some(vec![7]));
        assert_eq!(fitted([], 0, 1), Some(vec![]));
        assert_eq!(fitted([3, 3], 7, 1), None);
    }

    #[test]
    fn names_are_read() {
        assert_eq!("MFSC".parse(), Ok(Scheme::Mfsc));
        assert_eq!("mfsc".parse::<Scheme>(), Err("mfsc".to_owned()));
    }
}
