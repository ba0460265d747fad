"""Replay buffers of diffusion_policy (github.com/real-stanford/diffusion_policy): zarr, version 2.

``data/<name>`` (steps, ...) has the steps of all episodes one after the other, ``data/action`` the
actions, and ``meta/episode_ends`` (episodes,) the end of each episode. Chunks are about 2 MB of
steps. Upstream reads only these; ``meta/times``, ``meta/success``, ``meta/seeds`` and the root's
attributes are Galley's.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.files import atomic_folder
from galley.domain.frames import Array
from galley.learning.demonstrations.card import Collection
from galley.learning.demonstrations.columns import unreadable
from galley.learning.demonstrations.episode import ACTION, Episode, EpisodeInfo
from galley.learning.demonstrations.selection import Demonstrations, alike

CHUNK_BYTES = 2e6  # as in upstream's get_optimal_chunks
_KEY = "galley"  # of the root's attributes
_UNKNOWN = -1  # stands for an unknown success or seed
_REMEDY = "export it again"


def write_replay_buffer(
    demonstrations: Demonstrations, folder: Path | str, collection: Collection
) -> None:
    """Write a replay buffer; the folder, usually ``<name>.zarr``, appears whole or not at all.

    Floats become float32; other dtypes stay, so images stay uint8.

    Args:
        demonstrations: the episodes.
        folder: a new or empty folder.
        collection: title, settings, licence and meanings.

    Raises:
        ValueError: there are no episodes, or their arrays differ.
        BadInput, OSError: as ``domain.files.atomic_folder``.
    """
    import numcodecs
    import zarr

    infos = demonstrations.infos
    lengths = [info.length for info in infos]
    blosc = numcodecs.Blosc(cname="zstd", clevel=5, shuffle=numcodecs.Blosc.BITSHUFFLE)
    with atomic_folder(folder) as partial_folder:
        root: Any = zarr.create_group(partial_folder, zarr_format=2)
        data, meta, times, start = root.create_group("data"), root.create_group("meta"), [], 0
        for episode in alike(demonstrations):
            times.append(episode.times)
            for name, array in episode.arrays.items():
                values = array.astype(np.float32) if array.dtype == np.float64 else array
                if not start:
                    shape = values.shape[1:]
                    steps = ceil(CHUNK_BYTES / (values.dtype.itemsize * prod(shape)))
                    data.create_array(
                        name,
                        shape=(sum(lengths), *shape),
                        chunks=(min(sum(lengths), steps), *shape),
                        dtype=values.dtype,
                        compressors=blosc,
                        # So that a missing chunk is a lost one, not one of zeros.
                        config={"write_empty_chunks": True},
                    )
                data[name][start : start + len(episode)] = values
            start += len(episode)
        known = [_UNKNOWN if info.success is None else int(info.success) for info in infos]
        seeds = [_UNKNOWN if info.seed is None else info.seed for info in infos]
        meta.create_array("episode_ends", data=np.cumsum(lengths, dtype=np.int64))
        meta.create_array("times", data=np.concatenate(times), compressors=blosc)
        meta.create_array("success", data=np.array(known, dtype=np.int8))
        meta.create_array("seeds", data=np.array(seeds, dtype=np.int64))
        metadata = [dict(info.metadata) for info in infos]
        root.attrs[_KEY] = {**collection.record(), "metadata": metadata}


def read_replay_buffer(
    folder: Path | str,
    rate: float = 10.0,
    images: tuple[str, ...] = (),
    arrays: tuple[str, ...] | None = None,
) -> Demonstrations:
    """The episodes of a replay buffer, of Galley or others, such as the public one of Push-T.

    Args:
        folder: the replay buffer.
        rate: steps per second of a buffer without times.
        images: arrays to convert to uint8; Push-T's buffer has images, 0 to 255, as float32.
        arrays: observations to read; None: all.

    Raises:
        BadInput: it isn't a replay buffer, or one of its files is missing or damaged.
    """
    folder = Path(folder)
    import zarr

    try:
        root: Any = zarr.open_group(folder, mode="r")
        names = sorted(root["data"].array_keys())
        stored = {name: root["data"][name] for name in names}
        meta = {name: root["meta"][name][:] for name in root["meta"].array_keys()}
        about = root.attrs.get(_KEY)
        ends = meta["episode_ends"].tolist()
        spans = [slice(*span) for span in pairwise([0, *ends])]
        infos, times = _own(meta, about, spans) if about else _unknown(spans, rate)
    except Exception as error:  # of zarr, of a codec, of JSON
        raise unreadable(folder, "a replay buffer", error, _REMEDY) from None
    if any(span.stop <= span.start for span in spans):
        raise BadInput.one(folder, "meta/episode_ends must increase from above 0")
    for name in (ACTION, *images, *(arrays or ())):
        if name not in stored:
            raise BadInput.one(folder, f"has no data/{name}; it has {', '.join(stored)}")
    if arrays is not None:
        stored = {name: stored[name] for name in (ACTION, *arrays)}
    for name, array in stored.items():
        steps, total = array.shape[0], spans[-1].stop if spans else 0
        if steps != total:
            reason = f"data/{name} has {steps} steps, meta/episode_ends says {total}"
            raise BadInput.one(folder, reason)
        # Buffers of others may leave out chunks of zeros.
        if about and array.nchunks_initialized != array.nchunks:
            reason = f"data/{name} has {array.nchunks_initialized} of its {array.nchunks} chunks"
            raise BadInput.one(folder, f"{reason}; {_REMEDY}")
    loaders = (
        partial(_load, folder, stored, images, *row)
        for row in zip(spans, times, infos, strict=True)
    )
    return Demonstrations(tuple(infos), tuple(loaders))


def buffer_collection(folder: Path | str) -> Collection | None:
    """The collection of a replay buffer of Galley; None for another one.

    Raises:
        BadInput: it isn't a replay buffer.
    """
    import zarr

    try:
        about: Any = zarr.open_group(folder, mode="r").attrs.get(_KEY)
        return None if about is None else Collection.of_record(about)
    except Exception as error:  # of zarr, of JSON
        raise unreadable(folder, "a replay buffer", error, _REMEDY) from None


def _own(
    meta: dict[str, Any], about: dict[str, Any], spans: list[slice]
) -> tuple[list[EpisodeInfo], list[Array]]:
    """Infos and times of the episodes of a buffer of Galley."""
    infos, times = [], [meta["times"][span] for span in spans]
    rows = zip(times, meta["success"], meta["seeds"], about["metadata"], strict=True)
    for steps, success, seed, metadata in rows:
        judged = None if success == _UNKNOWN else bool(success)
        drawn = None if seed == _UNKNOWN else int(seed)
        infos.append(EpisodeInfo(len(steps), float(steps[-1] - steps[0]), judged, drawn, metadata))
    return infos, times


def _unknown(spans: list[slice], rate: float) -> tuple[list[EpisodeInfo], list[Array]]:
    times = [np.arange(span.stop - span.start) / rate for span in spans]
    return [EpisodeInfo(len(steps), (len(steps) - 1) / rate) for steps in times], times


def _load(
    folder: Path,
    arrays: dict[str, Any],
    images: tuple[str, ...],
    span: slice,
    times: Array,
    info: EpisodeInfo,
) -> Episode:
    read = {}
    for name, array in arrays.items():
        try:
            values = array[span]
        except Exception as error:  # of the codec
            raise unreadable(folder / "data" / name, "an array", error, _REMEDY) from None
        if name in images:
            converted = values.astype(np.uint8)
            if not np.array_equal(converted, values):
                reason = "is no image: not all its values are whole numbers from 0 to 255"
                raise BadInput.one(folder / "data" / name, reason)
            values = converted
        read[name] = values.reshape(len(values), -1) if values.ndim == 1 else values
    actions = read.pop(ACTION)
    return Episode(read, actions, times, info.success, info.seed, info.metadata)
