---------------------------- MODULE OffsetCommit ----------------------------
(***************************************************************************)
(* How a consumer group (KIP-848) moves its members and partitions, and    *)
(* how the group coordinator decides an offset commit.                     *)
(*                                                                         *)
(* A commit carries the member epoch its client believed in when it was    *)
(* sent. It may be delayed for as long as anyone likes: that is how a      *)
(* zombie commit comes about. The coordinator decides by the rule of its   *)
(* version (constant Rule):                                                *)
(*                                                                         *)
(*   "strict"            KIP-848: the member's current epoch, no other     *)
(*   "assignment_epoch"  KIP-1251: also an older epoch, for a partition    *)
(*                       that has been assigned since that epoch or before *)
(*                                                                         *)
(* The revocation epochs that KAFKA-19779 proposed instead are derived     *)
(* here by the proposal's own transitions, although no broker stores them. *)
(*                                                                         *)
(* Reconciliation follows the broker's CurrentAssignmentBuilder, and the   *)
(* decision follows ConsumerGroup.validateOffsetCommit. Left out: static   *)
(* members, subscriptions and regular expressions, classic members in a    *)
(* group under migration, heartbeats sent again after a lost response      *)
(* (their member epochs are reached through a late response as well).      *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

\* @typeAlias: inFlight = {request: REQUEST, member: MEMBER, clientEpoch: Int, partitions: Set(PARTITION)};
\* @typeAlias: ownership = <<MEMBER, PARTITION, Int>>;
\* @typeAlias: commit = {request: REQUEST, member: MEMBER, partition: PARTITION, clientEpoch: Int, accepted: Bool, fenced: Bool, rule: Str, unfenced: Bool, memberKnown: Bool, memberEpoch: Int, revocationEpoch: Int, partitionRevocationEpoch: Int, assignmentEpoch: Int, ownedAtClientEpoch: Bool, uninterrupted: Bool, reassignedSince: Bool, ownedBySelf: Bool, ownedByAnother: Bool};

\* The member ids that clients may take.
\* @type: Set(MEMBER);
CONSTANT Members

\* The partitions of the subscribed topics.
\* @type: Set(PARTITION);
CONSTANT Partitions

\* The commit requests that may be in flight at once.
\* @type: Set(REQUEST);
CONSTANT Requests

\* The rule by which this coordinator decides commits: "strict" or "assignment_epoch".
\* @type: Str;
CONSTANT Rule

\* At most this many partitions in one commit request.
\* @type: Int;
CONSTANT PartitionsPerRequest

\* TRUE: a member that has released partitions never stays in the epoch in which it owned them (KIP-848, brokers
\* up to 4.1). FALSE: it stays when the newer target takes further partitions from it (from 4.2, KAFKA-19974).
\* @type: Bool;
CONSTANT EpochMovesOnRelease

\* TRUE: a client that left or was fenced may join again under the same member id.
\* @type: Bool;
CONSTANT MemberIdsUsedAgain

\* TRUE: a client may commit, at the epoch it believes in, for partitions it does not own.
\* @type: Bool;
CONSTANT RogueClients

ASSUME Rule \in {"strict", "assignment_epoch"}
ASSUME EpochMovesOnRelease \in BOOLEAN /\ MemberIdsUsedAgain \in BOOLEAN /\ RogueClients \in BOOLEAN
ASSUME PartitionsPerRequest \in Nat \ {0}

-----------------------------------------------------------------------------
(***************************************************************************)
(* What the coordinator knows, as far as its log shows it.                 *)
(***************************************************************************)

\* The group epoch: grows when membership, subscriptions or topic metadata change.
\* @type: Int;
VARIABLE groupEpoch

\* The group epoch for which the newest target assignment was computed.
\* @type: Int;
VARIABLE targetAssignmentEpoch

\* The epoch of every live member. Its DOMAIN is the set of live members.
\* @type: MEMBER -> Int;
VARIABLE memberEpoch

\* KAFKA-19779: the largest epoch a live member left behind by completing a revocation; 0 when there was none.
\* @type: MEMBER -> Int;
VARIABLE revocationEpoch

\* The partitions of every live member: assigned to it, or waiting for it to confirm their revocation.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE owned

\* KIP-1251: the target assignment epoch at which an owned partition entered the member's assignment.
\* @type: MEMBER -> PARTITION -> Int;
VARIABLE assignmentEpoch

\* KAFKA-19779, per partition: the largest epoch at which it was revoked. Holds partitions ever revoked, no others.
\* @type: MEMBER -> PARTITION -> Int;
VARIABLE partitionRevocationEpoch

\* The commits decided in the last step, one per partition of the request, with the state they met. Earlier
\* ones are forgotten: no definition compares commits of two requests, and the state space stays small.
\* @type: Set($commit);
VARIABLE commits

(***************************************************************************)
(* The rest of the coordinator, the clients, the network.                  *)
(***************************************************************************)

\* The target assignment of every live member.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE targetAssignment

\* The owned partitions whose revocation the member has yet to confirm.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE pendingRevocation

\* The member ids that left or were fenced.
\* @type: Set(MEMBER);
VARIABLE gone

\* The member epoch each client believes in; 0 when it believes it is no member.
\* @type: MEMBER -> Int;
VARIABLE clientEpoch

\* The partitions each client consumes.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE clientOwned

\* Commit requests that were sent and not decided.
\* @type: Set($inFlight);
VARIABLE requests

(***************************************************************************)
(* The truth about ownership, kept from the history of `owned` alone: a    *)
(* triple says that the member owned the partition at that member epoch.   *)
(* Triples that no client can present any more are forgotten.              *)
(***************************************************************************)

\* ... and has owned it without a break since.
\* @type: Set($ownership);
VARIABLE held

\* ... has lost it since, and no other member has had it after that.
\* @type: Set($ownership);
VARIABLE lost

\* ... has lost it since, and another member has had it after that.
\* @type: Set($ownership);
VARIABLE taken

groupVars  == <<groupEpoch, targetAssignmentEpoch, targetAssignment>>
memberVars == <<memberEpoch, revocationEpoch, owned, pendingRevocation, assignmentEpoch,
                partitionRevocationEpoch, gone>>
clientVars == <<clientEpoch, clientOwned>>
truthVars  == <<held, lost, taken>>
vars       == <<groupVars, memberVars, clientVars, truthVars, requests, commits>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Partial functions.                                                      *)
(***************************************************************************)

With(f, x, value) == [y \in DOMAIN f \cup {x} |-> IF y = x THEN value ELSE f[y]]
Without(f, x)     == [y \in DOMAIN f \ {x} |-> f[y]]
Empty             == [x \in {} |-> 0]

Live == DOMAIN memberEpoch

\* The partitions assigned to m, without those it is giving up.
Assigned(m) == owned[m] \ pendingRevocation[m]

\* Nobody owns p; what m itself is giving up counts as free for m (KAFKA-19449).
Free(p, m) == \A n \in Live : p \in owned[n] => n = m /\ p \in pendingRevocation[m]

\* The state of a member as the broker's MemberState names it.
MemberState(m) ==
    CASE pendingRevocation[m] # {}             -> "UNREVOKED_PARTITIONS"
      [] Assigned(m) # targetAssignment[m]
         /\ memberEpoch[m] = targetAssignmentEpoch -> "UNRELEASED_PARTITIONS"
      [] OTHER                                 -> "STABLE"

-----------------------------------------------------------------------------
(***************************************************************************)
(* The truth about ownership after a step, from `owned` before and after.  *)
(***************************************************************************)

\* m gives up p in this step. What was pending and is assigned again was given up by the client in between.
GivesUp(m, p) ==
    /\ m \in Live
    /\ p \in owned[m]
    /\ \/ m \notin DOMAIN owned'
       \/ p \notin owned'[m]
       \/ p \in pendingRevocation[m] \ pendingRevocation'[m]

\* A commit at this member epoch is in flight or can still be sent.
Presentable(m, epoch) ==
    \/ epoch = clientEpoch'[m]
    \/ m \in DOMAIN memberEpoch' /\ epoch > clientEpoch'[m]
    \/ \E q \in requests' : q.member = m /\ q.clientEpoch = epoch

\* The last conjunct of every action: it compares `owned` before and after.
RecordTruth ==
    LET keep(triples)  == {t \in triples : Presentable(t[1], t[3])}
        broken         == {t \in held : GivesUp(t[1], t[2])}
        anothers(t)    == \E n \in DOMAIN owned' \ {t[1]} : t[2] \in owned'[n]
        now            == UNION {{<<m, p, memberEpoch'[m]>> : p \in owned'[m]} : m \in DOMAIN owned'}
    IN  /\ held' = keep((held \ broken) \cup now)
        /\ lost' = keep({t \in lost \cup broken : ~anothers(t)})
        /\ taken' = keep(taken \cup {t \in lost \cup broken : anothers(t)})

-----------------------------------------------------------------------------
(***************************************************************************)
(* The group. Epoch 1 is the reserved empty assignment (KAFKA-20268).      *)
(***************************************************************************)

Init ==
    /\ groupEpoch = 1
    /\ targetAssignmentEpoch = 1
    /\ targetAssignment = Empty
    /\ memberEpoch = Empty
    /\ revocationEpoch = Empty
    /\ owned = Empty
    /\ pendingRevocation = Empty
    /\ assignmentEpoch = Empty
    /\ partitionRevocationEpoch = Empty
    /\ gone = {}
    /\ clientEpoch = [m \in Members |-> 0]
    /\ clientOwned = [m \in Members |-> {}]
    /\ requests = {}
    /\ commits = {}
    /\ held = {}
    /\ lost = {}
    /\ taken = {}

\* A client heartbeats with epoch 0. The coordinator takes it in at the epoch of the target assignment that
\* exists; the target that gives it partitions is computed later (KIP-1263), or in the next step.
Join(m) ==
    \* enabling conditions
    /\ m \notin Live
    /\ clientEpoch[m] = 0
    /\ MemberIdsUsedAgain \/ m \notin gone
    \* state changes
    /\ groupEpoch' = groupEpoch + 1
    /\ targetAssignment' = With(targetAssignment, m, {})
    /\ memberEpoch' = With(memberEpoch, m, targetAssignmentEpoch)
    /\ revocationEpoch' = With(revocationEpoch, m, 0)
    /\ owned' = With(owned, m, {})
    /\ pendingRevocation' = With(pendingRevocation, m, {})
    /\ assignmentEpoch' = With(assignmentEpoch, m, Empty)
    /\ partitionRevocationEpoch' = With(partitionRevocationEpoch, m, Empty)
    /\ commits' = {}
    /\ UNCHANGED <<targetAssignmentEpoch, gone, clientVars, requests>>
    /\ RecordTruth

\* The group epoch after a member is gone.
GroupEpochAfterRemoving(m) == groupEpoch + 1

\* The coordinator forgets m; its partitions are free at once.
Remove(m) ==
    /\ groupEpoch' = GroupEpochAfterRemoving(m)
    /\ targetAssignment' = Without(targetAssignment, m)
    /\ memberEpoch' = Without(memberEpoch, m)
    /\ revocationEpoch' = Without(revocationEpoch, m)
    /\ owned' = Without(owned, m)
    /\ pendingRevocation' = Without(pendingRevocation, m)
    /\ assignmentEpoch' = Without(assignmentEpoch, m)
    /\ partitionRevocationEpoch' = Without(partitionRevocationEpoch, m)
    /\ gone' = gone \cup {m}
    /\ UNCHANGED targetAssignmentEpoch

\* A client leaves: heartbeat with epoch -1, after it stopped consuming.
Leave(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ clientEpoch[m] > 0
    \* state changes
    /\ Remove(m)
    /\ clientEpoch' = [clientEpoch EXCEPT ![m] = 0]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = {}]
    /\ commits' = {}
    /\ UNCHANGED requests
    /\ RecordTruth

\* The coordinator drops m: no heartbeat within the session timeout, or no confirmation of a revocation within the
\* rebalance timeout. The client does not know yet.
Fence(m) ==
    \* enabling conditions
    /\ m \in Live
    \* state changes
    /\ Remove(m)
    /\ commits' = {}
    /\ UNCHANGED <<clientVars, requests>>
    /\ RecordTruth

\* Subscribed topics changed, or their partitions did.
BumpGroupEpoch ==
    \* enabling conditions
    /\ Live # {}
    \* state changes
    /\ groupEpoch' = groupEpoch + 1
    /\ commits' = {}
    /\ UNCHANGED <<targetAssignmentEpoch, targetAssignment, memberVars, clientVars, requests>>
    /\ RecordTruth

\* Every way to give each partition to one live member.
Assignments ==
    IF Live = {}
    THEN {Empty}
    ELSE {[m \in Live |-> {p \in Partitions : to[p] = m}] : to \in [Partitions -> Live]}

\* The epochs for which a finished assignment may be installed.
InstallableEpochs == {groupEpoch}

\* The assignor has finished.
UpdateTargetAssignment ==
    \* enabling conditions
    /\ targetAssignmentEpoch < groupEpoch
    \* state changes
    /\ targetAssignmentEpoch' \in InstallableEpochs
    /\ targetAssignment' \in Assignments
    /\ commits' = {}
    /\ UNCHANGED <<groupEpoch, memberVars, clientVars, requests>>
    /\ RecordTruth

-----------------------------------------------------------------------------
(***************************************************************************)
(* A member's heartbeat: reconciliation with the target assignment.        *)
(***************************************************************************)

\* The client has received the answer to its last heartbeat.
HeardLastResponse(m) == clientEpoch[m] = memberEpoch[m] /\ Assigned(m) \subseteq clientOwned[m]

\* The heartbeat reports none of the partitions whose revocation was asked for.
ConfirmsRevocation(m) == pendingRevocation[m] \cap clientOwned[m] = {}

\* Partitions that the target assignment takes from m.
Unwanted(m) == Assigned(m) \ targetAssignment[m]

\* Partitions that the target assignment gives to m and that m can have now.
Obtainable(m) == {p \in targetAssignment[m] \ Assigned(m) : Free(p, m)}

\* The epoch of m when it has nothing left to revoke.
EpochReached(m) == targetAssignmentEpoch

\* The epoch of m when it has just released partitions and must revoke more.
EpochWhileRevokingMore(m) ==
    IF pendingRevocation[m] # {} /\ EpochMovesOnRelease THEN memberEpoch[m] + 1 ELSE memberEpoch[m]

\* KAFKA-19779: completing a revocation leaves the old member epoch as the revocation epoch.
RevocationEpochAfter(m, newEpoch) ==
    IF pendingRevocation[m] # {} /\ newEpoch > memberEpoch[m] THEN memberEpoch[m] ELSE revocationEpoch[m]

\* The same per partition, for every partition that m releases in this step.
PartitionRevocationEpochsAfter(m) ==
    [p \in DOMAIN partitionRevocationEpoch[m] \cup pendingRevocation[m] |->
        IF p \in pendingRevocation[m] THEN memberEpoch[m] ELSE partitionRevocationEpoch[m][p]]

\* KIP-1251: a partition keeps the epoch at which it was assigned; a new one gets the target assignment epoch.
AssignmentEpochAfter(m, p) ==
    IF p \in Assigned(m) THEN assignmentEpoch[m][p] ELSE targetAssignmentEpoch

\* The new record of m: what it keeps or gains, what it is asked to revoke, its epoch.
Reconcile(m, assigned, pending, newEpoch) ==
    /\ memberEpoch' = [memberEpoch EXCEPT ![m] = newEpoch]
    /\ owned' = [owned EXCEPT ![m] = assigned \cup pending]
    /\ pendingRevocation' = [pendingRevocation EXCEPT ![m] = pending]
    /\ assignmentEpoch' = [assignmentEpoch EXCEPT ![m] =
                              [p \in assigned \cup pending |-> AssignmentEpochAfter(m, p)]]
    /\ revocationEpoch' = [revocationEpoch EXCEPT ![m] = RevocationEpochAfter(m, newEpoch)]
    /\ partitionRevocationEpoch' = [partitionRevocationEpoch EXCEPT ![m] = PartitionRevocationEpochsAfter(m)]
    /\ UNCHANGED gone

\* The target takes partitions from m: it is asked to revoke them and becomes UNREVOKED_PARTITIONS. Partitions whose
\* revocation the same heartbeat confirms are released.
HeartbeatStartsRevocation(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ ConfirmsRevocation(m)
    /\ memberEpoch[m] < targetAssignmentEpoch
    /\ Unwanted(m) # {}
    \* state changes
    /\ Reconcile(m, Assigned(m) \ Unwanted(m), Unwanted(m), EpochWhileRevokingMore(m))
    /\ commits' = {}
    /\ UNCHANGED <<groupVars, clientVars, requests>>
    /\ RecordTruth

\* Nothing (more) is taken from m: it moves to the target assignment epoch with every partition it can have. It becomes
\* STABLE, or UNRELEASED_PARTITIONS when others have yet to release some.
HeartbeatReachesTarget(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ ConfirmsRevocation(m)
    /\ memberEpoch[m] < targetAssignmentEpoch \/ Obtainable(m) # {}
    /\ Unwanted(m) = {}
    \* state changes
    /\ Reconcile(m, Assigned(m) \cup Obtainable(m), {}, EpochReached(m))
    /\ commits' = {}
    /\ UNCHANGED <<groupVars, clientVars, requests>>
    /\ RecordTruth

-----------------------------------------------------------------------------
(***************************************************************************)
(* The client.                                                             *)
(***************************************************************************)

\* The answer to the last heartbeat arrives: new epoch, new partitions.
ReceiveHeartbeatResponse(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ ~HeardLastResponse(m)
    \* state changes
    /\ clientEpoch' = [clientEpoch EXCEPT ![m] = memberEpoch[m]]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = @ \cup Assigned(m)]
    /\ commits' = {}
    /\ UNCHANGED <<groupVars, memberVars, requests>>
    /\ RecordTruth

\* The client gives up what it was asked to, after onPartitionsRevoked has returned.
RevokePartitions(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ pendingRevocation[m] \cap clientOwned[m] # {}
    \* state changes
    /\ clientOwned' = [clientOwned EXCEPT ![m] = @ \ pendingRevocation[m]]
    /\ commits' = {}
    /\ UNCHANGED <<groupVars, memberVars, clientEpoch, requests>>
    /\ RecordTruth

\* A fenced client learns that it is no member any more.
LearnFencing(m) ==
    \* enabling conditions
    /\ m \notin Live
    /\ clientEpoch[m] > 0
    \* state changes
    /\ clientEpoch' = [clientEpoch EXCEPT ![m] = 0]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = {}]
    /\ commits' = {}
    /\ UNCHANGED <<groupVars, memberVars, requests>>
    /\ RecordTruth

\* What a client commits for: a correct one only for what it consumes.
Committable(m) == IF RogueClients THEN Partitions ELSE clientOwned[m]

\* The client commits, at the epoch it believes in. The request may arrive at any later time.
SendCommit(r, m) ==
    \* enabling conditions
    /\ clientEpoch[m] > 0
    /\ \A q \in requests : q.request # r
    \* state changes
    /\ \E chosen \in SUBSET Committable(m) :
        /\ Cardinality(chosen) \in 1..PartitionsPerRequest
        /\ requests' = requests \cup
            {[request |-> r, member |-> m, clientEpoch |-> clientEpoch[m], partitions |-> chosen]}
    /\ commits' = {}
    /\ UNCHANGED <<groupVars, memberVars, clientVars>>
    /\ RecordTruth

-----------------------------------------------------------------------------
(***************************************************************************)
(* The coordinator decides commits.                                        *)
(***************************************************************************)

\* ConsumerGroup.validateOffsetCommit, in its order: a client outside the group protocol and an empty group; unknown
\* member; the current epoch; a newer one; an older one, by this coordinator's rule.
Admits(q, p) ==
    IF q.clientEpoch < 0 /\ Live = {} THEN TRUE
    ELSE IF q.member \notin Live THEN FALSE
    ELSE IF q.clientEpoch = memberEpoch[q.member] THEN TRUE
    ELSE IF q.clientEpoch > memberEpoch[q.member] THEN FALSE
    ELSE IF Rule = "strict" THEN FALSE
    ELSE p \in owned[q.member] /\ assignmentEpoch[q.member][p] <= q.clientEpoch

\* One refused partition refuses the whole request.
Answer(q) == \A p \in q.partitions : Admits(q, p)

\* The commit of partition p in request q, with the state it meets and the truth about it.
Meeting(q, p, accepted) ==
    LET m == q.member
        known == m \in Live
        owns == known /\ p \in owned[m]
        then == <<m, p, q.clientEpoch>>
    IN  [request                  |-> q.request,
         member                   |-> m,
         partition                |-> p,
         clientEpoch              |-> q.clientEpoch,
         accepted                 |-> accepted,
         fenced                   |-> ~accepted,
         rule                     |-> Rule,
         unfenced                 |-> q.clientEpoch < 0 /\ Live = {},
         memberKnown              |-> known,
         memberEpoch              |-> IF known THEN memberEpoch[m] ELSE -1,
         revocationEpoch          |-> IF known THEN revocationEpoch[m] ELSE -1,
         partitionRevocationEpoch |-> IF ~known THEN -1
                                      ELSE IF p \in DOMAIN partitionRevocationEpoch[m]
                                           THEN partitionRevocationEpoch[m][p] ELSE 0,
         assignmentEpoch          |-> IF owns THEN assignmentEpoch[m][p] ELSE -1,
         ownedAtClientEpoch       |-> then \in held \cup lost \cup taken,
         uninterrupted            |-> then \in held,
         reassignedSince          |-> then \in taken,
         ownedBySelf              |-> owns,
         ownedByAnother           |-> \E n \in Live \ {m} : p \in owned[n]]

\* A request arrives and is decided.
DecideCommit(q) ==
    \* enabling conditions
    /\ q \in requests
    \* state changes
    /\ requests' = requests \ {q}
    /\ commits' = {Meeting(q, p, Answer(q)) : p \in q.partitions}
    /\ UNCHANGED <<groupVars, memberVars, clientVars>>
    /\ RecordTruth

\* A client that assigns partitions to itself, or an admin tool, commits to a group without members: epoch -1, nothing
\* to be fenced by. Whatever member id it names is not looked at.
CommitToEmptyGroup(r, m, p) ==
    \* enabling conditions
    /\ Live = {}
    /\ \A q \in requests : q.request # r
    \* state changes
    /\ LET q == [request |-> r, member |-> m, clientEpoch |-> -1, partitions |-> {p}]
       IN  commits' = {Meeting(q, p, Answer(q))}
    /\ UNCHANGED <<groupVars, memberVars, clientVars, requests>>
    /\ RecordTruth

-----------------------------------------------------------------------------

GroupStep ==
    \/ BumpGroupEpoch
    \/ UpdateTargetAssignment
    \/ \E m \in Members :
        \/ Join(m)
        \/ Leave(m)
        \/ Fence(m)
        \/ HeartbeatStartsRevocation(m)
        \/ HeartbeatReachesTarget(m)

ClientStep ==
    \E m \in Members :
        \/ ReceiveHeartbeatResponse(m)
        \/ RevokePartitions(m)
        \/ LearnFencing(m)
        \/ \E r \in Requests : SendCommit(r, m)

CommitStep ==
    \/ \E q \in requests : DecideCommit(q)
    \/ \E r \in Requests : \E m \in Members : \E p \in Partitions : CommitToEmptyGroup(r, m, p)

Next == GroupStep \/ ClientStep \/ CommitStep

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(***************************************************************************)
(* The types above, for TLC.                                               *)
(***************************************************************************)

TypeOK ==
    /\ {groupEpoch, targetAssignmentEpoch} \subseteq Nat
    /\ Live \subseteq Members
    /\ \A f \in {DOMAIN revocationEpoch, DOMAIN owned, DOMAIN pendingRevocation, DOMAIN assignmentEpoch,
                 DOMAIN partitionRevocationEpoch, DOMAIN targetAssignment} : f = Live
    /\ \A m \in Live :
        /\ {memberEpoch[m], revocationEpoch[m]} \subseteq Nat
        /\ owned[m] \cup targetAssignment[m] \subseteq Partitions
        /\ pendingRevocation[m] \subseteq owned[m]
        /\ DOMAIN assignmentEpoch[m] = owned[m]
        /\ DOMAIN partitionRevocationEpoch[m] \subseteq Partitions
        /\ MemberState(m) \in {"STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"}
        /\ MemberState(m) = "UNREVOKED_PARTITIONS" => memberEpoch[m] < targetAssignmentEpoch
    /\ gone \subseteq Members
    /\ \A c \in commits : c.accepted # c.fenced
    /\ held \cap (lost \cup taken) = {}

=============================================================================
