//! The graph alone: no workers, no clients.

use super::*;
use crate::manager::tests::{call, desc, name};

impl Graph {
    fn slots(&mut self, names: &[Name]) -> Slots {
        names.iter().map(|name| self.blocks.find_or_insert(*name)).collect()
    }

    /// Inserts the task that makes `output` of `inputs`; gives it, and how many of them are missing.
    fn call(&mut self, output: u32, inputs: &[u32]) -> (TaskSlot, u32) {
        let request = call(output, inputs);
        let (inputs, outputs) = (self.slots(&request.inputs), self.slots(&request.outputs));
        let template = self.templates.share(Template::new(&request, 0));
        let task = self.tasks.insert(Task::new(&request, template, inputs, outputs, 0));
        (task, self.link(task))
    }

    /// The task is done, its output is at worker 0, and its inputs may have to make it again.
    fn finish(&mut self, task: TaskSlot, output: u32) {
        self.tasks[task].stage = Stage::Done(WorkerId(0));
        for slot in self.tasks[task].inputs.clone() {
            self.blocks[slot].unfinished -= 1;
            self.blocks[slot].lineage += 1;
        }
        let slot = self.find(output);
        self.note_replica(slot, desc(output, 10), WorkerId(0));
    }

    fn find(&self, number: u32) -> BlockSlot {
        self.blocks.find(&name(number)).unwrap()
    }
}

/// A million queued tasks are a hundred megabytes for each hundred bytes here.
#[test]
fn a_tasks_record_and_its_outputs_are_small() {
    assert!(size_of::<Option<Task>>() <= 112, "{} bytes", size_of::<Option<Task>>());
    assert!(size_of::<Option<Block>>() <= 96, "{} bytes", size_of::<Option<Block>>());
}

#[test]
fn a_task_misses_what_is_not_there_once_per_position() {
    let mut graph = Graph::new();
    let (first, missing) = graph.call(1, &[]);
    assert_eq!(missing, 0);
    let (_, missing) = graph.call(2, &[1, 1, 9]);
    assert_eq!(missing, 3);
    assert_eq!(graph.blocks[graph.find(1)].unfinished, 2);
    graph.finish(first, 1);
    assert_eq!(graph.call(3, &[1, 9]).1, 1);
}

#[test]
fn lineage_is_needed_as_long_as_what_comes_of_it_is_wanted() {
    let mut graph = Graph::new();
    let first = graph.call(1, &[]).0;
    graph.finish(first, 1);
    let second = graph.call(2, &[1]).0;
    graph.finish(second, 2);
    let last = graph.find(2);
    graph.blocks[last].references = 1;
    assert!(graph.is_lineage_needed(first) && graph.is_lineage_needed(second));
    assert_eq!(graph.makes_again(last), None, "it is there");
    graph.blocks[last].references = 0;
    assert!(!graph.is_lineage_needed(second) && graph.is_lineage_needed(first));
    graph.remove_lineage(second);
    assert!(!graph.is_lineage_needed(first));
    assert_eq!(graph.dirty, [graph.find(1), last]);
    assert!(graph.ended_lately(&name(2)).is_some());
}

#[test]
fn only_what_no_task_makes_is_irreplaceable_and_a_root_once_nobody_wants_it() {
    let mut graph = Graph::new();
    let slot = graph.blocks.find_or_insert(name(1));
    assert!(graph.is_forgotten(slot));
    graph.note_replica(slot, desc(1, 10), WorkerId(0));
    assert!(!graph.is_forgotten(slot) && graph.is_irreplaceable(&graph.blocks[slot]));
    let task = graph.call(2, &[1]).0;
    assert!(!graph.is_root(&graph.blocks[slot]), "a task is to use it");
    graph.finish(task, 2);
    assert!(graph.is_root(&graph.blocks[slot]));
    assert!(!graph.is_irreplaceable(&graph.blocks[graph.find(2)]));
}
