"""Pictures of a scene.

- ``renderer``: draws the pictures; ``raster_kernel``: its compiled rasteriser
- ``scene_meshes``: the meshes of a scene and its robot; ``meshes``: triangle meshes
- ``view``: the camera, its projection, and lines of sight
- ``scene_picture``: labelled pictures of a scene; ``tags``: labels on pictures, and their font
"""
