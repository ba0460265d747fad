"""Demonstrations as two plain parquet tables: ``steps.parquet`` and ``episodes.parquet``.

A step is a row of the first, an episode a row of the second and a row group of the first.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from galley.domain.files import atomic_folder
from galley.learning import shards
from galley.learning.demonstrations.card import CARD, Collection, card, read_record
from galley.learning.demonstrations.columns import (
    COMPRESSION,
    episode_of,
    table_of,
    unreadable,
)
from galley.learning.demonstrations.episode import Episode, EpisodeInfo, Layout
from galley.learning.demonstrations.selection import Demonstrations, alike

STEPS, EPISODES = "steps.parquet", "episodes.parquet"
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
    import pyarrow.parquet
    from pyarrow import bool_, float64, int64, string

    with atomic_folder(folder) as partial_folder:
        layout = Layout()
        with ExitStack() as stack:
            for k, episode in enumerate(alike(demonstrations)):
                numbers = {"episode": np.full(len(episode), k), "step": np.arange(len(episode))}
                table = table_of(episode, numbers)
                if not layout:
                    layout, path = episode.layout, partial_folder / STEPS
                    writer = pyarrow.parquet.ParquetWriter(path, table.schema, **COMPRESSION)
                    stack.enter_context(writer)
                writer.write_table(table, row_group_size=len(episode))
        rows = [
            {"episode": k, **vars(info), "metadata": json.dumps(info.metadata)}
            for k, info in enumerate(demonstrations.infos)
        ]
        kinds = (int64(), int64(), float64(), bool_(), int64(), string())
        names = ("episode", *EpisodeInfo.__dataclass_fields__)
        schema = pyarrow.schema(list(zip(names, kinds, strict=True)))
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pylist(rows, schema), partial_folder / EPISODES
        )
        shards.write_record(partial_folder, collection.record())
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
            known = {name: row[name] for name in EpisodeInfo.__dataclass_fields__}
            infos.append(EpisodeInfo(**known | {"metadata": json.loads(row["metadata"])}))
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
