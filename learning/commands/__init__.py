"""The commands of learning: ``galley demos`` and ``galley push``.

- ``collecting``: options and functions of both for collecting and exporting demonstrations
"""
