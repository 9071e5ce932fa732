//! Who disagrees, in words.

use super::settings::{Texts, other_setting};
use crate::blueprint::Layouts;
use crate::data::{Description, difference};
use crate::error::{Fault, Problem};
use crate::resize::Disagreement;
use freestone_base::layout::run_transfers;
use serde::{Deserialize, Serialize};

/// What each rank reports when the ranks do not agree.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Report {
    /// The program's step.
    pub step: i64,
    /// Whether its loop is over.
    pub has_ended: bool,
    /// What it calls, if that is not a checkpoint.
    pub call: Option<String>,
    /// An error of its own.
    pub problem: Option<Problem>,
    /// Its settings.
    pub settings: Texts,
    /// What it has registered.
    pub data: Vec<Description>,
    /// How it lays rows out.
    pub layouts: Layouts,
    /// Checksums of its replicated data, by number, at the first checkpoint.
    pub values: Vec<u64>,
}

/// Which rank disagrees with the others, in what, and at which step.
pub fn explain(what: Disagreement, reports: &[Report]) -> Problem {
    let step = reports.iter().map(|report| report.step).max().unwrap_or_default();
    let ranks = || reports.iter().enumerate();
    let text = match what {
        Disagreement::Problem => {
            let found = ranks().find_map(|(rank, report)| {
                Some((format!("rank {rank}"), report.problem.as_ref()?))
            });
            return found.map_or_else(
                || disagreement(format!("step {step}: a rank has failed")),
                |(who, problem)| at_step(&who, step, problem),
            );
        }
        Disagreement::Call => {
            let call = |report: &Report| match &report.call {
                Some(call) => call.clone(),
                None if report.has_ended => "has left the loop".to_owned(),
                None => "is at a checkpoint".to_owned(),
            };
            let calls: Vec<String> = reports.iter().map(call).collect();
            let other = calls.iter().position(|other| *other != calls[0]).unwrap_or_default();
            format!(
                "step {step}: rank 0 {}, and rank {other} {}: all ranks make such a call together, at the same step",
                calls[0], calls[other]
            )
        }
        Disagreement::Ended => {
            let ended = list(ranks().filter(|(_, report)| report.has_ended).map(|(rank, _)| rank));
            let others =
                list(ranks().filter(|(_, report)| !report.has_ended).map(|(rank, _)| rank));
            format!(
                "step {step}: the loop is over on rank {ended}, and rank {others} is at a \
                 checkpoint: all ranks have to make the same number of steps"
            )
        }
        Disagreement::Steps => {
            let usual = usual_step(reports);
            let others: Vec<_> = ranks()
                .filter(|(_, report)| report.step != usual)
                .map(|(rank, report)| format!("rank {rank} is at step {}", report.step))
                .collect();
            format!(
                "{}, where the others are at step {usual}: has a checkpoint been skipped? All \
                 ranks come to the same ones",
                others.join(", ")
            )
        }
        Disagreement::Data => ranks()
            .find_map(|(rank, report)| {
                let text = other_registration(report, reports.first()?)?;
                Some(format!("step {step}: rank {rank} {text}"))
            })
            .unwrap_or_else(|| laid_out_differently(step, reports)),
    };
    disagreement(text)
}

/// In what a rank's settings, or else what it has registered, differ from those of rank 0.
pub fn other_registration(own: &Report, first: &Report) -> Option<String> {
    let who = "rank 0 has";
    other_setting(&own.settings, &first.settings, who).or_else(|| {
        let text = difference(&own.data, &first.data, who)?;
        Some(format!("{text}: all ranks register the same, in one order"))
    })
}

fn disagreement(text: String) -> Problem {
    Problem { fault: Fault::Disagreement, text }
}

/// A problem of one process, as all get it.
pub fn at_step(who: &str, step: i64, problem: &Problem) -> Problem {
    Problem { fault: problem.fault, text: format!("{who}, step {step}: {}", problem.text) }
}

fn laid_out_differently(step: i64, reports: &[Report]) -> String {
    let layouts: Vec<_> = reports.iter().map(|report| report.layouts.clone()).collect();
    let data = reports.first().map(|report| report.data.clone()).unwrap_or_default();
    let text = other_layout(&layouts, &data)
        .unwrap_or_else(|| "ranks lay rows out differently".to_owned());
    format!("step {step}: {text}")
}

/// Which rank lays rows out otherwise than rank 0, and how.
pub fn other_layout(layouts: &[Layouts], data: &[Description]) -> Option<String> {
    let first = layouts.first()?;
    layouts.iter().enumerate().find_map(|(rank, own)| {
        let (deal, layout) = own.iter().find(|(deal, layout)| first.get(deal) != Some(layout))?;
        let found = run_transfers(first.get(deal)?, layout).ok()?;
        let other = found.iter().find(|overlap| overlap.source != overlap.target)?;
        let named = data.iter().find(|one| one.deal() == Some(*deal));
        let (rows, ranks) = (layout.rows(), layout.places());
        let what = named.map_or(format!("{rows} rows"), |one| format!("{:?}", one.name));
        Some(format!(
            "the layout of {what} over {ranks} ranks gives row {} to rank {} on rank {rank}, and to \
             rank {} on rank 0: it has to be the same on all ranks for the same arguments",
            other.rows.start, other.target, other.source
        ))
    })
}

/// The step that most ranks are at; of several the first.
fn usual_step(reports: &[Report]) -> i64 {
    let count = |step| reports.iter().filter(|report| report.step == step).count();
    let steps = reports.iter().map(|report| report.step);
    steps.min_by_key(|step| (std::cmp::Reverse(count(*step)), *step)).unwrap_or_default()
}

fn list(ranks: impl Iterator<Item = usize>) -> String {
    ranks.map(|rank| rank.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Form;
    use crate::job::Settings;
    use freestone_base::layout::RowRuns;

    fn report(step: i64, has_ended: bool, names: &[&str]) -> Report {
        let form = Form::Replicated { nbytes: 8 };
        let data = names.iter().map(|name| Description::new(name, form));
        let layouts = Layouts::new();
        let (settings, data) = (Settings::default().texts(), data.collect());
        let values = Vec::new();
        Report { step, has_ended, call: None, problem: None, settings, data, layouts, values }
    }

    #[test]
    fn a_rank_that_lays_rows_out_otherwise_is_named() {
        let layout = |bounds, ranks| RowRuns::new(bounds, ranks, 2).unwrap();
        let first = layout(vec![0, 5, 10], vec![0, 1]);
        let others = [layout(vec![0, 4, 10], vec![0, 1]), layout(vec![0, 5, 8, 10], vec![0, 1, 0])];
        let data = [Description::new("x", Form::User { rows: 10, has_runs: true })];
        let layouts = |layout: &RowRuns| Layouts::from([(10, layout.clone())]);
        let first = layouts(&first);
        assert_eq!(other_layout(&[first.clone(), first.clone()], &data), None);
        for (other, what) in others.iter().zip([
            "\"x\" over 2 ranks gives row 4 to rank 1 on rank 2, and to rank 0 on rank 0",
            "\"x\" over 2 ranks gives row 8 to rank 0 on rank 2, and to rank 1 on rank 0",
        ]) {
            let text = other_layout(&[first.clone(), first.clone(), layouts(other)], &data);
            assert!(text.as_ref().unwrap().contains(what), "{text:?}");
        }
    }

    #[test]
    fn an_error_names_rank_step_and_array() {
        let reports = [report(7, false, &["a", "b"]), report(6, true, &["a", "c"])];
        let text = |what| explain(what, &reports).text;
        assert!(
            text(Disagreement::Steps)
                .starts_with("rank 0 is at step 7, where the others are at step 6")
        );
        assert!(text(Disagreement::Ended).contains("over on rank 1, and rank 0 is at"));
        let data = text(Disagreement::Data);
        assert!(
            data.contains(
                "rank 1 has registered replicated \"c\" of 8 bytes, not replicated \"b\""
            )
        );
        let fewer = [report(7, false, &["a"]), report(7, false, &["a", "b"])];
        let data = |reports: &[Report]| explain(Disagreement::Data, reports).text;
        assert!(data(&fewer).contains(
            "rank 1 has registered replicated \"b\" of 8 bytes, which rank 0 has not: all"
        ));
        let [first, second] = fewer;
        assert!(data(&[second, first]).contains(
            "rank 1 has not registered replicated \"b\" of 8 bytes, which rank 0 has: all"
        ));
        let mut others = reports.to_vec();
        others[1].settings = Settings { is_overlapped: true, ..Settings::default() }.texts();
        let text = explain(Disagreement::Data, &others).text;
        assert!(
            text.starts_with("step 7: rank 1 has overlap = 1, where rank 0 has 0: give the same")
        );
        let mut failed = reports.to_vec();
        failed[1].problem = Some(Problem { fault: Fault::Memory, text: "no memory".to_owned() });
        let problem = explain(Disagreement::Problem, &failed);
        assert_eq!((problem.fault, &*problem.text), (Fault::Memory, "rank 1, step 7: no memory"));
    }
}
