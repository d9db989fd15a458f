---------------------------- MODULE ClassicGroup ----------------------------
(***************************************************************************)
(* How a classic group rebalances, and how its coordinator decides an      *)
(* offset commit: by the generation.                                       *)
(*                                                                         *)
(* A module of its own, since nothing moves as in OffsetCommit: there is   *)
(* no target, members have no epochs of their own, and who owns what       *)
(* changes for all of them at once. The marked definitions, the commits    *)
(* and the truth about ownership are those of OffsetCommit; here the group *)
(* epoch, the target assignment epoch and every member epoch are the       *)
(* generation of the last assignment, which is what the log shows. The     *)
(* coordinator's memory is ahead of it during a rebalance (variables       *)
(* generation, state, members) and answers commits:                        *)
(*                                                                         *)
(*   PREPARING_REBALANCE    members join again; commits at the generation  *)
(*                          are accepted                                   *)
(*   COMPLETING_REBALANCE   the next generation has begun, its assignment  *)
(*                          is not there yet; plain commits are refused    *)
(*                          (REBALANCE_IN_PROGRESS), transactional ones    *)
(*                          are accepted at the new generation             *)
(*   STABLE                 the leader's assignment is there, and written  *)
(*                                                                         *)
(* Eager clients give up every partition before they join again,           *)
(* cooperative ones (KIP-429) when the new assignment tells them to; the   *)
(* assignor gives a partition to nobody else as long as a member that      *)
(* joins again claims it. Left out: static members, JoinGroup and          *)
(* SyncGroup requests one by one, the rebalance that follows a cooperative *)
(* revocation at once (it may come at any time), generations in            *)
(* subscriptions (KIP-792).                                                *)
(***************************************************************************)
EXTENDS OffsetCommitPropsMarked

\* TRUE: clients keep their partitions while they join again.
\* @type: Bool;
CONSTANT Cooperative

ASSUME GroupProtocol = "classic" /\ Cooperative \in BOOLEAN
ASSUME ~StandbyTasks /\ ~Transactions /\ ~ClientRule /\ DelayedRequests

\* The generation in the coordinator's memory.
\* @type: Int;
VARIABLE generation

\* "EMPTY", "PREPARING_REBALANCE", "COMPLETING_REBALANCE" or "STABLE".
\* @type: Str;
VARIABLE state

\* The members in the coordinator's memory; those of the last assignment are Live.
\* @type: Set(MEMBER);
VARIABLE members

\* The members that have joined (again) since the rebalance began.
\* @type: Set(MEMBER);
VARIABLE joined

coordinatorVars == <<generation, state, members, joined>>
logVars         == <<groupVars, memberVars>>
classicVars     == <<vars, coordinatorVars>>

-----------------------------------------------------------------------------

ClassicInit ==
    /\ Init
    /\ generation = 1
    /\ state = "EMPTY"
    /\ members = {}
    /\ joined = {}

\* A client sends JoinGroup, for the first time or because the group rebalances. Eager clients have given up what they
\* had. A join while the members wait for the assignment begins the rebalance again.
JoinGroup(m) ==
    \* enabling conditions
    /\ m \notin joined
    /\ m \notin gone
    /\ m \in members \/ clientEpoch[m] = 0
    /\ m \in members => state = "PREPARING_REBALANCE"
    \* state changes
    /\ state' = "PREPARING_REBALANCE"
    /\ members' = members \cup {m}
    /\ joined' = IF state = "PREPARING_REBALANCE" THEN joined \cup {m} ELSE {m}
    /\ clientOwned' = [clientOwned EXCEPT ![m] = IF Cooperative THEN @ ELSE {}]
    /\ UNCHANGED <<generation, logVars, clientEpoch, clientRevocationEpoch, storedVars, requests>>

\* A member wants a rebalance: its subscription changed, or it has revoked what a cooperative assignment took from it.
Rebalance ==
    \* enabling conditions
    /\ state = "STABLE"
    \* state changes
    /\ state' = "PREPARING_REBALANCE"
    /\ joined' = {}
    /\ UNCHANGED <<generation, members, logVars, clientVars, storedVars, requests>>

\* Everyone has joined: the next generation begins, and the JoinGroup answers tell the members. A cooperative client
\* goes on consuming, and a commit of it may carry the new generation from now on.
CompleteJoin ==
    \* enabling conditions
    /\ state = "PREPARING_REBALANCE"
    /\ joined = members
    /\ members # {}
    \* state changes
    /\ generation' = generation + 1
    /\ state' = "COMPLETING_REBALANCE"
    /\ joined' = {}
    /\ clientEpoch' = [m \in Members |-> IF m \in members THEN generation + 1 ELSE clientEpoch[m]]
    /\ UNCHANGED <<members, logVars, clientOwned, clientRevocationEpoch, storedVars, requests>>

\* A partition goes to one member or to none, and to no other than the one that claims it.
ClassicAssignments ==
    {[m \in members |-> {p \in Partitions : to[p] = {m}}] :
        to \in {f \in [Partitions -> {{}} \cup {{m} : m \in members}] :
                    \A p \in Partitions : \A m \in members : p \in clientOwned[m] => f[p] \subseteq {m}}}

\* The leader's SyncGroup brings the assignment: the coordinator writes it, for all members at once. Revocation epochs
\* as for other groups: what a member no longer has was revoked at the generation of the assignment before.
SyncGroup ==
    \* enabling conditions
    /\ state = "COMPLETING_REBALANCE"
    \* state changes
    /\ state' = "STABLE"
    /\ \E assignment \in ClassicAssignments :
        LET revoked(m)     == IF m \in Live THEN owned[m] \ assignment[m] ELSE {}
            revocations(m) == IF m \in Live THEN partitionRevocationEpoch[m] ELSE Empty
        IN  /\ owned' = assignment
            /\ groupEpoch' = generation
            /\ targetAssignmentEpoch' = generation
            /\ memberEpoch' = [m \in members |-> generation]
            /\ assignmentEpoch' = [m \in members |-> [p \in assignment[m] |->
                   IF m \in Live /\ p \in owned[m] THEN assignmentEpoch[m][p] ELSE generation]]
            /\ revocationEpoch' = [m \in members |->
                   IF revoked(m) # {} THEN memberEpoch[m] ELSE IF m \in Live THEN revocationEpoch[m] ELSE 0]
            /\ partitionRevocationEpoch' = [m \in members |->
                   [p \in DOMAIN revocations(m) \cup revoked(m) |->
                       IF p \in revoked(m) THEN memberEpoch[m] ELSE revocations(m)[p]]]
    /\ pendingRevocation' = [m \in members |-> {}]
    /\ UNCHANGED <<generation, members, joined, targetAssignment, targetStandby, standby, pendingStandby, gone>>
    /\ UNCHANGED <<clientVars, storedVars, requests>>

\* The SyncGroup answer arrives. A cooperative client commits in onPartitionsRevoked before it gives up what the
\* assignment took from it: those commits are the ones sent before this step.
ReceiveAssignment(m) ==
    \* enabling conditions
    /\ state = "STABLE"
    /\ m \in members
    /\ clientOwned[m] # owned[m]
    \* state changes
    /\ clientOwned' = [clientOwned EXCEPT ![m] = owned[m]]
    /\ UNCHANGED <<coordinatorVars, logVars, clientEpoch, clientRevocationEpoch, storedVars, requests>>

\* The log after the last member went: an empty group of the next generation.
EmptyGroup ==
    /\ groupEpoch' = generation + 1
    /\ targetAssignmentEpoch' = generation + 1
    /\ memberEpoch' = Empty
    /\ revocationEpoch' = Empty
    /\ owned' = Empty
    /\ pendingRevocation' = Empty
    /\ assignmentEpoch' = Empty
    /\ partitionRevocationEpoch' = Empty

\* A member leaves, or its session times out: then its client does not know yet. The others join again; the log shows
\* it with their next assignment, or at once when nobody is left.
RemoveMember(m, told) ==
    \* enabling conditions
    /\ m \in members
    \* state changes
    /\ members' = members \ {m}
    /\ joined' = IF state = "PREPARING_REBALANCE" THEN joined \ {m} ELSE {}
    /\ gone' = gone \cup {m}
    /\ IF members = {m}
       THEN /\ EmptyGroup
            /\ generation' = generation + 1
            /\ state' = "EMPTY"
       ELSE /\ state' = "PREPARING_REBALANCE"
            /\ UNCHANGED <<generation, groupEpoch, targetAssignmentEpoch, memberEpoch, revocationEpoch, owned,
                           pendingRevocation, assignmentEpoch, partitionRevocationEpoch>>
    /\ clientEpoch' = [clientEpoch EXCEPT ![m] = IF told THEN 0 ELSE @]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = IF told THEN {} ELSE @]
    /\ UNCHANGED <<targetAssignment, targetStandby, standby, pendingStandby, clientRevocationEpoch>>
    /\ UNCHANGED <<storedVars, requests>>

\* The client of a removed member learns of it.
LearnRemoval(m) ==
    \* enabling conditions
    /\ m \notin members
    /\ clientEpoch[m] > 0
    \* state changes
    /\ clientEpoch' = [clientEpoch EXCEPT ![m] = 0]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = {}]
    /\ UNCHANGED <<coordinatorVars, logVars, clientRevocationEpoch, storedVars, requests>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Commits. Transactional ones matter here only for how they are decided.  *)
(***************************************************************************)

\* ClassicGroup.validateOffsetCommit, in its order: unfenced; unknown member; another generation; a plain commit while
\* the members wait for their assignment.
AdmitsGeneration(q) ==
    IF q.clientEpoch < 0 /\ members = {} THEN TRUE
    ELSE IF q.member \notin members THEN FALSE
    ELSE IF q.clientEpoch # generation THEN FALSE
    ELSE q.transactional \/ state # "COMPLETING_REBALANCE"

\* The error of a refusal, in the same order.
GenerationRefusal(q) ==
    IF q.member \notin members THEN "UNKNOWN_MEMBER_ID"
    ELSE IF q.clientEpoch # generation THEN "ILLEGAL_GENERATION"
    ELSE "REBALANCE_IN_PROGRESS"

SendClassicCommit(r, m, transactional) ==
    /\ SendCommit(r, m, transactional)
    /\ UNCHANGED coordinatorVars

\* A request arrives and is decided. The member epoch it meets is the generation in memory.
DecideClassicCommit(q) ==
    \* enabling conditions
    /\ q \in requests
    \* state changes
    /\ requests' = requests \ {q}
    /\ commits' = {[Meeting(q, p, AdmitsGeneration(q)) EXCEPT
                       !.error = IF AdmitsGeneration(q) THEN "NONE" ELSE GenerationRefusal(q),
                       !.classicMember = TRUE,
                       !.rebalancing = (state = "COMPLETING_REBALANCE"),
                       !.unfenced = (q.clientEpoch < 0 /\ members = {}),
                       !.memberKnown = (q.member \in members),
                       !.memberEpoch = IF q.member \in members THEN generation ELSE -1,
                       !.revocationEpoch = IF q.member \in members \cap Live THEN @ ELSE 0,
                       !.partitionRevocationEpoch = IF q.member \in members \cap Live THEN @ ELSE 0] :
                   p \in q.partitions}
    /\ UNCHANGED <<logVars, clientVars, storedVars, coordinatorVars>>

ClassicStep ==
    \/ Rebalance
    \/ CompleteJoin
    \/ SyncGroup
    \/ \E m \in Members :
        \/ JoinGroup(m)
        \/ ReceiveAssignment(m)
        \/ \E told \in BOOLEAN : RemoveMember(m, told)
        \/ LearnRemoval(m)
        \/ \E r \in Requests : \E transactional \in BOOLEAN : SendClassicCommit(r, m, transactional)

ClassicNext ==
    /\ \/ ClassicStep /\ commits' = {}
       \/ \E q \in requests : DecideClassicCommit(q)
    /\ RecordTruth

ClassicSpec == ClassicInit /\ [][ClassicNext]_classicVars

-----------------------------------------------------------------------------

ClassicTypeOK ==
    /\ state \in {"EMPTY", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"}
    /\ state = "EMPTY" <=> members = {}
    /\ joined \subseteq members
    /\ state = "STABLE" => Live = members /\ groupEpoch = generation
    /\ groupEpoch <= generation
    /\ \A m \in Live : memberEpoch[m] = groupEpoch /\ targetAssignmentEpoch = groupEpoch
    /\ \A c \in commits : c.accepted # c.fenced
    /\ held \cap (lost \cup taken) = {}

=============================================================================
