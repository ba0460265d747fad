"""Draws one picture with Drake's VTK engine and says by its exit status whether that went well.

Run as ``python -m galley.viz.vtk_probe``. A missing EGL may end this process; that is its purpose.
"""

from __future__ import annotations

import sys
from typing import Any


def probe() -> None:
    """Draw a sphere in the middle of 32 x 32 pixels.

    Raises:
        RuntimeError: no renderer in this build of Drake, or a picture without the sphere.
    """
    from pydrake.geometry import (
        ClippingRange,
        ColorRenderCamera,
        GeometryInstance,
        MakeRenderEngineVtk,
        PerceptionProperties,
        RenderCameraCore,
        RenderEngineVtkParams,
        Rgba,
        SceneGraph,
        Sphere,
        kHasRenderEngineVtk,
    )
    from pydrake.math import RigidTransform
    from pydrake.systems.sensors import CameraInfo

    if not kHasRenderEngineVtk:
        raise RuntimeError("this build of Drake has no VTK renderer")
    graph = SceneGraph()
    graph.AddRenderer("vtk", MakeRenderEngineVtk(RenderEngineVtkParams()))
    ahead: Any = [0.0, 0.0, 2.0]  # Drake's stubs know no sequences
    ball = GeometryInstance(RigidTransform(ahead), Sphere(0.5), "ball")
    looks = PerceptionProperties()
    looks.AddProperty("phong", "diffuse", Rgba(1.0, 0.0, 0.0, 1.0))
    ball.set_perception_properties(looks)
    graph.RegisterAnchoredGeometry(graph.RegisterSource("probe"), ball)
    core = RenderCameraCore(
        "vtk", CameraInfo(32, 32, 0.8), ClippingRange(0.1, 10.0), RigidTransform()
    )
    query: Any = graph.get_query_output_port().Eval(graph.CreateDefaultContext())
    picture = query.RenderColorImage(
        ColorRenderCamera(core), graph.world_frame_id(), RigidTransform()
    ).data
    red, green = int(picture[16, 16, 0]), int(picture[16, 16, 1])
    if red < 60 or green > red // 2:
        raise RuntimeError("it draws pictures, but not what is in front of it")


if __name__ == "__main__":
    try:
        probe()
    except Exception as error:  # whatever the graphics stack raises becomes the reason given
        print(f"{type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        sys.exit(1)
