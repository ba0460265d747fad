"""Tables on the terminal, which leave out whole columns where not all of them fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

Cell = str | Text
_LEAST_FOLDED = 20  # characters: the narrowest column of folded text that is still readable


@dataclass
class _Column:
    name: str
    how: str  # ">": aligned right; "~": folded at words; anything else: neither
    cells: list[Cell] = field(default_factory=list)

    @property
    def width(self) -> int:
        """The number of characters that the column needs; for a folded one, the fewest."""
        lines = [line for cell in [self.name, *self.cells] for line in str(cell).split("\n")]
        width = max(map(cell_len, lines))
        words = map(cell_len, " ".join(lines).split())
        return min(width, max([_LEAST_FOLDED, *words])) if self.how == "~" else width


class PlainTable:
    """A table without lines. Columns that do not fit are left out whole, and named below it.

    Args:
        columns: their names; ``>`` before one aligns it right, ``~`` folds its text at words.
        gap: characters between columns.
        spare: names of the columns that are left out first where not all fit, in this order; then
            the others are left out, from the right. The first column stays.
    """

    def __init__(self, *columns: str, gap: int = 2, spare: Sequence[str] = ()) -> None:
        self._gap, self._spare = gap, spare
        self._columns = [_Column(name.lstrip(">~"), name[:1]) for name in columns]

    def add_row(self, *cells: Cell) -> None:
        """Add a row; cells that are missing at its end are empty."""
        row = (*cells, *[""] * (len(self._columns) - len(cells)))
        for column, cell in zip(self._columns, row, strict=True):
            column.cells.append(cell)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown, least_important_first = list(self._columns), self._columns[:0:-1]
        rank = {name: k for k, name in enumerate(self._spare)}
        least_important_first.sort(key=lambda column: rank.get(column.name, len(rank)))
        for column in least_important_first:
            if self._width(shown) > options.max_width:
                shown.remove(column)
        table = Table(box=None, pad_edge=False, padding=(0, self._gap, 0, 0), header_style="bold")
        for column in shown:
            table.add_column(
                column.name,
                justify="right" if column.how == ">" else "left",
                no_wrap=column.how != "~",
                overflow="fold",
            )
        for row in zip(*(column.cells for column in shown), strict=True):
            table.add_row(*row)
        yield table
        left_out = [c.name.replace("\n", " ") for c in self._columns if c not in shown]
        if left_out:
            yield Text(
                f"not shown in {options.max_width} columns: {', '.join(left_out)};"
                f" {self._width(self._columns)} columns show all",
                "dim",
            )

    def _width(self, columns: list[_Column]) -> int:
        return sum(column.width for column in columns) + self._gap * (len(columns) - 1)
