"""Films, pictures and plots of logs and scenes.

- ``film/``: films of logs; ``render/``: pictures of scenes; ``figures``: plots as PNG files
- ``replay/``: logs and scenes in the browser

Importing this package loads nothing: imageio, Pillow and Numba come with the modules that use them.
"""
