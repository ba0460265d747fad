"""One question, several ways to answer it: what ``galley compare`` runs and measures.

- ``queries``: from where to where, in which world: the seed's, drawn ones, a person's own
- ``methods``: RRT, the same in PyBullet, shortcut, shortest, smooth, time-optimal on one query
- ``measures``: lengths, peaks, clearance; does it collide, by two engines
- ``summary``: medians and success rates over many queries; ``compare.json``
- ``pictures``: figures and films; ``runner``: all of it into one folder
"""
