"""Scripts over the blocks of a cluster: the text that they print here, and what is sent."""

from __future__ import annotations

import io
import time

import pytest

from freestone import Cluster
from freestone.errors.lang import ScriptRunError
from freestone.lang.front.parse.source import Source
from freestone.lang.run.distributed.running import DistributedRun
from freestone.lang.script import compile_source
from freestone.lang.settings import Settings
from tests.lang.scripts import printed, printed_on

MADE = "X = rand(23, 4, 0.0, 1.0, 1.0, 1); v = rand(23, 1, 0.0, 1.0, 1.0, 2); w = [1.0, 2, 3, 4];"

PARTS = {
    "chain": "print(sum((X * 2.0 + 1.0) / 3.0 > 0.5));",
    "cells": "print(round(X * 10.0) + X[, 0]); print(-X ^ 2.0); print(2.0 - X);",
    "broadcast": "print(X * t(w)); print(X - v); print(max(X, v)); print((X @ w) + v);",
    "of itself": "A = rand(9, 9, 0.0, 1.0, 1.0, 3); p = A[, 0]; print((A @ p) + p); print(p * p);",
    "totals": "print(sum(X)); print(aggMin(X)); print(mean(X)); print(var(X)); print(stddev(X));",
    "per row": "print(sum(X, 0)); print(aggMax(X, 0)); print(mean(X, 0)); print(idxMin(X, 0));",
    "per column": "print(sum(X, 1)); print(aggMin(X, 1)); print(mean(X, 1)); print(var(X, 1));",
    "no rule": "print(idxMax(X, 1)); print(cumSum(X)); print(reverse(X));",
    "sorted": "print(order(X, 0, true, false)); print(X[order(v, 0, false, true), ]);",
    "sorted by two": "Y = floor(X * 3.0); P = order(Y, 0, 2, true, false, true); print(P); "
    "print(Y[P[0:3, ], ]); print(order(Y, 1, 3, false, true, false));",
    "bins": "print(bin(X, 4)); print(bin(X * 9.0, 3, 1.0, 7.0)); B = bin(X, 2) + v; print(sum(B));"
    "print(bin((X > 0.3) ? X : nan, 3)); print(bin(as.si64(X * 50.0), 5));",
    "recoded": "c, d = recode(floor(v * 5.0), false); print(c); print(d); print(d[c, ] - v); "
    "e, f = recode(as.si64(X[, 1] * -4.0), true); print(e + 1); print(f);",
    "products": "print(X @ [1.0, 2, 3, 4]); print(t(X) @ X); print(t(X) @ v); print(t(v) @ X);",
    "products of two": "print(t(X) @ cbind(v, X)); print(X @ t(X)); print(t(w) @ t(X));",
    "products with itself": "S = rand(8, 8, 0, 9, 1.0, 3); T = t(S); print(T @ T); print(S @ S); "
    "print(T @ S); print(S @ T); print(T + T); print(T @ T @ T); print((T == T) @ S);",
    "transposes": "print(t(X) * 2.0 + w); print(sum(t(X), 0)); print(sum(t(X), 1));",
    "twice": "print(t(t(X))); print(t(t(X) * 2.0));",
    "rows": "print(X[3, ]); print(X[2:17, ]); print(X[-1, 1]); print(X[20:23, 1:3]);",
    "positions": "print(X[ [22, 0, 5, 0], ]); print(X[ [1, 2], 2]); print(X[, [3, 0]]);",
    "positions in blocks": "S = reshape(seq(0, 63, 1), 8, 8); p = seq(7, 0, -1); "
    "print(S[, p]); print(S[p, ]); print(S[p, p]); A = rand(8, 8, 0, 9, 1.0, 3); print(A[, p]); "
    "print(A[p, p] + S); print(t(A)[, p]); print(sum(reshape(seq(0, 14, 2), 2, 4)[, [3, 2]]));",
    "dictionaries in blocks": "S = reshape(seq(0, 63, 1), 8, 8); D = seq(0, 7, 1); "
    "print(S @ S[, D]); print(outerAdd(S[, 1], t(D)));",
    "filters": "print(X[[v > 0.5, ]]); print(nrow(X[[v > 2.0, ]])); print(X[[, w > 1.5]]);",
    "halves": "A = X[0:12, ] * 2.0; B = X[11:23, ]; print(A + B); print(rbind(A, B) + X[0, ]);",
    "side by side": "print(cbind(X, v)); print(cbind(v, X * 2.0) + 1.0); print(ncol(cbind(X, X)));",
    "few of few": "one = seq(0, 22, 1) == 5; F = X[[one, ]]; print(aggMax(F)); "
    "print(aggMin(F, 1)); print(idxMax(F, 0)); none = one > 1; "
    "N = X[[none, ]]; print(nrow(N)); print(sum(N));",
    "columns written": "X[, 1] = v; print(X); X[, ] = X * 2.0; print(sum(X)); X[, 0] = X[, 3]; "
    "print(X - v); v[, 0] = X[, 2]; print(v);",
    "written to": "X[2:4, ] = fill(9.0, 2, 4); print(X); Y = X; Y[0, 0] = [5.0]; print(X + Y);",
    "tables": "g = floor(v * 3.0); print(ctable(g, g, 1.0, 3, 3)); print(ctable(g, g));",
    "groups": "g = as.si64(v * 3.0); print(sum(v, g, 3)); print(count(v, g, 3));",
    "means of groups": "g = as.si64(v * 3.0); print(mean(v, g, 3)); print(aggMax(v, g, 3));",
    "integers": "I = as.si32(X * 100.0); print(I % as.si32(7)); print(I / as.si32(3));",
    "bytes": "I = as.ui8(X * 300.0); print(I + as.ui8(200)); print(aggMax(I, 1)); print(t(I) @ I);",
    "truth": "B = X > 0.5; print(sum(B, 0)); print(B && (X < 0.7)); print(X > 0.3 ? X : -X);",
    "functions": "def f(x: f64) -> f64 { return x * x + 1.0; } print(map(X, f));",
    "loops": "for (i in 1:3) { X = X * 2.0 - v; if (sum(X) > 0.0) { X = X / 2.0; } } print(X);",
    "calls": "def g(A: matrix<f64>) -> matrix<f64> { return A - mean(A, 1); } print(g(X) @ w);",
    "frames": "F = createFrame(X[, 0], v); print(F); print(as.matrix(F));",
    "lists": "L = createList(X, v); L = append(L, X * 2.0); print(L);",
    "what is known": "print(nrow(X)); print(ncell(t(X))); print(typeOf(X)); print(sparsity(X));",
    "made": "print(fill(3, 7, 2) + 1); print(seq(1, 9, 2) * 2); print(sample(50, 20, false, 1));",
    "ends": "print(softmax(X)); print(relu(X - 0.5)); print(replace(round(X), 0.0, 7.0));",
}


@pytest.fixture(params=[True, False], ids=["fused", "plain"])
def fused(request: pytest.FixtureRequest) -> bool:
    """Whether operations are fused."""
    return bool(request.param)


@pytest.mark.parametrize("name", PARTS)
def test_the_text_is_the_same(two_workers: Cluster, name: str, fused: bool) -> None:
    script = f"{MADE}\n{PARTS[name]}"
    assert printed_on(two_workers, script, vec=fused) == printed(script, vec=fused)


SPARSE = "G = rand(40, 40, 1.0, 1.0, 0.1, 3); p = rand(40, 1, 0.0, 1.0, 1.0, 4);"


@pytest.mark.parametrize(
    "part",
    [
        "print(typeOf(G)); print(G @ p); print((G @ p) * 2.0 + p);",
        "print(aggMax(G * t(p), 0)); print(G * t(p)); print(sum(G)); print(sum(G, 1));",
        "print(t(G) @ p); print(G[3:9, ]); print(G @ p); print(G @ p); print(t(G));",
    ],
)
def test_csr_matrices(two_workers: Cluster, part: str, fused: bool) -> None:
    options = {"vec": fused, "select_matrix_repr": True}
    script = f"{SPARSE}\n{part}"
    assert printed_on(two_workers, script, **options) == printed(script, **options)


def test_coo_matrices(two_workers: Cluster, fused: bool) -> None:
    script = (
        "G = rand(60, 20, 1.0, 2.0, 0.01, 3); X = rand(60, 20, 0.0, 1.0, 1.0, 4); "
        "print(typeOf(G)); print(sum(G)); print(G + G); print(sum(X * G, 0)); "
        "print(X + G); print(t(G) @ X);"
    )
    options = {"vec": fused, "select_matrix_repr": True}
    assert printed_on(two_workers, script, **options) == printed(script, **options)


def test_few_rows_and_many_blocks(two_workers: Cluster) -> None:
    script = "X = rand(3, 2, 0.0, 1.0, 1.0, 1); print(X * 2.0); print(t(X) @ X); print(X[2, ]);"
    assert printed_on(two_workers, script, block_bytes=1) == printed(script, vec=True)


@pytest.mark.parametrize("name", PARTS)
def test_the_text_is_the_same_of_many_blocks(two_workers: Cluster, name: str) -> None:
    # A dozen blocks: more than are combined at once, here or in one call.
    script = f"{MADE}\n{PARTS[name]}"
    assert printed_on(two_workers, script, block_bytes=64) == printed(script, vec=True)


@pytest.mark.parametrize(
    "wrong",
    [
        "Y = X / 0; print(Y);",
        "Y = X;\nprint(Y[7, ]);",
        "print(X @ X);",
        'Y = X * 2;\nZ = Y / (X - X);\nprint("between");\nprint(aggMax(Z, 1));',
        "Y = X + as.si64(rand(2, 3, 0.0, 1.0, 1.0, 1)); print(Y);",
        "print(solve(X, X));",
    ],
)
def test_errors_name_the_line(two_workers: Cluster, wrong: str) -> None:
    # The size is known only when the script runs.
    script = f"n = as.si64(sum([3, 4]));\nX = as.si64(rand(n, 3, 0.0, 9.0, 1.0, 1));\n{wrong}"
    errors = []
    for run in (lambda: printed(script, vec=True), lambda: printed_on(two_workers, script)):
        with pytest.raises(ScriptRunError) as caught:
            run()
        errors.append((str(caught.value), caught.value.line, caught.value.column))
    assert errors[0] == errors[1]


def test_nothing_is_printed_after_a_mistake(two_workers: Cluster) -> None:
    script = 'X = fill(1, 9, 2);\nY = X / (X - 1);\nprint("here");\nprint(Y);'
    with pytest.raises(ScriptRunError, match=r"divided by zero\nscript:2"):
        printed_on(two_workers, script)


REPEATED = """X = rand(4000, 50, 0.0, 1.0, 1.0, 1);
C = rand(50, 40, 0.0, 1.0, 1.0, 2);
p = fill(1.0, 50, 1);
for (i in 1:20) {
    q = X @ p;
    p = (t(X) @ q) / sum(q) + sum(X @ C + as.f64(i)) / 1000.0;
}
print(sum(p));
"""


def test_what_is_in_place_is_not_sent_again(two_workers: Cluster) -> None:
    before = two_workers.statistics()
    found = printed_on(two_workers, REPEATED, distributed_bytes=100_000)
    after = two_workers.statistics()
    assert found == printed(REPEATED, vec=True)
    # Half of X and all of C go to the other worker, once; some bytes of each block are its head.
    # A worker with nothing to do may fetch the other half of X, and in each round some of q: more
    # on a busy machine, where workers wait for each other. To send X anew in every round would be
    # 16 times as much.
    half, constant = 4000 * 50 * 8 // 2, 50 * 40 * 8
    sent = after.transferred_nbytes - before.transferred_nbytes
    assert half + constant <= sent <= 5 * half


def test_csr_matrices_in_place_are_not_sent_again(two_workers: Cluster) -> None:
    script = (
        "G = rand(4000, 4000, 1.0, 1.0, 0.05, 5); p = fill(0.5, 4000, 1); "
        "for (i in 1:20) { p = (G @ p) * 0.001 + 0.1; } print(sum(p)); print(sum(t(G) @ p));"
    )
    options = {"select_matrix_repr": True, "distributed_bytes": 1_000_000}
    before = two_workers.statistics()
    found = printed_on(two_workers, script, **options)
    after = two_workers.statistics()
    assert found == printed(script, vec=True, select_matrix_repr=True)
    # Half of G goes to the other worker, once; one with nothing to do may fetch the other half.
    # Each round the vector comes together and goes out anew. Some places are drawn twice.
    half, vector = 4000 * 200 * 12 // 2, 4000 * 8
    sent = after.transferred_nbytes - before.transferred_nbytes
    assert 0.9 * half <= sent <= 2 * half + 21 * 4 * (vector + 1000)


def held(cluster: Cluster, most: int) -> int:
    """Wait until workers hold at most so many bytes; freed ones go within about 0.1 s."""
    deadline = time.monotonic() + 30
    while True:
        nbytes = sum(worker.nbytes for worker in cluster.statistics().workers)
        if nbytes <= most or time.monotonic() > deadline:
            return nbytes
        cluster.submit(pow, 2, 2, pure=False).result()


def test_memory_on_workers_is_freed(two_workers: Cluster) -> None:
    printed_on(two_workers, "X = rand(900, 100, 0.0, 1.0, 1.0, 1); for (i in 1:9) { X = X + 1.0; }")
    assert held(two_workers, 0) == 0


def test_values_that_died_are_freed_while_the_script_runs(two_workers: Cluster) -> None:
    left, nbytes = [], 9000 * 10 * 8

    class Watch(io.StringIO):
        def write(self, text: str) -> int:
            left.append(held(two_workers, 3 * nbytes))
            return super().write(text)

    script = "X = rand(9000, 10, 0.0, 1.0, 1.0, 1); for (i in 1:5) { X = X + 1.0; print(sum(X)); }"
    options = Settings(vec=True, distributed=True, distributed_bytes=0)
    program = compile_source(Source(script, "script"), {}, options)
    DistributedRun(options, two_workers.client, Watch()).program(program)
    # X, at most what it was made of, and the first X, as nothing could make that again.
    assert len(left) == 5
    assert nbytes <= min(left) <= max(left) <= 3 * nbytes


def test_explain_tells_where(capsys: pytest.CaptureFixture[str]) -> None:
    script = (
        "X = rand(90, 4, 0.0, 1.0, 1.0, 1); p = fill(1.0, 4, 1);"
        "for (i in 1:3) { p = t(X) @ (X @ p); }"
        "print(sum(X * 2.0 + 1.0)); print(cumSum(X)); print(p);"
    )
    options = Settings(vec=True, distributed=True, distributed_bytes=1000, explain=("placement",))
    compile_source(Source(script, "script"), {}, options)
    shown = capsys.readouterr().err.splitlines()
    wanted = {
        "rand": "on blocks",
        "matmul": "on blocks",
        "gemv": "parts of blocks",
        "pipeline": "parts of blocks",
        "agg_all sum": "parts of blocks",
        "cumulate": "here, from fetched rows",
        "print": None,
    }
    for name, where in wanted.items():
        (line, *_) = [line for line in shown if f"= {name} " in line or line.startswith(name)]
        assert line.endswith(f"({where})") if where else "(" not in line
