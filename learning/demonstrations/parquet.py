"""Demonstrations as two plain parquet tables: ``steps.parquet`` and ``episodes.parquet``.

A step is a row of the first, an episode a row of the second and a row group of the first.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np

from galley.domain.files import atomic_folder
from galley.learning.demonstrations.card import CARD, INFO, Collection, card, read_record, text_of
from galley.learning.demonstrations.columns import (
    COMPRESSION,
    episode_of,
    table_of,
    unreadable,
)
from galley.learning.demonstrations.episode import Episode, EpisodeInfo, Layout
from galley.learning.demonstrations.selection import Demonstrations, alike

STEPS, EPISODES = "steps.parquet", "episodes.parquet"
_COLUMNS = ("length", "duration", "success", "seed", "metadata")
_REMEDY = "export it again"


def write_parquet(
    demonstrations: Demonstrations, folder: Path | str, collection: Collection
) -> None:
    """Write ``folder`` with both tables, ``dataset.json`` and a card, whole or not at all.

    Args:
        folder: does not exist, or is empty.

    Raises:
        ValueError: there are no episodes, or their arrays differ.
        BadInput, OSError: as ``domain.files.atomic_folder``.
    """
    import pyarrow
    import pyarrow.parquet

    with atomic_folder(folder) as partial_folder:
        writer, layout = None, Layout()
        try:
            for k, episode in enumerate(alike(demonstrations)):
                numbers = {"episode": np.full(len(episode), k), "step": np.arange(len(episode))}
                table = table_of(episode, numbers)
                if writer is None:
                    layout = episode.layout
                    path = partial_folder / STEPS
                    writer = pyarrow.parquet.ParquetWriter(path, table.schema, **COMPRESSION)
                writer.write_table(table, row_group_size=len(episode))
        finally:
            if writer is not None:
                writer.close()
        infos = demonstrations.infos
        table = pyarrow.table(
            {
                "episode": pyarrow.array(range(len(infos)), pyarrow.int64()),
                "length": pyarrow.array([info.length for info in infos], pyarrow.int64()),
                "duration": pyarrow.array([info.duration for info in infos], pyarrow.float64()),
                "success": pyarrow.array([info.success for info in infos], pyarrow.bool_()),
                "seed": pyarrow.array([info.seed for info in infos], pyarrow.int64()),
                "metadata": [json.dumps(info.metadata) for info in infos],
            }
        )
        pyarrow.parquet.write_table(table, partial_folder / EPISODES)
        (partial_folder / INFO).write_text(text_of(collection.record()))
        (partial_folder / CARD).write_text(card(collection, demonstrations, layout))


def read_parquet(folder: Path | str) -> Demonstrations:
    """The episodes that ``write_parquet`` wrote.

    Raises:
        BadInput: the folder has none, or a file is damaged.
    """
    folder = Path(folder)
    import pyarrow
    import pyarrow.parquet

    read_record(folder)
    infos = []
    try:
        rows = pyarrow.parquet.read_table(folder / EPISODES).to_pylist()
        for row in rows:
            known = {name: row[name] for name in _COLUMNS}
            infos.append(EpisodeInfo(**{**known, "metadata": json.loads(row["metadata"])}))
    except (OSError, KeyError, TypeError, ValueError, pyarrow.ArrowException) as error:
        raise unreadable(folder / EPISODES, "a table of episodes", error, _REMEDY) from None
    loaders = tuple(partial(_load, folder / STEPS, k, info) for k, info in enumerate(infos))
    return Demonstrations(tuple(infos), loaders)


def _load(path: Path, k: int, info: EpisodeInfo) -> Episode:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return episode_of(file.read_row_group(k), info)
    except (OSError, KeyError, ValueError, pyarrow.ArrowException) as error:
        raise unreadable(path, "a table of steps", error, _REMEDY) from None
