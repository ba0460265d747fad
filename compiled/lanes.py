"""A vector type of 16 float32 for compiled functions (SIMD).

LLVM vectorizes a loop only if it can prove that no arrays overlap, and is silent if it can't. So
kernels that need vector code use vectors: a value of type ``lanes`` holds 16 float32 numbers, and
``+ - *`` and the functions here work on all of them. With 512-bit registers that is one register;
otherwise LLVM splits it.

Inside compiled functions only::

    x = load(buffer, at)          # 16 numbers from a contiguous float32 array
    store(buffer, at, x * x + splat(y))
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 16
_FLAGS = ("contract", "nsz", "reassoc", "nnan", "ninf", "arcp")
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


class LanesType(types.Type):  # type: ignore[misc]
    """The Numba type of 16 float32 numbers."""

    def __init__(self) -> None:
        super().__init__(name="lanes16")


lanes = LanesType()


@register_model(LanesType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Code for a pointer to the vector that begins at an index of an array."""
    data = context.make_array(kind)(context, builder, array).data
    element = builder.gep(data, [at])
    return builder.bitcast(element, _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, at: Any) -> Any:
    """``array[at : at + 16]`` of a contiguous float32 array."""
    result = lanes(array, types.intp)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        # Aligned as a float32 is: ``at`` need not be a multiple of 16.
        return builder.load(_pointer(context, builder, sig.args[0], *args), align=4)

    return result, code


@intrinsic
def store(typing: Any, array: Any, at: Any, value: Any) -> Any:
    """Writes 16 numbers to ``array[at : at + 16]`` of a contiguous float32 array."""
    result = types.void(array, types.intp, lanes)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1])
        builder.store(args[2], pointer, align=4)
        return context.get_dummy_value()

    return result, code


@intrinsic
def splat(typing: Any, value: Any) -> Any:
    """A vector with the same float32 number in all lanes."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        # LLVM's idiom: into lane 0, then from there into all.
        first = builder.insert_element(
            ir.Constant(_VECTOR, ir.Undefined), args[0], ir.Constant(ir.IntType(32), 0)
        )
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, ir.Constant(_VECTOR, ir.Undefined), mask)

    return lanes(types.float32), code


def _intrinsic_call(name: str, count: int) -> Callable[..., Any]:
    """Code for a call of LLVM's vector intrinsic of this name and number of arguments."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * count)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v16f32")
        return builder.call(function, args, fastmath=_FLAGS)

    return code


@intrinsic
def absolute(typing: Any, x: Any) -> Any:
    """The absolute value of each lane."""
    return lanes(lanes), _intrinsic_call("fabs", 1)


@intrinsic
def square_root(typing: Any, x: Any) -> Any:
    """The square root of each lane."""
    return lanes(lanes), _intrinsic_call("sqrt", 1)


@intrinsic
def nearest_integer(typing: Any, x: Any) -> Any:
    """The nearest integer to each lane, as a float."""
    return lanes(lanes), _intrinsic_call("rint", 1)


@intrinsic
def maximum(typing: Any, x: Any, y: Any) -> Any:
    """The larger of two numbers, lane by lane."""
    return lanes(lanes, lanes), _chosen(">")


@intrinsic
def minimum(typing: Any, x: Any, y: Any) -> Any:
    """The smaller of two numbers, lane by lane."""
    return lanes(lanes, lanes), _chosen("<")


def _chosen(comparison: str) -> Callable[..., Any]:
    """Code that takes x where x compares so with y, else y, lane by lane."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y = args
        return builder.select(builder.fcmp_ordered(comparison, x, y, flags=_FLAGS), x, y)

    return code


def _folded(comparison: str) -> Callable[..., Any]:
    """Code for the extreme of the lanes: compares the upper half with the lower, four times."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value, width = args[0], LANES
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        while width > 1:
            width //= 2
            order = [*range(width, 2 * width), *range(LANES - width)]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), order[:LANES])
            other = builder.shuffle_vector(value, undefined, mask)
            value = builder.select(builder.fcmp_ordered(comparison, value, other), value, other)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return code


@intrinsic
def reduce_min(typing: Any, x: Any) -> Any:
    """The minimum of the 16 lanes, a float32."""
    return types.float32(lanes), _folded("<")


@intrinsic
def reduce_max(typing: Any, x: Any) -> Any:
    """The maximum of the 16 lanes, a float32."""
    return types.float32(lanes), _folded(">")


@intrinsic
def lane_indices(typing: Any) -> Any:
    """A vector of each lane's own index: 0, 1, 2, ... 15."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return ir.Constant(_VECTOR, [float(k) for k in range(LANES)])

    return lanes(), code


@intrinsic
def negative_mask(typing: Any, x: Any) -> Any:
    """A bit mask of the lanes below zero: bit k for lane k."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        below = builder.fcmp_ordered("<", args[0], ir.Constant(_VECTOR, [0.0] * LANES))
        return builder.zext(builder.bitcast(below, ir.IntType(LANES)), ir.IntType(64))

    return types.int64(lanes), code


@intrinsic
def lowest_set_bit(typing: Any, bits: Any) -> Any:
    """Index of the lowest set bit of a nonzero number."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), code


def _binary(function: Any, name: str) -> None:
    """Makes an operator work on two vectors, by the LLVM instruction of this name."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if tuple(args) == (lanes, lanes):
                return signature(lanes, lanes, lanes)
            return None

    infer_global(function)(Template)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, name)(*args, flags=_FLAGS)

    lower_builtin(function, lanes, lanes)(code)


_binary(operator.add, "fadd")
_binary(operator.sub, "fsub")
_binary(operator.mul, "fmul")
