------------------------- MODULE BrokenClassicGroup -------------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCClassicGroup

\* The assignor of a classic group assigns a partition to every member.
AssignorOverlaps == {[m \in members |-> Partitions]}

\* A classic group accepts commits at the previous generation.
OlderGenerationsAccepted(q) == q.member \in members /\ q.clientEpoch \in {generation - 1, generation}

\* A classic group accepts plain commits while a generation has no assignment yet.
AcceptedWhileRebalancing(q) == q.member \in members /\ q.clientEpoch = generation

=============================================================================
