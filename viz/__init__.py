"""Films, pictures and plots of logs and scenes.

- ``film/``: films of logs
- ``render/``: pictures of scenes
- ``replay/``: logs and scenes in the browser
- ``figures``: plots as PNG files

Importing this package loads nothing; imageio, Pillow and Numba load with the modules that use them.
"""
