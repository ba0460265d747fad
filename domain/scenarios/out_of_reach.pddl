; The crackers stand on top of the wall cabinet.
(define (problem out_of_reach)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop cabinet_top - surface
    sugar spam crackers - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (on crackers cabinet_top)
    (empty h1))

  (:goal (on crackers countertop))
)
