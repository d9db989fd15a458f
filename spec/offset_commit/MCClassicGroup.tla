--------------------------- MODULE MCClassicGroup ---------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of ClassicGroup.        *)
(***************************************************************************)
EXTENDS ClassicGroup, TLC

\* Behaviours are followed up to this generation.
\* @type: Int;
CONSTANT MaxGroupEpoch

GenerationsBounded == generation <= MaxGroupEpoch

\* No member, partition or request is special.
Symmetry == Permutations(Members) \cup Permutations(Partitions)

=============================================================================
