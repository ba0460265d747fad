; The soup stands in a shaft.
(define (problem shaft_turned_box)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    shaft right_end - surface
    soup - objective
    h1 - hand)

  (:init
    (near center)
    (on soup shaft)
    (empty h1))

  (:goal (on soup right_end))
)
