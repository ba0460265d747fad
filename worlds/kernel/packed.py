"""Hands the kernel's tuples from Python to compiled code as one small array.

Numba looks at every array of a tuple each time a compiled function is called from Python: for some
sixty arrays that takes milliseconds. So Python passes a table of their addresses and shapes, and
``unpack`` makes the tuples again on the other side. Whoever holds the table must keep the arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
)

from galley.compiled.native import array_in_row, reader
from galley.worlds.kernel.arrays import CollisionQuery, Ints, Obstacles, Robot, Solids


def pack(
    robot: Robot, obstacles: Obstacles, query: CollisionQuery, functions: tuple[int, int, int]
) -> Ints:
    """Address and shape (m, 3) of every array, in the order of the tuples' fields.

    The last rows hold the addresses of functions: EXAMINE, SEGMENT_FREE, PIECE_PROVEN.

    Args:
        functions: their addresses.

    Raises:
        TypeError: an array is not contiguous or has another type than the field wants.
    """
    arrays = _flat((robot, obstacles, query))
    table = np.zeros((ROWS, 3), dtype=np.int64)
    rows = []
    for array, wanted in zip(arrays, _NUMPY, strict=True):
        if array.dtype != wanted or not array.flags.c_contiguous:
            raise TypeError(f"expected a contiguous array of {wanted}, got {array.dtype}")
        rows.append((array.__array_interface__["data"][0], *array.shape, 1)[:3])
    table[: len(rows)] = rows
    table[len(rows) :, 0] = functions
    return table


def _flat(found: Any) -> list[Any]:
    if isinstance(found, tuple):
        return [array for each in found for array in _flat(each)]
    return [found]


_I, _F, _D, _B = types.int64, types.float32, types.float64, types.uint8
# Type and dimensions of every field, in order.
_SOLIDS = ((_F, 2), (_F, 2), (_F, 2))
_ROBOT = ((_I, 1), (_F, 2), (_I, 1), (_F, 2), (_I, 1), (_F, 2), (_F, 1), (_I, 1), _SOLIDS)
_OBSTACLES = (_SOLIDS, (_F, 2), (_F, 2), (_F, 2), (_I, 1))
_QUERY = {
    "q": (_D, 1),
    "moving": (_I, 1),
    "low": (_D, 1),
    "high": (_D, 1),
    "weights": (_D, 1),
    "step": (_D, 1),
    "parent": (_I, 1),
    "fixed": (_F, 2),
    "prismatic": (_I, 1),
    "tool": (_D, 1),
    "margins": (_F, 1),
    "joints": (_I, 1),
    "parts": (_I, 1),
    "solid_parts": (_I, 1),
    "obstacles": (_I, 1),
    "bounds": (_F, 2),
    "allowed": (_B, 2),
    "solids": _SOLIDS,
    "solid_part": (_I, 1),
    "solid_frame": (_I, 1),
    "solid_pose": (_F, 2),
    "solid_ball": (_F, 2),
    "solid_still": (_F, 2),
    "sphere_pairs": (_I, 2),
    "mixed_pairs": (_I, 2),
    "solid_pairs": (_I, 2),
    "reach": (_F, 2),
    "sphere_pair_reach": (_F, 2),
    "mixed_pair_reach": (_F, 2),
    "solid_pair_reach": (_F, 2),
    "travel": (_F, 1),
    "near": (_I, 2),
    "near_bounds": (_F, 2),
    "work": (_D, 2),
    "full": (_D, 1),
    "stack": (_D, 2),
    "layout": (_I, 1),
    "buffer": (_F, 1),
}
assert tuple(_QUERY) == CollisionQuery._fields


def _kind(tuple_of: Any, fields: Any) -> Any:
    """Numba's type of a tuple of arrays and tuples."""
    kinds = [
        _kind(Solids, each) if each is _SOLIDS else types.Array(each[0], each[1], "C")
        for each in fields
    ]
    return types.NamedTuple(kinds, tuple_of)


_KINDS = (
    _kind(Robot, _ROBOT),
    _kind(Obstacles, _OBSTACLES),
    _kind(CollisionQuery, _QUERY.values()),
)


def _arrays(kinds: Any) -> list[Any]:
    """The arrays in types that are arrays or tuples, one after the other."""
    found = (_arrays(each) if isinstance(each, types.BaseTuple) else [each] for each in kinds)
    return [array for some in found for array in some]


_ARRAYS = _arrays(_KINDS)
_NUMPY = [np.dtype(str(array.dtype)) for array in _ARRAYS]
_FIRST = len(_ARRAYS) - sum(3 if f is _SOLIDS else 1 for f in _QUERY.values())
ROW = {
    name: _FIRST + k + (2 if k > list(_QUERY).index("solids") else 0)
    for k, name in enumerate(_QUERY)
}
"""The row of each of the query's fields."""
# Where the row of the query's poses to work with is, and the addresses of functions.
WORK = ROW["work"]
EXAMINE = len(_ARRAYS)
SEGMENT_FREE, PIECE_PROVEN = EXAMINE + 1, EXAMINE + 2
ROWS = EXAMINE + 3
int_rows_at, doubles_at = reader(types.int64, 2), reader(types.float64, 1)
double_rows_at = reader(types.float64, 2)


class _Lazy(types.Type):  # type: ignore[misc]
    """Stands for one of the tuples; an array of it is made where it is first asked for."""

    def __init__(self, tuple_of: Any) -> None:
        self.tuple_of = tuple_of
        super().__init__(name=f"lazy {tuple_of.instance_class.__name__}")


_LAZY = tuple(_Lazy(kind) for kind in _KINDS)
register_model(_Lazy)(models.OpaqueModel)


@intrinsic
def unpack(typing: Any, table: Any) -> Any:
    """The tuples (Robot, Obstacles, Query) whose arrays ``table`` (m, 3) lists.

    Code is made only for the arrays that a function uses, and stands where it unpacks, once.
    Functions hand on the table and not the tuples, whose every number would be copied at each call.
    """

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        numbers = context.make_array(sig.args[0])(context, builder, args[0]).data
        assert not hasattr(builder.function, "unpacked"), "a function unpacks one table, once"
        builder.function.unpacked = numbers, {}
        return context.make_tuple(builder, sig.return_type, [context.get_dummy_value()] * 3)

    return types.Tuple(_LAZY)(table), code


@infer_getattr
class _LazyAttribute(AttributeTemplate):  # type: ignore[misc]
    key = _Lazy

    def generic_resolve(self, lazy: Any, name: str) -> Any:
        return dict(zip(lazy.tuple_of.fields, lazy.tuple_of, strict=True)).get(name)


@lower_getattr_generic(_Lazy)
def _array_of(context: Any, builder: Any, lazy: Any, value: Any, name: str) -> Any:
    """Code for an array (or a tuple of some), right where the table was unpacked."""
    numbers, made = builder.function.unpacked
    if (lazy, name) not in made:
        here = builder.block
        builder.position_after(numbers)
        at = list(lazy.tuple_of.fields).index(name)
        kind = lazy.tuple_of[at]
        row = len(_arrays(_KINDS[: _LAZY.index(lazy)])) + len(_arrays(lazy.tuple_of[:at]))
        arrays = [
            array_in_row(context, builder, each, numbers, row + k)
            for k, each in enumerate(_arrays([kind]))
        ]
        single = not isinstance(kind, types.BaseTuple)
        made[lazy, name] = arrays[0] if single else context.make_tuple(builder, kind, arrays)
        builder.position_at_end(here)
    return made[lazy, name]
