"""Tables on the terminal."""

from __future__ import annotations

from rich.table import Table


def plain_table(gap: int = 2) -> Table:
    """A table without lines, its columns ``gap`` characters apart."""
    return Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
