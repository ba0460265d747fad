"""Addresses inside compiled functions: of arrays, of functions, and how to call those.

See ``compiled.jit.native`` for what this is good for. Inside compiled functions only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def address(typing: Any, array: Any) -> Any:
    """Where an array's numbers begin; the array must live longer than the address is used."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), code


@intrinsic
def call(typing: Any, function: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Calls the function of four int64 at the address ``function``."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 4)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 5), code


def reader(dtype: Any, dimensions: int) -> Any:
    """A compiled function (address, rows, columns) -> the array that lies there, C-contiguous.

    Args:
        dtype: Numba's type of its numbers.
        dimensions: 1 or 2; with 1 the columns are not looked at.
    """
    kind = types.Array(dtype, dimensions, "C")

    @intrinsic
    def read(typing: Any, place: Any, rows: Any, columns: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _array(context, builder, kind, args[0], args[1 : 1 + dimensions])

        return kind(types.int64, types.int64, types.int64), code

    return read


def array_in_row(context: Any, builder: Any, kind: Any, table: Any, row: int) -> Any:
    """Code for the array whose (address, rows, columns) stand in a row of a table of int64."""
    word = context.get_value_type(types.intp)
    place, *shape = (
        builder.load(builder.gep(table, [ir.Constant(word, 3 * row + k)])) for k in range(3)
    )
    return _array(context, builder, kind, place, shape[: kind.ndim])


def _array(context: Any, builder: Any, kind: Any, place: Any, shape: Any) -> Any:
    """An array that owns nothing, so that no reference to it is counted.

    Without a place in memory in between: this may stand before code that is there already.
    """
    model = context.data_model_manager[kind]
    value_type, pointer = model.get_value_type(), context.get_data_type(kind.dtype).as_pointer()
    item = ir.Constant(context.get_value_type(types.intp), np.dtype(str(kind.dtype)).itemsize)
    nothing = ir.Constant(ir.IntType(8).as_pointer(), None)
    one = len(shape) == 1
    strides = [item] if one else [builder.mul(shape[1], item), item]
    fields = {
        "meminfo": nothing,
        "parent": nothing,
        "nitems": shape[0] if one else builder.mul(*shape),
        "itemsize": item,
        "data": builder.inttoptr(place, pointer),
        "shape": cgutils.pack_array(builder, list(shape)),
        "strides": cgutils.pack_array(builder, strides),
    }
    found = ir.Constant(value_type, ir.Undefined)
    for name, value in fields.items():
        found = builder.insert_value(found, value, model.get_field_position(name))
    return found
