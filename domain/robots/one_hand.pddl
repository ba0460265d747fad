; The same carton with one hand only: refused, with the distance that the arm lacks. Run it by
; galley run --scene two_arms.yaml --problem one_hand.pddl
(define (problem one_hand)
  (:domain hands)
  (:objects
    left_end right_end - surface
    carton - objective
    h1 - hand)
  (:init
    (near left_end) (near right_end)
    (on carton left_end)
    (empty h1))
  (:goal (on carton right_end)))
