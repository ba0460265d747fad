"""``galley demos``: what it collects, shows and exports; a quick demonstrator stands in."""

import numpy as np
import pytest
import zarr
from PIL import Image

from galley.learning.collection import kitchen as collection
from galley.learning.demonstrations import NoEpisode, collect, read_folder, write_replay_buffer
from galley.tests.command_line import ROOT
from galley.tests.learning.demonstrations.made import COLLECTION, episode, run_seed

TASK = ("--problem", "sugar_only.pddl", "--jobs", "1")


@pytest.fixture
def quick(monkeypatch):
    """The seeds that ran. Of 3 the world is impossible, multiples of 3 fail."""
    ran = []

    def run(self, seed):
        ran.append(seed)
        if seed == 3:
            raise NoEpisode("no plan: (on sugar moon) can never hold")
        return episode(seed)

    monkeypatch.setattr(collection.KitchenDemonstrator, "__call__", run)
    return ran


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """Episodes of something else than a kitchen."""
    folder = tmp_path_factory.mktemp("pushed") / "pushed"
    collect(run_seed, range(4), COLLECTION, folder, workers=1)
    return folder


def test_collects_counts_and_resumes(cli, quick, tmp_path):
    out = tmp_path / "demos"
    first = cli("demos", "collect", *TASK, "--seeds", 2, "--out", out)
    assert (first.status, first.err) == (0, "")
    assert "2 episodes, 1 succeeded, 1 failed" in first.out
    assert "1/2, 0 succeeded" in first.out
    more = cli("demos", "collect", *TASK, "--seeds", 3, "--out", out)
    assert "3 episodes, 2 succeeded, 1 failed" in more.out
    assert quick == [0, 1, 2]
    assert [info.seed for info in read_folder(out).infos] == [0, 1, 2]
    assert not (out / "UNFINISHED").exists()
    assert cli("demos", "collect", *TASK, "--seed", 10, "--seeds", 1, "--out", out).status == 0
    assert quick == [0, 1, 2, 10]


def test_seeds_without_a_motion_are_named_and_leave_nothing(cli, quick, tmp_path):
    done = cli("demos", "collect", *TASK, "--seeds", 5, "--out", tmp_path / "demos")
    assert done.status == 1
    assert done.faults == ["no episode of seed 3: no plan: (on sugar moon) can never hold"]
    assert "4 episodes, 3 succeeded, 1 failed" in done.out
    assert [info.seed for info in read_folder(tmp_path / "demos").infos] == [0, 1, 2, 4]


def test_an_export_grows_with_the_folder(cli, quick, tmp_path):
    for seeds in (2, 3):
        options = ("--seeds", seeds, "--format", "zarr", "--out", tmp_path / "demos")
        assert cli("demos", "collect", *TASK, *options).status == 0
        ends = zarr.open_group(tmp_path / "demos" / "zarr", mode="r")["meta"]["episode_ends"]
        assert ends.shape == (seeds,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--problem", "nosuch.pddl"), "nosuch.pddl: no such file"),
        (("--execute", "kinematic", "--noise", "low"), "--noise needs --execute physics"),
        (("--licence", " "), "licence must be one line of text"),
        (("--out", "{pushed}"), "choose another folder"),
        (("--out", "{pushed}/dataset.json"), "is a file"),
        (("--out", "{cli}"), "holds other files"),
    ],
)
def test_bad_input_is_refused_in_a_line(options, message, cli, quick, pushed, tmp_path):
    before = sorted(pushed.iterdir())
    names = {"pushed": pushed, "cli": ROOT / "cli"}
    out = () if "--out" in options else ("--out", tmp_path / "demos")
    words = [str(each).format(**names) for each in options]
    done = cli("demos", "collect", *TASK, *out, *words)
    assert (done.status, quick) == (2, [])
    assert message in done.faults[-1]
    assert not (tmp_path / "demos").exists()
    assert sorted(pushed.iterdir()) == before


def test_statistics_are_those_of_the_episodes(cli, pushed):
    done = cli("demos", "stats", pushed)
    found = list(read_folder(pushed))
    assert done.status == 0
    assert "4 episodes, 2 succeeded, 2 failed" in done.out
    states = np.concatenate([each.observations["state"] for each in found])
    row = next(line for line in done.out.splitlines() if line.startswith("state "))
    assert row.split()[2:5] == ["5", f"{states.min():.4g}", f"{states.max():.4g}"]
    assert "pusher x, y; block x, y (m), angle (rad)" in done.out


@pytest.mark.parametrize("format_", ["zarr", "lerobot"])
def test_exports_what_is_asked_for(format_, cli, pushed, tmp_path):
    options = ("--format", format_, "--success", "--out", tmp_path / "train")
    done = cli("demos", "export", pushed, *options)
    assert done.status == 0
    assert "2 episodes, 2 succeeded, 0 failed" in done.out
    again = cli("demos", "export", pushed, *options)
    assert again.status == 2
    assert again.faults[-1].endswith("exists already; choose another name, or remove it")
    looked = cli("demos", "stats", tmp_path / "train")
    if format_ == "lerobot":
        assert "is a LeRobot dataset, which is only written" in looked.err
    else:
        assert "2 episodes, 2 succeeded, 0 failed" in looked.out


def test_an_export_of_nothing_is_refused(cli, pushed, tmp_path):
    options = ("--format", "zarr", "--longest", 1, "--out", tmp_path / "train")
    done = cli("demos", "export", pushed, *options)
    assert (done.status, "none passes --success, --longest" in done.err) == (2, True)


def test_an_episode_is_shown_as_film_curves_and_table(cli, pushed, tmp_path):
    options = ("--episode", 1, "--height", 120, "--out", tmp_path / "seen")
    done = cli("demos", "show", pushed, *options)
    assert done.status == 0
    each = read_folder(pushed)[1]
    assert f"seed 1: success, {len(each)} steps" in done.out
    assert "demonstrator: scripted" in done.out
    import imageio.v2 as imageio

    with imageio.get_reader(tmp_path / "seen" / "episode.mp4") as film:
        assert film.count_frames() == len(each)
        assert film.get_meta_data()["size"] == (90, 120)  # 12 x 16 pixels
        assert film.get_meta_data()["fps"] == pytest.approx(10)
    assert Image.open(tmp_path / "seen" / "curves.png").size[0] > 1000


def test_curves_have_the_names_in_their_meaning_and_no_panel_where_nothing_changes(tmp_path, drawn):
    from galley.learning.demonstrations.pictures import draw_curves

    turns = np.arange(8.0).reshape(4, 2)
    arrays = {"joints": turns, "none": np.ones((4, 0)), "spin": turns, "doors": np.ones((4, 2))}
    meanings = {"joints": "shoulder, elbow (rad): of the arm", "spin": "left wheel, rad"}
    draw_curves(arrays, meanings, np.arange(4.0), "episode 0", tmp_path / "curves.png")
    legends = [[each.get_text() for each in axes.get_legend().get_texts()] for axes in drawn]
    assert legends == [["shoulder", "elbow"], ["0", "1"]]
    assert [axes.get_title(loc="left").split("   ") for axes in drawn] == [
        ["joints", "(rad): of the arm"],
        ["spin", "left wheel, rad"],
    ]
    assert drawn[0].figure.get_suptitle() == "episode 0; unchanged: none, doors"


def test_a_replay_buffer_without_pictures_has_curves_only(cli, tmp_path):
    from galley.learning.demonstrations import Demonstrations

    bare = Demonstrations.of([episode(0, image=False)])
    write_replay_buffer(bare, tmp_path / "bare", COLLECTION)
    done = cli("demos", "show", tmp_path / "bare", "--out", tmp_path / "seen")
    assert done.status == 0
    assert "no film" in done.out
    assert [each.name for each in (tmp_path / "seen").iterdir()] == ["curves.png"]
    other = cli("demos", "show", tmp_path / "bare", "--episode", 1, "--out", tmp_path / "seen")
    assert "has 1 episode: --episode is 0 to 0" in other.err
