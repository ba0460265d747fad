; The box goes to the mark, where the block stands, and the tin into the drawer.
(define (problem table)
  (:domain drawers)
  (:objects
    left front mark - surface
    drawer - drawer
    box tin block - objective
    h1 - hand)
  (:init
    (near left) (near front) (near mark) (near drawer)
    (on box left) (on tin left) (on block front) (on block mark)
    (empty h1))
  (:goal (and (on box mark) (in tin drawer))))
