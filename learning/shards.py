"""Folders of parquet files, written one by one, each with all settings that its rows depend on.

``dataset.json`` is the folder's record: its ``format``, and the ``settings`` and ``versions`` on
which every file depends. Each file repeats them in its own metadata. Files appear whole, so a file
that exists is finished.
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
PARTS = ("settings", "versions")  # keys of the record on which files depend
_KEY = b"galley"  # of a file's own metadata


def versions() -> dict[str, str]:
    """Versions of the packages that write the files, by name."""
    import pyarrow

    return {"galley": galley.__version__, "numpy": np.__version__, "pyarrow": pyarrow.__version__}


def write_record(folder: Path | str, record: Mapping[str, Any]) -> None:
    """Write the record of a folder.

    Raises:
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    write_atomically(Path(folder) / INFO, json.dumps(record, indent=1) + "\n")


def read_record(folder: Path | str, number: int, what: str) -> dict[str, Any]:
    """Read the record of a folder.

    Args:
        folder: the folder.
        number: version of the format.
        what: contents of the folder, for messages.

    Raises:
        BadInput: it has no record, or one of another format.
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
        reason = f"doesn't hold {what} in format {number}, which this version of Galley reads"
        raise BadInput.one(path, reason)
    return record


def check_same(folder: Path | str, earlier: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Refuse to mix files of different settings or versions.

    Raises:
        BadInput: a setting or version differs; the message names the first.
    """
    for part in PARTS:
        old, new = earlier.get(part, {}), record[part]
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                reason = f"has files made with {name} {old.get(name)}, not {new.get(name)}"
                raise BadInput.one(folder, f"{reason}; choose another folder")


def write_file(path: Path | str, table: Any, about: Mapping[str, Any], **how: Any) -> None:
    """Write a table as a file, which appears whole or not at all.

    Args:
        path: of the file.
        table: a pyarrow table.
        about: the file's metadata, plain data of JSON.
        how: options of ``pyarrow.parquet.write_table``.

    Raises:
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    import pyarrow.parquet

    table = table.replace_schema_metadata({_KEY: json.dumps(about)})
    with atomic_file(path) as partial:
        pyarrow.parquet.write_table(table, partial, **how)


def read_about(path: Path | str) -> tuple[dict[str, Any], int]:
    """The metadata of a file, and its number of rows.

    Raises:
        OSError, KeyError, ValueError, pyarrow.ArrowException: it is missing or damaged.
    """
    import pyarrow.parquet

    footer = pyarrow.parquet.read_metadata(path)
    about: dict[str, Any] = json.loads((footer.metadata or {})[_KEY])
    return about, int(footer.num_rows)
