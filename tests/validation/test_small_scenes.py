"""Hand-written runs in small scenes: validation does not depend on the kitchen."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.frames import to_pose7
from galley.domain.log import Log
from galley.robots.panda.mobile import DEFAULT_BASE
from galley.tests.validation.mutations import changed, kinds, words
from galley.validation import validate_run


def still(scene, seconds=1.0, period=1 / 120):
    """A log in which nothing happens."""
    count = round(seconds / period) + 1
    q = np.repeat(scene.robot.q[None], count, axis=0)
    items = np.array([to_pose7(item.X_WI) for item in scene.items]).reshape(-1, 7)
    return Log(
        time=np.arange(count) * period,
        q=q,
        velocity=np.zeros_like(q),
        command=q,
        torque=np.full_like(q, np.nan),
        scene_q=np.repeat(np.array([[j.start for j in scene.joints]]), count, axis=0),
        items=np.repeat(items[None], count, axis=0),
        held=np.full(count, -1),
        motion=np.zeros(count, dtype=np.int64),
        motions=np.array(["nothing to do"]),
        declared=np.empty((0, 3), dtype=np.str_),
        ends=np.array([""]),
        guards=np.array([np.nan]),
        names=np.empty(0, dtype=np.str_),
        contact_step=np.empty(0, dtype=np.int64),
        contact_pair=np.empty((0, 2), dtype=np.int64),
        contact_distance=np.empty(0),
        contact_force=np.empty(0),
        mode="kinematic",
        period=period,
        duration=(count - 1) * period,
    )


@pytest.fixture
def bare_scene(small_text, scene_of):
    """No items, no joints, no regions: a floor and a cabinet."""
    head = small_text.split("  drawer:\n")[0]
    ends = "items: {}\nobjects: {}\nstances:\n  away: {x: [1.0, 2.0], y: [-1.0, 1.0]}\n"
    return scene_of(head + ends)


@pytest.mark.parametrize("seconds", [0.0, 1 / 120, 0.1, 1.0])
def test_standing_still_passes_for_any_length(small_scene, bare_scene, seconds):
    for scene in (small_scene, bare_scene):
        found = validate_run(scene, still(scene, seconds))
        assert found.passed, words(found)
        assert found.states_checked == round(seconds * 120) + 1
        assert found.at_rest
        assert found.max_acceleration_ratio == 0.0


def test_what_rests_on_another_item_is_supported_and_what_hangs_in_the_air_is_not(
    small_text, scene_of
):
    second = (
        "  lid:\n    mass: 0.1\n    shapes:\n      - {box: [0.08, 0.08, 0.02]}\n"
        "    pose: {on: top, xy: [-0.2, 0.2], yaw: 0.0}\n"
    )
    scene = scene_of(small_text.replace("stances:\n", f"{second}stances:\n", 1))
    block, lid = scene.item_index["block"], scene.item_index["lid"]

    def stacked(above):
        def put(items):
            items[:, lid, :2] = items[:, block, :2]
            items[:, lid, 2] = 0.84 + 0.10 + 0.01 + above

        return changed(still(scene), items=put)

    assert validate_run(scene, stacked(0.0)).passed
    assert kinds(validate_run(scene, stacked(0.006))) == {"floating"}
    assert kinds(validate_run(scene, stacked(-0.006))) == {"penetration"}


@pytest.mark.parametrize(
    ("above", "speed", "wrong"),
    [(0.001, 0.0, set()), (0.02, 0.0, {"floating"}), (0.001, 0.1, {"floating"})],
)
def test_what_fell_onto_the_robots_base_is_supported_by_it_until_it_drives(
    small_scene, above, speed, wrong
):
    block, (x, y, heading) = small_scene.item_index["block"], small_scene.robot.q[:3]
    log = still(small_scene)
    gone = speed * log.time[:, None] * [1.0, 0.0]
    ahead = np.array([x + 0.3 * np.cos(heading), y + 0.3 * np.sin(heading)])
    q, velocity = log.q.copy(), log.velocity.copy()
    q[:, :2] += gone
    velocity[:, 0] = speed

    def on_the_chassis(items):
        items[:, block, :2] = gone + ahead
        items[:, block, 2] = DEFAULT_BASE.size[2] + 0.05 + above

    driven = replace(log, q=q, velocity=velocity, command=q)
    found = validate_run(small_scene, changed(driven, items=on_the_chassis))
    others = {"goal"} if speed == 0.0 else kinds(found) - {"floating"}  # of a drive that jerks
    assert kinds(found) - others == wrong
