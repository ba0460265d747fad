"""Plots.

- ``comparison``: those of ``galley compare``; ``file``: figures as PNG files
"""
