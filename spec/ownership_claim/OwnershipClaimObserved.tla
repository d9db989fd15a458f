----------------------- MODULE OwnershipClaimObserved ------------------------
(***************************************************************************)
(* What is seen of OwnershipClaim. Its actions do not speak of it: here    *)
(* they are joined with what was decided in the last step: by an assignor, *)
(* at JoinGroup, at a commit. Earlier is forgotten.                        *)
(***************************************************************************)
EXTENDS OwnershipClaim

\* @typeAlias: claim = {claim: CLAIM, member: MEMBER, partition: PARTITION, claimedGeneration: Int, greatestClaimOfOthers: Int, greatestClaimedGeneration: Int, held: Bool, wasAssigned: Bool, assignedToSelf: Bool, assignedToAnother: Bool};
\* @typeAlias: handover = {assignment: ASSIGNMENT, member: MEMBER, partition: PARTITION, previousOwnerStays: Bool, previousOwnerJoined: Bool};
\* @typeAlias: join = {join: JOIN, member: MEMBER, presentedGeneration: Int, currentGeneration: Int, error: Str, apiVersion: Int, hasMemberId: Bool, static: Bool, memberKnown: Bool, instanceKnown: Bool, instanceFenced: Bool, elsewhere: Bool, protocolsSupported: Bool};
\* @typeAlias: commit = {request: REQUEST, member: MEMBER, partition: PARTITION, generation: Int, currentGeneration: Int, protocol: Str, accepted: Bool, unfenced: Bool};

\* The claims that the leader assigned by, beside what it made of them.
\* @type: Set($claim);
VARIABLE claims

\* What the leader assigned, beside who had it in the assignment before.
\* @type: Set($handover);
VARIABLE handovers

\* The JoinGroup request that was decided.
\* @type: Set($join);
VARIABLE joins

\* The commit that was decided.
\* @type: Set($commit);
VARIABLE commits

decidedVars  == <<claims, handovers, joins, commits>>
observedVars == <<vars, decidedVars>>

ObservedInit == Init /\ claims = {} /\ handovers = {} /\ joins = {} /\ commits = {}

-----------------------------------------------------------------------------
\* The request as the log shows it. A new dynamic member is sent back for a member id first, and is known from then on.
JoinOf(m, s, named, pending, error) ==
    [join                |-> <<m, named>>,
     member              |-> m,
     presentedGeneration |-> s.generation,
     currentGeneration   |-> currentGeneration,
     error               |-> error,
     apiVersion          |-> 9,
     hasMemberId         |-> named,
     static              |-> m \in StaticMembers,
     memberKnown         |-> m \in members \/ pending,
     instanceKnown       |-> m \in StaticMembers \cap members,
     instanceFenced      |-> FALSE,
     elsewhere           |-> FALSE,
     protocolsSupported  |-> TRUE]

JoinsDecided(m, s, named) ==
    LET error == Refusal(m, s, named)
    IN  IF named \/ m \in StaticMembers THEN {JoinOf(m, s, named, FALSE, error)}
        ELSE {JoinOf(m, s, FALSE, FALSE, "MEMBER_ID_REQUIRED"), JoinOf(m, s, TRUE, TRUE, error)}

\* Other members that the assignment before gave the partition to.
PreviousOwners(m, p) == {n \in members \ {m} : p \in assigned[n]}

ClaimsMade(f) ==
    UNION {{[claim                     |-> <<m, p>>,
             member                    |-> m,
             partition                 |-> p,
             claimedGeneration         |-> subscriptions[m].generation,
             greatestClaimOfOthers     |-> Greatest(p, members \ {m}),
             greatestClaimedGeneration |-> NewestOfAll,
             held                      |-> Cooperative,
             wasAssigned               |-> p \in subscriptions[m].given,
             assignedToSelf            |-> f[p] = {m},
             assignedToAnother         |-> f[p] # {} /\ f[p] # {m}] : p \in subscriptions[m].claims} : m \in members}

HandoversMade(f) ==
    UNION {{[assignment          |-> <<m, p>>,
             member              |-> m,
             partition           |-> p,
             previousOwnerStays  |-> PreviousOwners(m, p) # {},
             previousOwnerJoined |-> PreviousOwners(m, p) \subseteq rejoined] : m \in f[p]} : p \in Partitions}

CommitDecided(m, p) ==
    [request           |-> m,
     member            |-> m,
     partition         |-> p,
     generation        |-> clientGeneration[m],
     currentGeneration |-> currentGeneration,
     protocol          |-> "classic",
     accepted          |-> AdmitsCommit(m),
     unfenced          |-> FALSE]

-----------------------------------------------------------------------------
Decided(claimed, handedOver, joining, committing) ==
    /\ claims' = claimed
    /\ handovers' = handedOver
    /\ joins' = joining
    /\ commits' = committing

\* Of each partition the member that it is given to, or none.
Given == [p \in Partitions |-> {m \in Members : p \in assigned'[m]}]

ObservedNext ==
    \/ (CoordinatorStep \/ Disturbance \/ \E m \in Members : Hears(m)) /\ Decided({}, {}, {}, {})
    \/ SyncGroup /\ Decided(ClaimsMade(Given), HandoversMade(Given), {}, {})
    \/ \E m \in Members :
        \/ JoinGroup(m) /\ Decided({}, {}, JoinsDecided(m, Subscription(m), hasMemberId[m]), {})
        \/ \E s \in delayed[m] : ArriveDelayed(m, s) /\ Decided({}, {}, JoinsDecided(m, s, TRUE), {})
        \/ \E p \in Partitions : Commit(m, p) /\ Decided({}, {}, {}, {CommitDecided(m, p)})

ObservedSpec == ObservedInit /\ [][ObservedNext]_observedVars

=============================================================================
