"""Folders of collected episodes: ``dataset.json`` and ``episode-000017.parquet``, ...

The number of a file is the seed of its episode. An episode depends on seed and settings alone, so
its bytes don't depend on who writes it or when. Files appear whole, so a file that exists is
finished: an interrupted collection resumes from them, and more seeds are appended.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput
from galley.domain.files import write_atomically, write_fault
from galley.learning import shards
from galley.learning.demonstrations.card import CARD, Collection, card, read_record
from galley.learning.demonstrations.columns import COMPRESSION, episode_of, table_of, unreadable
from galley.learning.demonstrations.episode import Episode, EpisodeInfo
from galley.learning.demonstrations.selection import Demonstrations
from galley.sweeps import LostJob, sweep

logger = logging.getLogger(__name__)
_REMEDY = "remove it, and collect again with the same options"

Progress = Callable[[int, int, int], None]
"""Called with (episodes finished, episodes in all, successes)."""


def collect(
    run: Callable[[int], Episode],
    seeds: Sequence[int],
    collection: Collection,
    folder: Path | str,
    workers: int | None = None,
    engine: str = "process",
    progress: Progress | None = None,
) -> dict[int, LostJob]:
    """Run the seeds whose episodes ``folder`` doesn't have yet, and write each at its end.

    Args:
        run: returns the episode of a seed; called in the worker processes (``sweeps.sweep``).
        seeds: of the episodes.
        collection: its settings must be everything that ``run`` depends on.
        folder: a new or empty folder, or one with episodes of the same settings.
        workers, engine: as for ``sweep``.
        progress: called after each episode.

    Returns:
        Seeds whose run raised an error or whose worker died; without any, all episodes are written.

    Raises:
        BadInput: the folder has episodes of other settings or versions, or can't be written.
        OSError: the disk is full; finished episodes stay.
    """
    folder = Path(folder)
    open_folder(folder, collection)
    record = collection.record()
    wanted = dict.fromkeys(seeds)
    there = _readable(folder, record)
    missing = [seed for seed in wanted if _path(folder, seed) not in there]
    known = [there[path] for seed in wanted if (path := _path(folder, seed)) in there]
    done, total = len(known), len(wanted)
    successes = sum(info.success is True for info in known)

    def ended(_: int, result: EpisodeInfo | OSError | LostJob) -> None:
        nonlocal done, successes
        if isinstance(result, OSError):
            raise result  # the next episodes couldn't be written either
        if isinstance(result, EpisodeInfo):
            done += 1
            successes += result.success is True
        if progress is not None:
            progress(done, total, successes)

    try:
        results = sweep(partial(_run_one, run, collection, folder), missing, workers, engine, ended)
    finally:
        for path in folder.glob(".episode-*.partial"):  # of workers that were stopped
            path.unlink(missing_ok=True)
    demonstrations = _demonstrations(_readable(folder, record), record)
    write_atomically(folder / CARD, card(collection, demonstrations))
    ended_as = zip(missing, results, strict=True)
    return {seed: result for seed, result in ended_as if isinstance(result, LostJob)}


def open_folder(folder: Path | str, collection: Collection) -> None:
    """Make a folder ready for episodes of ``collection``, new or with some of them.

    Raises:
        BadInput: it has episodes of other settings or versions, has other files, or can't be
            written.
        OSError: the disk is full.
    """
    folder, record = Path(folder), collection.record()
    if (folder / shards.INFO).exists():
        shards.check_same(folder, read_record(folder), record)
    elif folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise BadInput.one(folder, "has other files; choose a new or empty folder")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise write_fault(folder, error) from None
    shards.write_record(folder, record)


def write_episode(folder: Path | str, collection: Collection, episode: Episode) -> EpisodeInfo:
    """Write an episode's file, which replaces one of the same seed; it appears whole or not at all.

    Args:
        folder: opened by ``open_folder``.
        collection: the collection of the folder.
        episode: the episode, with a seed.

    Raises:
        ValueError: the episode has no seed.
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    if episode.seed is None:
        raise ValueError("an episode needs a seed: it numbers its file")
    record = collection.record()
    about = {**{part: record[part] for part in shards.PARTS}, "episode": asdict(episode.info)}
    shards.write_file(_path(Path(folder), episode.seed), table_of(episode), about, **COMPRESSION)
    return episode.info


def read_folder(folder: Path | str) -> Demonstrations:
    """The finished episodes of a folder, in the order of their seeds.

    Raises:
        BadInput: the folder isn't of demonstrations, or a file is damaged or of other settings.
    """
    folder = Path(folder)
    record = read_record(folder)
    return _demonstrations({path: _info(path, record) for path in _files(folder)}, record)


def _run_one(
    run: Callable[[int], Episode], collection: Collection, folder: Path, seed: int
) -> EpisodeInfo | OSError:
    """Run a seed in a worker and write its episode; returns an error of writing, if any."""
    episode = run(seed)
    if episode.seed != seed:
        raise ValueError(f"the episode of seed {seed} says seed {episode.seed}")
    try:
        return write_episode(folder, collection, episode)
    except BadInput as error:  # can't be pickled
        return OSError(errno.EIO, str(error))
    except OSError as error:
        return error


def _files(folder: Path) -> list[Path]:
    """The files of episodes, in the order of their seeds."""
    return sorted(folder.glob("episode-*.parquet"), key=lambda path: (len(path.name), path.name))


def _readable(folder: Path, record: dict[str, Any]) -> dict[Path, EpisodeInfo]:
    """The infos of undamaged files, by path; logs a warning for each damaged one."""
    infos = {}
    for path in _files(folder):
        try:
            infos[path] = _info(path, record)
        except _Damaged as error:
            logger.warning("%s", error)
    return infos


def _demonstrations(infos: dict[Path, EpisodeInfo], record: dict[str, Any]) -> Demonstrations:
    return Demonstrations(tuple(infos.values()), tuple(partial(_load, p, record) for p in infos))


class _Damaged(BadInput):
    """A file that can't be read as an episode."""

    def __init__(self, path: Path, error: Exception) -> None:
        super().__init__(unreadable(path, "an episode", error, _REMEDY).errors)


def _info(path: Path, record: dict[str, Any]) -> EpisodeInfo:
    """The info of an episode's file, which must have the settings and versions of ``record``."""
    import pyarrow

    try:
        about, _ = shards.read_about(path)
        info = EpisodeInfo(**about["episode"])
        same = all(about[part] == record[part] for part in shards.PARTS)
    except (OSError, KeyError, TypeError, ValueError, pyarrow.ArrowException) as error:
        raise _Damaged(path, error) from None
    if not same:
        reason = f"was made with other settings or versions than {shards.INFO} says"
        raise BadInput.one(path, f"{reason}; keep it in a folder of its own")
    return info


def _load(path: Path, record: dict[str, Any]) -> Episode:
    import pyarrow
    import pyarrow.parquet

    info = _info(path, record)
    try:
        table = pyarrow.parquet.read_table(path, page_checksum_verification=True)
        return episode_of(table, info)
    except (OSError, KeyError, ValueError, pyarrow.ArrowException) as error:
        raise _Damaged(path, error) from None


def _path(folder: Path, seed: int) -> Path:
    return folder / f"episode-{seed:06d}.parquet"
