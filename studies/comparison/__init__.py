"""``galley compare``: several motion planners and trajectory optimizers on the same query.

- ``queries``: start, goals and world: the turn-around query and random queries
- ``query_file``: reads the user's own queries
- ``methods``: runs the six methods on one query, from RRT to time-optimal
- ``measures``: lengths, peaks and clearance, and collisions according to two engines
- ``summary``: medians and success rates over many queries, and ``compare.json``
- ``pictures``: figures and films
- ``runner``: runs a whole comparison and writes its folder
"""
