"""Many files as one table or array: which there are, what they hold together, who reads what.

`find_files` lists them, `describe` looks into some of them, in any process, `join_parts` says what
they are together, and `cut_into_blocks` which rows of which files make a block.
"""

from __future__ import annotations

from freestone.io.many.finding import Found, find_files, is_many, split_tree
from freestone.io.many.joining import Joined, Piece, check_there_are, join_parts
from freestone.io.many.keys import key_types, left_by_folders, not_excluded
from freestone.io.many.parts import Part, describe, narrowed
from freestone.io.many.planning import Planned, cut_into_blocks
from freestone.io.many.predicates import (
    as_expression,
    as_predicate,
    columns_of,
    may_name,
    without_views,
)
from freestone.io.many.request import Request

__all__ = [
    "Found",
    "Joined",
    "Part",
    "Piece",
    "Planned",
    "Request",
    "as_expression",
    "as_predicate",
    "check_there_are",
    "columns_of",
    "cut_into_blocks",
    "describe",
    "find_files",
    "is_many",
    "join_parts",
    "key_types",
    "left_by_folders",
    "may_name",
    "narrowed",
    "not_excluded",
    "split_tree",
    "without_views",
]
