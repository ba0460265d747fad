; The smallest errand: the sugar goes to the countertop; the spam may stay where it is.
(define (problem sugar_only)
  (:domain kitchen)

  (:objects
    countertop burner drawer center - furniture
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (on sugar countertop))
)
