"""A run's folder needs no other file: it holds copies of what the run was made from."""

import shutil
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from galley.cli import main
from galley.domain.scene.reader import load_scene
from galley.domain.scene.standalone import standalone
from galley.domain.shipped import KITCHEN, SCENARIOS
from galley.engine import record_run
from galley.results.run_folder import NO_SCENE, SCENE
from galley.stages import Options
from galley.viz.render.meshes import read_visual

READERS = ("verify run", "report", "replay", "trajectory")
PYRAMID = "v 0 0 0\nv {0} 0 0\nv 0 {0} 0\nv 0 0 {0}\n"
FACES = (
    "vt 0 0\nvt 1 0\nvt 0 1\nusemtl wood\nf 1/1 3/2 2/3\nf 1/1 2/2 4/3\nf 1/1 4/2 3/3\nf 2 3 4\n"
)
BODY = """\
  {0}:
    xyz: [4.5, {1}, 0.2]
    shapes: [{{mesh: {2}part.obj}}, {{box: [0.1, 0.1, 0.1], texture: {2}wood.png}}]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A scene in three files that extend the kitchen; meshes and textures of one name in two
    folders, with materials in a third."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "lib").mkdir()
    for k, name in enumerate(("lib/left", "right")):
        (folder / name).mkdir()
        up = "../" * (name.count("/") + 1)
        text = f"mtllib {up}lib/materials.mtl\n" + PYRAMID.format(0.2 + k) + FACES
        (folder / name / "part.obj").write_text(text)
        noise = np.random.default_rng(k).integers(0, 255, (32, 32, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / name / "wood.png")
    (folder / "lib" / "materials.mtl").write_text("newmtl wood\nKd 1 0.5 0.5\nmap_Kd wood.png\n")
    begin = "galley_scene: 1\nextends: {}\nbodies:\n"
    (folder / "lib" / "base.yaml").write_text(
        begin.format("kitchen.yaml") + BODY.format("one", 4, "left/")
    )
    (folder / "mid.yaml").write_text(
        begin.format("lib/base.yaml") + BODY.format("two", 3, "right/")
    )
    absolute = f"{folder}/right/"
    (folder / "top.yaml").write_text(begin.format("mid.yaml") + BODY.format("three", 2, absolute))
    (folder / "skills.py").write_text(
        "from galley.skills import SKILLS as SHIPPED\nSKILLS = {'pick': SHIPPED['pick']}\n"
    )
    for name in ("kitchen.pddl", "sugar_only.pddl"):
        shutil.copy(KITCHEN / name, folder)
    return folder


def plain(value, places=("source", "places")):
    """A scene as plain data; files by their contents, an OBJ's by what is seen of it."""
    if is_dataclass(value):
        return {
            f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name not in places
        }
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, Path) and value.suffix == ".obj":
        return plain(read_visual(value)[0])
    if isinstance(value, Path):
        return value.read_bytes()
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    "path", [*sorted(SCENARIOS.glob("*_scene.yaml")), KITCHEN / "kitchen.yaml", None], ids=str
)
def test_a_scene_in_one_folder_is_the_scene(path, own, tmp_path):
    path = path or own / "top.yaml"
    text, files = standalone(path)
    for name, data in {**files, SCENE: text.encode()}.items():
        (tmp_path / name).write_bytes(data)
    assert plain(load_scene(tmp_path / SCENE)) == plain(load_scene(path))


@pytest.fixture(scope="module")
def kept(own, tmp_path_factory):
    """A run of the own scene, moved from where it was made; no file of its task is left."""
    place = tmp_path_factory.mktemp("place")
    copy = shutil.copytree(own, place / "own")
    for file in copy.rglob("*.yaml"):
        file.write_text(file.read_text().replace(str(own), str(copy)))
    options = Options(
        scene=copy / "top.yaml",
        domain=copy / "kitchen.pddl",
        problem=copy / "sugar_only.pddl",
        skills=copy / "skills.py",
        execute="kinematic",
        out=place / "run",
        video=False,
    )
    record_run(options)
    return shutil.move(place / "run", place / "moved"), copy


def test_a_run_is_read_again_wherever_it_lies(kept, tmp_path, monkeypatch, capsys):
    run, task = kept
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "run", str(run)]) == 0
    assert capsys.readouterr().err == ""
    (task / "skills.py").write_text("# other\n")
    main(["verify", "run", str(run)])
    assert capsys.readouterr().err == f"warning: {task}/skills.py has changed since the run\n"
    shutil.rmtree(task)
    for command in READERS:
        assert main([*command.split(), str(run)]) == 0, command
    assert f"warning: {task}/skills.py is no longer there\n" in capsys.readouterr().err


@pytest.mark.parametrize("command", READERS)
def test_a_run_of_an_older_version_is_refused_in_one_line(command, kept, tmp_path, capsys):
    run = shutil.copytree(kept[0], tmp_path / "run")
    shutil.rmtree(run / "inputs")
    assert main([*command.split(), str(run)]) == 2
    assert capsys.readouterr().err.startswith(f"{run}: {NO_SCENE}\n")
    assert main([*command.split(), str(run), "--scene", str(kept[0] / "inputs" / SCENE)]) == 0
