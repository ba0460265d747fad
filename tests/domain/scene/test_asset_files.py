"""Meshes and textures: valid files are read, others refused with one line."""

import struct
import zlib

import numpy as np
import pytest
import trimesh

from galley.domain.errors import BadInput
from galley.domain.meshes import read_mesh
from galley.domain.scene.reader import load_scene
from galley.tests.domain.scene.places import place_of

BOX = "{box: [0.05, 0.06, 0.10]}"
SIDES = np.array([0.05, 0.06, 0.10])
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
QUADS = """mtllib none.mtl
{}usemtl red
f 1 2 4 3
f 5 7 8 6
f 1//1 5//1 6//1 2//1
f 3/1 4/2 8/3 7/4
f 1/1/1 3/1/1 7/1/1 5/1/1
f 2 6 8 4
"""


def item_of(folder, small_text, shapes, more="", name="scene.yaml"):
    """The item of a scene in ``folder`` whose shapes are these."""
    text = small_text.replace(BOX, shapes).replace("    mass: 0.3\n", f"    mass: 0.3\n{more}")
    (folder / name).write_text(text)
    return load_scene(folder / name).item("block")


def faults_of(folder, small_text, shapes, more=""):
    with pytest.raises(BadInput) as caught:
        item_of(folder, small_text, shapes, more)
    return [str(error) for error in caught.value.errors]


def cup():
    """Open at the top, its wall 3 mm thick, 8 cm high."""
    outline = [[0, 0], [0.03, 0], [0.035, 0.08], [0.032, 0.08], [0.027, 0.003], [0, 0.003]]
    mesh = trimesh.creation.revolve(outline, sections=32)
    mesh.apply_translation([0, 0, -0.04])
    return mesh


def quads():
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    return QUADS.format("".join("v {} {} {}\n".format(*(SIDES / 2 * c)) for c in corners))


@pytest.mark.parametrize("name", ["normals.obj", "b.stl", "_.stl", "q.obj"])
@pytest.mark.parametrize("scale", [0.001])
def test_a_box_is_the_same_box_from_every_kind_of_file(name, scale, small_text, tmp_path):
    """Without a ``size`` and without normals: the mesh gives what it needs itself."""
    folder = tmp_path / "küche ß"
    folder.mkdir()
    mesh = trimesh.creation.box(SIDES / scale)
    file = folder / f"würfel {name}"
    if name == "q.obj":
        file.write_text(quads())
        scale = 1.0
    else:
        text = {"file_type": "stl_ascii"} if name == "_.stl" else {}
        text |= {"include_normals": name.startswith("normals")} if name.endswith("obj") else {}
        mesh.export(file, **text)
    if name == "_.stl":  # without its last line
        file.write_text(file.read_text().partition("endsolid")[0])
    item = item_of(folder, small_text, f"{{mesh: {file.name}, scale: {scale}}}")
    assert item.size == pytest.approx(SIDES, abs=1e-6)
    points = item.shapes[0].points
    assert np.abs(points) == pytest.approx(np.tile(SIDES / 2, (8, 1)), abs=1e-6)


def test_files_hold_the_solid_that_was_written(tmp_path):
    shapes = trimesh.creation
    for number, mesh in enumerate((cup(), shapes.icosphere(2), shapes.annulus(1, 2, 1))):
        for ending in ("obj", "stl"):
            file = tmp_path / f"{number}.{ending}"
            mesh.export(file)
            found = read_mesh(file)
            again = trimesh.Trimesh(found.points, found.triangles)
            assert len(found.triangles) == len(mesh.faces)
            assert again.volume == pytest.approx(mesh.volume, rel=1e-5)
            assert again.bounds == pytest.approx(mesh.bounds, abs=1e-6)


def test_a_mesh_that_is_not_convex_is_told_with_figures(small_text, tmp_path, caplog):
    cup().export(tmp_path / "cup.stl")
    trimesh.creation.icosphere(3, 0.03).export(tmp_path / "ball.obj")
    item_of(tmp_path, small_text, "{mesh: ball.obj}")
    assert not caplog.records
    item = item_of(tmp_path, small_text, "{mesh: cup.stl}")
    assert item.size == pytest.approx([0.07, 0.07, 0.08], abs=1e-4)
    (record,) = caplog.records
    place = place_of((tmp_path / "scene.yaml").read_text(), "items.block.shapes[0].mesh")
    assert f"{tmp_path}/scene.yaml:{place}: items.block.shapes[0].mesh: cup.stl is not convex" in (
        record.getMessage()
    )
    # The middle of the bottom inside: 3 mm from below, 27 mm from the wall, 77 mm from the top.
    # Where the wall meets the bottom inside is 3 mm from all; half way up none is deeper than 3.
    assert "up to 3 mm below" in record.getMessage()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "mesh.obj has no vertices"),
        ("v 0 0 0\n", "mesh.obj has no faces"),
        ("v 0 0 0\nf 1 2 3\n", "a face has a corner that the file does not have"),
        (TETRAHEDRON.replace("f 1 2 3", "f 1 2 0"), "mesh.obj:5: a face"),
        (TETRAHEDRON.replace("f 1 2 3", "f 1 2 -1"), "mesh.obj:5: a face"),
        (TETRAHEDRON.replace("v 1 0 0", "v 1 0"), "mesh.obj:2: a vertex"),
        (TETRAHEDRON.replace("v 1 0 0", "v nan 0 0"), "mesh.obj:2: a vertex"),
        (TETRAHEDRON.replace("v 1 0 0", "v 1e30 0 0"), "mesh.obj has a coordinate beyond 1e+12"),
        (TETRAHEDRON.replace("v 0 0 1", "v 1 1 0"), "is flat"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_mesh_is_said_with_its_line(text, words, small_text, tmp_path):
    (tmp_path / "mesh.obj").write_text(text)
    (fault,) = faults_of(tmp_path, small_text, "{mesh: mesh.obj}")
    assert "items.block.shapes[0].mesh: " in fault
    assert words in fault


@pytest.mark.parametrize(
    ("shapes", "more", "words"),
    [
        ("{mesh: box.obj, scale: 1.0e6}", "", "box.obj is 5e+04 x 6e+04 x 1e+05 m at scale 1e+06"),
        (
            "{mesh: box.obj}",
            "    size: [0.05, 0.05, 0.05]\n",
            "box is [0.05, 0.06, 0.1] m: leave out",
        ),
        ("{mesh: box.obj, xyz: [0, 0, 0.05]}", "", "add [0, 0, -0.05] to each shape's xyz"),
        ("{box: [1.0e-4, 1.0e-4, 1.0e-4]}", "", "0.1 x 0.1 x 0.1 mm is too small"),
        ("{mesh: endless.obj}", "", "endless.obj is larger than 64 MiB"),
    ],
)
def test_a_mesh_that_can_not_be_meant_is_refused(shapes, more, words, small_text, tmp_path):
    trimesh.creation.box(SIDES).export(tmp_path / "box.obj")
    (tmp_path / "endless.obj").symlink_to("/dev/zero")
    assert words in "\n".join(faults_of(tmp_path, small_text, shapes, more))


def png(width, height, data=b""):
    """A PNG file that says it has so many pixels."""

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"root:s3cret:0:0", "bad.png is not a valid PNG"),
        (png(100, 100, zlib.compress(bytes(50))), "bad.png is not a valid PNG"),
    ],
)
def test_a_file_that_is_no_picture(content, words, small_text, tmp_path):
    (tmp_path / "bad.png").write_bytes(content)
    (fault,) = faults_of(tmp_path, small_text, "{box: [0.05, 0.06, 0.10], texture: bad.png}")
    assert words in fault
    assert "s3cret" not in fault
