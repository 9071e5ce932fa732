"""Wide tasks of known reducers, rewritten as reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from freestone.graph.reducers import Recipe, recipe_of, spread_recipe
from freestone.graph.specs import task_spec

__all__ = ["WIDE", "Reduction", "key_of", "rewrite", "unfused"]

WIDE = 16
"""Dask's own trees take up to 16 values at a time; what takes more was not meant to."""


class Reduction:
    """A node that combines others, as a Dask `GraphNode` has it."""

    __slots__ = ("dependencies", "key", "parts", "recipe")

    def __init__(self, key: Any, parts: tuple[Any, ...], recipe: Recipe) -> None:
        self.key, self.parts, self.recipe = key, parts, recipe
        self.dependencies: frozenset[Any] = frozenset(parts)


def rewrite(specs: dict[Any, Any]) -> dict[Any, Any]:
    """Replace wide tasks of known reducers by reductions.

    Parameters
    ----------
    specs
        Keys and their `GraphNode`; changed in place.

    Returns
    -------
    dict
        The same.

    Notes
    -----
    Looks only at tasks with more than 16 inputs. A fused task that ends in, or begins with, a wide
    one is taken apart first.

    References
    ----------
    Sly-Delgado et al., "Reshaping High Energy Physics Applications for Near-Interactive
    Execution Using TaskVine", figure 11.
    """
    for key in [key for key, node in specs.items() if len(node.dependencies) > WIDE]:
        for new in list(unfused(specs[key], specs, _is_wide)):
            if len(specs[new].dependencies) > WIDE:
                _rewrite(specs, new)
    return specs


def _is_wide(node: Any) -> bool:
    return len(getattr(node, "dependencies", ())) > WIDE


def unfused(node: Any, specs: dict[Any, Any], is_apart: Callable[[Any], bool]) -> Iterator[Any]:
    """Take a fused task apart if one inside it is to be apart; the keys of the parts."""
    spec = task_spec()

    if getattr(node, "func", None) is not spec._execute_subgraph:
        yield node.key
        return
    inner, out, inside, *outside = node.args
    is_plain = all(isinstance(one, spec.GraphNode) for one in inner.values())
    if not any(map(is_apart, [*inner.values(), *outside])) or not is_plain:
        yield node.key
        return
    names: dict[Any, Any] = {key: ("freestone-inner", node.key, str(key)) for key in inner}
    names[out] = node.key
    for key, given in zip(inside, outside, strict=True):
        names[key] = key_of(given)
        if names[key] is None:
            names[key] = ("freestone-inner", node.key, str(key))
            specs[names[key]] = _as_node(given, names[key])
    for key, one in inner.items():
        if key not in inside:
            if isinstance(one, spec.Alias):
                specs[names[key]] = spec.Alias(names[key], names.get(one.target, one.target))
            else:
                specs[names[key]] = one.substitute(names, key=names[key])
            yield names[key]


def _as_node(given: Any, key: Any) -> Any:
    spec = task_spec()

    is_node = isinstance(given, spec.GraphNode)
    return given.substitute({}, key=key) if is_node else spec.DataNode(key, given)


def _rewrite(specs: dict[Any, Any], key: Any) -> None:
    spec = task_spec()

    task = specs[key]
    found = _arguments(task)
    if found is None:
        return
    before, parts, after = found
    recipe = spread_recipe(task.func) if before is None else recipe_of(task.func, before, after)
    if recipe is None or len(set(parts)) != len(parts) or len(parts) <= WIDE:
        return
    if recipe.finish is None:
        specs[key] = Reduction(key, parts, recipe)
        return
    whole = ("freestone-reduction", key)
    specs[whole] = Reduction(whole, parts, recipe)
    specs[key] = spec.Task(key, recipe.finish, spec.TaskRef(whole))


def _arguments(task: Any) -> tuple[list[Any] | None, tuple[Any, ...], list[Any]] | None:
    """Give a task's constants before its values, the values' keys, and the constants after.

    No list before means that the values are the arguments.
    """
    spec = task_spec()

    if getattr(task, "func", None) is None or task.kwargs:
        return None
    keys = [key_of(argument) for argument in task.args]
    if None not in keys:
        return None, tuple(keys), []
    wide = [place for place, one in enumerate(task.args) if getattr(one, "dependencies", ())]
    if len(wide) != 1:
        return None
    (place,) = wide
    parts = _keys_in(task.args[place])
    if parts is None:
        return None
    before = [_plain(one) for one in task.args[:place]]
    after = [_plain(one) for one in task.args[place + 1 :]]
    if any(isinstance(one, spec.GraphNode) for one in [*before, *after]):
        return None
    return before, tuple(parts), after


def _plain(argument: Any) -> Any:
    """Give the value of a node that needs nothing."""
    spec = task_spec()

    if isinstance(argument, spec.GraphNode) and not argument.dependencies:
        return argument({})
    return argument


def key_of(argument: Any) -> Any:
    """Give the key of a reference; None for anything else."""
    spec = task_spec()

    if isinstance(argument, spec.TaskRef):
        return argument.key
    return argument.target if isinstance(argument, spec.Alias) else None


def _keys_in(argument: Any) -> list[Any] | None:
    """Give the keys in a list, or list of lists, of references; None if there is anything else."""
    spec = task_spec()

    is_list = isinstance(argument, spec.List) or (
        getattr(argument, "func", None) is spec._identity_cast
        and argument.kwargs.get("typ") is list
    )
    if not is_list:
        return None
    keys: list[Any] = []
    for one in argument.args:
        key = key_of(one)
        inside = [key] if key is not None else _keys_in(one)
        if inside is None:
            return None
        keys += inside
    return keys
