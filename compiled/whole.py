"""Changes how Numba compiles kernels: each entry is optimized once, with everything it calls.

Numba by itself optimizes a function and makes machine code of it, and does both again in each of
its callers, level by level. Here a function called by compiled code is only translated to LLVM
(``Part``). A function called by Python (``Whole``) links in everything it calls, is optimized once,
and keeps its own copies: it never calls another entry's copy, so numbers don't depend on what else
a process has loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numba
from numba import types
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.extending import _Intrinsic
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction
from numba.core.typing.templates import _OverloadFunctionTemplate
from numba.extending import lower_builtin


class _NoEnvironment:
    """The code generator of a ``Part``, without the environment that Numba's last step sets."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


def _callers_first(library: Any) -> list[Any]:
    """A library and all that it links, each before what it links itself.

    LLVM leaves out a function that nothing refers to when its module is linked.
    """
    seen: set[Any] = set()
    finished: list[Any] = []

    def visit(library: Any) -> None:
        seen.add(library)
        for each in library._linking_libraries:
            if each not in seen:
                visit(each)
        finished.append(library)

    visit(library)
    return finished[::-1]


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A function's unoptimized LLVM code, for others to link."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _WholeLibrary(JITCodeLibrary):  # type: ignore[misc]
    """An entry's code with everything it calls."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        entry: Any = self
        entry._linking_libraries = _callers_first(self)[1:]
        super().finalize()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and str(function.linkage) == "Linkage.linkonce_odr":
                function.linkage = "internal"
        super()._optimize_final_module()


_BUILTIN = ("_operator", "builtins", "math")
_PLAIN = (types.Number, types.Boolean, types.Array)
_known: dict[Any, Any] = {}  # signatures of intrinsics, and operators of numbers and arrays
_Function: Any = BaseFunction
_resolve = _Function.get_call_type


def _remembered(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call, memoized: for each ``a + b`` Numba tries dozens of rules."""
    of = function.typing_key
    plain = getattr(of, "__module__", None) in _BUILTIN and all(
        isinstance(kind, _PLAIN) for kind in args
    )
    if kws or not (plain or isinstance(of, _Intrinsic)):
        return _resolve(function, context, args, kws)
    key = function, tuple(args)
    if key not in _known:
        _known[key] = _resolve(function, context, args, kws)
    return _known[key]


_INHERITED = ("nrt", "fastmath", "error_model", "forceinline")
_subroutines: dict[Any, Any] = {}  # functions inside Numba's implementations


def _overload(template: Any, args: Any, kws: Any) -> Any:
    """What implements ``np.empty``, ``max``, ... for some types, as a ``Part``.

    It inherits only some of its caller's flags. Numba would compile it for each combination of all.
    """
    flags = ConfigStack.top_or_none()
    inherited = tuple(str(getattr(flags, name)) for name in _INHERITED)
    key = "part", template.context, tuple(args), tuple(kws.items()), inherited
    if key not in template._impl_cache:
        return template._build_impl(key, args, kws)
    return template._impl_cache[key]


def _overload_jit(template: Any) -> Callable[..., Any]:
    return partial(numba.jit, no_cfunc_wrapper=True, pipeline_class=PartPipeline)


def _subroutine(
    typing: Any, context: Any, library: Any, function: Any, *rest: Any, locals: Any
) -> Any:
    """What ``np.argsort``, ... call, as a ``Part``."""
    return PartPipeline(typing, context, None, *rest, locals).compile_extra(function)


def _itself(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """An array as an array. Numba asks for it at each use of one, else searching in vain."""
    return args[0]


lower_builtin("__array__", types.Array)(_itself)


@contextmanager
def _replaced(*parts: tuple[Any, str, Any]) -> Iterator[None]:
    """Replace parts of Numba (object, attribute, value) for a while."""
    before = [getattr(where, name) for where, name, _ in parts]
    for where, name, ours in parts:
        setattr(where, name, ours)
    try:
        yield
    finally:
        for (where, name, _), numbas in zip(parts, before, strict=True):
            setattr(where, name, numbas)


class _Pipeline(compiler.Compiler):  # type: ignore[misc]
    kind: Any

    def define_pipelines(self) -> Any:
        code = self.kind(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        code.enable_object_caching()
        self.state["library"] = code
        return super().define_pipelines()

    def _compile_core(self) -> Any:
        with _replaced(
            (_Function, "get_call_type", _remembered),
            (_OverloadFunctionTemplate, "_get_impl", _overload),
            (_OverloadFunctionTemplate, "_get_jit_decorator", _overload_jit),
            (compiler, "compile_internal", _subroutine),
            (self.state.targetctx, "cached_internal_func", _subroutines),
        ):
            return super()._compile_core()


class PartPipeline(_Pipeline):
    """Compiles a function that compiled code calls."""

    kind = _PartLibrary


class WholePipeline(_Pipeline):
    """Compiles a function that Python calls, or that is called by its address."""

    kind = _WholeLibrary


def seen_as(entry: Any, part: Any) -> None:
    """Make compiled code that calls ``entry`` link ``part``, the same function.

    Literal integers in a call, as in ``f(x, 0)``, count as int64: Numba would compile a version for
    each of them.
    """

    def call_template(args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return part.get_call_template(tuple(map(types.unliteral, args)), plain)

    entry.get_call_template = call_template
    entry.get_overload = part.get_overload
