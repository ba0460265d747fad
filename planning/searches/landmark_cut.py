"""The landmark-cut heuristic of a state space, where Numba is installed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.planning.searches.relaxed import AUXILIARY, RelaxedOperator, RelaxedTask

_log = logging.getLogger(__name__)

_DEAREST = 1 << 20  # dearer actions are rounded down to this grid; sums then fit 64 bits

Ints = NDArray[np.int32]


class LandmarkCut:
    """Estimates states by landmark cuts; never more than the cost that it takes."""

    def __init__(self, relaxed: RelaxedTask, costs: Sequence[int]) -> None:
        """Costs are whole numbers, one for each operator of the space."""
        self._relaxed = relaxed
        self._unit = max(1, -(-max(costs, default=0) // _DEAREST))
        rounded = [*(each // self._unit for each in costs), 0]
        goal = relaxed.count
        owners = len(costs)  # one more owns the auxiliary operators and the goal, for nothing
        operators = [*relaxed.operators, RelaxedOperator(relaxed.goal, (goal,), AUXILIARY)]
        owner = [owners if each.owner == AUXILIARY else each.owner for each in operators]
        table = np.zeros((len(operators) + 1, 3), np.int32)
        table[1:, 0] = np.cumsum([len(each.pre) for each in operators])
        table[1:, 1] = np.cumsum([len(each.add) for each in operators])
        table[:-1, 2] = owner
        pre = np.array([p for each in operators for p in each.pre], np.int32)
        add = np.array([p for each in operators for p in each.add], np.int32)
        self._tables = (
            goal,
            table,
            pre,
            add,
            *_inverse((each.pre for each in operators), relaxed.count + 1),
            *_inverse((each.add for each in operators), relaxed.count + 1),
            *_inverse(((each,) for each in owner), owners + 1),
            np.array([rounded[each] for each in owner], np.int64),
            # Each operator may be queued anew with each of its preconditions.
            np.empty(
                relaxed.count + 1 + sum((len(o.pre) + 1) * len(o.add) for o in operators), np.int64
            ),
        )
        self._true = np.empty(relaxed.count + 1, np.int32)
        self._kernel = _kernel()

    def estimate(self, state: int) -> int | None:
        """At most what a plan from ``state`` costs; None for a dead end."""
        true = self._relaxed.propositions(state)
        self._true[: len(true)] = true
        found: int = self._kernel(self._true, len(true), *self._tables)
        return None if found < 0 else found * self._unit


def _inverse(rows: Iterable[Iterable[int]], count: int) -> tuple[Ints, Ints]:
    """For each number below ``count`` the rows that it stands in: (start, end), and the rows."""
    lists: list[list[int]] = [[] for _ in range(count)]
    for index, row in enumerate(rows):
        for each in row:
            lists[each].append(index)
    ends = np.cumsum([len(each) for each in lists])
    starts = ends - [len(each) for each in lists]
    flat = [index for each in lists for index in each]
    return np.stack([starts, ends], axis=1).astype(np.int32), np.array(flat, np.int32)


@cache
def _kernel() -> Callable[..., int]:
    """The compiled function, out of the cache where it has been compiled before."""
    import numba

    from galley.planning.searches.landmark_cut_kernel import landmark_cut

    folder = _cache_folder()
    if folder is None:
        _log.info("compiling the landmark-cut heuristic (no folder to keep it in)")
        return numba.njit(landmark_cut)  # type: ignore[no-any-return]
    # The folder is read when a function is made ready for caching; other users keep theirs.
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        compiled: Any = numba.njit(cache=True)(landmark_cut)
    finally:
        config.CACHE_DIR = before
    return _announced(compiled)


def _announced(compiled: Any) -> Callable[..., int]:
    """``compiled``, which says so when its first call has to compile."""

    def call(*args: object) -> int:
        if not getattr(compiled, "signatures", True):  # Numba may be told not to compile
            where = Path(compiled.stats.cache_path)
            if not any(where.glob("*.nbi")):
                _log.info("compiling the landmark-cut heuristic, once; kept in %s", where)
            began = perf_counter()
            value: int = compiled(*args)
            _log.info("landmark-cut heuristic ready after %.1f s", perf_counter() - began)
            return value
        return compiled(*args)  # type: ignore[no-any-return]

    return call


def _cache_folder() -> Path | None:
    """A folder of the user's that can be written; Numba's own setting comes first."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        folder = Path(chosen)
    else:
        base = os.environ.get("XDG_CACHE_HOME")
        try:
            folder = (Path(base) if base else Path.home() / ".cache") / "galley" / "numba"
        except RuntimeError:  # no home
            return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return None
    return folder
