; The sugar lies on the burner, and is to stand on the countertop.
(define (problem stood_up)
  (:domain kitchen)

  (:objects
    burner countertop center - furniture
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (on sugar countertop))
)
