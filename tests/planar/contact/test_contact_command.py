"""``galley contact``: its files, its refusals, what it says without JAX."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from galley.cli import main
from galley.planar.contact.record import PlanarRun

pytestmark = pytest.mark.usefixtures("quick_compilation_in_the_gate")

SCENE = """galley_contact: 1
h: 0.02
duration: 0.1
contact: {count: 1}
bodies:
  ground: {shape: {half_plane: [0, 1, 0]}}
  disc:
    shape: {circle: 0.2}
    mass: 0.5
    pose: [0, 0.21, 0]
    force: [[0, [1, 0, 0]], [0.05, [1, 0, 0]], [0.05, [0, 0, 0]]]
cost: {body: disc, coordinate: x}
"""


def contact(*arguments):
    return main(["contact", *map(str, arguments)])


def rows(folder):
    with open(folder / "states.csv") as file:
        return list(csv.DictReader(file))


def test_a_lift_of_a_face_refuses_what_looks_for_one_nearest_point(capsys):
    for points in ("newton", "stein"):
        assert contact("lift", "--shape", "hexagon", "--contacts", points) == 2
        assert f"--contacts: {points}: the hexagon lies on a face" in capsys.readouterr().err


def test_a_scene_of_ones_own_leaves_film_plot_and_states(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    (tmp_path / "s.yaml").write_text(SCENE)
    out = tmp_path / "out"
    assert contact("run", tmp_path / "s.yaml", "--height", 120, "--out", out) == 0
    names = {"contact.mp4", "contact.png", "states.csv", "summary.json"}
    assert {each.name for each in out.iterdir()} == names
    assert imageio.imread(out / "contact.png").shape[1] == 1320
    assert json.loads((out / "summary.json").read_text())["converged"]
    lines = rows(out)
    assert [float(line["time_s"]) for line in lines] == pytest.approx(np.arange(6) * 0.02)
    # The jump is in the middle of the third step.
    pushed = [float(line["disc.input_x"]) for line in lines[1:]]
    assert pushed == pytest.approx([1, 1, 0.5, 0, 0])
    # It falls 1 cm in 45 ms, so at first a push has the effect of free flight.
    gradient = float(lines[1]["disc.gradient_x"])
    assert gradient == pytest.approx(0.02 * 0.1 / 0.5, rel=0.25)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("    mass: 0.5", "    mas: 0.5", 9, "did you mean 'mass'?"),
        ("{circle: 0.2}", "{cirle: 0.2}", 8, "did you mean 'circle'?"),
        ("{circle: 0.2}", "{polygon: [[0, 0], [1, 1], [1, 0], [0, 1]]}", 8, "cross"),
        ("{circle: 0.2}", "{circle: 0.2, rounding: 1}", 8, "only boxes and polygons"),
        ("{count: 1}", "{stiffness: 0}", 4, "must be"),
        (
            "bodies:",
            "pairs: [{bodies: [disc, ground]}, {bodies: [ground, disc]}]\nbodies:",
            5,
            "a pair of bodies twice",
        ),
        ("body: disc", "body: disk", 12, "did you mean 'disc'?"),
        ("[0.05, [0, 0, 0]]]", "[0.01, [0, 0, 0]]]", 11, "sort the pairs"),
        ("duration: 0.1", "duration: 0.109", 3, "a whole number of steps of h = 0.02 s"),
        ("{body: disc", "{body: ground", 12, "'ground' is not moved by forces"),
        ("    mass: 0.5\n", "", 10, "only a body with a mass"),
    ],
)
def test_a_scenes_errors_name_file_and_line(old, new, line, what, tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text(SCENE.replace(old, new))
    assert contact("run", path, "--out", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert what in error
    assert line is None or re.search(rf"{path}:{line}:\d+: ", error)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("first", ["x,y\n0,0\n", "0e0,0\n"], ids=["header", "none"])
def test_a_polygon_may_lie_in_a_file(first, tmp_path):
    from galley.planar.contact.scene import load_setup

    (tmp_path / "l.csv").write_text(first + "2,0\n2,1\n1,1\n1,2\n0,2\n")
    text = SCENE.replace("{circle: 0.2}", "{file: l.csv, at: [0, 0, 0]}")
    (tmp_path / "s.yaml").write_text(text)
    setup = load_setup(tmp_path / "s.yaml")
    # Two squares: about the centroid of 3 unit squares of mass 1/6 each.
    exact = 0.5 * (1 / 6 + np.mean([2 * (1 / 3) ** 2, (2 / 3) ** 2 + (1 / 3) ** 2, 5 / 9]))
    assert setup.world.bodies[1].inertia == pytest.approx(exact)


def test_options_that_do_not_go_are_refused(cli, here):
    done = cli("contact", "lift", "--gif", "--fps", 30)
    assert done.status == 2
    assert "argument --fps: a GIF frame" in done.err
    assert not list(here.iterdir())


# Face on face no single virtual contact is nearest, so that the forces jump.
FLAT = (
    ("{circle: 0.2}", "{box: [0.4, 0.4]}"),
    ("0.21", "0.2"),
    ("{count: 1}", "{points: newton, count: 10}"),
)
# Friction that is great at the least slip is nearly a jump too; the bodies are those of above.
STICKY = (("{count: 1}", "{count: 1, still: 1e-12, friction: 100, friction_viscosity: 1e6}"),)


@pytest.mark.parametrize(
    "changes", [STICKY, pytest.param(FLAT, marks=pytest.mark.slow)], ids=["sticky", "flat"]
)
def test_a_run_that_does_not_converge_says_state_and_remedy(changes, tmp_path, capsys):
    text = SCENE
    for old, new in changes:
        text = text.replace(old, new)
    (tmp_path / "s.yaml").write_text(text)
    out = tmp_path / "out"
    assert contact("run", tmp_path / "s.yaml", "--no-video", "--out", out) == 1
    error = capsys.readouterr().err
    assert "did not converge" in error
    assert "disc at (" in error
    assert "smaller h" in error
    assert not json.loads((out / "summary.json").read_text())["converged"]
    assert 1 <= len(rows(out)) < 6


def moment(force):
    """A square of 2 m on the ground; 10 N of contact under its right corner."""
    square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    still = np.zeros((3, 2, 3))
    still[:, 0, 1] = 1.0
    return PlanarRun(
        time=np.arange(3) * 0.5,
        names=("square", "ground"),
        outlines=(square, np.array([[-1e3, 0], [1e3, 0], [1e3, -1e3], [-1e3, -1e3]])),
        free=(0,),
        pose=still,
        velocity=np.zeros((3, 2, 3)),
        controls=np.zeros((2, 1, 3)),
        gradient=None,
        cost="final x of square",
        cost_unit="m",
        pairs=np.array([[0, 1]]),
        virtual=np.tile([1.0, 0.0], (3, 1, 1)),
        points=np.tile([1.0, 0.0], (3, 1, 1)),
        forces=np.tile(force, (3, 1, 1)).astype(float),
    )


def test_a_picture_shows_the_force_at_its_place():
    from galley.planar.contact.pictures import ContactCanvas

    red = (198, 40, 40)

    def places(force):
        picture = np.asarray(ContactCanvas(moment(force), 400, "").draw(1)).astype(int)[120:]
        return np.argwhere(np.abs(picture - red).max(axis=2) < 12)

    up, aside = places([0.0, 10.0]), places([10.0, 0.0])
    assert np.ptp(up[:, 0]) > 3 * np.ptp(up[:, 1])
    assert np.ptp(aside[:, 1]) > 3 * np.ptp(aside[:, 0])
    # Both begin at the same corner; the one goes up from there, the other right.
    assert up[:, 0].max() == pytest.approx(aside[:, 0].mean(), abs=4)
    assert aside[:, 1].min() == pytest.approx(up[:, 1].mean(), abs=4)
    with pytest.raises(ValueError, match="zero-size"):
        places([0.0, 0.0]).min()


@pytest.mark.parametrize(
    ("pushed", "rise", "columns"),
    [
        (0.0, 0.5, ["y"]),
        (3.0, 0.0, ["x"]),
        (3.0, 0.5, ["x", "y"]),
        (0.0, 0.0, ["x", "y", "rotation"]),
    ],
)
def test_a_plot_has_the_coordinates_in_which_anything_happens(
    tmp_path, drawn, pushed, rise, columns
):
    from galley.planar.contact.pictures import draw_planar

    run = moment([0.0, 0.0])
    pose, controls = run.pose.copy(), run.controls.copy()
    pose[:, 0, 1] += rise * run.time
    controls[..., 0] = pushed
    draw_planar(replace(run, pose=pose, controls=controls), tmp_path / "contact.png", "")
    assert [axes.get_title() for axes in drawn if axes.get_title()] == columns


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["lift"], ["lift", "--contacts", "stein"], ["run", "pusher.yaml"]], ids=" ".join
)
def test_the_demonstrations_converge(words, tmp_path):
    out = tmp_path / "out"
    assert contact(*words, "--no-video", "--out", out) == 0
    assert len(rows(out)) > 100


@pytest.mark.slow
def test_lift_moves_once_both_weights_are_borne_and_then_by_newtons_law(tmp_path):
    out = tmp_path / "out"
    assert contact("lift", "--shape", "hexagon", "--no-video", "--out", out) == 0
    lines = rows(out)
    time = np.array([float(line["time_s"]) for line in lines])
    y = np.array([float(line["platform.y"]) for line in lines])
    free = 0.6 * 9.81 / 15 * time[-1]  # the force is linear in time
    assert np.ptp(y[time < 0.9 * free]) < 0.01
    rise = 15 / time[-1] / 0.6 * (time[-1] - free) ** 3 / 6
    assert y[-1] - y[0] == pytest.approx(rise, rel=0.02)
    # A push of h F at time t raises it by h F (T - t) / m; while it stands on the ground, nothing.
    gradient = np.array([float(line["platform.gradient_y"]) for line in lines[1:]])
    late = time[1:] > free + 0.2
    exact = (time[-1] - time[1:]) / 0.6 / 60
    assert gradient[late] == pytest.approx(exact[late], abs=0.02 * exact.max())


@pytest.mark.slow
def test_on_a_slope_that_is_tilted_a_block_slips_where_friction_says(tmp_path):
    out = tmp_path / "out"
    assert contact("run", "slope.yaml", "--no-video", "--out", out) == 0
    slips = next(line for line in rows(out) if float(line["block.v_x"]) > 0.05)
    assert 0.0 < -float(slips["block.angle"]) - np.arctan(0.3) < 0.05
