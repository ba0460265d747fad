"""Pictures of a scene.

- ``renderer``: our rasteriser; ``raster_kernel``: its compiled code; ``occlusion``: darkened
  corners; ``scene_meshes``, ``meshes``, ``obj_reader``: what it draws
- ``view``: a camera, its projection, and what it sees
- ``scene_picture``: labelled pictures of a scene; ``tags``: names on pictures, and their font
"""
