"""A replay as a value: a notebook shows it, ``save`` writes it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

from galley.domain.files import write_atomically

_HEIGHT = 480  # px of the frame in a notebook


@dataclass(frozen=True)
class Replay:
    """A page to turn and play.

    Attributes:
        html: the page, which needs nothing else.
    """

    html: str

    def __repr__(self) -> str:
        return f"Replay({len(self.html) / 1e6:.1f} MB; save(path) writes it)"

    def save(self, path: str | Path) -> Path:
        """Write the page; it appears whole or not at all.

        Raises:
            BadInput: ``path`` can't be written.
        """
        write_atomically(Path(path), self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, inline."""
        return (
            f'<iframe style="width: 100%; height: {_HEIGHT}px; border: 0" '
            f'title="replay" srcdoc="{html.escape(self.html)}"></iframe>'
        )
