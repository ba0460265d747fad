"""One question, several ways to answer it: what ``galley compare`` runs and measures.

- ``query``: from where to where, in which world
- ``seed_query``, ``random_queries``, ``query_file``: the seed's, drawn ones, a person's own
- ``methods``: RRT, shortcut, shortest, smooth, time-optimal on one query
- ``measures``: lengths, peaks, clearance; ``collisions``: does it collide, by two engines
- ``summary``: medians and success rates over many queries; ``records``: ``compare.json``
- ``kept``: waypoints on disk; ``pictures``: figures and films
"""
