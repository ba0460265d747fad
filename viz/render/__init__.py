"""Pictures of a scene.

- ``renderer``: our rasteriser, with darkened corners; ``raster_kernel``: its compiled code;
  ``scene_meshes``, ``meshes``, ``obj_reader``: what it draws
- ``view``: a camera, its projection, and what it sees
- ``scene_picture``: labelled pictures of a scene; ``tags``: names on pictures, and their font
"""
