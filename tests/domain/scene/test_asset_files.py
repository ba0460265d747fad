"""Meshes and pictures that an engine would crash on are refused when the scene is read."""

import pytest

from galley.domain.scene.shapes import mesh_fault, picture_fault

TETRAHEDRON = (
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1/1 2/2 4/3\nf 1//1 3//1 4//1\nf -1 2 3\n"
)


def test_a_solid_is_accepted(tmp_path):
    file = tmp_path / "solid.obj"
    file.write_text(TETRAHEDRON)
    assert mesh_fault(file) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no faces"),
        ("garbage\nf 1 2 3\n", "mesh.obj:2: a face needs 3 or more of the 0 vertices"),
        (TETRAHEDRON.replace("f 1 2 3", "f 1 2 9"), "mesh.obj:5: a face"),
        (TETRAHEDRON.replace("v 1 0 0", "v 1 0"), "mesh.obj:2: a vertex"),
        (TETRAHEDRON.replace("v 1 0 0", "v nan 0 0"), "mesh.obj:2: a vertex"),
        (TETRAHEDRON.replace("v 0 0 1", "v 1 1 0"), "is flat"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, words):
    file = tmp_path / "mesh.obj"
    file.write_text(text)
    assert words in mesh_fault(file)


def test_a_file_that_is_no_picture(tmp_path, kitchen_folder):
    file = tmp_path / "bad.png"
    file.write_bytes(b"not a picture")
    assert "bad.png is not a picture" in picture_fault(file)
    assert picture_fault(kitchen_folder / "textures" / "sugar_box.png") is None
