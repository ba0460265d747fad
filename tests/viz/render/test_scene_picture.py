from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from galley.bench.viz.box_labels import LABELS, write_labels
from galley.viz.render.scene_picture import draw_scene
from galley.viz.render.tags import place_tags


def test_labels_do_not_cover_each_other():
    rng = np.random.default_rng(0)
    anchors = rng.uniform((100, 100), (900, 500), size=(14, 2))
    sizes = np.column_stack([rng.uniform(80, 200, 14), np.full(14, 26.0)])
    places = place_tags(sizes, anchors, 1000, 600)
    assert (places >= 0).all()
    assert (places + sizes <= (1000, 600)).all()
    for i in range(14):
        for j in range(i):
            apart = (places[i] + sizes[i] <= places[j]) | (places[j] + sizes[j] <= places[i])
            assert apart.any()


@pytest.mark.slow
def test_a_scene_picture_has_two_labelled_views(scene, robot, tmp_path):
    path = tmp_path / "scene.png"
    draw_scene(scene, robot, path, width=960, height=450)
    assert [p.name for p in tmp_path.iterdir()] == ["scene.png"]
    picture = np.asarray(Image.open(path)).astype(int)
    assert picture.shape == (450, 960, 3)
    for half in (picture[:, :570], picture[:, 580:]):
        for color in ((255, 206, 84), (88, 214, 141), (245, 130, 49)):  # item, region, robot
            assert (np.abs(half - color).max(axis=2) < 12).sum() > 20


@pytest.mark.parametrize("name", LABELS)
def test_committed_labels_are_what_the_script_draws(name, tmp_path):
    committed = Path(str(files("galley.domain"))) / "kitchen" / "textures" / name
    assert committed.stat().st_size < 100_000
    write_labels(tmp_path)
    a = np.asarray(Image.open(committed).convert("RGB")).astype(int)
    b = np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)
    assert a.shape == b.shape
    assert np.abs(a - b).mean() < 2.0  # other versions of Pillow place letters a little differently
