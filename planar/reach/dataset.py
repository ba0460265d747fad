"""Datasets of p(Q | H): folders of parquet shards, each with its own random stream.

A folder has ``dataset.json`` and ``shard-00000.parquet``, ... A shard has the rows of its own
candidate bases, from stream k of the seed, so its bytes don't depend on who writes it or when.
Shards appear whole, so those that exist are finished, and an interrupted dataset resumes from them.

Training and validation are split by base, since the rows of one base are dependent: validation has
one base in ``every`` (10 by default), training the rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from galley.domain.errors import BadInput
from galley.learning import shards
from galley.planar.reach import scores
from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.base_sampler import BaseSamples, DonutSampler, uniform_targets
from galley.planar.reach.context import Context
from galley.planar.reach.shapes import Figure, shape_of
from galley.planar.reach.weighted import Weight, Weighted
from galley.sweeps import LostJob, sweep
from galley.sweeps.journal import as_tuples

FORMAT = 3
_WHAT = "rows of galley reach"
_COLUMNS = {
    "x": "m, base, world frame",
    "y": "m, base, world frame",
    "psi": "rad, heading of the base",
    "theta1": "rad, from the heading",
    "theta2": "rad, from link 1",
    "target_x": "m, world frame",
    "target_y": "m, world frame",
    "elbow": "+1 or -1, the sign of sin(theta2)",
    "base": "number of the candidate base, unique in the dataset",
}
_NAMES = list(_COLUMNS)

Split = Literal["train", "validation", "all"]


@dataclass(frozen=True)
class DatasetSettings:
    """All that the rows of a dataset depend on.

    Attributes:
        sampler: draws base poses and joint angles.
        bases: number of candidate bases.
        target: (x, y) of all rows, m; None: one for each base, uniform over ``bounds``.
        bounds: ((x_lo, x_hi), (y_lo, y_hi)), m, or None.
        obstacles: shapes from which the robot must keep a distance of more than ``margin``.
        forbidden: shapes in which the base's centre may not be.
        margin: clearance to obstacles, m.
        view: the camera's field of view, rad, in which the target must be visible, or None.
        scores: (name, weight) of manipulability, margin (to joint limits), clearance, visibility,
            area. Rows are kept with the probability (weighted sum) / (sum of the weights).
        threshold: rows are kept if the weighted sum is at least this; None: by probability.
        seed: of all random numbers, from 0.
        every: one base in so many is for validation.
        shard_bases: bases per shard.

    Raises:
        ValueError: a number is too small, both or neither of target and bounds are given, or the
            bounds are bad.
    """

    sampler: DonutSampler
    bases: int
    target: tuple[float, float] | None = None
    bounds: tuple[tuple[float, float], tuple[float, float]] | None = None
    obstacles: tuple[Figure, ...] = ()
    forbidden: tuple[Figure, ...] = ()
    margin: float = 0.0
    view: float | None = None
    scores: tuple[tuple[str, float], ...] = ()
    threshold: float | None = None
    seed: int = 0
    every: int = 10
    shard_bases: int = 50_000

    def __post_init__(self) -> None:
        numbers = {"bases": 1, "seed": 0, "every": 2, "shard_bases": 1}
        for name, least in numbers.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be {least} or more, got {getattr(self, name)}")
        if (self.target is None) == (self.bounds is None):
            raise ValueError(f"give one of target and bounds, got {self.target} and {self.bounds}")
        if self.target is not None and not np.isfinite(self.target).all():
            raise ValueError(f"target must be finite, got {self.target}")
        if self.bounds is not None:
            uniform_targets(self.bounds, 0, np.random.default_rng(0))  # refuses bad ones
        if self.threshold is not None and not self.scores:
            raise ValueError(f"threshold {self.threshold:g} needs scores")
        self.law()  # refuses bad shapes, views, scores

    @property
    def shards(self) -> int:
        """Number of shards, a file each."""
        return math.ceil(self.bases / self.shard_bases)

    def law(self) -> DonutSampler | Weighted:
        """The distribution of the rows, with ``log_density``: the sampler, perhaps weighted."""
        arm, weights = self.sampler.arm, list[Weight]()
        obstacles = tuple(shape_of(*figure) for figure in self.obstacles)
        forbidden = tuple(shape_of(*figure) for figure in self.forbidden)
        context = Context(arm, obstacles, forbidden, self.view, self.margin)
        if obstacles or forbidden or self.view is not None:
            weights.append(context)
        if self.scores:
            known: dict[str, Callable[[], Weight]] = {
                "manipulability": lambda: scores.manipulability,
                "margin": lambda: scores.limit_margin(arm),
                "clearance": lambda: scores.clearance(context),
                "visibility": lambda: scores.visibility(context),
                "area": lambda: scores.area(arm),
            }
            for name, _ in self.scores:
                if name not in known:
                    raise ValueError(f"scores are {', '.join(known)}, got {name!r}")
            terms = tuple((weight, known[name]()) for name, weight in self.scores)
            weights.append(scores.Acceptance(terms, self.threshold))
        return Weighted(self.sampler, tuple(weights)) if weights else self.sampler

    def held_out(self, base: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether bases (m,) are for validation: one in ``every``."""
        return np.asarray(base % self.every == self.every - 1)

    @property
    def filtered(self) -> bool:
        """Whether rows are dropped for reasons other than joint limits."""
        return isinstance(self.law(), Weighted)

    def sample(self, shard: int) -> BaseSamples:
        """The rows of a shard; ``source`` is the number of the base in the whole dataset."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(shard,)))
        first = shard * self.shard_bases
        n = min(self.shard_bases, self.bases - first)
        target = self.target if self.bounds is None else uniform_targets(self.bounds, n, rng)
        assert target is not None
        rows = self.law().sample(target, n, rng)
        return replace(rows, source=rows.source + first)

    def record(self) -> dict[str, Any]:
        """The settings as plain data of JSON."""
        own = asdict(self)
        sampler = own.pop("sampler")
        arm = sampler.pop("arm")
        del arm["chain"]
        record: dict[str, Any] = json.loads(json.dumps({**arm, **sampler, **own}))
        return record

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> DatasetSettings:
        """The settings of a record: the inverse of ``record``."""
        own = {key: as_tuples(value) for key, value in record.items()}
        arm = PlanarArm(**{key: own.pop(key) for key in ("l1", "l2", "limits")})
        keys = ("epsilon", "heading_sigma")
        return cls(DonutSampler(arm, **{key: own.pop(key) for key in keys}), **own)


def write_dataset(
    settings: DatasetSettings,
    folder: Path | str,
    workers: int | None = None,
    engine: str = "process",
    progress: Callable[[int, int], None] | None = None,
) -> list[LostJob]:
    """Write the shards that ``folder`` does not have yet.

    Args:
        folder: an existing folder, empty or with shards of the same settings.
        workers, engine: as for ``sweep``.
        progress: called with (shards finished, shards in all).

    Returns:
        Shards that couldn't be written; without any, the dataset is finished.

    Raises:
        BadInput: the folder has a dataset with other settings, or made with other versions.
    """
    folder, info = Path(folder), _info(settings)
    if (folder / shards.INFO).exists():
        read_settings(folder)
        shards.check_same(folder, shards.read_record(folder, FORMAT, _WHAT), info)
    shards.write_record(folder, info)
    missing = [k for k in range(settings.shards) if _rows(folder, info, k) is None]
    done = settings.shards - len(missing)

    def ended(_: int, result: int | LostJob) -> None:
        nonlocal done
        done += not isinstance(result, LostJob)
        if progress is not None:
            progress(done, settings.shards)

    write = partial(_write_shard, settings, str(folder))
    results = sweep(write, missing, workers, engine, ended)
    lost = [result for result in results if isinstance(result, LostJob)]
    if not lost:
        rows = [_rows(folder, info, k) or 0 for k in range(settings.shards)]
        counts = {"finished": True, "rows": sum(rows), "rows_of_shards": rows}
        shards.write_record(folder, info | counts)
    return lost


def read_settings(folder: Path | str) -> DatasetSettings:
    """The settings of a dataset; their sampler has the true density.

    Raises:
        BadInput: the folder has no dataset, or one that this version can't read.
    """
    record = shards.read_record(folder, FORMAT, _WHAT)
    try:
        return DatasetSettings.of_record(record["settings"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput.one(Path(folder) / shards.INFO, f"doesn't hold {_WHAT}: {error}") from None


def row_count(folder: Path | str) -> int:
    """Number of rows of a finished dataset.

    Raises:
        BadInput: the folder has no dataset.
    """
    return int(shards.read_record(folder, FORMAT, _WHAT).get("rows", 0))


def load(folder: Path | str, split: Split = "train") -> BaseSamples:
    """The rows of a dataset; ``source`` is the number of the base in the whole dataset.

    Args:
        split: by base, see the module.

    Raises:
        BadInput: the folder has no dataset, it is unfinished, or a file can't be read.
    """
    folder = Path(folder)
    import pyarrow
    import pyarrow.parquet

    settings, record = read_settings(folder), shards.read_record(folder, FORMAT, _WHAT)
    if record.get("finished") is not True:
        there = sum(_rows(folder, _info(settings), k) is not None for k in range(settings.shards))
        reason = f"is unfinished, {there} of {settings.shards} shards are there; sample it again"
        raise BadInput.one(folder, f"{reason} with the same options")
    parts = []
    for k in range(settings.shards):
        path = _shard(folder, k)
        try:
            table = pyarrow.parquet.read_table(path, columns=_NAMES, memory_map=True)
        except (OSError, pyarrow.ArrowException) as error:
            why = str(error).splitlines()[0]
            raise BadInput.one(path, f"can't be read as a shard: {why}") from None
        values = [column.to_numpy() for column in table.columns]
        held_out = settings.held_out(values[-1])
        chosen = {"train": ~held_out, "validation": held_out, "all": slice(None)}[split]
        parts.append([column[chosen] for column in values])
    *columns, elbow, base = (np.concatenate(column) for column in zip(*parts, strict=True))
    return BaseSamples(np.column_stack(columns[:5]), np.column_stack(columns[5:]), elbow, base)


def _write_shard(settings: DatasetSettings, folder: str, k: int) -> int:
    """Sample shard ``k`` and write its file; returns the number of rows."""
    import pyarrow

    rows = settings.sample(k)
    values = [*rows.q.T, *rows.target.T, rows.elbow, rows.source]
    columns = dict(zip(_NAMES, map(pyarrow.array, values), strict=True))
    repeated = ["elbow"]
    if settings.target is not None:
        repeated += ["target_x", "target_y"]
    # Random digits don't compress: zstd takes a fifth off the size, and doubles the time.
    shards.write_file(
        _shard(Path(folder), k),
        pyarrow.table(columns),
        {**_info(settings), "shard": k},
        compression="none",
        use_dictionary=repeated,
        column_encoding={"base": "DELTA_BINARY_PACKED"},
    )
    return len(rows)


def _rows(folder: Path, info: dict[str, Any], k: int) -> int | None:
    """Number of rows of shard ``k``; None if it is missing, damaged, or of other settings."""
    import pyarrow

    try:
        about, rows = shards.read_about(_shard(folder, k))
    except (OSError, KeyError, ValueError, pyarrow.ArrowException):
        return None
    return rows if about == {**info, "shard": k} else None


def _shard(folder: Path, k: int) -> Path:
    return folder / f"shard-{k:05d}.parquet"


def _info(settings: DatasetSettings) -> dict[str, Any]:
    """The record of ``dataset.json`` and of every shard, without the number of rows."""
    law = "Weighted" if settings.filtered else "DonutSampler"
    return {
        "format": FORMAT,
        "settings": settings.record(),
        "versions": shards.versions(),
        "rows_are": "a row for each base and each elbow that is within the limits there",
        "density": f"{law}.log_density: per dx dy dpsi, for each elbow, normalised over what is "
        "kept; targets are uniform only without filters",
        "keep_rate": settings.sampler.keep_rate(),
        "validation": f"base % {settings.every} == {settings.every - 1}",
        "random_stream": "numpy.random.SeedSequence(seed).spawn(shards)[shard], PCG64",
        "columns": _COLUMNS,
    }
