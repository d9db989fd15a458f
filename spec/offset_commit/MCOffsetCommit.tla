--------------------------- MODULE MCOffsetCommit ---------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of OffsetCommit. The    *)
(* marked steps as TLC's properties come from OffsetCommitPropsMarked.     *)
(***************************************************************************)
EXTENDS OffsetCommitPropsMarked, TLC

\* Behaviours are followed up to this group epoch.
\* @type: Int;
CONSTANT MaxGroupEpoch

EpochsBounded == groupEpoch <= MaxGroupEpoch

\* No member, partition or request is special.
Symmetry == Permutations(Members) \cup Permutations(Partitions)

=============================================================================
