"""Write LeRobot datasets, version 3.0 (github.com/huggingface/lerobot), without its packages.

Images are PNGs in the parquet file of the steps (dtype ``image``), which LeRobot reads like videos:
without loss, at any frame, and without a codec. Floats become float32.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.files import atomic_folder
from galley.learning.demonstrations.card import CARD, Collection, card
from galley.learning.demonstrations.columns import OBSERVATION, lists
from galley.learning.demonstrations.episode import ACTION, Episode, is_image
from galley.learning.demonstrations.selection import Demonstrations, alike
from galley.learning.demonstrations.statistics import Moments

VERSION = "v3.0"
IMAGE, IMAGES = OBSERVATION + "image", OBSERVATION + "images."
TOLERANCE = 1e-4  # s, LeRobot's tolerance of times
_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_FIRST = {"chunk_index": 0, "file_index": 0}  # there is only one file of each kind

Columns = dict[str, NDArray[Any]]
"""Steps (T, ...) by LeRobot's name of a feature."""


def write_lerobot(
    demonstrations: Demonstrations, folder: Path | str, collection: Collection
) -> None:
    """Write a LeRobot dataset; the folder appears whole or not at all.

    The task of an episode is ``task`` of its metadata, or the title of the collection. The robot is
    ``robot`` of the collection's settings. The first episode gives the rate.

    Args:
        demonstrations: the episodes.
        folder: a new or empty folder.
        collection: title, settings, licence and meanings.

    Raises:
        ValueError: there are no episodes, their arrays differ, or their times don't have a constant
            rate that is a whole number per second.
        BadInput, OSError: as ``domain.files.atomic_folder``.
    """
    import pyarrow
    import pyarrow.parquet

    tasks: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    moments: dict[str, list[Moments]] = {}
    features: dict[str, Any] = {}
    start, rate = 0, 0
    with atomic_folder(folder) as partial, ExitStack() as stack:
        path = partial / "data" / _FILE.format(**_FIRST)
        path.parent.mkdir(parents=True)
        for k, episode in enumerate(alike(demonstrations)):
            rate = rate or _rate(episode)
            task = str(episode.metadata.get("task", collection.title))
            columns = _columns(episode, rate, k, start, tasks.setdefault(task, len(tasks)))
            table = pyarrow.table({name: _encoded(array) for name, array in columns.items()})
            if not features:
                features = {n: _feature(n, a, collection.arrays) for n, a in columns.items()}
                writer = pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd")
                stack.enter_context(writer)
            writer.write_table(table, row_group_size=len(table))
            own = {name: Moments.of(array) for name, array in columns.items()}
            for name, moment in own.items():
                moments.setdefault(name, []).append(moment)
            stats = {
                f"stats/{name}/{key}": value
                for name, moment in own.items()
                for key, value in _record(features[name], moment).items()
            }
            rows.append(_row(episode, k, start, task) | stats)
            start += len(episode)
        stack.close()
        info = {
            "codebase_version": VERSION,
            "robot_type": collection.settings.get("robot"),
            "total_episodes": len(rows),
            "total_frames": start,
            "total_tasks": len(tasks),
            "chunks_size": 1000,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": rate,
            "splits": {"train": f"0:{len(rows)}"},
            "data_path": f"data/{_FILE}",
            "video_path": None,
            "features": features,
        }
        stats = {n: _record(features[n], Moments.merged(parts)) for n, parts in moments.items()}
        _write_episodes(partial, rows)
        _write_tasks(partial, tasks)
        (partial / "meta" / "info.json").write_text(json.dumps(info, indent=4) + "\n")
        (partial / "meta" / "stats.json").write_text(json.dumps(stats, indent=4) + "\n")
        (partial / CARD).write_text(card(collection, demonstrations, "data/*/*.parquet"))


def _rate(episode: Episode) -> int:
    """Steps per second of an episode, rounded; raises ValueError for a single step."""
    if len(episode) < 2:
        raise ValueError("the first episode has one step and so no rate; give the rate")
    return max(1, round(1 / float(np.median(np.diff(episode.times)))))


def _columns(episode: Episode, rate: int, k: int, start: int, task: int) -> Columns:
    """The columns of an episode's steps, with those that LeRobot adds."""
    frames = np.arange(len(episode))
    off = np.abs(episode.times - episode.times[0] - frames / rate).max()
    if off > TOLERANCE:
        raise ValueError(
            f"episode {k} is not at {rate} steps per second: a time is {off:.2g} s off; LeRobot "
            "needs a constant rate, a whole number per second"
        )
    columns: Columns = {}
    for name, array in episode.arrays.items():
        if is_image(str(array.dtype), array.shape[1:]):
            # LeRobot's images have three channels.
            key = IMAGE if name == "image" else IMAGES + name
            columns[key] = np.broadcast_to(array, (*array.shape[:3], 3))
        else:
            key = ACTION if name == ACTION else OBSERVATION + name
            if name.startswith("next_"):  # what follows the action
                key = name.replace("_", ".", 1)
            elif name in episode.metadata:  # the index of a text, which policies shouldn't observe
                key = name
            columns[key] = array.astype(np.float32) if array.dtype == np.float64 else array
    added: Columns = {
        "timestamp": (frames / rate).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(len(frames), k),
        "index": start + frames,
        "task_index": np.full(len(frames), task),
    }
    return columns | {name: array[:, None] for name, array in added.items()}


def _feature(name: str, array: NDArray[Any], meanings: Mapping[str, str]) -> dict[str, Any]:
    """The description of a column in ``info.json``.

    The components of ``observation.state`` and ``action`` have the names with which their meaning
    begins, if the number of names is right.
    """
    image = is_image(str(array.dtype), array.shape[1:])
    names = ["height", "width", "channels"] if image else None
    if name in (ACTION, OBSERVATION + "state"):
        given = meanings.get(name.removeprefix(OBSERVATION), "").partition(" (")[0].split(", ")
        names = given if [len(given)] == [*array.shape[1:]] else None
    return {
        "dtype": "image" if image else str(array.dtype),
        "shape": list(array.shape[1:]),
        "names": names,
    }


def _encoded(array: NDArray[Any]) -> Any:
    """An array as a pyarrow column: values, lists, or structs with PNGs, as in ``datasets``."""
    import pyarrow

    if not is_image(str(array.dtype), array.shape[1:]):
        return lists(array.reshape(-1) if array.shape[1:] == (1,) else array)
    kind = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    return pyarrow.array([{"bytes": _png(frame), "path": None} for frame in array], kind)


def _png(frame: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(frame).save(stream, "PNG")
    return stream.getvalue()


def _row(episode: Episode, k: int, start: int, task: str) -> dict[str, Any]:
    return {
        "episode_index": k,
        "tasks": [task],
        "length": len(episode),
        "dataset_from_index": start,
        "dataset_to_index": start + len(episode),
        **{f"{place}/{key}": k for place in ("data", "meta/episodes") for key, k in _FIRST.items()},
        # Galley's own columns, which LeRobot ignores.
        "success": episode.success,
        "seed": episode.seed,
        "metadata": json.dumps(episode.metadata),
    }


def _record(feature: Mapping[str, Any], moments: Moments) -> dict[str, Any]:
    """Moments as in ``stats.json``; for images (channels, 1, 1), from 0 to 1."""
    parts = {"min": moments.low, "max": moments.high, "mean": moments.mean, "std": moments.std}
    if feature["dtype"] == "image":
        parts = {key: value.reshape(-1, 1, 1) / 255 for key, value in parts.items()}
    return {key: value.tolist() for key, value in parts.items()} | {"count": [moments.count]}


def _write_episodes(folder: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow
    import pyarrow.parquet

    types = {"success": pyarrow.bool_(), "seed": pyarrow.int64()}  # even if all are unknown
    columns = {
        name: pyarrow.array([row[name] for row in rows], types.get(name)) for name in rows[0]
    }
    path = folder / "meta" / "episodes" / _FILE.format(**_FIRST)
    path.parent.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd")


def _write_tasks(folder: Path, tasks: dict[str, int]) -> None:
    """Write the table of tasks, which LeRobot reads by pandas with the text as index."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"task_index": list(tasks.values()), "task": list(tasks)})
    columns: list[dict[str, str]] = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": dtype}
        for name, kind, dtype in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    about = {"index_columns": ["task"], "columns": columns}
    table = table.replace_schema_metadata({b"pandas": json.dumps(about)})
    pyarrow.parquet.write_table(table, folder / "meta" / "tasks.parquet")
