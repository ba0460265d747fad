"""A run's folder: written under a temporary name, renamed when it is whole."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from galley.domain.errors import BadInput

REPORT = "report.json"


class RunFolder:
    """``with RunFolder(path) as folder:`` files go to ``folder.partial``, then it becomes ``path``.

    A folder that an earlier run left at ``path`` is replaced; anything else there is not touched.
    When the process is killed only the partial folder stays, under its telling name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve() if os.path.islink(path) else path  # a link stays a link
        self.partial = self.path.with_name(f".{self.path.name}.partial")

    def __enter__(self) -> RunFolder:
        shutil.rmtree(self.partial, ignore_errors=True)
        try:
            self.partial.mkdir(parents=True)
        except OSError as error:  # a name too long, say
            raise BadInput.one(self.path, f"can't be made: {error.strerror}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and (issubclass(kind, BadInput) or not any(self.partial.iterdir())):
            shutil.rmtree(self.partial)
            return
        if kind is not None and not issubclass(kind, KeyboardInterrupt):
            return  # a fault of ours: leave the evidence where it is
        self._publish()

    def _publish(self) -> None:
        for half_written in self.partial.glob("*.partial"):  # an interrupt came while it was saved
            half_written.unlink()
        old = None
        if self.path.exists():
            old = self.path.with_name(f".{self.path.name}.old")
            shutil.rmtree(old, ignore_errors=True)
            os.rename(self.path, old)
        os.rename(self.partial, self.path)
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)


def check_destination(path: Path, marker: str = REPORT) -> None:
    """Refuse a destination that would overwrite something that is not a run.

    Raises:
        BadInput: ``path`` is a file, a folder with other things in it, or can't be written.
    """
    if path.name in ("", ".."):
        raise BadInput.one(path, "can't be replaced; --out names a folder of its own")
    if os.path.lexists(path) and not os.path.isdir(path):
        raise BadInput.one(path, "is a file; --out names a folder")
    if os.path.isdir(path) and any(path.iterdir()) and not (path / marker).is_file():
        raise BadInput.one(path, "holds other files and no run; choose another --out")
    parent = path.resolve().parent
    while not os.path.exists(parent):  # unlike Path.exists, no error for a name too long
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise BadInput.one(path, f"can't be written: {parent} is not a writable folder")


def new_name(stem: str) -> Path:
    """``runs/<stem>-<date>-<time>``, in the folder where the user is; a number if that is taken."""
    name = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, k = Path("runs") / name, 2
    while path.exists():
        path, k = Path("runs") / f"{name}-{k}", k + 1
    return path


def digests(files: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the files that a run was made from, so that a later check sees a change."""
    return {file: hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in sorted(files)}
