"""The planners, compiled end to end: one call from Python plans, shortens and proves.

All of them ask the world through three functions of ``galley.worlds.kernel.edges`` and hand on
its table without looking inside. The space they search is a box with a metric.

- ``rules``: what a search is asked for; ``checks``: what is a free edge, a proven path
- ``sampling``: random numbers and configurations from a state array, the same on every machine
- ``tree``: search trees in arrays, and their nearest nodes
- ``polyline``: lengths and points of a path
- ``rrt_connect``, ``rrt``: the searches
- ``shortcut``: shorter paths
- ``anytime``: many bounded searches, the best path of all
- ``plan``: search, shortening and proof in one call
"""
