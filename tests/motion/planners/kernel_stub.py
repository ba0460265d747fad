"""A make-believe world for the compiled planners: obstacles are boxes in configuration space.

It stands in for ``galley.collision.kernel.edges``. Clearance is the distance to the nearest box in
the space itself, so that grids, closed forms and plain numpy can tell what is right.

``modules()`` imports the planners' modules a second time, with this world under them; the modules
of the real world are put back afterwards. The compiled code goes to a folder of its own: that of
the real planners must not know of classes that only tests can import.
"""

import contextlib
import hashlib
import importlib
import itertools
import math
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from galley.compiled import jit
from galley.compiled.jit import bare_kernel

EDGES = "galley.collision.kernel.edges"
KERNELS = "galley.motion.kernel"


class Table(NamedTuple):
    """Stands in for the table of the real world, which the planners pass on unread."""

    low: Any  # (b, k) corners of the boxes
    high: Any
    step: Any  # (k,)
    counts: Any  # (3,) int64: sampled states, sampled edges, states in proofs


@contextlib.contextmanager
def _own_cache():
    folder, before = jit.cache_folder(), jit.cache_folder
    if folder is not None:
        digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
        folder = folder / f"stub-{digest}"
        folder.mkdir(exist_ok=True)
    jit.cache_folder = lambda: folder
    try:
        yield
    finally:
        jit.cache_folder = before


def _kernels():
    return [name for name in sys.modules if name == KERNELS or name.startswith(KERNELS + ".")]


@cache
def modules():
    """The modules of ``galley.motion.kernel`` over this world, and the package, by full name."""
    before = {name: sys.modules.pop(name) for name in [*_kernels(), EDGES] if name in sys.modules}
    sys.modules[EDGES] = sys.modules[__name__]
    try:
        with _own_cache():
            package = importlib.import_module(KERNELS)
            for path in sorted(Path(package.__file__).parent.glob("*.py")):
                if path.stem != "__init__":
                    importlib.import_module(f"{KERNELS}.{path.stem}")
        return {name: sys.modules[name] for name in _kernels()}
    finally:
        for name in [*_kernels(), EDGES]:
            sys.modules.pop(name, None)
        sys.modules.update(before)


@contextlib.contextmanager
def instead():
    """Meanwhile ``compiled_search`` finds the planners over this world."""
    before = {name: sys.modules.get(name) for name in modules()}
    sys.modules.update(modules())
    try:
        yield
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


def planners():
    """The modules of ``galley.motion.kernel`` over this world, by their last name."""
    found = {name.removeprefix(KERNELS + "."): m for name, m in modules().items()}
    return SimpleNamespace(**found)


WALL = ([[0.45, 0.0], [0.45, 0.9]], [[0.55, 0.8], [0.55, 1.0]])  # a gap between y = 0.8 and 0.9
CLOSED = ([[0.45, -1.0]], [[0.55, 2.0]])


def table(low, high, k=2, step=0.01):
    """Boxes from ``low`` to ``high`` (b, k), looked at in steps of ``step``."""
    corners = (np.array(c, dtype=float).reshape(-1, k) for c in (low, high))
    return Table(*corners, np.full(k, float(step)), np.zeros(3, np.int64))


def ask(boxes=WALL, k=2, step=0.01, finer=None, weights=None):
    """A view of the unit cube, as far as planners look at it; its ``fine`` steps by ``finer``."""
    first = table(*boxes, k, step)
    other = first if finer is None else table(*boxes, k, finer)
    weights = np.ones(k) if weights is None else weights
    tree = SimpleNamespace(low=np.zeros(k), high=np.ones(k), weights=weights)
    arrays, fine = SimpleNamespace(tree=tree), SimpleNamespace(table=other)
    return SimpleNamespace(group="arm", table=first, fine=fine, arrays=arrays)


def least_clearance(path, boxes):
    """Over 1000 points an edge, by numpy."""
    low, high = (np.array(c, dtype=float).reshape(-1, path.shape[1]) for c in boxes)
    s = np.linspace(0.0, 1.0, 1000)[:, None]
    points = np.concatenate([path[:1], *(a + s * (b - a) for a, b in itertools.pairwise(path))])[
        :, None
    ]
    if len(low) == 0:
        return np.inf
    off = np.maximum(low - points, points - high)
    outside = np.linalg.norm(np.maximum(off, 0.0), axis=2)
    return float(np.where(off.max(axis=2) > 0.0, outside, off.max(axis=2)).min())


with _own_cache():

    @bare_kernel
    def clearance(table, a, b, s):
        """Distance from a + s (b - a) to the nearest box; below zero inside: depth."""
        least = 1e9
        for i in range(len(table.low)):
            outside, inside = 0.0, -1e9
            for j in range(len(a)):
                q = a[j] + s * (b[j] - a[j])
                off = max(table.low[i, j] - q, q - table.high[i, j])
                inside = max(inside, off)
                outside += max(off, 0.0) ** 2
            least = min(least, math.sqrt(outside) if inside > 0.0 else inside)
        return least

    @bare_kernel
    def state_free(table, q):
        table.counts[0] += 1
        return clearance(table, q, q, 0.0) > 0.0

    @bare_kernel
    def segment_free(table, a, b):
        steps = 0.0
        for j in range(len(a)):
            steps = max(steps, abs(b[j] - a[j]) / table.step[j])
        n = max(1, math.ceil(steps - 1e-9))
        table.counts[1] += 1
        for i in range(1, n + 1):
            table.counts[0] += 1
            if clearance(table, a, b, i / n) <= 0.0:
                return False
        return True

    @bare_kernel
    def polyline_free(table, points, n):
        free = True
        for i in range(n - 1):
            free = free and segment_free(table, points[i], points[i + 1])
        return free

    @bare_kernel
    def segment_proven(table, a, b, required):
        """Marches along the edge: no state is nearer than the clearance less what is travelled."""
        travel = 0.0
        for j in range(len(a)):
            travel += (b[j] - a[j]) ** 2
        travel = math.sqrt(travel)
        s, states = 0.0, 0
        while True:
            c = clearance(table, a, b, s)
            table.counts[2] += 1
            states += 1
            if c <= required:
                return s, states
            if s >= 1.0 or travel == 0.0:
                return -1.0, states
            ahead = max(c - required, 1e-6) / travel
            s = min(1.0, s + ahead)

    @bare_kernel
    def path_proven(table, points, required):
        states = 0
        for k in range(max(1, len(points) - 1)):
            after = points[min(k + 1, len(points) - 1)]
            hit, checked = segment_proven(table, points[k], after, required)
            states += checked
            if hit >= 0.0:
                return k, hit, states
        return -1, 0.0, states
