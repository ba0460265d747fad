"""The commands of the command line, one module each; what they print, and their exit status.

- ``run``: ``galley run``; ``planning``: ``galley plan`` and ``galley validate``
- ``scene``: ``galley scene``; ``compare``: ``galley compare``
- ``check``: ``galley check``; ``checked``: the run that it judges
- ``disturb``: ``galley disturb``; ``disturb_trials``, ``disturb_figure``
- ``trajectory``: ``galley trajectory``; ``recorded``: the motions of a stored run
- ``arguments``: numbers as arguments; ``progress``, ``tables``: the terminal
"""
