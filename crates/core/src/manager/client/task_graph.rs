//! What waits for what, for people.

use crate::manager::Manager;
use crate::manager::graph::Task;
use crate::manager::overview::{GraphNode, TaskGraph};
use crate::manager::table::{BlockSlot, TaskSlot};
use std::collections::{BTreeMap, HashMap};

/// Nodes, and which blocks they are already.
#[derive(Default)]
struct Nodes {
    found: Vec<GraphNode>,
    of_block: HashMap<BlockSlot, u32>,
}

impl Manager {
    /// Takes time for each input of each unfinished task; at most `limit` tasks become nodes.
    pub(super) fn task_graph(&self, limit: usize) -> TaskGraph {
        let unfinished: Vec<_> =
            self.graph.tasks.iter().filter(|(_, task)| !task.stage.is_done()).collect();
        let mut graph = TaskGraph {
            unfinished: unfinished.len() as u64,
            between: self.between(&unfinished),
            ..TaskGraph::default()
        };
        if unfinished.len() <= limit {
            let mut nodes = Nodes::default();
            for (_, task) in &unfinished {
                self.add_task(task, &mut nodes);
            }
            for (number, (_, task)) in (0..).zip(&unfinished) {
                for input in &task.inputs {
                    graph.edges.push((self.node_of(*input, &mut nodes), number));
                }
            }
            graph.edges.sort_unstable();
            graph.edges.dedup();
            graph.nodes = nodes.found;
        }
        graph
    }

    fn between(&self, unfinished: &[(TaskSlot, &Task)]) -> Vec<(u32, u32, u64)> {
        let mut counts = BTreeMap::new();
        for (_, task) in unfinished {
            for input in &task.inputs {
                let Some(maker) = self.maker(&self.graph.blocks[*input]) else { continue };
                *counts.entry((maker.0, task.function.0)).or_default() += 1;
            }
        }
        counts.into_iter().map(|((from, to), count)| (from, to, count)).collect()
    }

    fn add_task(&self, task: &Task, nodes: &mut Nodes) {
        let number = nodes.found.len() as u32;
        nodes.of_block.extend(task.outputs.iter().map(|slot| (*slot, number)));
        nodes.found.push(GraphNode {
            name: self.graph.blocks[task.outputs[0]].name,
            function: Some(task.function.0),
            stage: task.stage.as_str().into(),
            worker: task.stage.place(),
        });
    }

    /// The node that makes an input, or that is one: a block that is there.
    fn node_of(&self, input: BlockSlot, nodes: &mut Nodes) -> u32 {
        if let Some(number) = nodes.of_block.get(&input) {
            return *number;
        }
        let block = &self.graph.blocks[input];
        let number = nodes.found.len() as u32;
        nodes.of_block.insert(input, number);
        nodes.found.push(GraphNode {
            name: block.name,
            function: self.maker(block).map(|function| function.0),
            stage: if block.is_available() { "done" } else { "waiting" }.into(),
            worker: None,
        });
        number
    }
}
