; Sugar and spam stand on the burner; both hands take one, the base drives once.
(define (problem two_hands)
  (:domain hands)
  (:objects
    burner countertop - surface
    center - furniture
    sugar spam - objective
    h1 h2 - hand)
  (:init
    (near center)
    (on sugar burner) (on spam burner)
    (empty h1) (empty h2))
  (:goal (and (on sugar countertop) (on spam countertop))))
