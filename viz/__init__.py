"""Pictures of runs: films, pictures of scenes, figures. Reads logs and scenes, changes nothing.

- ``video``: ``film`` makes an H.264 file of a log; ``side_by_side``: two films, and a third that
  shows both on one clock
- ``frames``: a log resampled at the times of a film's pictures, and cut into shots; ``camera``: the
  virtual cameraman; ``captions``: what is said about a run, and how it gets into pictures
- ``renderer``: our rasteriser; ``raster_kernel``: its compiled code; ``occlusion``: darkened
  corners; ``scene_meshes``, ``meshes``, ``obj_reader``: what it draws
- ``view``: a camera and its projection; ``sightlines``: what a camera sees
- ``scene_picture``: a labelled picture of a scene; ``tags``: names on pictures, and their font
- ``compare_figure``, ``figures``: the plots of ``galley compare``

Nothing is imported here: imageio, Pillow and Numba load with the module that needs them.
"""
