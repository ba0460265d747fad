from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from galley.domain.frames import to_pose7
from galley.domain.log import Log
from galley.domain.scene.reader import load_scene
from galley.robots import mobile_panda


@pytest.fixture(scope="session")
def scene():
    return load_scene(Path(str(files("galley.domain"))) / "kitchen" / "kitchen.yaml")


@pytest.fixture(scope="session")
def robot():
    return mobile_panda()


@pytest.fixture(scope="session")
def items(scene):
    return np.array([to_pose7(item.X_WI) for item in scene.items])


@pytest.fixture(scope="session")
def log(scene, items):
    """Drive to the stove for 4 s, swing the arm for 4 s, open a drawer for 4 s."""
    period = 0.1
    time = np.arange(121) * period
    u = np.clip([time / 4.0, time / 4.0 - 1.0, time / 4.0 - 2.0], 0.0, 1.0)
    q = np.tile(scene.robot.q, (len(time), 1))
    q[:, 0] -= 1.0 * u[0]
    q[:, 1] += 0.4 * u[0]
    q[:, 3] += 0.8 * u[1]
    q[:, 4] += 0.7 * u[1]
    scene_q = np.zeros((len(time), len(scene.joints)))
    scene_q[:, 0] = 0.3 * u[2]
    motion = np.minimum(time // 4.0, 2.0).astype(np.int64)
    return Log(
        time=time,
        q=q,
        velocity=np.gradient(q, period, axis=0),
        command=q,
        torque=np.full_like(q, np.nan),
        scene_q=scene_q,
        items=np.tile(items, (len(time), 1, 1)),
        held=np.full(len(time), -1),
        motion=motion,
        motions=np.array(
            ["navigate center burner | drive", "pick sugar burner h1 | transit", "stow x | open"]
        ),
        declared=np.zeros((0, 3), dtype=np.str_),
        ends=np.array(["", "", ""]),
        guards=np.full(3, np.nan),
        names=np.zeros(0, dtype=np.str_),
        contact_step=np.zeros(0, dtype=np.int64),
        contact_pair=np.zeros((0, 2), dtype=np.int64),
        contact_distance=np.zeros(0),
        contact_force=np.zeros(0),
        mode="kinematic",
        period=period,
        duration=float(time[-1]),
    )
