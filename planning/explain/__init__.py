"""Why there is no plan.

- ``contradiction``: two parts of the goal exclude each other
- ``unreachable``: a part can't hold, not even by itself
- ``exhausted``: each part can, all of them can't; no state is left to look at
"""
