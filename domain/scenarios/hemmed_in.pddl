; The gelatin goes to the stove; the boxes beside it leave no room for the fingers.
(define (problem hemmed_in)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    gelatin green black - objective
    h1 - hand)

  (:init
    (near center)
    (on gelatin countertop)
    (on green countertop)
    (on black countertop)
    (empty h1))

  (:goal (on gelatin burner))
)
