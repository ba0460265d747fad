"""States of a task as small integers, and their successors as compiled Python.

- ``mutex``: facts of which at most one holds; ``packing``: a task's facts in one integer
- ``space``: packed states, and the source that computes their successors
"""
