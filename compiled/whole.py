"""Changes how Numba compiles kernels: each entry is optimized once, with everything it calls.

Numba by itself optimizes a function and makes machine code of it, and does both again in each of
its callers, level by level. Here a function called by compiled code is only translated to LLVM
(``Part``). A function called by Python (``Whole``) links in everything it calls, is optimized once,
and keeps its own copies: it never calls another entry's copy, so numbers don't depend on what else
a process has loaded.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.types.functions import BaseFunction


class _NoEnvironment:
    """The code generator of a ``Part``, without the environment that Numba's last step sets."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


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
        libraries: dict[Any, None] = {}
        stack = list(entry._linking_libraries)
        while stack:
            library = stack.pop()
            if library not in libraries:
                libraries[library] = None
                stack += library._linking_libraries
        entry._linking_libraries = list(libraries)
        super().finalize()

    def _optimize_final_module(self) -> None:
        self._link_again()
        for function in self._final_module.functions:
            if not function.is_declaration and str(function.linkage) == "Linkage.linkonce_odr":
                function.linkage = "internal"
        super()._optimize_final_module()

    def _link_again(self) -> None:
        """Link functions that LLVM left out because only a library linked later calls them."""
        module: Any = self._final_module
        for _ in self._linking_libraries:
            missing = {f.name for f in module.functions if f.is_declaration}
            missing = {name for name in missing if name.startswith("_ZN5numba")}
            if not missing:
                return
            for library in self._linking_libraries:
                shared = library._get_module_for_linking()
                if any(not f.is_declaration and f.name in missing for f in shared.functions):
                    module.link_in(shared, preserve=True)


_BUILTIN = ("_operator", "builtins", "math")
_PLAIN = (types.Number, types.Boolean, types.Array)
_known: dict[Any, Any] = {}  # signatures of operators and functions of numbers and arrays
_Function: Any = BaseFunction
_resolve = _Function.get_call_type


def _remembered(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call, memoized: for each ``a + b`` Numba tries dozens of rules."""
    module = getattr(function.typing_key, "__module__", None)
    if kws or module not in _BUILTIN or not all(isinstance(kind, _PLAIN) for kind in args):
        return _resolve(function, context, args, kws)
    key = function, tuple(args)
    if key not in _known:
        _known[key] = _resolve(function, context, args, kws)
    return _known[key]


class _Pipeline(Compiler):  # type: ignore[misc]
    kind: Any

    def define_pipelines(self) -> Any:
        code = self.kind(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        code.enable_object_caching()
        self.state["library"] = code
        return super().define_pipelines()

    def _compile_core(self) -> Any:
        before, _Function.get_call_type = _Function.get_call_type, _remembered
        try:
            return super()._compile_core()
        finally:
            _Function.get_call_type = before


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
