//! What ended lately: so that a person can ask where a task ran whose record is gone.

use super::tasks::Task;
use crate::manager::api::{Attempt, Explanation};
use freestone_base::hash::ByName;
use freestone_base::{FunctionId, Name, Resources};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// As many are remembered: a bounded price for an answer that is wanted soon or never.
const REMEMBERED: usize = 4096;

#[derive(Serialize, Deserialize)]
struct Ended {
    function: FunctionId,
    resources: Resources,
    attempt: Attempt,
    attempted: u32,
}

/// The tasks that were done last, by the names of their first outputs.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Recent {
    order: VecDeque<Name>,
    ended: ByName<Ended>,
}

impl Recent {
    /// Remembers a task that is done and whose record goes.
    pub fn remember(&mut self, name: Name, task: &Task) {
        let Some(worker) = task.stage.place() else { return };
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ended.remove(&oldest);
        }
        let attempt = Attempt {
            worker,
            sent_ns: task.sent_ns,
            start_ns: task.ready_ns,
            duration_ns: task.charged_ns,
            ended: String::new(),
        };
        let ended = Ended {
            function: task.function,
            resources: task.options.resources.clone(),
            attempt,
            attempted: task.attempts(),
        };
        if self.ended.insert(name, ended).is_none() {
            self.order.push_back(name);
        }
    }

    /// What is remembered of the task that made a block, and its function.
    pub fn find(&self, name: &Name) -> Option<(FunctionId, Explanation)> {
        let ended = self.ended.get(name)?;
        let attempt = Attempt { ended: "done".to_owned(), ..ended.attempt.clone() };
        let explanation = Explanation {
            stage: "done".into(),
            resources: ended.resources.clone(),
            attempts: vec![attempt],
            attempted: ended.attempted,
            ..Explanation::default()
        };
        Some((ended.function, explanation))
    }
}
