"""The table of built-in functions of the language, and what has to be tested of it."""

import re
from pathlib import Path

from freestone.lang.front.builtins import BUILTINS

ROOT = Path(__file__).resolve().parents[2]

TABLE = """
fill createFrame diagMatrix rand sample seq
typeOf nrow ncol ncell sparsity isSymmetric
minus abs sign exp ln sqrt round floor ceil sin cos tan sinh cosh tanh asin acos atan isNan
lower upper
mod pow log min max concat
outerAdd outerSub outerMul outerDiv outerPow outerMod outerLog outerMin outerMax outerAnd outerOr
outerEq outerNeq outerLt outerLe outerGt outerGe outerXor outerConcat
sum aggMin aggMax mean var stddev idxMin idxMax count cumSum cumProd cumMin cumMax
reshape transpose t cbind rbind reverse order
eigen solve syrk gemv diagVector lowerTri upperTri replace ctable
affine biasAdd conv2d avg_pool2d max_pool2d batch_norm2d relu softmax
batch_norm2d_backward conv2d_backward_filter conv2d_backward_data avg_pool2d_backward
max_pool2d_backward
sql registerView cartesian innerJoin semiJoin groupJoin groupSum setColLabels setColLabelsPrefix
intersect merge except leftOuterJoin fullOuterJoin antiJoin
print readMatrix readFrame write writeMatrix writeFrame stop
openFile openDevice openFileOnTarget close readCsv
oneHot recode bin
createList length append remove getElementInList replaceElementInList
now map quantize startProfiling stopProfiling receiveFromNumpy saveDaphneLibResult
"""
NAMES = TABLE.split()
ABOVE = {"map"}
"""What takes a function, and so is built by the language itself."""


def test_every_function_of_the_language_is_there_and_no_other() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(NAMES) == set(BUILTINS) | ABOVE


def test_the_reference_lists_them_all() -> None:
    page = (ROOT / "docs" / "reference" / "daphnedsl.md").read_text()
    table = page.partition("## Built-in functions")[2]
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", table)] == []
