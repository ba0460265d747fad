"""Pictures of runs. Reads logs and scenes, changes nothing.

- ``film/``: films of logs; ``render/``: pictures of scenes; ``figures``: plots as PNG files

Nothing is imported here: imageio, Pillow and Numba load with the module that needs them.
"""
