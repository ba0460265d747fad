"""Pictures of runs. Reads logs and scenes, changes nothing.

- ``film/``: films of logs; ``render/``: pictures of scenes, by our rasteriser; ``figures/``: plots

Nothing is imported here: imageio, Pillow and Numba load with the module that needs them.
"""
