; The sugar goes to the stove, but it stands under a cover that nobody can lift.
(define (problem under_cover)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar countertop)
    (on spam burner)
    (empty h1))

  (:goal (on sugar burner))
)
