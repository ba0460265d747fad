"""Tables for the terminal."""

from __future__ import annotations

from rich.table import Table

from galley.report import Report


def motion_table(report: Report) -> Table:
    """One row a motion: phase, length, duration, clearance, what the optimiser did."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("action", no_wrap=True)
    table.add_column("phase", no_wrap=True)
    table.add_column("planner", no_wrap=True)
    for name in ("plan ms", "RRT", "shortcut", "optimised", "s", "clear mm"):
        table.add_column(name, justify="right", no_wrap=True)
    last = -1
    for motion in report.motions:
        record = motion.record
        first = motion.action_index != last
        last = motion.action_index
        free = record.planner.startswith("rrt")
        kept = record.length_optimized is None and record.optimizer != "none"
        table.add_row(
            report.plan[last].strip("()") if first else "",
            motion.phase,
            record.planner,
            f"{record.planning_ms:.0f}",
            _figure(record.length_rrt) if free else "",
            _figure(record.length_shortcut),
            "kept" if kept else _figure(record.length_optimized),
            f"{motion.trajectory.duration:.2f}",
            "" if record.min_clearance_m is None else _millimetres(record.min_clearance_m),
        )
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _millimetres(value: float) -> str:
    return ">50" if value >= 0.05 else f"{1e3 * value:.0f}"
