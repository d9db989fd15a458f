------------------------- MODULE HeartbeatProps -------------------------
(* The smallest protocol: what members of classic groups say in heartbeats. *)
EXTENDS Integers

VARIABLE
    \* @type: MEMBER -> Int;
    generation

\* A member of a group heartbeats with a generation that a coordinator gave it: none is below zero.
\*
\* On call: the client is broken, nobody else sends such a generation.
\* @invariant("heartbeat_has_a_generation", "critical", "member")
HeartbeatHasAGeneration == \A m \in DOMAIN generation : generation[m] >= 0
=========================================================================
