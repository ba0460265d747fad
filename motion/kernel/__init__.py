"""The planners, compiled end to end: one call from Python plans, shortens and proves.

They check collisions through four functions of ``galley.collision.kernel.edges`` and pass on its
table unread. They search a box of configurations with a metric.

- ``rules``: what a search must keep; ``checks``: what is a free edge
- ``sampling``: random numbers and configurations, the same on every machine
- ``tree``: search trees in arrays, and their nearest nodes
- ``polyline``: lengths and points of a path
- ``rrt_connect``: the search
- ``shortcut``: shorter paths
- ``plan``: search, shortening and proof in one call
"""
