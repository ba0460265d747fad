"""A person's own query: what it may say, and what is said of its faults."""

import json

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.studies.comparison.queries import hand_poses
from galley.studies.comparison.query_file import read_query, resolve_query

GOOD = """\
galley_query: 1
base: [0.85, 0.4, 3.1]
start: {arm: [0.0, -0.57, 0.0, -2.81, 0.0, 3.04, 0.74]}
goal: {hand: {xyz: [0.3, 0.5, 1.2], rpy: [3.14159, 0, 0]}}
joints: {indigo_drawer_top_joint: 0.3}
holding: {item: potted_meat_can}
"""


@pytest.fixture
def asked(tmp_path, kernel):
    """``asked(text)``: the query that a file says, in the kitchen."""

    def ask(text, name="query.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return resolve_query(read_query(path), kernel)

    return ask


@pytest.fixture
def faults(asked, tmp_path):
    """``faults((old, new))``: what is wrong with the good file so changed, without its name."""

    def find(*changes, text=GOOD):
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        with pytest.raises(BadInput) as caught:
            asked(text)
        lines = str(caught.value).splitlines()
        assert all(line.startswith(f"{tmp_path}/query.yaml:") for line in lines)
        return [line.removeprefix(f"{tmp_path}/query.yaml:") for line in lines]

    return find


def test_all_that_a_file_may_say(asked, kernel):
    query = asked(GOOD)
    scene, state = kernel.scene, query.state
    assert np.allclose(state.q[:3], [0.85, 0.4, 3.1])
    assert np.allclose(state.q[3:10], [0.0, -0.57, 0.0, -2.81, 0.0, 3.04, 0.74])
    assert state.scene_q[scene.joint_index["indigo_drawer_top_joint"]] == 0.3
    assert scene.items[state.held].name == "potted_meat_can"
    X_WH = hand_poses(kernel.robot, state.q, query.goals)
    p = X_WH[:, :3, :3] @ kernel.robot.p_HT + X_WH[:, :3, 3]
    assert np.abs(p - [0.3, 0.5, 1.2]).max() < 1e-6
    assert np.abs(X_WH[:, :3, 2] - [0, 0, -1]).max() < 1e-4  # pointing down


def test_json_is_the_same(asked):
    data = {
        "galley_query": 1,
        "base": [0.85, 0.4, 3.1],
        "goal": {"arm": [0.5, -0.57, 0.0, -2.0, 0.0, 2.4, 0.74]},
    }
    query = asked(json.dumps(data, indent=1), "query.json")
    assert np.allclose(query.goals, [data["goal"]["arm"]])
    assert query.state.held is None


def test_a_start_may_be_a_pose_of_the_hand(asked, kernel):
    text = GOOD.replace(
        "{arm: [0.0, -0.57, 0.0, -2.81, 0.0, 3.04, 0.74]}",
        "{hand: {xyz: [0.5, 0.6, 1.3], rpy: [3.14159, 0, 0]}}",
    )
    query = asked(text)
    X_WH = kernel.robot.kinematics.hand_pose(query.state.q)
    assert np.allclose(X_WH[:3, :3] @ kernel.robot.p_HT + X_WH[:3, 3], [0.5, 0.6, 1.3], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("galley_query: 1", "galley_query: 2"), "1:1: galley_query: this version of Galley reads"),
        (("base: [0.85, 0.4, 3.1]", "base: [0.85, 9, 3.1]"), "2:1: base: base_y at 9.0000 m lies"),
        (("base:", "bsae:"), "2:1: bsae: unknown key; did you mean 'base'?"),
        (("-2.81", "0.5"), "3:9: start.arm: panda_joint4 at 0.5000 rad lies outside its limits ["),
        (("-2.81, ", ""), "3:9: start.arm: expected 7 entries, a joint each, got 6"),
        (("xyz: [0.3, 0.5, 1.2], ", ""), "4:8: goal.hand: needs the key 'xyz'"),
        (("joint: 0.3", "joint: 0.7"), "5:10: joints.indigo_drawer_top_joint: 0.7 lies outside"),
        (("potted_meat_can", "potted_meet_can"), "did you mean 'potted_meat_can'?"),
    ],
)
def test_a_fault_names_line_and_key(faults, change, words):
    found = faults(change)
    assert any(words in line for line in found), found


def test_a_start_in_collision_is_bad_input_and_names_the_pair(faults):
    (base,) = faults(("[0.85, 0.4, 3.1]", "[0.3, 0.4, 3.1]"))
    assert "no free start: " in base
    (fault,) = faults(("[0.0, -0.57, 0.0, -2.81, 0.0, 3.04, 0.74]", "[0, 1.5, 0, -0.6, 0, 2, 0.7]"))
    assert fault.startswith("3:1: start: no free start: ")
    assert "mm deep in" in fault or "within the margin" in fault


def test_a_goal_in_collision_is_a_refusal_that_names_the_pair(asked):
    found = asked(GOOD.replace("{hand: {xyz: [0.3, 0.5, 1.2], rpy: [3.14159, 0, 0]}}",
                               "{arm: [0, 1.5, 0, -0.6, 0, 2, 0.7]}"))  # fmt: skip
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.BLOCKED
    assert len(found.objects) == 2


def test_a_goal_out_of_reach_says_by_how_much(asked):
    found = asked(GOOD.replace("[0.3, 0.5, 1.2]", "[-2.0, 0.5, 1.2]"))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.UNREACHABLE
    assert found.numbers["shortfall_m"] > 1.0
