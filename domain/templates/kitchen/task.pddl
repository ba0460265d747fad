; The mug goes to the table, the tea into the drawer.
;
; Each object must have an entry in kitchen.yaml under objects. Another goal to try:
;   (:goal (on tea cabinet))
(define (problem tidy_up)
  (:domain my_kitchen)

  (:objects
    table cabinet drawer center - furniture
    mug tea - objective
    h1 - hand)

  (:init                 ; where things are at the start; it must agree with the scene
    (near center)
    (on mug cabinet)
    (on tea table)
    (empty h1))

  (:goal (and
    (on mug table)
    (inside tea drawer)))
)
