; The soup stands between two walls.
(define (problem bin_two_walls)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop right_end - surface
    soup - objective
    h1 - hand)

  (:init
    (near center)
    (on soup countertop)
    (empty h1))

  (:goal (on soup right_end))
)
