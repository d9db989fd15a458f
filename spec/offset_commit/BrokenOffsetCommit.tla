------------------------- MODULE BrokenOffsetCommit -------------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCOffsetCommit

\* What HeartbeatReachesTarget does, with another epoch.
Reaches(m, epoch) ==
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ ConfirmsRevocation(m)
    /\ memberEpoch[m] < targetAssignmentEpoch \/ Obtainable(m) # {} \/ ObtainableStandby(m) # {}
    /\ Unwanted(m) = {} /\ UnwantedStandby(m) = {}
    /\ Reconcile(m, Assigned(m) \cup Obtainable(m), {}, Standing(m) \cup ObtainableStandby(m), {}, epoch)
    /\ UNCHANGED <<groupVars, clientVars, storedVars, requests>>

\* A member moves to the group epoch although no assignment was computed for it yet.
MemberEpochAheadOfTarget(m) == Reaches(m, groupEpoch)

\* A member that releases partitions after a change of its subscription moves to the group epoch of its own change.
UnsubscribesIntoTheNextEpoch(m) ==
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ memberEpoch[m] = targetAssignmentEpoch
    /\ ~Revoking(m)
    /\ \E unwanted \in SUBSET Assigned(m) \ {{}} :
        /\ targetAssignment' = [targetAssignment EXCEPT ![m] = @ \ unwanted]
        /\ pendingRevocation' = [pendingRevocation EXCEPT ![m] = unwanted]
    /\ groupEpoch' = groupEpoch + 1
    /\ memberEpoch' = [memberEpoch EXCEPT ![m] = groupEpoch + 1]
    /\ UNCHANGED <<targetAssignmentEpoch, targetStandby>>
    /\ UNCHANGED <<revocationEpoch, owned, assignmentEpoch, partitionRevocationEpoch, standby, pendingStandby, gone>>
    /\ UNCHANGED <<clientVars, storedVars, requests>>

\* Completing a revocation raises the revocation epoch to the new member epoch instead of the old one.
RevocationEpochTooHigh(m, newEpoch) == IF pendingRevocation[m] # {} THEN newEpoch ELSE revocationEpoch[m]

\* A partition is assigned to its new owner before the old one has released it.
AssignedBeforeRelease(p, m) == TRUE

\* A partition enters the assignment at the group epoch, ahead of the target's.
AssignmentEpochFromGroup(m, p) == IF p \in Assigned(m) THEN assignmentEpoch[m][p] ELSE groupEpoch

\* Completing a revocation leaves the member's revocation epoch as it was.
RevocationEpochForgotten(m, newEpoch) == revocationEpoch[m]

\* The group epoch starts again when the topics change.
GroupEpochStartsAgain ==
    /\ Live # {}
    /\ groupEpoch' = 1
    /\ UNCHANGED <<targetAssignmentEpoch, targetAssignment, targetStandby, memberVars>>
    /\ UNCHANGED <<clientVars, storedVars, requests>>

\* An assignor that started at an earlier group epoch installs its result over a newer one.
LateAssignorWins ==
    /\ targetAssignmentEpoch < groupEpoch
    /\ targetAssignmentEpoch' \in 1..groupEpoch
    /\ targetAssignment' \in Assignments
    /\ targetStandby' = [m \in Live |-> Standbys(m)]
    /\ UNCHANGED <<groupEpoch, memberVars, clientVars, storedVars, requests>>

\* Confirming a revocation sets the member epoch back to the one after its last revocation.
MemberEpochStartsAgain(m) ==
    Reaches(m, IF pendingRevocation[m] # {} THEN revocationEpoch[m] + 1 ELSE targetAssignmentEpoch)

\* The coordinator accepts every older epoch, whatever the member owns.
OlderEpochsAccepted(q, p) == q.clientEpoch < 0 \/ (q.member \in Live /\ q.clientEpoch <= memberEpoch[q.member])

\* The epoch at which a partition was revoked is not stored.
PartitionRevocationForgotten(m) == partitionRevocationEpoch[m]

\* A partition that a member gets back keeps the assignment epoch of its earlier assignment.
AssignmentEpochFromBefore(m, p) ==
    IF p \in Assigned(m) THEN assignmentEpoch[m][p]
    ELSE IF p \in DOMAIN partitionRevocationEpoch[m] THEN partitionRevocationEpoch[m][p]
    ELSE targetAssignmentEpoch

\* Records without assignment epochs, as 4.2 writes them: every partition counts as assigned at the member epoch.
AssignmentEpochsNotStored(m, p) == memberEpoch'[m]

\* The revocation of a standby task raises ActiveTaskRevocationEpoch.
StandbyRevocationCounts(m, newEpoch) ==
    IF Revoking(m) /\ newEpoch > memberEpoch[m] THEN memberEpoch[m] ELSE revocationEpoch[m]

\* A coordinator that should follow KIP-1251 answers by the strict rule.
AnswersByTheOtherRule(q, p) == q.clientEpoch < 0 \/ (q.member \in Live /\ q.clientEpoch = memberEpoch[q.member])

\* A refused commit in a transaction is answered with the error of member epochs, which its API does not have.
GenerationsForMembers(q) == IF q.member \notin Live THEN "UNKNOWN_MEMBER_ID" ELSE "STALE_MEMBER_EPOCH"

\* A coordinator that should compare with the partition's revocation epoch compares with the member's.
AnswersByTheOtherProposal(m, p, epoch) == revocationEpoch[m] < epoch

\* A client breaks the proposal's rule and commits before it knows the next epoch.
CommitsAfterRevoking(m) == TRUE

\* A transactional commit that becomes final replaces an offset that was stored after it.
LateMarkerWins(pendingAt, at) == pendingAt

=============================================================================
