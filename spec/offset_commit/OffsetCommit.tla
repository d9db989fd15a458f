---------------------------- MODULE OffsetCommit ----------------------------
(***************************************************************************)
(* How a consumer group (KIP-848) or a streams group (KIP-1071) moves its  *)
(* members and partitions, and how the group coordinator decides an offset *)
(* commit. ClassicGroup has the classic groups.                            *)
(*                                                                         *)
(* A commit carries the member epoch its client believed in when it was    *)
(* sent. It may be delayed for as long as anyone likes: that is how a      *)
(* zombie commit comes about. The coordinator decides by its rule          *)
(* (constant Rule):                                                        *)
(*                                                                         *)
(*   "strict"                KIP-848: the member's current epoch, no other *)
(*   "assignment_epoch"      KIP-1251: also an older epoch, for a          *)
(*                           partition assigned since then or before       *)
(*   "member_revocation"     KAFKA-19779: also an older epoch, if the      *)
(*                           member has revoked nothing since              *)
(*   "partition_revocation"  the same of this one partition                *)
(*                                                                         *)
(* The last two were proposed and no broker has them. The revocation       *)
(* epochs they compare follow the proposal's own transitions, in every     *)
(* model and in the audit of every cluster.                                *)
(*                                                                         *)
(* In a streams group what a member owns are its active tasks: PARTITION   *)
(* stands for the source partition of one. Standby tasks (constant         *)
(* StandbyTasks) are asked for and revoked like active ones and move the   *)
(* member's epoch, but nobody commits for them: ActiveTaskRevocationEpoch, *)
(* here revocationEpoch, does not move with them. A warm-up task behaves   *)
(* as a standby task does.                                                 *)
(*                                                                         *)
(* A commit may belong to a transaction (constant Transactions): refused,  *)
(* it dooms the transaction; accepted, it is pending until the transaction *)
(* ends and then stored, unless a newer one has been stored meanwhile.     *)
(*                                                                         *)
(* Reconciliation follows the broker's two CurrentAssignmentBuilders, and  *)
(* the decision follows ConsumerGroup.validateOffsetCommit and its twin in *)
(* StreamsGroup. A member that changes its subscription only gives up      *)
(* partitions (constant ReleasesUnsubscribed): nothing keeps a later       *)
(* target from giving them back, as if it subscribed again. Left out:      *)
(* static members, subscriptions otherwise, topologies and regular         *)
(* expressions, classic members in a group under migration, groups that    *)
(* are gone, requests older than OffsetCommit v9 (what these four are      *)
(* answered is in the properties all the same), heartbeats sent again      *)
(* after a lost response (their member epochs are reached through a late   *)
(* response as well), several members in a process.                        *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

\* @typeAlias: inFlight = {request: REQUEST, member: MEMBER, clientEpoch: Int, transactional: Bool, partitions: Set(PARTITION)};
\* @typeAlias: ownership = <<MEMBER, PARTITION, Int>>;
\* @typeAlias: commit = {request: REQUEST, member: MEMBER, partition: PARTITION, clientEpoch: Int, accepted: Bool, fenced: Bool, error: Str, apiVersion: Int, transactional: Bool, protocol: Str, rule: Str, rebalancing: Bool, unfenced: Bool, groupKnown: Bool, memberKnown: Bool, classicMember: Bool, instanceFenced: Bool, memberEpoch: Int, revocationEpoch: Int, partitionRevocationEpoch: Int, assignmentEpoch: Int, ownedAtClientEpoch: Bool, uninterrupted: Bool, reassignedSince: Bool, ownedBySelf: Bool, ownedByAnother: Bool};

\* The member ids that clients may take.
\* @type: Set(MEMBER);
CONSTANT Members

\* The partitions of the subscribed topics; of a streams group, the source partitions of its tasks.
\* @type: Set(PARTITION);
CONSTANT Partitions

\* The commit requests that may be in flight at once.
\* @type: Set(REQUEST);
CONSTANT Requests

\* What kind of group this is: "consumer" or "streams" ("classic" in ClassicGroup).
\* @type: Str;
CONSTANT GroupProtocol

\* The rule by which this coordinator decides commits, see above ("generation" in ClassicGroup).
\* @type: Str;
CONSTANT Rule

\* At most this many partitions in one commit request.
\* @type: Int;
CONSTANT PartitionsPerRequest

\* TRUE: a member that has released partitions never stays in the epoch in which it owned them (KIP-848: consumer
\* groups on brokers up to 4.1, streams groups up to 4.3 at least). FALSE: it stays when the newer target takes further
\* partitions from it (consumer groups from 4.2, KAFKA-19974).
\* @type: Bool;
CONSTANT EpochMovesOnRelease

\* TRUE: what a member does not subscribe to any more is taken from it at once, in the epoch that it has, while the
\* next target assignment is yet to come (consumer groups from 4.2, KAFKA-19431). FALSE: only a newer target takes
\* partitions away.
\* @type: Bool;
CONSTANT ReleasesUnsubscribed

\* TRUE: each task has a standby with every member that does not have it active (streams groups).
\* @type: Bool;
CONSTANT StandbyTasks

\* TRUE: commits may belong to transactions, which are followed to their end.
\* @type: Bool;
CONSTANT Transactions

\* TRUE: clients keep the rule that KAFKA-19779 proposes for them. They remember the epoch at which
\* onPartitionsRevoked (onTasksRevoked) was called, and once it has returned they do not commit until they hear of
\* another epoch. What they commit inside the callback is as good as any other commit.
\* @type: Bool;
CONSTANT ClientRule

\* FALSE: a commit is decided before its client confirms a revocation: "in the absence of the commit requests
\* actually being delayed", says the proposal of what its client rule achieves. A client has that when it waits in
\* the callback for the answers to its commits and none runs into a timeout.
\* @type: Bool;
CONSTANT DelayedRequests

\* TRUE: a client that left or was fenced may join again under the same member id.
\* @type: Bool;
CONSTANT MemberIdsUsedAgain

\* TRUE: a client may commit, at the epoch it believes in, for partitions it does not own.
\* @type: Bool;
CONSTANT RogueClients

ASSUME GroupProtocol \in {"classic", "consumer", "streams"}
ASSUME Rule \in {"generation", "strict", "member_revocation", "partition_revocation", "assignment_epoch"}
ASSUME (GroupProtocol = "classic") <=> (Rule = "generation")
ASSUME StandbyTasks \in BOOLEAN /\ (StandbyTasks => GroupProtocol = "streams")
ASSUME Transactions \in BOOLEAN /\ ClientRule \in BOOLEAN /\ DelayedRequests \in BOOLEAN
ASSUME ReleasesUnsubscribed \in BOOLEAN /\ (ReleasesUnsubscribed => GroupProtocol = "consumer")
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

\* The partitions of every live member: assigned to it, or waiting for it to confirm their revocation. In a streams
\* group its active tasks.
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

\* The standby tasks that the target assignment gives to every live member.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE targetStandby

\* The standby tasks of every live member: assigned to it, or waiting for it to confirm their revocation.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE standby

\* The standby tasks whose revocation the member has yet to confirm.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE pendingStandby

\* The member ids that left or were fenced.
\* @type: Set(MEMBER);
VARIABLE gone

\* The member epoch each client believes in; 0 when it believes it is no member.
\* @type: MEMBER -> Int;
VARIABLE clientEpoch

\* The partitions each client consumes.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE clientOwned

\* The epoch at which each client last gave up partitions, until it hears of the next; 0 otherwise, and for clients
\* that do not keep the proposal's rule.
\* @type: MEMBER -> Int;
VARIABLE clientRevocationEpoch

\* Commit requests that were sent and not decided.
\* @type: Set($inFlight);
VARIABLE requests

(***************************************************************************)
(* Transactions and what is stored. A position is the place of a commit's  *)
(* record in the coordinator's log.                                        *)
(***************************************************************************)

\* The transaction of each client's producer: "none", "ongoing", or "doomed" when one of its commits was refused.
\* @type: MEMBER -> Str;
VARIABLE transaction

\* The positions of the commits that were accepted in a transaction which has not ended.
\* @type: MEMBER -> PARTITION -> Int;
VARIABLE pendingOffsets

\* The position of the commit that is stored for each partition; 0 when there is none.
\* @type: PARTITION -> Int;
VARIABLE storedAt

\* The position of the last commit. Commits are counted only where Transactions is TRUE: nothing else compares them.
\* @type: Int;
VARIABLE logEnd

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

groupVars   == <<groupEpoch, targetAssignmentEpoch, targetAssignment, targetStandby>>
memberVars  == <<memberEpoch, revocationEpoch, owned, pendingRevocation, assignmentEpoch,
                 partitionRevocationEpoch, standby, pendingStandby, gone>>
clientVars  == <<clientEpoch, clientOwned, clientRevocationEpoch>>
storedVars  == <<transaction, pendingOffsets, storedAt, logEnd>>
truthVars   == <<held, lost, taken>>
vars        == <<groupVars, memberVars, clientVars, storedVars, truthVars, requests, commits>>

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

\* The standby tasks of m, without those it is giving up.
Standing(m) == standby[m] \ pendingStandby[m]

\* What m has yet to revoke, or has just revoked when its heartbeat confirms it.
Revoking(m) == pendingRevocation[m] # {} \/ pendingStandby[m] # {}

\* Nobody owns p. In a consumer group what m itself is giving up counts as free for m (KAFKA-19449); in a streams
\* group it does not, nor is a task free for a process that has its standby.
Free(p, m) ==
    /\ \A n \in Live : p \in owned[n] => GroupProtocol = "consumer" /\ n = m /\ p \in pendingRevocation[m]
    /\ p \notin standby[m]

\* The state of a member as the broker's MemberState names it; in a streams group it says TASKS for PARTITIONS.
MemberState(m) ==
    CASE Revoking(m)                               -> "UNREVOKED_PARTITIONS"
      [] /\ memberEpoch[m] = targetAssignmentEpoch
         /\ \/ Assigned(m) # targetAssignment[m]
            \/ Standing(m) # targetStandby[m]     -> "UNRELEASED_PARTITIONS"
      [] OTHER                                     -> "STABLE"

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

\* What a step does to it; the actions of the protocol do not speak of it. A member that gave a partition up and has it
\* back in the same epoch owns it at that epoch.
RecordTruth ==
    LET keep(triples)  == {t \in triples : Presentable(t[1], t[3])}
        broken         == {t \in held : GivesUp(t[1], t[2])}
        anothers(t)    == \E n \in DOMAIN owned' \ {t[1]} : t[2] \in owned'[n]
        now            == UNION {{<<m, p, memberEpoch'[m]>> : p \in owned'[m]} : m \in DOMAIN owned'}
    IN  /\ held' = keep((held \ broken) \cup now)
        /\ lost' = keep({t \in lost \cup broken : ~anothers(t)} \ now)
        /\ taken' = keep((taken \cup {t \in lost \cup broken : anothers(t)}) \ now)

-----------------------------------------------------------------------------
(***************************************************************************)
(* The group. Epoch 1 is the reserved empty assignment (KAFKA-20268).      *)
(***************************************************************************)

Init ==
    /\ groupEpoch = 1
    /\ targetAssignmentEpoch = 1
    /\ targetAssignment = Empty
    /\ targetStandby = Empty
    /\ memberEpoch = Empty
    /\ revocationEpoch = Empty
    /\ owned = Empty
    /\ pendingRevocation = Empty
    /\ assignmentEpoch = Empty
    /\ partitionRevocationEpoch = Empty
    /\ standby = Empty
    /\ pendingStandby = Empty
    /\ gone = {}
    /\ clientEpoch = [m \in Members |-> 0]
    /\ clientOwned = [m \in Members |-> {}]
    /\ clientRevocationEpoch = [m \in Members |-> 0]
    /\ transaction = [m \in Members |-> "none"]
    /\ pendingOffsets = [m \in Members |-> Empty]
    /\ storedAt = [p \in Partitions |-> 0]
    /\ logEnd = 0
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
    /\ targetStandby' = With(targetStandby, m, {})
    /\ memberEpoch' = With(memberEpoch, m, targetAssignmentEpoch)
    /\ revocationEpoch' = With(revocationEpoch, m, 0)
    /\ owned' = With(owned, m, {})
    /\ pendingRevocation' = With(pendingRevocation, m, {})
    /\ assignmentEpoch' = With(assignmentEpoch, m, Empty)
    /\ partitionRevocationEpoch' = With(partitionRevocationEpoch, m, Empty)
    /\ standby' = With(standby, m, {})
    /\ pendingStandby' = With(pendingStandby, m, {})
    /\ UNCHANGED <<targetAssignmentEpoch, gone, clientVars, storedVars, requests>>

\* The coordinator forgets m; its partitions are free at once.
Remove(m) ==
    /\ groupEpoch' = groupEpoch + 1
    /\ targetAssignment' = Without(targetAssignment, m)
    /\ targetStandby' = Without(targetStandby, m)
    /\ memberEpoch' = Without(memberEpoch, m)
    /\ revocationEpoch' = Without(revocationEpoch, m)
    /\ owned' = Without(owned, m)
    /\ pendingRevocation' = Without(pendingRevocation, m)
    /\ assignmentEpoch' = Without(assignmentEpoch, m)
    /\ partitionRevocationEpoch' = Without(partitionRevocationEpoch, m)
    /\ standby' = Without(standby, m)
    /\ pendingStandby' = Without(pendingStandby, m)
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
    /\ clientRevocationEpoch' = [clientRevocationEpoch EXCEPT ![m] = 0]
    /\ UNCHANGED <<storedVars, requests>>

\* The coordinator drops m: no heartbeat within the session timeout, or no confirmation of a revocation within the
\* rebalance timeout. The client does not know yet.
Fence(m) ==
    \* enabling conditions
    /\ m \in Live
    \* state changes
    /\ Remove(m)
    /\ UNCHANGED <<clientVars, storedVars, requests>>

\* Subscribed topics changed, or their partitions did.
BumpGroupEpoch ==
    \* enabling conditions
    /\ Live # {}
    \* state changes
    /\ groupEpoch' = groupEpoch + 1
    /\ UNCHANGED <<targetAssignmentEpoch, targetAssignment, targetStandby, memberVars>>
    /\ UNCHANGED <<clientVars, storedVars, requests>>

\* Every way to give each partition to one live member.
Assignments ==
    IF Live = {}
    THEN {Empty}
    ELSE {[m \in Live |-> {p \in Partitions : to[p] = m}] : to \in [Partitions -> Live]}

\* The standby tasks of m beside a new target assignment.
Standbys(m) == {p \in Partitions : StandbyTasks /\ \E n \in Live \ {m} : p \in targetAssignment'[n]}

\* The assignor has finished. It was started at the newest group epoch.
UpdateTargetAssignment ==
    \* enabling conditions
    /\ targetAssignmentEpoch < groupEpoch
    \* state changes
    /\ targetAssignmentEpoch' = groupEpoch
    /\ targetAssignment' \in Assignments
    /\ targetStandby' = [m \in Live |-> Standbys(m)]
    /\ UNCHANGED <<groupEpoch, memberVars, clientVars, storedVars, requests>>

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

\* The same of standby tasks. No process has a task twice; what other processes have does not matter.
UnwantedStandby(m)   == Standing(m) \ targetStandby[m]
ObtainableStandby(m) == (targetStandby[m] \ standby[m]) \ owned[m]

\* The largest epoch at which p was revoked from m; 0 when it never was.
LastRevoked(m, p) == IF p \in DOMAIN partitionRevocationEpoch[m] THEN partitionRevocationEpoch[m][p] ELSE 0

\* The epoch of m when it has just released partitions (or tasks) and must revoke more.
EpochWhileRevokingMore(m) ==
    IF Revoking(m) /\ EpochMovesOnRelease THEN memberEpoch[m] + 1 ELSE memberEpoch[m]

\* KAFKA-19779: completing a revocation leaves the old member epoch as the revocation epoch. In a streams group only
\* that of active tasks does. What was released in the epoch without a new one counts when the epoch moves.
RevocationEpochAfter(m, newEpoch) ==
    IF /\ newEpoch > memberEpoch[m]
       /\ \/ pendingRevocation[m] # {}
          \/ \E p \in DOMAIN partitionRevocationEpoch[m] : partitionRevocationEpoch[m][p] = memberEpoch[m]
    THEN memberEpoch[m]
    ELSE revocationEpoch[m]

\* The same per partition, for every partition that m releases in this step.
PartitionRevocationEpochsAfter(m) ==
    [p \in DOMAIN partitionRevocationEpoch[m] \cup pendingRevocation[m] |->
        IF p \in pendingRevocation[m] THEN memberEpoch[m] ELSE partitionRevocationEpoch[m][p]]

\* KIP-1251: a partition keeps the epoch at which it was assigned; a new one gets the target assignment epoch.
AssignmentEpochAfter(m, p) ==
    IF p \in Assigned(m) THEN assignmentEpoch[m][p] ELSE targetAssignmentEpoch

\* The new record of m: what it keeps or gains, what it is asked to revoke, its epoch.
Reconcile(m, assigned, pending, standing, pendingStanding, newEpoch) ==
    /\ memberEpoch' = [memberEpoch EXCEPT ![m] = newEpoch]
    /\ owned' = [owned EXCEPT ![m] = assigned \cup pending]
    /\ pendingRevocation' = [pendingRevocation EXCEPT ![m] = pending]
    /\ assignmentEpoch' = [assignmentEpoch EXCEPT ![m] =
                              [p \in assigned \cup pending |-> AssignmentEpochAfter(m, p)]]
    /\ revocationEpoch' = [revocationEpoch EXCEPT ![m] = RevocationEpochAfter(m, newEpoch)]
    /\ partitionRevocationEpoch' = [partitionRevocationEpoch EXCEPT ![m] = PartitionRevocationEpochsAfter(m)]
    /\ standby' = [standby EXCEPT ![m] = standing \cup pendingStanding]
    /\ pendingStandby' = [pendingStandby EXCEPT ![m] = pendingStanding]
    /\ UNCHANGED gone

\* The target takes partitions from m: it is asked to revoke them and becomes UNREVOKED_PARTITIONS. Partitions whose
\* revocation the same heartbeat confirms are released. Standby tasks likewise, and in either case in this state.
HeartbeatStartsRevocation(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ ConfirmsRevocation(m)
    /\ memberEpoch[m] < targetAssignmentEpoch
    /\ Unwanted(m) # {} \/ UnwantedStandby(m) # {}
    \* state changes
    /\ Reconcile(m, Assigned(m) \ Unwanted(m), Unwanted(m), Standing(m) \ UnwantedStandby(m), UnwantedStandby(m),
                 EpochWhileRevokingMore(m))
    /\ UNCHANGED <<groupVars, clientVars, storedVars, requests>>

\* Nothing (more) is taken from m: it moves to the target assignment epoch with every partition it can have. It becomes
\* STABLE, or UNRELEASED_PARTITIONS when others have yet to release some.
HeartbeatReachesTarget(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ ConfirmsRevocation(m)
    /\ \/ memberEpoch[m] < targetAssignmentEpoch
       \/ Obtainable(m) # {} \/ ObtainableStandby(m) # {}
       \/ ReleasesUnsubscribed /\ Revoking(m)
    /\ Unwanted(m) = {} /\ UnwantedStandby(m) = {}
    \* state changes
    /\ Reconcile(m, Assigned(m) \cup Obtainable(m), {}, Standing(m) \cup ObtainableStandby(m), {},
                 targetAssignmentEpoch)
    /\ UNCHANGED <<groupVars, clientVars, storedVars, requests>>

\* The client has changed its subscription: m is asked to revoke what it does not want any more, in the epoch that it
\* has. The group epoch moves, the target assignment for it is computed later: the one that exists is read without
\* those partitions (CurrentAssignmentBuilder.updateCurrentAssignment).
HeartbeatUnsubscribes(m) ==
    \* enabling conditions
    /\ ReleasesUnsubscribed
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ memberEpoch[m] = targetAssignmentEpoch
    /\ ~Revoking(m)
    \* state changes
    /\ \E unwanted \in SUBSET Assigned(m) \ {{}} :
        /\ targetAssignment' = [targetAssignment EXCEPT ![m] = @ \ unwanted]
        /\ pendingRevocation' = [pendingRevocation EXCEPT ![m] = unwanted]
    /\ groupEpoch' = groupEpoch + 1
    /\ UNCHANGED <<targetAssignmentEpoch, targetStandby>>
    /\ UNCHANGED <<memberEpoch, revocationEpoch, owned, assignmentEpoch, partitionRevocationEpoch, standby,
                   pendingStandby, gone>>
    /\ UNCHANGED <<clientVars, storedVars, requests>>

\* The client subscribes again to what it has given up, or is giving up, before the next target assignment is there: the
\* one that exists has those partitions for m, which can have them back in the epoch in which it released them. A broker
\* gives them back while m waits for others' partitions as well (UNRELEASED_PARTITIONS); here m need not.
HeartbeatSubscribesAgain(m) ==
    \* enabling conditions
    /\ ReleasesUnsubscribed
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ memberEpoch[m] = targetAssignmentEpoch
    /\ targetAssignmentEpoch < groupEpoch
    \* state changes
    /\ \E again \in SUBSET {p \in Partitions : p \in pendingRevocation[m] \/ LastRevoked(m, p) = memberEpoch[m]} \ {{}} :
        /\ \A n \in Live : again \cap targetAssignment[n] = {}
        /\ targetAssignment' = [targetAssignment EXCEPT ![m] = @ \cup again]
    /\ groupEpoch' = groupEpoch + 1
    /\ UNCHANGED <<targetAssignmentEpoch, targetStandby>>
    /\ UNCHANGED <<memberVars, clientVars, storedVars, requests>>

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
    /\ clientRevocationEpoch' =
           [clientRevocationEpoch EXCEPT ![m] = IF memberEpoch[m] > clientEpoch[m] THEN 0 ELSE @]
    /\ UNCHANGED <<groupVars, memberVars, storedVars, requests>>

\* No request of m is on its way.
NothingInFlight(m) == \A q \in requests : q.member # m

\* onPartitionsRevoked (onTasksRevoked) returns: the client gives up what it was asked to, and its next heartbeat
\* confirms it. Commits inside the callback are those that were sent before this step. Standby tasks have no offsets
\* and no callback: the next heartbeat confirms their revocation without a step of the client.
RevokePartitions(m) ==
    \* enabling conditions
    /\ m \in Live
    /\ HeardLastResponse(m)
    /\ pendingRevocation[m] \cap clientOwned[m] # {}
    /\ DelayedRequests \/ NothingInFlight(m)
    \* state changes
    /\ clientOwned' = [clientOwned EXCEPT ![m] = @ \ pendingRevocation[m]]
    /\ clientRevocationEpoch' = [clientRevocationEpoch EXCEPT ![m] = IF ClientRule THEN clientEpoch[m] ELSE 0]
    /\ UNCHANGED <<groupVars, memberVars, clientEpoch, storedVars, requests>>

\* A fenced client learns that it is no member any more.
LearnFencing(m) ==
    \* enabling conditions
    /\ m \notin Live
    /\ clientEpoch[m] > 0
    \* state changes
    /\ clientEpoch' = [clientEpoch EXCEPT ![m] = 0]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = {}]
    /\ clientRevocationEpoch' = [clientRevocationEpoch EXCEPT ![m] = 0]
    /\ UNCHANGED <<groupVars, memberVars, storedVars, requests>>

\* What a client commits for: a correct one only for what it consumes.
Committable(m) == IF RogueClients THEN Partitions ELSE clientOwned[m]

\* The rule of KAFKA-19779 for clients: between the callback and the next epoch, no commit.
MayCommit(m) == ClientRule => clientEpoch[m] # clientRevocationEpoch[m]

\* The client commits, at the epoch it believes in. The request may arrive at any later time. A producer whose
\* transaction is doomed can only abort it.
SendCommit(r, m, transactional) ==
    \* enabling conditions
    /\ clientEpoch[m] > 0
    /\ MayCommit(m)
    /\ transactional => transaction[m] # "doomed"
    /\ \A q \in requests : q.request # r
    \* state changes
    /\ \E chosen \in SUBSET Committable(m) :
        /\ Cardinality(chosen) \in 1..PartitionsPerRequest
        /\ requests' = requests \cup
            {[request |-> r, member |-> m, clientEpoch |-> clientEpoch[m], transactional |-> transactional,
              partitions |-> chosen]}
    /\ transaction' = [transaction EXCEPT ![m] = IF Transactions /\ transactional THEN "ongoing" ELSE @]
    /\ UNCHANGED <<groupVars, memberVars, clientVars, pendingOffsets, storedAt, logEnd>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The coordinator decides commits.                                        *)
(***************************************************************************)

\* Nothing to be fenced by: a client outside the group protocol commits to an empty group, or a producer commits
\* without saying for which member.
Unfenced(q) == q.clientEpoch < 0 /\ (Live = {} \/ q.transactional)

\* An epoch of m that has passed, by this coordinator's rule.
AdmitsOlder(m, p, epoch) ==
    CASE Rule = "strict"               -> FALSE
      [] Rule = "member_revocation"    -> revocationEpoch[m] < epoch
      [] Rule = "partition_revocation" -> LastRevoked(m, p) < epoch
      [] Rule = "assignment_epoch"     -> p \in owned[m] /\ assignmentEpoch[m][p] <= epoch

\* validateOffsetCommit, in its order: unfenced; unknown member; the current epoch; a newer one; an older one.
Admits(q, p) ==
    IF Unfenced(q) THEN TRUE
    ELSE IF q.member \notin Live THEN FALSE
    ELSE IF q.clientEpoch = memberEpoch[q.member] THEN TRUE
    ELSE IF q.clientEpoch > memberEpoch[q.member] THEN FALSE
    ELSE AdmitsOlder(q.member, p, q.clientEpoch)

\* One refused partition refuses the whole request.
Answer(q) == \A p \in q.partitions : Admits(q, p)

\* The error of a refusal. A producer hears of no member epochs: TxnOffsetCommit up to v5 has generations.
Refusal(q) ==
    IF q.member \notin Live THEN "UNKNOWN_MEMBER_ID"
    ELSE IF q.transactional THEN "ILLEGAL_GENERATION"
    ELSE "STALE_MEMBER_EPOCH"

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
         error                    |-> IF accepted THEN "NONE" ELSE Refusal(q),
         apiVersion               |-> IF q.transactional THEN 5 ELSE 9,
         transactional            |-> q.transactional,
         protocol                 |-> GroupProtocol,
         rule                     |-> Rule,
         rebalancing              |-> FALSE,
         unfenced                 |-> Unfenced(q),
         groupKnown               |-> TRUE,
         memberKnown              |-> known,
         classicMember            |-> FALSE,
         instanceFenced           |-> FALSE,
         memberEpoch              |-> IF known THEN memberEpoch[m] ELSE -1,
         revocationEpoch          |-> IF known THEN revocationEpoch[m] ELSE -1,
         partitionRevocationEpoch |-> IF known THEN LastRevoked(m, p) ELSE -1,
         assignmentEpoch          |-> IF owns THEN assignmentEpoch[m][p] ELSE -1,
         ownedAtClientEpoch       |-> then \in held \cup lost \cup taken,
         uninterrupted            |-> then \in held,
         reassignedSince          |-> then \in taken,
         ownedBySelf              |-> owns,
         ownedByAnother           |-> \E n \in Live \ {m} : p \in owned[n]]

\* What an answer leaves behind: a plain commit is stored, one in a transaction is pending; refused, it dooms its
\* transaction (ILLEGAL_GENERATION or STALE_MEMBER_EPOCH: the producer can only abort).
StoreOrDoom(q, accepted) ==
    IF ~Transactions THEN UNCHANGED storedVars
    ELSE /\ logEnd' = IF accepted THEN logEnd + 1 ELSE logEnd
         /\ storedAt' = [p \in Partitions |->
                IF accepted /\ ~q.transactional /\ p \in q.partitions THEN logEnd + 1 ELSE storedAt[p]]
         /\ pendingOffsets' = [pendingOffsets EXCEPT ![q.member] =
                IF ~accepted \/ ~q.transactional THEN @
                ELSE [p \in DOMAIN @ \cup q.partitions |-> IF p \in q.partitions THEN logEnd + 1 ELSE @[p]]]
         /\ transaction' = [transaction EXCEPT ![q.member] =
                IF ~q.transactional THEN @ ELSE IF accepted THEN "ongoing" ELSE "doomed"]

\* A request arrives and is decided.
DecideCommit(q) ==
    \* enabling conditions
    /\ q \in requests
    \* state changes
    /\ requests' = requests \ {q}
    /\ commits' = {Meeting(q, p, Answer(q)) : p \in q.partitions}
    /\ StoreOrDoom(q, Answer(q))
    /\ UNCHANGED <<groupVars, memberVars, clientVars>>

\* A client that assigns partitions to itself, or an admin tool, commits to a group without members: epoch -1, nothing
\* to be fenced by. Whatever member id it names is not looked at. Or a producer commits without the group's metadata
\* (sendOffsetsToTransaction with a group id alone): that is accepted while the group has members, too. Its
\* transaction is that of no member and is not followed.
CommitUnfenced(r, m, p, transactional) ==
    \* enabling conditions
    /\ Live = {} \/ transactional
    /\ \A q \in requests : q.request # r
    \* state changes
    /\ LET q == [request |-> r, member |-> m, clientEpoch |-> -1, transactional |-> transactional, partitions |-> {p}]
       IN  /\ commits' = {Meeting(q, p, Answer(q))}
           /\ IF transactional THEN UNCHANGED storedVars ELSE StoreOrDoom(q, Answer(q))
    /\ UNCHANGED <<groupVars, memberVars, clientVars, requests>>

\* What is stored for a partition when a pending commit of it becomes final. The newer by position in the log stays:
\* a transaction that ends late does not undo what was committed after it (OffsetMetadataManager skips it).
Materialised(pendingAt, at) == IF pendingAt > at THEN pendingAt ELSE at

\* A producer ends its transaction, and the marker reaches the coordinator's log.
EndTransaction(m, committed) ==
    \* enabling conditions
    /\ transaction[m] # "none"
    /\ committed => transaction[m] = "ongoing"
    /\ \A q \in requests : q.member = m => ~q.transactional
    \* state changes
    /\ transaction' = [transaction EXCEPT ![m] = "none"]
    /\ pendingOffsets' = [pendingOffsets EXCEPT ![m] = Empty]
    /\ storedAt' = [p \in Partitions |->
           IF committed /\ p \in DOMAIN pendingOffsets[m] THEN Materialised(pendingOffsets[m][p], storedAt[p])
           ELSE storedAt[p]]
    /\ UNCHANGED <<groupVars, memberVars, clientVars, logEnd, requests>>

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
        \/ HeartbeatUnsubscribes(m)
        \/ HeartbeatSubscribesAgain(m)

\* Commits outside and inside transactions.
Kinds == IF Transactions THEN BOOLEAN ELSE {FALSE}

ClientStep ==
    \E m \in Members :
        \/ ReceiveHeartbeatResponse(m)
        \/ RevokePartitions(m)
        \/ LearnFencing(m)
        \/ \E r \in Requests : \E transactional \in Kinds : SendCommit(r, m, transactional)
        \/ \E committed \in BOOLEAN : EndTransaction(m, committed)

CommitStep ==
    \/ \E q \in requests : DecideCommit(q)
    \/ \E r \in Requests : \E m \in Members : \E p \in Partitions : \E transactional \in Kinds :
           CommitUnfenced(r, m, p, transactional)

\* What is no step of the protocol is written down beside it: no commit was decided, and who owned what.
Next ==
    /\ \/ (GroupStep \/ ClientStep) /\ commits' = {}
       \/ CommitStep
    /\ RecordTruth

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(***************************************************************************)
(* The types above, for TLC.                                               *)
(***************************************************************************)

TypeOK ==
    /\ {groupEpoch, targetAssignmentEpoch} \subseteq Nat
    /\ Live \subseteq Members
    /\ \A f \in {DOMAIN revocationEpoch, DOMAIN owned, DOMAIN pendingRevocation, DOMAIN assignmentEpoch,
                 DOMAIN partitionRevocationEpoch, DOMAIN targetAssignment, DOMAIN targetStandby, DOMAIN standby,
                 DOMAIN pendingStandby} : f = Live
    /\ \A m \in Live :
        /\ {memberEpoch[m], revocationEpoch[m]} \subseteq Nat
        /\ owned[m] \cup targetAssignment[m] \subseteq Partitions
        /\ pendingRevocation[m] \subseteq owned[m]
        /\ standby[m] \cup targetStandby[m] \subseteq Partitions
        /\ pendingStandby[m] \subseteq standby[m]
        /\ standby[m] \cap owned[m] = {}
        /\ DOMAIN assignmentEpoch[m] = owned[m]
        /\ DOMAIN partitionRevocationEpoch[m] \subseteq Partitions
        /\ MemberState(m) \in {"STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"}
        /\ MemberState(m) = "UNREVOKED_PARTITIONS" => memberEpoch[m] < targetAssignmentEpoch \/ ReleasesUnsubscribed
    /\ gone \subseteq Members
    /\ \A m \in Members :
        /\ transaction[m] \in {"none", "ongoing", "doomed"}
        /\ DOMAIN pendingOffsets[m] # {} => transaction[m] # "none"
        /\ clientRevocationEpoch[m] \in {0, clientEpoch[m]}
    /\ \A c \in commits : c.accepted # c.fenced
    /\ held \cap (lost \cup taken) = {}

=============================================================================
