"""Makes a share of a film's pictures: ``python -m galley.viz.film_worker WORKER WORKERS``.

Reads a pickled FilmJob from standard input and writes raw pictures to standard output. A process of
its own, started as a plain command: should the graphics library bring it down, the run survives,
and no caller's script needs a ``__main__`` guard.
"""

from __future__ import annotations

import os
import pickle
import sys

from galley.viz.film_job import FilmJob, pictures


def main() -> None:
    """Read the job, write the pictures."""
    job: FilmJob = pickle.load(sys.stdin.buffer)
    # What engines print must not end up between the pixels.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        for picture in pictures(job, int(sys.argv[1]), int(sys.argv[2])):
            out.write(picture.tobytes())
        out.flush()
    except BrokenPipeError:  # the film was given up
        os._exit(0)


if __name__ == "__main__":
    main()
