; A tray that no hand can take is pushed over the counter onto its mark.
(define (problem push_tray)
  (:domain pushing)

  (:objects
    center - furniture
    countertop mark - surface
    tray - objective
    h1 - hand)

  (:init
    (near center)
    (on tray countertop)
    (empty h1))

  (:goal (on tray mark))
)
