"""Picture of a policy's learning curve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from galley.viz.figures import figure_file


def draw_losses(path: Path | str, losses: Sequence[Sequence[float]], method: str) -> None:
    """Draw the losses of a training over its steps.

    Args:
        path: of the PNG.
        losses: rows of step, training loss, and validation loss or NaN.
        method: method of the design, for the title.

    Raises:
        BadInput: ``path`` can't be written.
    """
    step, training, validation = np.array(losses, dtype=np.float64).T
    with figure_file(path, (6.5, 4.0)) as figure:
        axes = figure.subplots()
        axes.plot(step, training, label="training episodes")
        if np.isfinite(validation).any():
            axes.plot(step, validation, label="held-out episodes, moving average of the weights")
        axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_ylabel("mean square error of the network")
        axes.set_title(f"Learning curve, {method}")
        axes.grid(alpha=0.3, which="both")
        axes.legend()
        figure.tight_layout()
