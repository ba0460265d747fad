; The kitchen of drawers.pddl in which things are also pushed, without being grasped.
;
; What is too wide, too flat or too low for the hand is pushed over the surface on which it stands: to
; another place of the same surface, or aside. Whether the hand finds room behind it, and the arm
; reaches all of the way, is geometry. Everything else is as in drawers.pddl.
;
; Written in the part of PDDL that PDDLGym 0.0.7 reads too: each parameter with its own type, each
; action with parameters and a precondition, no dashes in names.
(define (domain pushing)
  (:requirements :strips :typing :negative-preconditions)

  (:types
    furniture           ; what the base can stand at
    objective           ; what can be carried or pushed
    hand
      - object
    surface             ; furniture that things stand on
    drawer              ; furniture that things lie in
      - furniture
    stove               ; where things get cooked
    sink                ; where things get clean
      - surface)

  (:predicates
    (near ?r - furniture)                   ; the base stands where the arm reaches ?r
    (grasp ?r - objective)                  ; ?r is in a hand
    (on ?obj - objective ?top - surface)
    (in ?obj - objective ?d - drawer)       ; whether the drawer is open or closed
    (opened ?d - drawer)                    ; at least far enough to reach in; else it is closed
    (empty ?h - hand)
    (holds ?h - hand ?obj - objective)      ; which hand, so that it is the one that opens
    (cooked ?obj - objective)
    (clean ?obj - objective))

  ; The base leaves one place for another. As it is near one piece of furniture at a time,
  ; (not (near ?to)) says that the two differ.
  (:action navigate
    :parameters (?from - furniture ?to - furniture)
    :precondition (and (near ?from) (not (near ?to)))
    :effect (and (near ?to) (not (near ?from))))

  ; An empty hand lifts an item off a surface; with one hand, one item at a time.
  (:action pick
    :parameters (?obj - objective ?top - surface ?h - hand)
    :precondition (and (near ?top) (on ?obj ?top) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (on ?obj ?top)) (not (empty ?h))))

  ; The hand sets its item down on a surface.
  (:action place
    :parameters (?obj - objective ?top - surface ?h - hand)
    :precondition (and (near ?top) (grasp ?obj) (holds ?h ?obj))
    :effect (and (on ?obj ?top) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; An empty hand pulls the drawer open by its handle, and lets go.
  (:action open
    :parameters (?d - drawer ?h - hand)
    :precondition (and (near ?d) (empty ?h) (not (opened ?d)))
    :effect (opened ?d))

  ; An empty hand pushes the drawer shut by its handle.
  (:action close
    :parameters (?d - drawer ?h - hand)
    :precondition (and (near ?d) (empty ?h) (opened ?d))
    :effect (not (opened ?d)))

  ; An empty hand lifts an item out of an open drawer.
  (:action take_out
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (opened ?d) (in ?obj ?d) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (in ?obj ?d)) (not (empty ?h))))

  ; The hand sets its item down in an open drawer, which stays open.
  (:action put_in
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (opened ?d) (grasp ?obj) (holds ?h ?obj))
    :effect (and (in ?obj ?d) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; The same into a closed drawer, which is closed again afterwards. Opening and closing it, and
  ; setting the item aside meanwhile, are this action's own business: its motions restore all else.
  (:action stow
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (not (opened ?d)) (grasp ?obj) (holds ?h ?obj))
    :effect (and (in ?obj ?d) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; The closed hand pushes an item to another place on the same support: two surfaces of the scene may
  ; be parts of one.
  (:action push
    :parameters (?obj - objective ?from - surface ?to - surface ?h - hand)
    :precondition (and (near ?from) (on ?obj ?from) (empty ?h) (not (on ?obj ?to)))
    :effect (and (on ?obj ?to) (not (on ?obj ?from))))

  ; The closed hand pushes an item elsewhere on its surface, so that it stands in nothing's way.
  (:action push_aside
    :parameters (?obj - objective ?top - surface ?h - hand)
    :precondition (and (near ?top) (on ?obj ?top) (empty ?h))
    :effect (on ?obj ?top))

  ; What stands on the stove gets cooked while the robot attends to it.
  (:action cook
    :parameters (?obj - objective ?s - stove)
    :precondition (and (near ?s) (on ?obj ?s))
    :effect (cooked ?obj))

  ; What stands in the sink gets washed; a sink is a surface, its floor.
  (:action wash
    :parameters (?obj - objective ?s - sink)
    :precondition (and (near ?s) (on ?obj ?s))
    :effect (clean ?obj))
)
