; The board belongs on its mark, turned as it is painted.
(define (problem push_board)
  (:domain pushing)

  (:objects
    center - furniture
    countertop mark - surface
    board - objective
    h1 - hand)

  (:init
    (near center)
    (on board countertop)
    (empty h1))

  (:goal (on board mark))
)
