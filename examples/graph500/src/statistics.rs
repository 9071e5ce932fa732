//! The statistics that the specification asks for.

/// What is reported of some samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// The least.
    pub min: f64,
    /// The first quartile, the median, the third quartile.
    pub quartiles: [f64; 3],
    /// The greatest.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample's standard deviation.
    pub stddev: f64,
}

impl Summary {
    /// That of some samples; zeros if there are none.
    pub fn new(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let quartiles = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        Self { min, quartiles, max, mean: mean(samples), stddev: stddev(samples) }
    }
}

/// The harmonic mean and its standard deviation, of rates.
pub fn harmonic(rates: &[f64]) -> (f64, f64) {
    let times: Vec<f64> = rates.iter().map(|rate| 1.0 / rate).collect();
    let mean = 1.0 / mean(&times);
    let spread = stddev(&times) * mean * mean / ((rates.len() as f64 - 1.0).max(1.0)).sqrt();
    (mean, spread)
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

fn stddev(samples: &[f64]) -> f64 {
    let middle = mean(samples);
    let squares: f64 = samples.iter().map(|sample| (sample - middle).powi(2)).sum();
    (squares / (samples.len() as f64 - 1.0).max(1.0)).sqrt()
}

/// Between two samples in proportion, where the sample number k of n is at k / (n + 1).
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (part * (sorted.len() as f64 + 1.0) - 1.0).clamp(0.0, sorted.len() as f64 - 1.0);
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // exact in these numbers
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        let found = Summary::new(&[4.0, 1.0, 3.0, 2.0, 5.0, 6.0, 7.0]);
        assert_eq!((found.min, found.quartiles, found.max), (1.0, [2.0, 4.0, 6.0], 7.0));
        assert_eq!(found.mean, 4.0);
        assert!((found.stddev - (28.0_f64 / 6.0).sqrt()).abs() < 1e-12);
        assert_eq!(Summary::new(&[1.0, 2.0]).quartiles, [1.0, 1.5, 2.0]);
        assert_eq!(Summary::new(&[]), Summary::default());
    }

    #[test]
    fn the_harmonic_mean_is_that_of_times() {
        let (mean, spread) = harmonic(&[1.0, 2.0, 4.0]);
        assert!((mean - 12.0 / 7.0).abs() < 1e-12);
        let deviation = stddev(&[1.0, 0.5, 0.25]);
        assert!((spread - deviation * mean * mean / 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(harmonic(&[5.0]), (5.0, 0.0));
    }
}
