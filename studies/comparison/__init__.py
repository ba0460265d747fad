"""``galley compare``: several motion planners and trajectory optimizers on the same query.

- ``queries``: start, goal and world: the turn-around, random ones; ``query_file``: the user's own
- ``methods``: the six methods on one query, RRT to time-optimal
- ``measures``: lengths, peaks, clearance, and collisions by two engines
- ``summary``: medians and success rates over many queries, ``compare.json``
- ``pictures``: figures and films; ``runner``: runs all of it into one folder
"""
