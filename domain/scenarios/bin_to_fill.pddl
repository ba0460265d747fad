; The sugar goes into the bin.
(define (problem bin_to_fill)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop bin - surface
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (on sugar bin))
)
