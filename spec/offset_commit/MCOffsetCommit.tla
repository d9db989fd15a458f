--------------------------- MODULE MCOffsetCommit ---------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of OffsetCommit, and    *)
(* the marked steps as the properties that TLC checks.                     *)
(***************************************************************************)
EXTENDS OffsetCommitProps, TLC

\* Behaviours are followed up to this group epoch.
\* @type: Int;
CONSTANT MaxGroupEpoch

EpochsBounded == groupEpoch <= MaxGroupEpoch

\* No member, partition or request is special.
Symmetry == Permutations(Members) \cup Permutations(Partitions)

GroupEpochNeverFallsProp            == [][GroupEpochNeverFalls]_vars
TargetAssignmentEpochNeverFallsProp == [][TargetAssignmentEpochNeverFalls]_vars
MemberEpochNeverFallsProp           == [][MemberEpochNeverFalls]_vars

=============================================================================
