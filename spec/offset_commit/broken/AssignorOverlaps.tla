-------------------------- MODULE AssignorOverlaps --------------------------
\* The assignor of a classic group gives a partition to every member.
EXTENDS MCClassicGroup

BrokenClassicAssignments == {[m \in members |-> Partitions]}

=============================================================================
