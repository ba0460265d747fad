; The carton stands at the left end and belongs to the right one: only from hand to hand does it get
; there. The tin comes to the middle.
(define (problem two_arms)
  (:domain hands)
  (:objects
    left_end right_end middle - surface
    carton tin - objective
    h1 h2 - hand)
  (:init
    (near left_end) (near right_end) (near middle)
    (on carton left_end) (on tin right_end)
    (empty h1) (empty h2))
  (:goal (and (on carton right_end) (on tin middle))))
