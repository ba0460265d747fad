; The kitchen's domain, and wiping.
(define (domain wiping)
  (:requirements :strips :typing :negative-preconditions)

  (:types furniture objective hand)

  (:predicates
    (near ?r - furniture)
    (grasp ?r - objective)
    (on ?obj - objective ?fur - furniture)
    (inside ?obj - objective ?fur - furniture)
    (empty ?h - hand)
    (holds ?h - hand ?obj - objective)
    (clean ?fur - furniture))

  (:action navigate
    :parameters (?from - furniture ?to - furniture)
    :precondition (and (near ?from) (not (near ?to)))
    :effect (and (near ?to) (not (near ?from))))

  (:action pick
    :parameters (?obj - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (on ?obj ?fur) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (on ?obj ?fur)) (not (empty ?h))))

  (:action place
    :parameters (?obj - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (grasp ?obj) (holds ?h ?obj))
    :effect (and (on ?obj ?fur) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; The hand leads its tool over all of the furniture's region.
  (:action wipe
    :parameters (?tool - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (grasp ?tool) (holds ?h ?tool))
    :effect (clean ?fur))
)
