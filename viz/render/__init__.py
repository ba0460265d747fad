"""Pictures of a scene.

- ``renderer``: our rasteriser; ``raster_kernel``: its compiled code; ``occlusion``: darkened
  corners; ``scene_meshes``, ``meshes``, ``obj_reader``: what it draws
- ``view``: a camera and its projection; ``sightlines``: what a camera sees
- ``scene_picture``: a labelled picture of a scene; ``tags``: names on pictures, and their font
"""
