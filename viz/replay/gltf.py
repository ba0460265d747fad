"""Meshes as glTF, simplified for the browser: at most a few thousand triangles a body."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import trimesh
from fast_simplification import simplify
from PIL import Image
from trimesh.exchange.gltf import export_gltf

from galley.domain.frames import Array, rotation_rpy, transform
from galley.viz.render.meshes import VisualMesh

MOST_TRIANGLES = 2500
"""Of a body, after simplification; what has a texture is left as it is."""
_SMALL = 200  # triangles of one colour, fewer of which are left as they are
_CREASE = np.radians(35.0)  # sharper edges are drawn as edges
_SHADES = 32  # of a colour channel, by which triangles are grouped
_Y_UP = transform(rotation_rpy(-np.pi / 2.0, 0.0, 0.0))  # Meshcat turns it back
_MATTE = {"metallicFactor": 0.0, "roughnessFactor": 0.85}


def as_gltf(mesh: VisualMesh) -> bytes:
    """A body's mesh as a glTF file that holds its buffers and textures, in metres, y up.

    Triangles without texture are simplified colour by colour (M. Garland, P. Heckbert: Surface
    simplification using quadric error metrics, 1997), and shaded smoothly but for creases.
    """
    mesh = mesh.placed(_Y_UP)
    parts = [_textured(mesh, k, picture) for k, picture in enumerate(mesh.textures)]
    plain = _simplified(mesh)
    if plain is not None:
        parts.append(plain)
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


def _textured(mesh: VisualMesh, k: int, picture: Array) -> trimesh.Trimesh:
    """The triangles with one texture, as they are."""
    triangles = mesh.triangles[mesh.pictures == k]
    used, index = np.unique(triangles, return_inverse=True)
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=Image.fromarray(np.asarray(picture)), **_MATTE
    )
    return trimesh.Trimesh(
        mesh.points[used],
        index.reshape(-1, 3),
        vertex_normals=mesh.normals[used],
        visual=trimesh.visual.TextureVisuals(uv=mesh.uvs[used], material=material),
        process=False,
    )


def _simplified(mesh: VisualMesh) -> trimesh.Trimesh | None:
    """The triangles without texture, with a colour per point; None if there are none."""
    bare = np.flatnonzero(mesh.pictures < 0)
    if not len(bare):
        return None
    share = min(1.0, MOST_TRIANGLES / len(bare))
    shades = np.round(mesh.colors[bare] * _SHADES).astype(int)
    _, group = np.unique(shades, axis=0, return_inverse=True)
    parts = []
    for k in range(int(group.max()) + 1):
        mine = bare[group.ravel() == k]
        points, triangles = _welded(mesh.points, mesh.triangles[mine])
        if share < 1.0 and len(triangles) > _SMALL:
            points, triangles = simplify(
                points.astype(np.float32), triangles, target_reduction=1.0 - share
            )
        part = trimesh.Trimesh(points, triangles, process=False)
        part.remove_unreferenced_vertices()
        part = trimesh.graph.smooth_shade(part, angle=_CREASE)
        normals = part.vertex_normals
        color = _linear(mesh.colors[mine].mean(axis=0))
        part.visual = trimesh.visual.ColorVisuals(
            part, vertex_colors=np.tile([*color, 255], (len(part.vertices), 1)).astype(np.uint8)
        )
        parts.append((part, normals))
    whole = trimesh.util.concatenate([part for part, _ in parts])
    whole.vertex_normals = np.concatenate([normals for _, normals in parts])
    return whole


def _welded(points: Array, triangles: Array) -> tuple[Array, Array]:
    """The triangles with points at the same place merged: (n, 3) and (t, 3)."""
    used, index = np.unique(triangles, return_inverse=True)
    places, merged = np.unique(np.round(points[used], 6), axis=0, return_inverse=True)
    faces = merged.ravel()[index].reshape(-1, 3)
    whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)  # no longer a triangle
    return places, faces[whole]


def _linear(color: Array) -> Array:
    """A colour (3,) of sRGB, 0 to 1, as glTF wants it: linear, here 0 to 255 (IEC 61966-2-1)."""
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.round(255.0 * linear))
