"""Pictures of a scene.

- ``renderer``: the rasteriser; ``raster_kernel``: its compiled code
- ``scene_meshes``, ``meshes``: what it draws
- ``view``: the camera, its projection, and lines of sight
- ``scene_picture``: labelled pictures of a scene; ``tags``: labels on pictures, and their font
"""
