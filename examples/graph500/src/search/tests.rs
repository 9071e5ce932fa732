//! Searches on small graphs: every kernel finds trees, and the same levels.

use super::{Found, Kernel, Search};
use crate::building::build;
use crate::edges::Edge;
use crate::kronecker::Kronecker;
use crate::numbering::{NONE, Numbering};
use crate::validation::{Tree, check};
use freestone_events::{Config, Rank};
use std::sync::Arc;

/// Searches from each root, on ranks that are threads; the parents by label.
fn search(ranks: u32, vertices: u64, edges: &[Edge], roots: &[u64], turns: bool) -> Vec<Vec<i64>> {
    let ranks = Rank::start_threads(ranks, 64 << 20, &Config::default()).unwrap();
    let parts = std::thread::scope(|scope| {
        let run = |rank: &Rank| {
            let share = edges.len().div_ceil(rank.ranks() as usize).max(1);
            let part = edges.chunks(share).nth(rank.rank() as usize).unwrap_or_default();
            let built = build(rank, vertices, part).unwrap();
            let kernel = Kernel::new(rank, &built, turns).unwrap();
            let find = |root: &u64| kernel.search(rank, built.numbering.number(*root)).unwrap();
            let found: Vec<Found> = roots.iter().map(find).collect();
            rank.finish().unwrap();
            (built.numbering, found)
        };
        let threads: Vec<_> = ranks.iter().map(|rank| scope.spawn(move || run(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let mut trees = vec![vec![-1; vertices as usize]; roots.len()];
    for (rank, (numbering, found)) in parts.iter().enumerate() {
        let labels = &numbering.labels()[numbering.stride() * rank..];
        for (tree, found) in trees.iter_mut().zip(found) {
            for (label, parent) in labels.iter().zip(&found.parents) {
                tree[*label as usize] = *parent;
            }
        }
    }
    trees
}

fn depths(parents: &[i64]) -> Vec<Option<usize>> {
    let depth = |vertex: usize| {
        let mut at = vertex;
        (0..parents.len()).find(|_| {
            let parent = parents[at] as usize;
            std::mem::replace(&mut at, parent) == parent
        })
    };
    (0..parents.len())
        .map(|vertex| (parents[vertex] >= 0).then(|| depth(vertex)).flatten())
        .collect()
}

#[test]
fn all_kernels_find_trees_with_the_same_levels() {
    for (scale, factor) in [(4, 2), (8, 16), (10, 4), (12, 16)] {
        let list = Kronecker::new(scale, factor, 5);
        let edges = list.slice(0..list.edges());
        let roots: Vec<u64> =
            edges.iter().filter(|edge| !edge.is_loop()).map(|edge| edge.ends().0).take(4).collect();
        let mut wanted = None;
        for (ranks, turns) in [(1, false), (1, true), (2, false), (2, true), (3, true), (5, false)]
        {
            let trees = search(ranks, list.vertices(), &edges, &roots, turns);
            for (root, tree) in roots.iter().zip(&trees) {
                let traversed = check(*root, tree.clone(), &edges);
                assert!(traversed.is_ok(), "scale {scale}, {ranks} ranks: {traversed:?}");
            }
            let found: Vec<_> = trees.iter().map(|tree| depths(tree)).collect();
            assert_eq!(*wanted.get_or_insert_with(|| found.clone()), found, "{ranks} ranks");
        }
    }
}

#[test]
fn a_path_is_searched_to_its_end() {
    let edges: Vec<Edge> = (0..99).map(|v| Edge::new(v, v + 1)).collect();
    for turns in [false, true] {
        let trees = search(2, 128, &edges, &[0, 50], turns);
        assert_eq!(
            trees[0][..100].iter().skip(1).copied().collect::<Vec<_>>(),
            (0..99).collect::<Vec<i64>>()
        );
        assert_eq!(trees[0][100..], [-1; 28]);
        assert!(Tree::new(50, trees[1].clone()).is_ok());
    }
}

#[test]
fn nothing_is_carried_over_from_search_to_search() {
    // Two components: what the first search reached, the second must not.
    let edges = [(0, 1), (1, 2), (4, 5), (5, 6), (6, 4)].map(|(u, v)| Edge::new(u, v));
    let trees = search(3, 8, &edges, &[0, 4, 0], true);
    assert_eq!(trees[0], [0, 0, 1, -1, -1, -1, -1, -1]);
    assert_eq!(trees[1], [-1, -1, -1, -1, 4, 4, 4, -1]);
    assert_eq!(trees[2], trees[0]);
}

#[test]
fn a_visit_to_a_vertex_with_a_parent_changes_nothing() {
    let numbering = Arc::new(Numbering::new(&[1, 1], 2));
    let pair = |place, order| crate::words::from_u64s(&[crate::words::pair(place, order)]);
    let graph = Arc::new(crate::graph::Graph::new(1, &[pair(0, 1)], &numbering));
    let mut part = Search::new(0, &numbering, &graph);
    part.begin(numbering.at(1));
    part.visit(&crate::words::from_u64s(&[
        crate::words::pair(0, numbering.at(1)),
        crate::words::pair(0, NONE),
    ]));
    assert_eq!(part.parents(), [1]);
}
