"""Film crew: several workers that draw a film's pictures, brought together in order.

Our own rasteriser lets Python's lock go while it draws: its workers are threads, which share what
they read and hand pictures over without copying them. A graphics library may bring its process
down: workers that use one are processes.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator

import numpy as np

from galley.viz.film_job import CHUNK, FilmJob, pictures, turns
from galley.viz.picture import Image

logger = logging.getLogger(__name__)


class CrewError(RuntimeError):
    """A worker ended before its pictures were done; the message says how."""


class FilmCrew:
    """Workers for one film. Use as a context manager: leaving it ends them.

    Args:
        job: what to draw.
        workers: their number; None for one a core that may be used, at most 4.
    """

    def __init__(self, job: FilmJob, workers: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        chunks = len(turns(job.count, 1))
        self.job = job
        self.workers = max(1, min(workers or min(cores, 4), chunks))
        self._queues: list[queue.Queue[Image | None]] = []
        self._threads: list[threading.Thread] = []
        self._raised: list[Exception | None] = [None] * self.workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self._errors = [tempfile.TemporaryFile() for _ in range(self.workers)]  # noqa: SIM115
        self._folder = tempfile.TemporaryDirectory(prefix="galley-film-")
        self._ended = threading.Event()

    def __enter__(self) -> FilmCrew:
        self._queues = [queue.Queue(maxsize=2 * CHUNK) for _ in range(self.workers)]
        if self.job.renderer == "raster":
            for k in range(self.workers):
                self._start(self._draw, k)
        else:
            self._start_processes()
        return self

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _start_processes(self) -> None:
        data = pickle.dumps(self.job.portable())
        # The software renderer would start a thread a core in each process, only to wait on them.
        threads = str(1 if self.workers > 1 else len(os.sched_getaffinity(0)))
        # A worker that is killed leaves its files behind: they lie in a folder that is ours.
        environment = {"LP_NUM_THREADS": threads, **os.environ, "TMPDIR": self._folder.name}
        for k in range(self.workers):
            command = [sys.executable, "-m", "galley.viz.film_worker", str(k), str(self.workers)]
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors[k],
                env=environment,
            )
            self._processes.append(process)
            self._start(self._read, k, data)

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        for errors in self._errors:
            errors.close()
        for thread in self._threads:
            thread.join()
        self._folder.cleanup()

    def pictures(self) -> Iterator[Image]:
        """All pictures (height, width, 3), in order.

        Raises:
            CrewError: a worker crashed or raised.
        """
        for worker, numbers in turns(self.job.count, self.workers):
            for _ in numbers:
                picture = self._queues[worker].get()
                if picture is None:
                    raise CrewError(self._last_words(worker))
                yield picture

    def _draw(self, worker: int) -> None:
        """Runs in a thread: draws a worker's share and queues it, None at the end."""
        try:
            for picture in pictures(self.job, worker, self.workers):
                if not self._put(worker, picture):
                    return
        except Exception as error:  # whatever it is: pictures() reports it
            self._raised[worker] = error
        self._put(worker, None)

    def _read(self, worker: int, data: bytes) -> None:
        """Runs in a thread: hands the worker its job, then queues its pictures, None at the end."""
        process = self._processes[worker]
        assert process.stdin is not None
        assert process.stdout is not None
        shape = (self.job.height, self.job.width, 3)
        size = int(np.prod(shape))
        picture: Image | None
        try:
            process.stdin.write(data)
            process.stdin.close()
            while len(raw := process.stdout.read(size)) == size:
                picture = np.frombuffer(raw, dtype=np.uint8).reshape(shape)
                if not self._put(worker, picture):
                    return
        except (OSError, ValueError) as error:  # the process ended; pictures() reports it
            logger.debug("film worker %d: %s", worker, error)
        self._put(worker, None)

    def _put(self, worker: int, picture: Image | None) -> bool:
        while not self._ended.is_set():
            try:
                self._queues[worker].put(picture, timeout=0.2)
                return True
            except queue.Full:
                continue
        return False

    def _last_words(self, worker: int) -> str:
        raised = self._raised[worker]
        if raised is not None:
            return f"film worker failed: {type(raised).__name__}: {raised}"
        status = self._processes[worker].wait()
        self._errors[worker].seek(0)
        text = self._errors[worker].read().decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"film worker ended with status {status}: {lines[-1] if lines else 'no message'}"
