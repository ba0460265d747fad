"""Compiled functions that give the same bits whatever else the machine does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import equinox as eqx

P = ParamSpec("P")
T = TypeVar("T")
_OPTIONS: dict[str, Any] = {"compiler_options": {"xla_cpu_multi_thread_eigen": False}}


def reproducible(function: Callable[P, T]) -> Callable[P, T]:
    """``equinox.filter_jit``, with each product of matrices in one thread of the processor.

    With several threads the last bits of a product depend on their number, and on what else the
    machine does. How many cores the process may use still decides how XLA divides other loops.
    """
    return eqx.filter_jit(function, **_OPTIONS)
