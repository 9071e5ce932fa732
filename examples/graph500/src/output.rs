//! What a run prints, in the specification's names, and writes.

use crate::benchmark::Measured;
use crate::options::Options;
use crate::statistics::{Summary, harmonic};
use std::fmt::Write;

const QUARTILES: [&str; 3] = ["firstquartile", "median", "thirdquartile"];

/// The statistics as the specification prints them: a name and a value in each line.
pub fn text(options: &Options, measured: &Measured) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{:<32}{value}", format!("{name}:"));
    };
    line("SCALE", &options.scale.to_string());
    line("edgefactor", &options.edge_factor.to_string());
    line("NBFS", &measured.searches.len().to_string());
    line("graph_generation", &seconds(measured.generation_s));
    line("num_mpi_processes", &options.ranks.to_string());
    line("construction_time", &seconds(measured.construction_s));
    for (name, samples) in samples(measured) {
        let summary = Summary::new(&samples);
        let unit = name.trim_start_matches("bfs  ");
        let prefix = if unit == name { "" } else { "bfs  " };
        line(&format!("{prefix}min_{unit}"), &seconds(summary.min));
        for (word, value) in QUARTILES.into_iter().zip(summary.quartiles) {
            line(&format!("{prefix}{word}_{unit}"), &seconds(value));
        }
        line(&format!("{prefix}max_{unit}"), &seconds(summary.max));
        if unit == "TEPS" {
            let (mean, stddev) = harmonic(&samples);
            line("bfs  harmonic_mean_TEPS", &format!("! {}", seconds(mean)));
            line("bfs  harmonic_stddev_TEPS", &seconds(stddev));
        } else {
            line(&format!("{prefix}mean_{unit}"), &seconds(summary.mean));
            line(&format!("{prefix}stddev_{unit}"), &seconds(summary.stddev));
        }
    }
    let checked = if options.check { "all trees are valid" } else { "NOT CHECKED" };
    line("validation", checked);
    text
}

/// The harmonic mean of the traversed edges a second.
pub fn teps(measured: &Measured) -> f64 {
    let rates: Vec<f64> =
        measured.searches.iter().map(|one| one.edges as f64 / one.search_s).collect();
    harmonic(&rates).0
}

/// The same as JSON, with every search.
pub fn json(options: &Options, measured: &Measured) -> String {
    let searches: Vec<String> = measured
        .searches
        .iter()
        .map(|one| {
            format!(
                "{{\"root\": {}, \"search_s\": {:e}, \"check_s\": {:e}, \"edges\": {}, \"levels\": {}}}",
                one.root, one.search_s, one.check_s, one.edges, one.levels
            )
        })
        .collect();
    format!(
        "{{\"scale\": {}, \"edge_factor\": {}, \"ranks\": {}, \"kernel\": \"{}\", \"checked\": {}, \
         \"generation_s\": {:e}, \"construction_s\": {:e}, \"harmonic_mean_teps\": {:e},\n \
         \"searches\": [\n  {}\n ]}}\n",
        options.scale,
        options.edge_factor,
        options.ranks,
        if options.turns { "directions" } else { "levels" },
        options.check,
        measured.generation_s,
        measured.construction_s,
        teps(measured),
        searches.join(",\n  ")
    )
}

fn seconds(value: f64) -> String {
    format!("{value:.9e}")
}

fn samples(measured: &Measured) -> [(&'static str, Vec<f64>); 4] {
    let of = |value: fn(&crate::benchmark::Searched) -> f64| {
        measured.searches.iter().map(value).collect::<Vec<f64>>()
    };
    [
        ("bfs  time", of(|one| one.search_s)),
        ("nedge", of(|one| one.edges as f64)),
        ("bfs  TEPS", of(|one| one.edges as f64 / one.search_s)),
        ("bfs  validate", of(|one| one.check_s)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::Searched;

    #[test]
    fn the_statistics_have_the_names_of_the_specification() {
        let one = |search_s| Searched { search_s, edges: 100, ..Searched::default() };
        let measured =
            Measured { searches: vec![one(1.0), one(2.0), one(4.0)], ..Measured::default() };
        let text = text(&Options::default(), &measured);
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("{name}:")));
            line.and_then(|line| line.split_whitespace().last()?.parse::<f64>().ok())
        };
        assert_eq!(value("SCALE"), Some(16.0));
        assert_eq!(value("NBFS"), Some(3.0));
        assert_eq!(value("bfs  median_time"), Some(2.0));
        assert_eq!(value("bfs  max_TEPS"), Some(100.0));
        assert_eq!(value("mean_nedge"), Some(100.0));
        let wanted = 300.0 / 7.0;
        assert!((value("bfs  harmonic_mean_TEPS").unwrap() - wanted).abs() < 1e-6);
        assert!(json(&Options::default(), &measured).contains("\"kernel\": \"directions\""));
    }
}
