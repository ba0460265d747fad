"""The kitchen as Drake's VTK engine draws it; ``python -m`` with this module and a FILE writes it.

An oracle for our renderer. Drake reads the same URDF texts as it does for its audits, with what is
to be seen added, by its own reader of meshes and textures. It needs EGL (on Debian libegl1 and
libgl1-mesa-dri).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from galley.domain.frames import Array, inverse, rpy
from galley.domain.scene.model import Scene, Shape
from galley.viz.render.meshes import box_mesh
from galley.viz.render.view import Camera

SIZE = (640, 480)
CAMERAS = tuple(Camera(eye, [0.3, 0.6, 0.9]) for eye in ([2.3, 2.0, 1.8], [1.5, -0.9, 1.4]))


def kitchen_state(scene: Scene) -> tuple[Array, Array]:
    """The robot (n,) before the stove, and the joints (nj,) with a drawer open."""
    q, scene_q = scene.robot.q.copy(), np.zeros(len(scene.joints))
    q[:3], scene_q[0] = (0.95, 0.6, 2.5), 0.2
    return q, scene_q


def drake_pictures() -> Array:
    """A picture (480, 640, 3) from each camera, lit as ours is."""
    from pydrake.geometry import (
        ClippingRange,
        ColorRenderCamera,
        LightParameter,
        MakeRenderEngineVtk,
        RenderCameraCore,
        RenderEngineVtkParams,
        Rgba,
    )
    from pydrake.math import RigidTransform
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.framework import DiagramBuilder
    from pydrake.systems.sensors import CameraInfo

    from galley.collision.backends.drake_world import rigid_transform
    from galley.collision.backends.urdf import furniture_urdf, item_urdf, link_frame
    from galley.domain.scene.reader import load_scene
    from galley.domain.shipped import KITCHEN
    from galley.robots import mobile_panda
    from galley.viz.render.renderer import BACKGROUND

    def lamp(frame: str, direction: tuple[float, ...], intensity: float) -> LightParameter:
        return LightParameter(
            type="directional",
            frame=frame,
            direction=np.array(direction),
            intensity=intensity,
            color=Rgba(1.0, 1.0, 1.0),
        )

    scene, robot = load_scene(KITCHEN / "kitchen.yaml"), mobile_panda()
    lamps = [lamp("world", (-0.62, -0.34, -0.70), 0.66), lamp("camera", (0.12, 0.18, 1.0), 0.57)]
    look = RenderEngineVtkParams(
        default_clear_color=np.array(BACKGROUND), default_diffuse=None, lights=lamps
    )
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    graph.AddRenderer("vtk", MakeRenderEngineVtk(look))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X_LB = {b.name: inverse(link_frame(scene, b)) @ b.X_WB0 for b in scene.bodies}
        furniture = {b.name: (b.shapes, X_LB[b.name]) for b in scene.bodies}
        texts = {
            "robot": robot.urdf,
            "furniture": _seen(furniture_urdf(scene, folder), furniture, folder),
        }
        for item in scene.items:
            shapes = {item.name: (item.shapes, np.eye(4))}
            texts[item.name] = _seen(item_urdf(item, folder), shapes, folder)
        for model, text in texts.items():
            (folder / f"{model}.urdf").write_text(text)
            Parser(plant).AddModels(folder / f"{model}.urdf")
        plant.Finalize()
        diagram = builder.Build()
        root = diagram.CreateDefaultContext()
        context = plant.GetMyMutableContextFromRoot(root)
        q, scene_q = kitchen_state(scene)
        joints = zip([*robot.joints, *(j.name for j in scene.joints)], [*q, *scene_q], strict=True)
        positions = plant.GetPositions(context)
        for joint, value in joints:
            positions[plant.GetJointByName(joint).position_start()] = value
        plant.SetPositions(context, positions)
        for item in scene.items:
            body = plant.GetBodyByName(item.name)
            plant.SetFreeBodyPose(context, body, rigid_transform(item.X_WI))
        query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(root))
        pictures = []
        for camera in CAMERAS:
            focal = camera.focal(SIZE[1])
            lens = CameraInfo(*SIZE, focal, focal, 0.5 * SIZE[0], 0.5 * SIZE[1])
            core = RenderCameraCore("vtk", lens, ClippingRange(0.05, 30.0), RigidTransform())
            picture = query.RenderColorImage(
                ColorRenderCamera(core), graph.world_frame_id(), rigid_transform(camera.X_WC)
            )
            pictures.append(np.array(picture.data[..., :3], dtype=np.uint8))
    return np.array(pictures)


def _seen(urdf: str, links: dict[str, tuple[tuple[Shape, ...], Array]], folder: Path) -> str:
    """A URDF text with the shapes of each link, at X_LB (4, 4), to be drawn."""
    root = ET.fromstring(urdf)
    for link in root.iter("link"):
        shapes, X_LB = links.get(link.get("name", ""), ((), np.eye(4)))
        for k, shape in enumerate(shapes):
            name, X_LS = f"{link.get('name')}_{k}", X_LB @ shape.X_BS
            visual = ET.SubElement(link, "visual", name=name)
            place = (" ".join(map(str, v.tolist())) for v in (X_LS[:3, 3], rpy(X_LS[:3, :3])))
            ET.SubElement(visual, "origin", xyz=next(place), rpy=next(place))
            geometry = ET.SubElement(visual, "geometry")
            size = [str(float(v)) for v in shape.size]
            if shape.texture is not None:
                path = _textured_box(folder, name, shape)
                ET.SubElement(geometry, "mesh", filename=str(path))
                continue
            if shape.kind == "box":
                ET.SubElement(geometry, "box", size=" ".join(size))
            elif shape.kind == "cylinder":
                ET.SubElement(geometry, "cylinder", radius=size[0], length=size[1])
            else:
                raise AssertionError(f"the kitchen has no {shape.kind}")
            # In Drake a name stands for one colour only.
            color = "_".join(f"{round(255 * c):02x}" for c in shape.color)
            material = ET.SubElement(visual, "material", name=f"color_{color}")
            ET.SubElement(material, "color", rgba=" ".join(map(str, shape.color)))
    return ET.tostring(root, encoding="unicode")


def _textured_box(folder: Path, name: str, shape: Shape) -> Path:
    """An OBJ file, for Drake, of a box with its picture."""
    shutil.copyfile(str(shape.texture), folder / f"{name}.png")
    (folder / f"{name}.mtl").write_text(
        f"newmtl label\nKa 1 1 1\nKd 1 1 1\nKs 0 0 0\nmap_Kd {name}.png\n"
    )
    mesh, lines = box_mesh(shape.size), [f"mtllib {name}.mtl", "usemtl label"]
    for kind, rows in (("v", mesh.points), ("vt", mesh.uvs), ("vn", mesh.normals)):
        lines += [f"{kind} {' '.join(f'{value:.6f}' for value in row)}" for row in rows]
    for corners in mesh.triangles + 1:
        lines.append("f " + " ".join(f"{corner}/{corner}/{corner}" for corner in corners))
    path = folder / f"{name}.obj"
    path.write_text("\n".join(lines) + "\n")
    return path


if __name__ == "__main__":
    np.save(sys.argv[1], drake_pictures())
