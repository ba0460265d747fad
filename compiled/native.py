"""Addresses of arrays and functions, and calls by address, inside compiled functions only.

They make functions whose callers don't contain them: see ``compiled.jit.Native``.
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
    """The address of an array's data; the array must live as long as the address is used."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), code


@intrinsic
def call(typing: Any, function: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Calls the function at the address ``function`` with four int64; returns its int64."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 4)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 5), code


def reader(dtype: Any, dimensions: int) -> Any:
    """Makes a compiled function (address, rows, columns) -> the C-contiguous array at the address.

    Args:
        dtype: Numba type of the elements.
        dimensions: 1 or 2; with 1, columns is ignored.
    """
    kind = types.Array(dtype, dimensions, "C")

    @intrinsic
    def read(typing: Any, place: Any, rows: Any, columns: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _array(context, builder, kind, args[0], args[1 : 1 + dimensions])

        return kind(types.int64, types.int64, types.int64), code

    return read


def array_in_row(context: Any, builder: Any, kind: Any, table: Any, row: int) -> Any:
    """Code for the array whose (address, rows, columns) are in a row of an int64 table."""
    word = context.get_value_type(types.intp)
    at, *shape = (
        builder.load(builder.gep(table, [ir.Constant(word, 3 * row + k)])) for k in range(3)
    )
    return _array(context, builder, kind, at, shape[: kind.ndim])


def _array(context: Any, builder: Any, kind: Any, at: Any, shape: Any) -> Any:
    """Code for an array at an address that owns no memory: no references to it are counted.

    It is built in registers, without a stack slot, so it can be inserted before existing code.
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
        "data": builder.inttoptr(at, pointer),
        "shape": cgutils.pack_array(builder, list(shape)),
        "strides": cgutils.pack_array(builder, strides),
    }
    array = ir.Constant(value_type, ir.Undefined)
    for name, value in fields.items():
        array = builder.insert_value(array, value, model.get_field_position(name))
    return array
