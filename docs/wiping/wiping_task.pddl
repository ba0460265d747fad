; Wipe the patch, then put the sponge back on the countertop.
(define (problem wipe_the_patch)
  (:domain wiping)

  (:objects
    countertop patch center - furniture
    sponge - objective
    h1 - hand)

  (:init
    (near center)
    (on sponge countertop)
    (empty h1))

  (:goal (and
    (clean patch)
    (on sponge countertop)))
)
