"""An episode's arrays as parquet columns with a row for each step, and back.

A vector is a fixed-size list, a matrix a list of lists. An image is height x width x channels
bytes, with the shape in the metadata of its field, because lists of bytes are slow and larger.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.errors import BadInput
from galley.learning.demonstrations.episode import ACTION, TIME, Episode, EpisodeInfo, is_image

OBSERVATION = "observation."
COMPRESSION: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": False,  # measurements hardly ever repeat
    "write_page_checksum": True,
    "write_batch_size": 64,  # rows after which a page may end; 1024 large images are a GB
}
_SHAPE = b"shape"  # key of an image's field


def lists(array: NDArray[Any]) -> Any:
    """A pyarrow array of (nested) fixed-size lists, one for each step; of plain values for (T,)."""
    import pyarrow

    column = pyarrow.array(np.ascontiguousarray(array).reshape(-1))
    for size in array.shape[:0:-1]:
        column = pyarrow.FixedSizeListArray.from_arrays(column, size)
    return column


def table_of(episode: Episode) -> Any:
    """The pyarrow table of an episode's steps: time, action, observation.<name>, ..."""
    import pyarrow

    fields, columns = [], []
    arrays = {TIME: episode.times, ACTION: episode.actions}
    arrays |= {OBSERVATION + name: array for name, array in episode.observations.items()}
    for name, array in arrays.items():
        shape, about = array.shape[1:], None
        if is_image(str(array.dtype), shape):
            kind, about = pyarrow.binary(int(np.prod(shape))), {_SHAPE: json.dumps(shape)}
            buffers = [None, pyarrow.py_buffer(array)]
            column = pyarrow.FixedSizeBinaryArray.from_buffers(kind, len(array), buffers)
        else:
            column = lists(array)
        fields.append(pyarrow.field(name, column.type, metadata=about))
        columns.append(column)
    return pyarrow.table(columns, schema=pyarrow.schema(fields))


def episode_of(table: Any, info: EpisodeInfo) -> Episode:
    """The episode of a table of ``table_of``.

    Raises:
        KeyError, ValueError: a column is missing or malformed.
    """
    arrays = {field.name: _array(table[field.name], field) for field in table.schema}
    observations = {
        name.removeprefix(OBSERVATION): array
        for name, array in arrays.items()
        if name.startswith(OBSERVATION)
    }
    known = (info.success, info.seed, info.metadata)
    return Episode(observations, arrays[ACTION], arrays[TIME], *known)


def _array(column: Any, field: Any) -> NDArray[Any]:
    import pyarrow

    if _SHAPE in (field.metadata or {}):
        shape = json.loads(field.metadata[_SHAPE])
        parts = []
        for part in column.chunks:
            stored = np.frombuffer(part.buffers()[1], np.uint8).reshape(-1, *shape)
            parts.append(stored[part.offset : part.offset + len(part)])
        images = np.concatenate(parts)
        images.setflags(write=False)  # so that the episode doesn't copy them again
        return images
    array = column.combine_chunks()
    shape = [len(array)]
    while pyarrow.types.is_fixed_size_list(array.type):
        shape.append(array.type.list_size)
        array = array.flatten()
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False).reshape(shape)
    return values


def unreadable(path: Path | str, what: str, error: Exception, remedy: str) -> BadInput:
    """The error for a file that is cut short, damaged, or of another kind."""
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return BadInput.one(path, f"can't be read as {what} ({reason}); {remedy}")
