------------------------------- MODULE Epochs -------------------------------
(***************************************************************************)
(* What is measured: two epochs, an order between them, and that neither   *)
(* falls. Small enough that what it costs is the trace, not the formula.   *)
(***************************************************************************)
EXTENDS Integers

VARIABLES
    \* @type: MEMBER -> Int;
    memberEpoch,
    \* @type: Int;
    groupEpoch

\* No member is ahead of its group.
\* @invariant("members_within_group", "critical", "member")
MembersWithinGroup ==
    \A m \in DOMAIN memberEpoch : memberEpoch[m] <= groupEpoch

\* The epoch of a member never falls.
\* @step("member_epoch_never_falls", "critical", "member")
\* @transitive
MemberEpochNeverFalls ==
    \A m \in DOMAIN memberEpoch \cap DOMAIN memberEpoch' : memberEpoch'[m] >= memberEpoch[m]

\* The epoch of the group never falls.
\* @step("group_epoch_never_falls", "critical", "group")
\* @transitive
GroupEpochNeverFalls == groupEpoch' >= groupEpoch

=============================================================================
