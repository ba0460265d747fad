"""Why there is no plan.

- ``unreachable``: a part of the goal can't hold, not even by itself
- ``conflicts``: each part can, all of them can't, told before any search or after all of it
"""
