"""Checkpoints of trained networks: weights by name as safetensors (extra ``planar``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from galley import __version__
from galley.domain.errors import BadInput
from galley.domain.files import read_bytes, write_atomically

P = ParamSpec("P")
T = TypeVar("T")
Tree = TypeVar("Tree")
_OPTIONS: dict[str, Any] = {"compiler_options": {"xla_cpu_multi_thread_eigen": False}}


def write_checkpoint(
    path: Path | str, number: int, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a checkpoint; the file appears whole or not at all.

    Args:
        path: of the file.
        number: version of the format.
        settings: plain data of JSON.
        arrays: weights by name.

    Raises:
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    text = json.dumps({"format": number, "galley": __version__, **settings})
    write_atomically(path, save(dict(arrays), metadata={"settings": text}))


def read_checkpoint(
    path: Path | str, number: int, command: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read settings and arrays of a file of ``write_checkpoint``.

    Args:
        path: of the file.
        number: version of the format.
        command: the command that writes such files, for messages.

    Raises:
        BadInput: the file is missing, damaged, of another kind or format.
    """
    data = read_bytes(path)
    try:
        arrays = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        settings = json.loads(header["__metadata__"]["settings"])
        stored = settings["format"]
    except (SafetensorError, ValueError, KeyError, TypeError):
        raise BadInput.one(path, f"is not a checkpoint of {command}") from None
    if stored != number:
        raise BadInput.one(path, f"is a checkpoint of format {stored}, expected {number}")
    return settings, arrays


@contextmanager
def whole(path: Path | str, what: str) -> Iterator[None]:
    """Report errors of damaged contents as errors of the file.

    Args:
        path: of the file.
        what: kind of the file, for messages.

    Raises:
        BadInput: in place of a KeyError, TypeError, ValueError or AttributeError inside.
    """
    try:
        yield
    except KeyError as error:
        raise BadInput.one(path, f"is a damaged {what}: it has no {error}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise BadInput.one(path, f"is a damaged {what}: {error}") from None


def reproducible(function: Callable[P, T]) -> Callable[P, T]:
    """``equinox.filter_jit``, with each matrix product in a single thread.

    With several threads the last bits of a product depend on their number, and on the load of the
    machine. The number of cores that the process may use still decides how XLA divides other loops.
    """
    return eqx.filter_jit(function, **_OPTIONS)


def named_arrays(tree: Any) -> Iterator[tuple[str, Any]]:
    """Pairs of name and array (or its shape), such as ``phi.layers[0].weight``."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(tree, _is_array)):
        yield jax.tree_util.keystr(path).lstrip("."), leaf


def filled(tree: Tree, arrays: Iterable[Any]) -> Tree:
    """A copy of a tree with these arrays, in the order of ``named_arrays``."""
    parts, static = eqx.partition(tree, _is_array)
    values = [jnp.asarray(array) for array in arrays]
    full: Tree = eqx.combine(jax.tree.unflatten(jax.tree.structure(parts), values), static)
    return full


def filled_by_name(tree: Tree, arrays: Mapping[str, NDArray[Any]]) -> Tree:
    """A copy of a tree with arrays by name, which must be finite and have its shapes and dtypes.

    Raises:
        KeyError: a name is missing.
        ValueError: an array doesn't fit.
    """
    values = []
    for name, leaf in named_arrays(tree):
        value = arrays[name]
        if value.shape != leaf.shape or value.dtype != leaf.dtype or not np.isfinite(value).all():
            reason = f"is not a finite {leaf.dtype} array of shape {leaf.shape}"
            raise ValueError(f"{name} {reason}")
        values.append(value)
    return filled(tree, values)


def random_weights(tree: Tree, seed: int) -> Tree:
    """A copy of a tree with random weights and biases, uniform in [-1, 1] / sqrt(last dimension).

    Args:
        tree: a network, or its structure with shapes in place of weights.
        seed: of the weights.
    """
    rng = np.random.default_rng(seed)
    sizes = [leaf.shape for _, leaf in named_arrays(tree)]
    weights = (rng.uniform(-1.0, 1.0, size) / np.sqrt(size[-1]) for size in sizes)
    return filled(tree, (array.astype(np.float32) for array in weights))


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape")  # an array, or the shape of one
