import re
import resource
import signal
import subprocess
import threading
import time
from dataclasses import replace

import imageio_ffmpeg
import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.viz.film.frames import frame_times, resample
from galley.viz.film.video import CHUNK, FilmJob, FilmOptions, draw_frames, encoder, film
from galley.viz.render.renderer import Renderer
from galley.viz.render.view import Camera


def stream(path):
    """What ffmpeg says of a file."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def decoded(path):
    """All pictures (F, h, w, 3) of a film."""
    frames = imageio_ffmpeg.read_frames(str(path))
    width, height = next(frames)["size"]
    return np.array([np.frombuffer(f, np.uint8).reshape(height, width, 3) for f in frames])


def test_a_film_is_what_it_says(log, scene, robot, tmp_path):
    path = tmp_path / "run.mp4"
    calls: list[tuple[int, int]] = []
    info = film(
        log,
        scene,
        robot,
        path,
        FilmOptions(fps=10.0, width=320, height=240, speed=2.0, hold=0.5, title="Test"),
        progress=lambda done, count: calls.append((done, count)),
    )
    assert info.frames == 61 + 5
    assert calls[-1] == (66, 66)
    assert len(calls) == 66
    said = stream(path)
    assert "Video: h264" in said
    assert "yuv420p" in said
    assert "320x240" in said
    assert re.search(r"\b10 fps", said)
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert count == 66
    assert seconds == pytest.approx(info.duration_s) == pytest.approx(6.6)
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # plays before it is loaded to the end
    assert [p.name for p in tmp_path.iterdir()] == ["run.mp4"]
    frames = decoded(path).astype(int)
    assert frames[0].std() > 20  # not blank
    assert np.abs(frames[0] - frames[-7]).max() > 60
    assert np.abs(frames[-1] - frames[-3]).max() < 12  # it rests on the end


@pytest.mark.slow
def test_several_workers_draw_the_same_as_one_in_order(log, scene, robot):
    frames = resample(log, robot, frame_times(log, 7.0))
    count = len(frames.time)
    assert count > 3 * CHUNK  # so that there is something to share
    cameras = (Camera([2.6, 2.0, 1.8], [0.3, 0.6, 0.9]),) * count
    job = FilmJob(scene, robot, frames, cameras, (), 160, 120)
    alone, together = np.array(list(draw_frames(job, 1))), np.array(list(draw_frames(job, 3)))
    assert len(alone) == count
    np.testing.assert_array_equal(alone, together)


def test_nothing_is_drawn_while_the_encoder_starts(log, scene, robot, monkeypatch):
    """It starts with the first picture, by a fork, which no thread in OpenBLAS survives."""
    frames = resample(log, robot, np.linspace(0.0, 1.0, 2 * CHUNK))
    cameras = (Camera([2.6, 2.0, 1.8], [0.3, 0.6, 0.9]),) * len(frames.time)
    begun = []
    make = Renderer.__init__

    def counted(self, *args, **kwargs):
        begun.append(len(begun))
        make(self, *args, **kwargs)

    monkeypatch.setattr(Renderer, "__init__", counted)
    pictures = draw_frames(FilmJob(scene, robot, frames, cameras, (), 64, 48), 3)
    next(pictures)
    time.sleep(0.5)
    assert begun == [0]
    assert len(list(pictures)) == len(frames.time) - 1
    assert len(begun) > 1


def test_a_worker_that_fails_is_reported(log, scene, robot):
    frames = resample(log, robot, np.array([0.0, 1.0]))
    cameras = (Camera([2.6, 2.0, 1.8], [0.3, 0.6, 0.9]),) * 2
    broken = replace(robot, urdf="<robot")
    job = FilmJob(scene, broken, frames, cameras, (), 160, 120)
    with pytest.raises(RuntimeError, match="drawing failed: ParseError"):
        list(draw_frames(job, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "size", "error"),
    [(np.nan, 160, "far away"), (1e30, 160, "far away"), (0.0, 161, "even sides")],
)
def test_what_can_not_be_filmed_ends_in_an_error(log, scene, robot, tmp_path, wrong, size, error):
    items = log.items.copy()
    items[60:, 0, 0] = wrong
    camera = Camera([2.6, 2.0, 1.8], [0.3, 0.6, 0.9])
    options = FilmOptions(fps=4.0, width=size, height=120, camera=camera)
    with pytest.raises((RuntimeError, ValueError), match=error):
        film(replace(log, items=items), scene, robot, tmp_path / "run.mp4", options)
    assert list(tmp_path.iterdir()) == []


def test_a_film_given_up_leaves_nothing(log, scene, robot, tmp_path):
    class GaveUpError(Exception):
        pass

    def stop(done, _):
        assert not (tmp_path / "run.mp4").exists()
        if done == 3:
            raise GaveUpError

    threads = threading.active_count()
    options = FilmOptions(fps=10.0, width=160, height=120, workers=1)
    with pytest.raises(GaveUpError):
        film(log, scene, robot, tmp_path / "run.mp4", options, stop)
    assert threading.active_count() == threads
    assert list(tmp_path.iterdir()) == []


def write(path, height, width, count=20):
    with encoder(path, 10.0) as append:
        for k in range(count):
            append(np.full((height, width, 3), k, dtype=np.uint8))


def test_what_ffmpeg_refuses_is_told_in_one_line(tmp_path):
    with pytest.raises(RuntimeError, match=r"the encoder failed: .") as caught:
        write(tmp_path / "a.mp4", 33, 35, 400)  # H.264 in yuv420p needs even sides
    assert len(str(caught.value).splitlines()) == 1
    assert "libx264" not in str(caught.value), "not ffmpeg's whole command"
    with pytest.raises(BadInput):
        write(tmp_path / "no" / "a.mp4", 32, 32)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
@pytest.mark.parametrize("missing", [1, 3000, 20_000])  # bytes: at its end, or long before
def test_where_the_disk_is_too_small_the_old_film_stays(name, missing, tmp_path):
    def noise(path):
        rng = np.random.default_rng(0)
        with encoder(path, 10.0) as append:
            for _ in range(4):
                append(rng.integers(0, 255, (64, 128, 3), dtype=np.uint8))

    path, limits = tmp_path / name, resource.getrlimit(resource.RLIMIT_FSIZE)
    noise(path)
    before = path.read_bytes()
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) - missing, limits[1]))
    try:
        with pytest.raises(OSError, match="can't be written: file too large"):
            noise(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
