; What stands at one end of the table belongs to the other: it gets there from hand to hand only.
(define (problem two_arms)
  (:domain hands)
  (:objects
    left_end right_end - surface
    carton bottle - objective
    h1 h2 - hand)
  (:init
    (near left_end) (near right_end)
    (on carton left_end) (on bottle right_end)
    (empty h1) (empty h2))
  (:goal (and (on carton right_end) (on bottle left_end))))
