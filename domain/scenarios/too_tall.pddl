; The sugar box is taller than the drawer is deep.
(define (problem too_tall)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    drawer - drawer
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (in sugar drawer))
)
