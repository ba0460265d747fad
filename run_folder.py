"""A run's folder: written under a temporary name, renamed when it is whole."""

from __future__ import annotations

import os
import shutil
import time
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
        self.path = path
        self.partial = path.with_name(f".{path.name}.partial")

    def __enter__(self) -> RunFolder:
        shutil.rmtree(self.partial, ignore_errors=True)
        self.partial.mkdir(parents=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and not any(self.partial.iterdir()):
            self.partial.rmdir()
            return
        if kind is not None and not issubclass(kind, KeyboardInterrupt):
            return  # a fault of ours: leave the evidence where it is
        self._publish()

    def _publish(self) -> None:
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
        BadInput: ``path`` is a file, or a folder with other things in it.
    """
    if path.is_file():
        raise BadInput.one(path, "is a file; --out names a folder")
    if path.is_dir() and any(path.iterdir()) and not (path / marker).is_file():
        raise BadInput.one(path, "holds other files and no run; choose another --out")
    parent = path.resolve().parent
    while not parent.exists():
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
