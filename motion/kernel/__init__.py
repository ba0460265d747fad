"""The motion planners in compiled code: one call from Python plans, shortens and proves a path.

They check collisions through four functions of
``galley.collision.kernel.continuous_collision``; the view's table of addresses, ``table`` in every
signature, is only passed on. They search a box of configurations with a metric.

- ``plan``: search, shortcutting and proof in one call; start reading here
- ``rrt_connect``: the search
- ``shortcut``: shortens a path
- ``tree``: search trees in arrays, and their nearest nodes
- ``rules``: the space to search, and the rules for edges; ``checks``: whether an edge is free
- ``sampling``: random numbers and configurations, the same on every machine
- ``polyline``: lengths and points of a path
"""
