"""Sweeps: a function over many jobs in parallel, with a journal from which a stopped one resumes.

```
engines   function, jobs         -> results in job order      by processes or Ray
journal   job, digest, result    -> a line of a JSONL file    read by the next call
```
"""

from galley.sweeps.engines import ENGINES, LostJob, available_cores, sweep
from galley.sweeps.journal import Journal, digest

__all__ = ["ENGINES", "Journal", "LostJob", "available_cores", "digest", "sweep"]
