"""Sweeps: one function over many jobs, in parallel, and what is kept of a sweep that is stopped.

```
engines   function, jobs              -> results in job order      processes, or Ray
journal   job, digest, result         -> a line of a JSONL file    read again by the next call
```
"""

from galley.sweeps.engines import ENGINES, Lost, MissingRay, cores, sweep
from galley.sweeps.journal import Journal, digest

__all__ = ["ENGINES", "Journal", "Lost", "MissingRay", "cores", "digest", "sweep"]
