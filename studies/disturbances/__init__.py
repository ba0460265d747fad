"""Success under noise and faults.

- ``trials``: one run under physics with noise or a fault
- ``trials_figure``: success counts as the figure of ``galley disturb``
"""
