"""The arrays of a model, or of any tree of JAX, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

Tree = TypeVar("Tree")


def named_arrays(tree: Any) -> Iterator[tuple[str, Any]]:
    """Arrays, or their shapes, by name, such as ``phi.layers[0].weight``."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(tree, _is_array)):
        yield jax.tree_util.keystr(path).lstrip("."), leaf


def filled(tree: Tree, arrays: Iterable[Any]) -> Tree:
    """A tree with these arrays, in the order of ``named_arrays``."""
    parts, static = eqx.partition(tree, _is_array)
    values = [jnp.asarray(each) for each in arrays]
    full: Tree = eqx.combine(jax.tree.unflatten(jax.tree.structure(parts), values), static)
    return full


def filled_by_name(tree: Tree, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Tree:
    """A tree with the arrays of its names, which must have its shapes and types, and be finite.

    Raises:
        KeyError: a name is missing. ValueError: an array doesn't fit.
    """
    found = []
    for name, leaf in named_arrays(tree):
        value = arrays[prefix + name]
        if value.shape != leaf.shape or value.dtype != leaf.dtype or not np.isfinite(value).all():
            what = f"is not a finite {leaf.dtype} array of shape {leaf.shape}"
            raise ValueError(f"{prefix}{name} {what}")
        found.append(value)
    return filled(tree, found)


def random_weights(tree: Tree, seed: int) -> Tree:
    """Weights and biases, uniform up to the inverse root of a layer's inputs or of its width.

    Args:
        tree: with shapes in place of weights, or with weights.
    """
    rng = np.random.default_rng(seed)
    sizes = [leaf.shape for _, leaf in named_arrays(tree)]
    weights = (rng.uniform(-1.0, 1.0, size) / np.sqrt(size[-1]) for size in sizes)
    return filled(tree, (each.astype(np.float32) for each in weights))


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape")  # an array, or the shape of one
