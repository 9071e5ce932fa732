"""The teaching version against SciPy, and the rules by which trees are checked."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from examples.graph500 import kronecker, tree
from examples.graph500.main import search_all
from examples.graph500.search import run
from freestone import events as ev

ROOT = Path(__file__).parents[2]
# Two triangles that share vertex 2, a loop, a twin, and an edge apart from them.
EDGES = np.array([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (3, 3), (0, 1), (5, 6)]).T
TREE = (0, 0, 0, 2, 2, -1, -1)


def depths(graph, vertices, root):
    matrix = coo_array((np.ones(graph.shape[1]), graph), (vertices, vertices)).tocsr()
    order, parents = breadth_first_order(matrix, root, directed=False)
    found = np.full(vertices, -1)
    found[root] = 0
    for vertex in order[1:]:
        found[vertex] = found[parents[vertex]] + 1
    return found


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_levels_are_those_of_scipy(ranks):
    graph, vertices = kronecker.edges(8), 1 << 8
    roots = kronecker.roots(graph, 4)
    found = ev.run(run, ranks, args=(graph, vertices, roots), threads=True)
    for index, root in enumerate(roots.tolist()):
        parents = np.empty(vertices, np.int64)
        for rank, searches in enumerate(found):
            parents[rank::ranks] = searches[index][1]
        assert np.array_equal(tree.levels(parents, root), depths(graph, vertices, root))


def test_every_tree_of_processes_is_valid():
    seconds, edges = search_all(scale=7, ranks=2, count=8)
    assert len(seconds) == 8
    assert all(1 <= traversed <= 16 << 7 for traversed in edges)


def test_a_tree_passes_and_its_edges_are_counted():
    assert tree.check(EDGES, np.array(TREE), 0) == 8


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({3: 4, 4: 3}, "2 vertices do not lead to the root, 3 is one of them"),
        ({0: 1}, "the root 0 has the parent 1"),
        ({2: 1}, "1 edges join levels that are no neighbours"),
        ({4: -1}, "2 edges lead out of the tree"),
        ({5: 0, 6: 0}, "2 vertices have no edge with their parents"),
    ],
    ids=["cycle", "root", "detour", "left out", "no edge"],
)
def test_a_broken_tree_is_found(changes, wrong):
    parents = np.array(TREE)
    parents[list(changes)] = list(changes.values())
    with pytest.raises(ValueError, match=wrong):
        tree.check(EDGES, parents, 0)


def test_a_graph_with_too_few_roots_is_refused():
    with pytest.raises(ValueError, match="64 roots: the graph has"):
        kronecker.roots(kronecker.edges(4), 64)


def test_it_runs_as_a_script():
    command = [sys.executable, "examples/graph500/main.py", "--scale", "8", "--roots", "4"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "searches: 4, every tree valid" in ran.stdout
