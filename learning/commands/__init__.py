"""The commands of learning: ``galley demos`` and ``galley push``.

- ``collecting``: what both share that collect, summarise and export demonstrations
"""
