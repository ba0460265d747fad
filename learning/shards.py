"""A folder of parquet files that are written one by one, each with all that its rows depend on.

``dataset.json`` is the folder's record: its ``format``, and the ``settings`` and ``versions`` on
which every file depends. Each file repeats them in its own metadata. Files appear whole, so those
that are there are finished.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import galley
from galley.domain.errors import BadInput
from galley.domain.files import atomic_file, read_text, write_atomically

INFO = "dataset.json"
PARTS = ("settings", "versions")  # of the record, on which files depend
_KEY = b"galley"  # of a file's own metadata


def versions() -> dict[str, str]:
    """Of what writes the files."""
    import pyarrow

    return {"galley": galley.__version__, "numpy": np.__version__, "pyarrow": pyarrow.__version__}


def write_record(folder: Path | str, record: Mapping[str, Any]) -> None:
    """Write a folder's record.

    Raises:
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    write_atomically(Path(folder) / INFO, json.dumps(record, indent=1) + "\n")


def read_record(folder: Path | str, number: int, what: str) -> dict[str, Any]:
    """A folder's record.

    Args:
        number: of the format. what: the folder holds, for messages.

    Raises:
        BadInput: it has none, or one of something else.
    """
    path = Path(folder) / INFO
    if not path.is_file():
        raise BadInput.one(folder, f"has no {what} (no {INFO})")
    text = read_text(path)
    try:
        record = json.loads(text)
    except ValueError as error:
        raise BadInput.one(path, f"is not JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != number:
        why = f"doesn't hold {what} in format {number}, which this version of Galley reads"
        raise BadInput.one(path, why)
    return record


def check_same(folder: Path | str, earlier: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Refuse to mix files of different settings or versions.

    Raises:
        BadInput: the message names the first that differs.
    """
    for part in PARTS:
        old, new = earlier.get(part, {}), record[part]
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                what = f"has files made with {name} {old.get(name)}, not {new.get(name)}"
                raise BadInput.one(folder, f"{what}; choose another folder")


def write_file(path: Path | str, table: Any, about: Mapping[str, Any], **how: Any) -> None:
    """Write a table whole or not at all, with what it says of itself; ``how`` as pyarrow's.

    Raises:
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    import pyarrow.parquet

    table = table.replace_schema_metadata({_KEY: json.dumps(about)})
    with atomic_file(path) as partial:
        pyarrow.parquet.write_table(table, partial, **how)


def read_about(path: Path | str) -> tuple[dict[str, Any], int]:
    """What a file says of itself, and its number of rows.

    Raises:
        OSError, KeyError, ValueError, pyarrow.ArrowException: it is missing or damaged.
    """
    import pyarrow.parquet

    footer = pyarrow.parquet.read_metadata(path)
    about: dict[str, Any] = json.loads((footer.metadata or {})[_KEY])
    return about, int(footer.num_rows)
