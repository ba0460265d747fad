"""The table of addresses by which the kernel's tuples of arrays get from Python to compiled code.

At each call from Python, Numba inspects every array of a tuple, which takes milliseconds for some
fifty of them. So Python passes a table of their addresses and shapes: ``pack`` fills it, and
``unpack`` makes the tuples again in compiled code. Whoever holds the table must keep the arrays
alive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

from galley.collision.kernel.arrays import (
    Checks,
    Ints,
    KernelArrays,
    KinematicTree,
    Moving,
    Obstacles,
    Scratch,
    Solids,
    listed,
)
from galley.compiled.native import array_in_row, reader

# Numba's types, by the words of ``_FIELDS``.
_TYPES = {"i8": types.int64, "f4": types.float32, "f8": types.float64, "u1": types.uint8}
# Type and dimensions of every field, in order, as ``jit.entry`` has them.
_FIELDS: dict[Any, str] = {
    Moving: "solids i8:1 i8:1 f4:2 f4:2 f4:2 i8:1 f4:2 i8:1 f4:2 f4:1",
    Obstacles: "solids f4:2 f4:2 f4:2 i8:1",
    KinematicTree: "f8:1 i8:1 f8:1 f8:1 f8:1 f8:1 i8:1 f4:2 i8:1 i8:1",
    Checks: "f4:1 i8:1 i8:1 f4:2 u1:2 i8:2 f4:2 f4:2",
    Scratch: "f4:2 i8:2 f4:2 f8:2 f8:1 f8:2 i8:1 f4:1 f4:1 f8:2 f8:1",
}


def _kind(tuple_of: Any, fields: str) -> Any:
    """Numba's type of a NamedTuple of arrays and ``Solids``, from its line of ``_FIELDS``."""
    kinds = []
    for field in fields.split():
        if field == "solids":
            kinds.append(_kind(Solids, "f4:2 f4:2 f4:2"))
        else:
            kinds.append(types.Array(_TYPES[field[:2]], int(field[3:]), "C"))
    return types.NamedTuple(kinds, tuple_of)


def _flat_kinds(kinds: Any) -> list[Any]:
    """The types of arrays among types that are arrays or tuples of arrays, in order."""
    nested = (_flat_kinds(kind) if isinstance(kind, types.BaseTuple) else [kind] for kind in kinds)
    return [array for arrays in nested for array in arrays]


_KINDS = tuple(_kind(tuple_of, fields) for tuple_of, fields in _FIELDS.items())
_NUMPY = [np.dtype(str(array.dtype)) for array in _flat_kinds(_KINDS)]
# Rows of the table that hold addresses of functions, behind those of arrays.
STATE_CHECK = len(_NUMPY)
SEGMENT_FREE, POLYLINE_FREE, PIECE_PROVEN, NARROW_PHASE = range(STATE_CHECK + 1, STATE_CHECK + 5)
ROWS = STATE_CHECK + 5
int_rows_at, doubles_at = reader(types.int64, 2), reader(types.float64, 1)
double_rows_at = reader(types.float64, 2)


def pack(arrays: KernelArrays, functions: tuple[int, ...]) -> Ints:
    """Address and shape (m, 3) of every array, in the order of the tuples' fields.

    The last rows hold the addresses of functions: STATE_CHECK, SEGMENT_FREE, POLYLINE_FREE,
    PIECE_PROVEN, NARROW_PHASE.

    Raises:
        TypeError: an array is not contiguous or not of its field's type.
    """
    table = np.zeros((ROWS, 3), dtype=np.int64)
    rows = []
    for array, dtype in zip(listed(arrays), _NUMPY, strict=True):
        if array.dtype != dtype or not array.flags.c_contiguous:
            raise TypeError(f"expected a contiguous array of {dtype}, got {array.dtype}")
        # A vector has one column.
        rows.append((array.__array_interface__["data"][0], *array.shape, 1)[:3])
    table[: len(rows)] = rows
    table[len(rows) :, 0] = functions
    return table


class _Lazy(types.Type):  # type: ignore[misc]
    """Numba's type for one of the tuples, of which an array is made where it is first used."""

    def __init__(self, tuple_of: Any, first: int) -> None:
        self.tuple_of, self.first = tuple_of, first  # the table's row of its first array
        super().__init__(name=f"lazy {tuple_of.instance_class.__name__}")


_LAZY = tuple(_Lazy(kind, len(_flat_kinds(_KINDS[:k]))) for k, kind in enumerate(_KINDS))
register_model(_Lazy)(models.OpaqueModel)


@intrinsic
def unpack(typing: Any, table: Any) -> Any:
    """The tuples of ``KernelArrays``, in order, that ``table`` (m, 3) lists.

    Code is generated only for the arrays that a function uses, where it unpacks, which it does
    once. Functions pass on the table, not the tuples, whose every number would be copied.
    """

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        # The tuples themselves hold nothing. The function's LLVM object remembers the table, and
        # which arrays are made (``_array_of``).
        numbers = context.make_array(sig.args[0])(context, builder, args[0]).data
        assert not hasattr(builder.function, "unpacked"), "a function unpacks one table, once"
        builder.function.unpacked = numbers, {}
        return context.make_tuple(
            builder, sig.return_type, [context.get_dummy_value()] * len(_LAZY)
        )

    return types.Tuple(_LAZY)(table), code


@infer_getattr
class _LazyAttribute(AttributeTemplate):  # type: ignore[misc]
    key = _Lazy

    def generic_resolve(self, lazy: Any, name: str) -> Any:
        return dict(zip(lazy.tuple_of.fields, lazy.tuple_of, strict=True)).get(name)


@lower_getattr_generic(_Lazy)
def _array_of(context: Any, builder: Any, lazy: Any, value: Any, name: str) -> Any:
    """Code for an array (or ``Solids``) of a tuple, right where the table was unpacked."""
    numbers, made = builder.function.unpacked
    if (lazy, name) not in made:
        # There, so that the array is at hand on every path on which it is used.
        here = builder.block
        builder.position_after(numbers)
        k = list(lazy.tuple_of.fields).index(name)
        kind, row = lazy.tuple_of[k], lazy.first + len(_flat_kinds(lazy.tuple_of.types[:k]))
        arrays = [
            array_in_row(context, builder, array, numbers, row + i)
            for i, array in enumerate(_flat_kinds([kind]))
        ]
        single = not isinstance(kind, types.BaseTuple)
        made[lazy, name] = arrays[0] if single else context.make_tuple(builder, kind, arrays)
        builder.position_at_end(here)
    return made[lazy, name]
