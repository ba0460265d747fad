"""Meshes as glTF, simplified for the browser."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import trimesh
from PIL import Image
from trimesh.exchange.gltf import export_gltf

from galley.domain.frames import Array, rotation_rpy, transform
from galley.viz.render.mesh_reader import simplified
from galley.viz.render.meshes import Pixels, VisualMesh

_Y_UP = transform(rotation_rpy(-np.pi / 2.0, 0.0, 0.0))  # Meshcat turns it back
_MATTE = {"metallicFactor": 0.0, "roughnessFactor": 0.85}


def as_gltf(mesh: VisualMesh) -> bytes:
    """A body's mesh, simplified, as a glTF file with all that it needs, in metres, y up."""
    mesh = simplified(mesh).placed(_Y_UP)
    parts = [_textured(mesh, k, picture) for k, picture in enumerate(mesh.textures)]
    if (mesh.pictures < 0).any():
        parts.append(_plain(mesh))
    files = export_gltf(
        trimesh.Scene(parts), include_normals=True, merge_buffers=True, tree_postprocessor=_matte
    )
    document: bytes = files["model.gltf"]
    for name, data in files.items():
        uri = f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
        document = document.replace(f'"{name}"'.encode(), f'"{uri}"'.encode())
    return document


def _matte(tree: dict[str, Any]) -> None:
    """Give what has a colour per point a material that is not of metal, which is glTF's default."""
    materials = tree.setdefault("materials", [])
    materials.append({"pbrMetallicRoughness": _MATTE})
    for mesh in tree.get("meshes", []):
        for primitive in mesh["primitives"]:
            primitive.setdefault("material", len(materials) - 1)


def _textured(mesh: VisualMesh, k: int, picture: Pixels) -> trimesh.Trimesh:
    """The triangles with one texture."""
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=Image.fromarray(picture), **_MATTE
    )
    part = mesh.only(mesh.pictures == k)
    visual = trimesh.visual.TextureVisuals(uv=part.uvs, material=material)
    return _trimesh(part, visual=visual)


def _plain(mesh: VisualMesh) -> trimesh.Trimesh:
    """The triangles without texture, with a colour per point."""
    part = mesh.only(mesh.pictures < 0)
    colors = np.full((len(part.points), 4), 255, dtype=np.uint8)
    colors[part.triangles.ravel(), :3] = np.repeat(_linear(part.colors), 3, axis=0)
    return _trimesh(part, vertex_colors=colors)


def _trimesh(part: VisualMesh, **look: Any) -> trimesh.Trimesh:
    return trimesh.Trimesh(
        part.points, part.triangles, vertex_normals=part.normals, process=False, **look
    )


def _linear(color: Array) -> Array:
    """Colours (..., 3) of sRGB, 0 to 1, as glTF wants it: linear, here 0 to 255 (IEC 61966-2-1)."""
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.round(255.0 * linear))
