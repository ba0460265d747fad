"""Studies of the whole pipeline: many runs, compared and counted.

- ``comparison/``: several planners and optimizers on the same query
- ``scenarios/``: tasks with an expected outcome
- ``disturbances/``: success under noise and faults
- ``commands/``: ``galley compare``, ``scenarios`` and ``disturb``
"""
