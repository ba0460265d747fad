"""The choice of a renderer that works on this machine.

Our own rasteriser is the fastest and needs no graphics library. Drake's VTK engine can darken
corners, which single pictures have time for, but it needs EGL. Where that is missing, loading it
may raise, or bring the whole process down; so it is first tried in a process of its own, and ours
takes over. PyBullet's TinyRenderer, plain and slow, is there to be compared with.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from functools import cache

from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.viz.picture import Renderer

RENDERERS = ("raster", "vtk", "tiny")
_PROBE_SECONDS = 60.0
_REMEDY = "on Debian and Ubuntu, the packages libegl1 and libgl1-mesa-dri are what it needs"

logger = logging.getLogger(__name__)


def open_renderer(
    scene: Scene,
    robot: RobotModel,
    width: int = 1280,
    height: int = 720,
    prefer: str = "vtk",
    fine: bool = False,
) -> Renderer:
    """The best renderer that works on this machine.

    Args:
        scene: what to draw.
        robot: the robot in it.
        width, height: of the pictures, pixels.
        prefer: ``vtk``, or ``raster`` or ``tiny``, which work everywhere.
        fine: with darkened corners, if it is ``vtk``: for single pictures, as it takes ten times
            longer.

    Returns:
        A renderer; its ``name`` says which, its ``reason`` why. A fallback is logged as a warning.
    """
    name, reason = choose_renderer(prefer)
    renderer = make_renderer(name, scene, robot, width, height, fine)
    renderer.reason = reason
    return renderer


def make_renderer(
    name: str, scene: Scene, robot: RobotModel, width: int, height: int, fine: bool = False
) -> Renderer:
    """The renderer called ``name``, untried; see ``open_renderer``."""
    if name == "vtk":
        from galley.viz.vtk_renderer import VtkRenderer

        return VtkRenderer(scene, robot, width, height, fine=fine)
    if name == "raster":
        from galley.viz.raster_renderer import RasterRenderer

        return RasterRenderer(scene, robot, width, height)
    from galley.viz.tiny_renderer import TinyRenderer

    return TinyRenderer(scene, robot, width, height)


def choose_renderer(prefer: str = "raster") -> tuple[str, str]:
    """Name of the renderer to use, and why, in a sentence.

    Raises:
        ValueError: ``prefer`` names no renderer.
    """
    if prefer not in RENDERERS:
        raise ValueError(f"no renderer '{prefer}', there are {', '.join(RENDERERS)}")
    if prefer == "raster":
        return "raster", "our own rasteriser is the fastest, and works on every machine"
    if prefer == "tiny":
        return "tiny", "PyBullet's TinyRenderer was asked for"
    fault = vtk_fault()
    if fault is None:
        return "vtk", "Drake's VTK renderer works on this machine"
    reason = f"Drake's VTK renderer does not work on this machine ({fault}); {_REMEDY}"
    logger.warning("drawing with our own rasteriser: %s", reason)
    return "raster", reason


@cache
def vtk_fault() -> str | None:
    """What keeps Drake's VTK renderer from working, or None. Tried once, in another process."""
    command = [sys.executable, "-m", "galley.viz.vtk_probe"]
    try:
        probe = subprocess.run(
            command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it drew nothing in {_PROBE_SECONDS:.0f} s"
    if probe.returncode == 0:
        return None
    lines = [line.strip() for line in probe.stderr.splitlines() if line.strip()]
    last = (lines[-1] if lines else "no message").rpartition("Warning: ")[2]
    if probe.returncode < 0:
        try:
            name = signal.Signals(-probe.returncode).name
        except ValueError:
            name = f"signal {-probe.returncode}"
        return f"it crashed with {name}: {last}"
    return last
