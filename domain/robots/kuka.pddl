; The celery gets washed, and then cooked in the middle of the stove, where the radish stands.
(define (problem kuka)
  (:domain drawers)
  (:objects
    ground - surface
    sink - sink
    stove plate - stove
    celery radish - objective
    h1 - hand)
  (:init
    (near ground) (near sink) (near stove) (near plate)
    (on celery ground) (on radish stove) (on radish plate)
    (empty h1))
  (:goal (and (clean celery) (cooked celery) (on celery plate))))
