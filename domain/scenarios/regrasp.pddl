; The crackers lie flat on the countertop, and belong on the burner.
(define (problem regrasp)
  (:domain pushing)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    crackers - objective
    h1 - hand)

  (:init
    (near center)
    (on crackers countertop)
    (empty h1))

  (:goal (on crackers burner))
)
