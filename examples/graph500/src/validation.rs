//! Is it a breadth-first tree? Checked against the list of edges, never against the graph that
//! was searched.

use crate::bitmap::Bitmap;
use crate::edges::Edge;

/// Not reached.
pub const UNREACHED: i64 = -1;

/// Why something is no breadth-first tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The root is its own parent.
    #[error("the root {root} has the parent {parent}, not itself")]
    Root {
        /// The root.
        root: u64,
        /// What it has.
        parent: i64,
    },
    /// A parent is no vertex, or not in the tree.
    #[error("vertex {vertex} has the parent {parent}, which is not in the tree")]
    Parent {
        /// Whose parent.
        vertex: u64,
        /// What it has.
        parent: i64,
    },
    /// Going from parent to parent never ends.
    #[error("vertex {vertex} is its own ancestor")]
    Cycle {
        /// A vertex of the cycle, or below it.
        vertex: u64,
    },
    /// An edge joins two levels that are no neighbours.
    #[error("the edge of {u} and {v} joins the levels {from} and {to}")]
    Levels {
        /// One end.
        u: u64,
        /// The other.
        v: u64,
        /// Its level.
        from: u32,
        /// The other's.
        to: u32,
    },
    /// Only one end of an edge was reached.
    #[error("the edge of {u} and {v} leads out of the tree")]
    Outside {
        /// One end.
        u: u64,
        /// The other.
        v: u64,
    },
    /// A vertex and its parent have no edge.
    #[error("there is no edge of {vertex} and its parent {parent}")]
    NoEdge {
        /// The vertex.
        vertex: u64,
        /// Its parent.
        parent: i64,
    },
}

/// A tree, by labels: what is to be checked.
#[derive(Clone, Debug)]
pub struct Tree {
    root: u64,
    parents: Vec<i64>,
    levels: Vec<u32>,
}

const NO_LEVEL: u32 = u32::MAX;

impl Tree {
    /// Finds each vertex's level by going from parent to parent: so the two ends of every edge of
    /// the tree are one level apart. Takes time in proportion to the vertices.
    ///
    /// # Errors
    ///
    /// If the root is not its own parent, a parent is not in the tree, or there is a cycle.
    pub fn new(root: u64, parents: Vec<i64>) -> Result<Self, Invalid> {
        let parent = parents[root as usize];
        if parent != root.cast_signed() {
            return Err(Invalid::Root { root, parent });
        }
        let mut levels = vec![NO_LEVEL; parents.len()];
        levels[root as usize] = 0;
        let mut path = Vec::new();
        for vertex in (0..parents.len()).filter(|&vertex| parents[vertex] != UNREACHED) {
            let mut at = vertex;
            while levels[at] == NO_LEVEL {
                path.push(at);
                if path.len() > parents.len() {
                    return Err(Invalid::Cycle { vertex: vertex as u64 });
                }
                let (own, parent) = (at as u64, parents[at]);
                let known = usize::try_from(parent).ok().filter(|&parent| parent < parents.len());
                at = known
                    .filter(|&parent| parents[parent] != UNREACHED)
                    .ok_or(Invalid::Parent { vertex: own, parent })?;
            }
            for (level, below) in (levels[at] + 1..).zip(path.drain(..).rev()) {
                levels[below] = level;
            }
        }
        Ok(Self { root, parents, levels })
    }

    /// Looks at edges of the list: how many of them were traversed, loops and twins too. Adds to
    /// `joined` each vertex that has an edge with its parent.
    ///
    /// # Errors
    ///
    /// If an edge joins levels that are no neighbours, or leads out of the tree.
    pub fn look_at(&self, edges: &[Edge], joined: &mut Bitmap) -> Result<u64, Invalid> {
        let mut traversed = 0;
        for (u, v) in edges.iter().map(|edge| edge.ends()) {
            let (from, to) = (self.levels[u as usize], self.levels[v as usize]);
            if from == NO_LEVEL && to == NO_LEVEL {
                continue;
            }
            if from == NO_LEVEL || to == NO_LEVEL {
                return Err(Invalid::Outside { u, v });
            }
            if from.abs_diff(to) > 1 {
                return Err(Invalid::Levels { u, v, from, to });
            }
            traversed += 1;
            for (vertex, parent) in [(u, v), (v, u)] {
                if self.parents[vertex as usize] == parent.cast_signed() {
                    joined.add(vertex as u32);
                }
            }
        }
        Ok(traversed)
    }

    /// Looks whether each vertex of the tree has an edge with its parent.
    ///
    /// # Errors
    ///
    /// If one has none.
    pub fn look_at_joined(&self, joined: &Bitmap) -> Result<(), Invalid> {
        for (vertex, &parent) in (0..).zip(&self.parents) {
            let is_below = parent != UNREACHED && vertex != self.root;
            if is_below && !joined.has(vertex as u32) {
                return Err(Invalid::NoEdge { vertex, parent });
            }
        }
        Ok(())
    }
}

/// Checks a tree against a whole list of edges: how many of them were traversed.
///
/// # Errors
///
/// If it is no breadth-first tree of the root's component.
pub fn check(root: u64, parents: Vec<i64>, edges: &[Edge]) -> Result<u64, Invalid> {
    let mut joined = Bitmap::new(parents.len());
    let tree = Tree::new(root, parents)?;
    let traversed = tree.look_at(edges, &mut joined)?;
    tree.look_at_joined(&joined).map(|()| traversed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two triangles that share vertex 2, a loop, a twin, and an edge apart from them.
    fn edges() -> Vec<Edge> {
        let ends = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (3, 3), (0, 1), (5, 6)];
        ends.map(|(u, v)| Edge::new(u, v)).to_vec()
    }

    const TREE: [i64; 7] = [0, 0, 0, 2, 2, -1, -1];

    fn with(changes: &[(usize, i64)]) -> Result<u64, Invalid> {
        let mut parents = TREE.to_vec();
        for &(vertex, parent) in changes {
            parents[vertex] = parent;
        }
        check(0, parents, &edges())
    }

    #[test]
    fn a_tree_passes_and_its_edges_are_counted() {
        assert_eq!(with(&[]), Ok(8));
    }

    #[test]
    fn a_cycle_is_found() {
        assert_eq!(with(&[(3, 4), (4, 3)]), Err(Invalid::Cycle { vertex: 3 }));
    }

    #[test]
    fn a_root_with_another_parent_is_found() {
        assert_eq!(with(&[(0, 1)]), Err(Invalid::Root { root: 0, parent: 1 }));
    }

    #[test]
    fn a_detour_is_found() {
        // Vertex 2 by way of vertex 1: two levels below the root, with an edge to it.
        let found = Err(Invalid::Levels { u: 2, v: 0, from: 2, to: 0 });
        assert_eq!(with(&[(2, 1)]), found);
    }

    #[test]
    fn a_vertex_that_was_left_out_is_found() {
        assert_eq!(with(&[(4, -1)]), Err(Invalid::Outside { u: 3, v: 4 }));
    }

    #[test]
    fn an_edge_that_is_not_in_the_list_is_found() {
        // Vertices 5 and 6 hang at the root, on the same level.
        let found = Err(Invalid::NoEdge { vertex: 5, parent: 0 });
        assert_eq!(with(&[(5, 0), (6, 0)]), found);
    }

    #[test]
    fn a_parent_outside_of_the_tree_is_found() {
        for parent in [5, 7, -2] {
            assert_eq!(with(&[(3, parent)]), Err(Invalid::Parent { vertex: 3, parent }));
        }
    }
}
