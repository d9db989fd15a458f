--------------------------- MODULE OwnershipClaim ---------------------------
(***************************************************************************)
(* How the members of a classic group claim partitions when they join, and *)
(* what an assignor makes of claims that are out of date (KIP-792; as      *)
(* shipped with KIP-429, KAFKA-12984, KAFKA-14639).                        *)
(*                                                                         *)
(* A member that rebalances cooperatively keeps its partitions while it    *)
(* joins, and names them in its subscription (ownedPartitions). The leader *)
(* assigns by these claims: a partition stays with the member that claims  *)
(* it, or goes to nobody until that member has given it up and joins       *)
(* again. So everything rests on claims that are true. A claim is late     *)
(* when the member was away, and false when its client forgot to give up   *)
(* what it lost. The proposal adds the generation to the subscription:     *)
(*                                                                         *)
(*   the assignor's rule    of several claims of a partition the one with  *)
(*                          the greatest generation is valid; where two    *)
(*                          have it, none is (constant Assignor)           *)
(*   the check at JoinGroup the coordinator refuses a member that names an *)
(*                          older generation than the current one:         *)
(*                          ILLEGAL_GENERATION. The client keeps its       *)
(*                          member id, resets its generation and gives up  *)
(*                          its partitions. -1 is a new member (constant   *)
(*                          JoinCheck). No broker has it.                  *)
(*                                                                         *)
(* What makes claims old here: an answer to JoinGroup that is lost         *)
(* (AnswersGetLost), a request that arrives when its sender has long sent  *)
(* another (DelayedJoins; DelayedFirstJoins: also its first), a static member that does not join in time and  *)
(* is assigned by the subscription it sent before (StaticMembers), a       *)
(* client that was removed and still names what it had (KeepsClaims).      *)
(*                                                                         *)
(* The coordinator's memory is ahead of its log: a generation begins when  *)
(* all have joined, and is written when the leader's assignment comes      *)
(* (SyncGroup). It follows ClassicGroup, GroupMetadataManager,             *)
(* AbstractCoordinator, ConsumerCoordinator, AbstractStickyAssignor. Left  *)
(* out: who leads (any member that has heard of the generation), the round *)
(* of MEMBER_ID_REQUIRED as a step of its own, failover of the             *)
(* coordinator, two clients with one group instance id, subscriptions to   *)
(* different topics but for what they change in the assignor.              *)
(*                                                                         *)
(* What is decided in a step is shown by OwnershipClaimObserved.           *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

\* @typeAlias: subscription = {claims: Set(PARTITION), generation: Int, given: Set(PARTITION)};

\* @type: Set(MEMBER);
CONSTANT Members

\* Those with a group.instance.id: they are not removed when they do not join in time.
\* @type: Set(MEMBER);
CONSTANT StaticMembers

\* @type: Set(PARTITION);
CONSTANT Partitions

\* What the leader makes of claims:
\*   "generation"         of each partition the greatest generation is valid (KIP-792; shipped from 3.5, 3.4.1)
\*   "any_claim"          the same, but who claims a partition, by whatever generation, need not wait for it to be given
\*                        up: what Kafka's does for members with different subscriptions (3.9 to 4.3)
\*   "newest_generation"  only members that name the newest generation of all are believed (3.0 to 3.4.0)
\*   "fails"              every claim is believed; where two members claim a partition the assignor throws (2.4 to 2.8;
\*                        left out: it may as well give the partition to both)
\*   "trusting"           a custom one: of several claims any is believed
\*   "unbound"            a custom one that looks at no claim
\* @type: Str;
CONSTANT Assignor

\* TRUE: the leader's client throws where an assignment moves a partition that was not given up
\* (ConsumerCoordinator.validateCooperativeAssignment), as it does with every assignor but cooperative-sticky.
\* @type: Bool;
CONSTANT Validates

\* The generation that a subscription says:
\*   "joined"   that of the last answer to JoinGroup (version 2 and later; from 3.4)
\*   "heard"    that of the last assignment that the client heard of (user data of the sticky assignors; from 3.0)
\*   "nothing"  none
\* @type: Str;
CONSTANT ClaimGeneration

\* TRUE: the coordinator checks the generation at JoinGroup.
\* @type: Bool;
CONSTANT JoinCheck

\* FALSE: clients give up everything before they join, and name in user data what they had (StickyAssignor).
\* @type: Bool;
CONSTANT Cooperative

\* @type: Bool;
CONSTANT AnswersGetLost
\* @type: Bool;
CONSTANT DelayedJoins
\* @type: Bool;
CONSTANT DelayedFirstJoins
\* @type: Bool;
CONSTANT KeepsClaims

\* TRUE: members may be removed, and may leave.
\* @type: Bool;
CONSTANT MembersGo

\* TRUE: clients commit.
\* @type: Bool;
CONSTANT Committing

\* How often, in all, something happens that nobody has to do: a member goes, is late, restarts, wants a
\* rebalance, an answer is lost.
\* @type: Int;
CONSTANT MaxDisturbances

ASSUME StaticMembers \subseteq Members
ASSUME Assignor \in {"generation", "any_claim", "newest_generation", "fails", "trusting", "unbound"}
ASSUME ClaimGeneration \in {"joined", "heard", "nothing"}
ASSUME {Validates, JoinCheck, Cooperative, AnswersGetLost, DelayedJoins, DelayedFirstJoins, KeepsClaims, MembersGo,
        Committing} \subseteq BOOLEAN

-----------------------------------------------------------------------------
(***************************************************************************)
(* What the log shows.                                                     *)
(***************************************************************************)

\* The generation of the last record of the group.
\* @type: Int;
VARIABLE generation

\* How many generations had begun since the record before and were never written.
\* @type: Int;
VARIABLE abandoned

(***************************************************************************)
(* The coordinator.                                                        *)
(***************************************************************************)

\* The generation in its memory.
\* @type: Int;
VARIABLE currentGeneration

\* "EMPTY", "PREPARING_REBALANCE", "COMPLETING_REBALANCE" or "STABLE".
\* @type: Str;
VARIABLE state

\* @type: Set(MEMBER);
VARIABLE members

\* The members that have joined (again) since the rebalance began.
\* @type: Set(MEMBER);
VARIABLE joined

\* The subscription that each member sent last: what the leader is shown. Its partitions, its generation, and those of
\* the partitions that the newest assignment up to that generation gave the member.
\* @type: MEMBER -> $subscription;
VARIABLE subscriptions

\* The members that have joined since the last assignment was written.
\* @type: Set(MEMBER);
VARIABLE rejoined

\* The last assignment that was written.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE assigned

\* Generations that began since then.
\* @type: Int;
VARIABLE unwritten

(***************************************************************************)
(* The clients and the network.                                            *)
(***************************************************************************)

\* AbstractCoordinator.MemberState: "UNJOINED", "PREPARING_REBALANCE" (waits for the answer to JoinGroup),
\* "COMPLETING_REBALANCE" (waits for its assignment), "STABLE".
\* @type: MEMBER -> Str;
VARIABLE clientState

\* -1 when it has none.
\* @type: MEMBER -> Int;
VARIABLE clientGeneration

\* The client has a member id.
\* @type: MEMBER -> Bool;
VARIABLE hasMemberId

\* The generation of the last assignment that its assignor heard of.
\* @type: MEMBER -> Int;
VARIABLE heardGeneration

\* What the client consumes.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE clientOwned

\* What it claims beside that: it has given it up, or should have.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE remembered

\* What the newest assignment up to its generation gave it, whether it has heard of that or not.
\* @type: MEMBER -> Set(PARTITION);
VARIABLE given

\* It has given something up, and has to join again so that others get it.
\* @type: Set(MEMBER);
VARIABLE mustJoin

\* Requests that are under way although their senders have given up waiting.
\* @type: MEMBER -> Set($subscription);
VARIABLE delayed

\* @type: Int;
VARIABLE disturbances

writtenVars     == <<generation, abandoned, assigned, unwritten, rejoined>>
coordinatorVars == <<currentGeneration, state, members, joined, subscriptions>>
clientVars      == <<clientState, clientGeneration, heardGeneration, hasMemberId, clientOwned, remembered, given,
                     mustJoin>>
networkVars     == <<delayed, disturbances>>
vars            == <<writtenVars, coordinatorVars, clientVars, networkVars>>

-----------------------------------------------------------------------------
NoGeneration == -1
NoClaim      == -2
NoSubscription == [claims |-> {}, generation |-> NoGeneration, given |-> {}]

Max(numbers) == CHOOSE n \in numbers : \A other \in numbers : other <= n

Disturb == disturbances < MaxDisturbances /\ disturbances' = disturbances + 1

Init ==
    /\ generation = 0 /\ abandoned = 0
    /\ currentGeneration = 0 /\ state = "EMPTY" /\ members = {} /\ joined = {}
    /\ subscriptions = [m \in Members |-> NoSubscription]
    /\ assigned = [m \in Members |-> {}] /\ unwritten = 0 /\ rejoined = {}
    /\ clientState = [m \in Members |-> "UNJOINED"]
    /\ clientGeneration = [m \in Members |-> NoGeneration]
    /\ heardGeneration = [m \in Members |-> NoGeneration]
    /\ hasMemberId = [m \in Members |-> FALSE]
    /\ clientOwned = [m \in Members |-> {}]
    /\ remembered = [m \in Members |-> {}]
    /\ given = [m \in Members |-> {}]
    /\ mustJoin = {}
    /\ delayed = [m \in Members |-> {}]
    /\ disturbances = 0

-----------------------------------------------------------------------------
(***************************************************************************)
(* JoinGroup.                                                              *)
(***************************************************************************)

\* What a client sends. Eager clients give up everything first, and remember it.
Subscription(m) ==
    [claims     |-> clientOwned[m] \cup remembered[m],
     generation |-> CASE ClaimGeneration = "joined"  -> clientGeneration[m]
                      [] ClaimGeneration = "heard"   -> heardGeneration[m]
                      [] ClaimGeneration = "nothing" -> NoGeneration,
     given      |-> given[m]]

\* The answer to a request that names a member id, or none, at once.
Refusal(m, s, named) ==
    IF named /\ m \notin members THEN "UNKNOWN_MEMBER_ID"
    ELSE IF JoinCheck /\ s.generation # NoGeneration /\ s.generation < currentGeneration THEN "ILLEGAL_GENERATION"
    ELSE "NONE"

\* The coordinator takes the subscription, and the group rebalances.
Rebalance(m, s) ==
    /\ state' = "PREPARING_REBALANCE"
    /\ members' = members \cup {m}
    /\ joined' = IF state = "PREPARING_REBALANCE" THEN joined \cup {m} ELSE {m}
    /\ subscriptions' = [subscriptions EXCEPT ![m] = s]
    /\ rejoined' = rejoined \cup {m}
    /\ unwritten' = IF state = "COMPLETING_REBALANCE" THEN unwritten + 1 ELSE unwritten
    /\ UNCHANGED <<generation, abandoned, assigned, currentGeneration>>

\* A request that changes nothing is answered with the generation that there is, and so is the restart of a static member
\* of a stable group: the coordinator keeps what it says, and nobody else hears of it.
AnsweredAtOnce(m, s, named) ==
    /\ m \in members
    /\ \/ state \in {"COMPLETING_REBALANCE", "STABLE"} /\ named /\ s = subscriptions[m]
       \/ state = "STABLE" /\ ~named

\* AbstractCoordinator.resetStateOnResponseError: a member that is not in the group, or not in this generation, gives up
\* what it has (onPartitionsLost). A client that keeps claims still names it when it joins again.
GivesUp(m, keepsId) ==
    /\ clientState' = [clientState EXCEPT ![m] = "UNJOINED"]
    /\ clientGeneration' = [clientGeneration EXCEPT ![m] = NoGeneration]
    /\ hasMemberId' = [hasMemberId EXCEPT ![m] = keepsId]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = {}]
    /\ remembered' = [remembered EXCEPT ![m] = IF KeepsClaims THEN @ \cup clientOwned[m] ELSE {}]
    \* a static member gives up its id when its process starts again: then its assignor has forgotten as well
    /\ heardGeneration' = [heardGeneration EXCEPT ![m] = IF m \in StaticMembers /\ ~keepsId THEN NoGeneration ELSE @]
    /\ given' = [given EXCEPT ![m] = IF ClaimGeneration = "heard" /\ m \notin StaticMembers THEN @ ELSE {}]
    /\ mustJoin' = mustJoin \ {m}

\* The client has to join: it is new, it has heard that the group rebalances, that its generation has passed, or that its
\* answer will not come, or it has given something up.
HasToJoin(m) ==
    \/ clientState[m] = "UNJOINED"
    \/ clientState[m] = "PREPARING_REBALANCE" /\ (m \notin members \/ state # "PREPARING_REBALANCE" \/ m \notin joined)
    \/ /\ clientState[m] \in {"COMPLETING_REBALANCE", "STABLE"}
       /\ \/ m \in members /\ state = "PREPARING_REBALANCE"
          \/ clientGeneration[m] < currentGeneration
          \/ m \in mustJoin

\* A client sends JoinGroup, and the coordinator decides.
JoinGroup(m) ==
    LET named == hasMemberId[m]
        s     == Subscription(m)
        error == Refusal(m, s, named)
    IN  \* enabling conditions
        /\ HasToJoin(m)
        \* state changes
        /\ IF error # "NONE"
           THEN /\ GivesUp(m, error = "ILLEGAL_GENERATION")
                /\ UNCHANGED <<writtenVars, coordinatorVars>>
           ELSE /\ IF AnsweredAtOnce(m, s, named)
                   THEN /\ clientState' = [clientState EXCEPT ![m] = "COMPLETING_REBALANCE"]
                        /\ clientGeneration' = [clientGeneration EXCEPT ![m] = currentGeneration]
                        /\ given' = IF ClaimGeneration = "heard" THEN given ELSE [given EXCEPT ![m] = assigned[m]]
                        /\ subscriptions' = [subscriptions EXCEPT ![m] = s]
                        /\ UNCHANGED <<writtenVars, currentGeneration, state, members, joined>>
                   ELSE /\ Rebalance(m, s)
                        /\ clientState' = [clientState EXCEPT ![m] = "PREPARING_REBALANCE"]
                        /\ UNCHANGED <<clientGeneration, given>>
                /\ UNCHANGED heardGeneration
                /\ hasMemberId' = [hasMemberId EXCEPT ![m] = TRUE]
                /\ remembered' = [remembered EXCEPT ![m] = IF Cooperative THEN @ ELSE s.claims]
                /\ clientOwned' = [clientOwned EXCEPT ![m] = IF Cooperative THEN @ ELSE {}]
                /\ mustJoin' = mustJoin \ {m}
        /\ UNCHANGED networkVars

\* A request is sent and does not arrive yet. The client will give up waiting, and send another.
SendDelayed(m) ==
    \* enabling conditions
    /\ DelayedJoins /\ Cooperative
    /\ HasToJoin(m) /\ hasMemberId[m] /\ delayed[m] = {}
    /\ clientGeneration[m] # NoGeneration \/ DelayedFirstJoins
    /\ Disturb
    \* state changes
    /\ delayed' = [delayed EXCEPT ![m] = {Subscription(m)}]
    /\ UNCHANGED <<writtenVars, coordinatorVars, clientVars>>

\* It arrives after all. Nobody waits for the answer.
ArriveDelayed(m, s) ==
    \* enabling conditions
    /\ s \in delayed[m]
    \* state changes
    /\ delayed' = [delayed EXCEPT ![m] = {}]
    /\ IF Refusal(m, s, TRUE) # "NONE" \/ AnsweredAtOnce(m, s, TRUE)
       THEN UNCHANGED <<writtenVars, coordinatorVars>>
       ELSE Rebalance(m, s)
    /\ UNCHANGED <<clientVars, disturbances>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The next generation.                                                    *)
(***************************************************************************)

\* The answers reach these members; they know the generation before they know its assignment.
Answer(reached) ==
    /\ currentGeneration' = currentGeneration + 1
    /\ state' = "COMPLETING_REBALANCE"
    /\ joined' = {}
    /\ clientState' = [m \in Members |-> IF m \in reached THEN "COMPLETING_REBALANCE" ELSE clientState[m]]
    /\ clientGeneration' = [m \in Members |-> IF m \in reached THEN currentGeneration + 1 ELSE clientGeneration[m]]
    /\ given' = [m \in Members |-> IF m \in reached /\ ClaimGeneration # "heard" THEN assigned[m] ELSE given[m]]
    /\ UNCHANGED <<writtenVars, members, subscriptions, heardGeneration, hasMemberId, clientOwned, remembered>>
    /\ UNCHANGED <<mustJoin, delayed>>

\* Those who wait for the answer to the request that the coordinator has.
Waiting == {m \in joined : clientState[m] = "PREPARING_REBALANCE"}

\* Everyone has joined.
CompleteJoin ==
    \* enabling conditions
    /\ state = "PREPARING_REBALANCE"
    /\ members \subseteq joined
    /\ members # {}
    \* state changes
    /\ Answer(Waiting)
    /\ UNCHANGED disturbances

\* The same, and an answer does not arrive.
LoseAnswer(m) ==
    \* enabling conditions
    /\ AnswersGetLost
    /\ state = "PREPARING_REBALANCE"
    /\ members \subseteq joined
    /\ m \in Waiting
    /\ Disturb
    \* state changes
    /\ Answer(Waiting \ {m})

\* Static members have not joined in time. They stay, by the subscription they sent before.
CompleteWithout ==
    \* enabling conditions
    /\ state = "PREPARING_REBALANCE"
    /\ joined # {}
    /\ members \ joined # {} /\ members \ joined \subseteq StaticMembers
    /\ Disturb
    \* state changes
    /\ Answer(Waiting)

\* The answer to a member's heartbeat or SyncGroup: its generation has passed.
LearnIllegalGeneration(m) ==
    \* enabling conditions
    /\ m \in members
    /\ clientState[m] \in {"COMPLETING_REBALANCE", "STABLE"}
    /\ state # "PREPARING_REBALANCE"
    /\ clientGeneration[m] < currentGeneration
    \* state changes
    /\ GivesUp(m, TRUE)
    /\ UNCHANGED <<writtenVars, coordinatorVars, networkVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The assignor. It sees the members' subscriptions and nothing else.      *)
(***************************************************************************)

Claimants(p)   == {m \in members : p \in subscriptions[m].claims}
ClaimOf(m, p)  == IF m \in Claimants(p) THEN subscriptions[m].generation ELSE NoClaim
Greatest(p, ms) == Max({NoClaim} \cup {ClaimOf(m, p) : m \in ms})
NewestOfAll    == Max({subscriptions[m].generation : m \in members})

\* Those whose claim of a partition is believed. Where there are several it is disputed.
Believed(p) ==
    CASE Assignor \in {"generation", "any_claim"} ->
             {m \in Claimants(p) : ClaimOf(m, p) = Greatest(p, members)}
      [] Assignor = "newest_generation" -> {m \in Claimants(p) : ClaimOf(m, p) = NewestOfAll}
      [] Assignor = "unbound" -> {}
      [] OTHER -> Claimants(p)

\* Members share the partitions evenly, if they want the same ones.
Quota == IF Assignor = "any_claim" THEN Cardinality(Partitions)
         ELSE (Cardinality(Partitions) + Cardinality(members) - 1) \div Cardinality(members)

\* A partition goes to one member or to none.
OneOrNone == [Partitions -> {{}} \cup {{m} : m \in members}]
To(f, m)  == {p \in Partitions : f[p] = {m}}

\* Where a partition may go. Nobody's goes to anybody. A valid owner keeps its own, unless it has more than its share: a
\* cooperative one then gives it up, and the partition is nobody's until it has. A disputed one is taken from all.
MayGo(f, p) ==
    IF Believed(p) = {} THEN f[p] # {}
    ELSE IF Cardinality(Believed(p)) > 1 /\ Assignor # "trusting" THEN Cooperative => f[p] = {}
    ELSE IF f[p] # {} /\ f[p] \subseteq Believed(p) THEN TRUE
    ELSE /\ \/ Assignor = "any_claim"
            \/ \E m \in Believed(p) : Cardinality({q \in To(f, m) : m \in Believed(q)}) = Quota
         /\ IF ~Cooperative THEN f[p] # {}
            \* who claims it has it already, in the eyes of this assignor
            ELSE f[p] = {} \/ (Assignor = "any_claim" /\ f[p] \subseteq Claimants(p))

Assignments ==
    IF Assignor = "fails" /\ \E p \in Partitions : Cardinality(Claimants(p)) > 1 THEN {}
    ELSE {f \in OneOrNone : /\ \A m \in members : Cardinality(To(f, m)) <= Quota
                            /\ \A p \in Partitions : MayGo(f, p)}

\* validateCooperativeAssignment: nobody is given what another has to give up, by all claims.
GivenUpFirst(f) ==
    \A p \in Partitions : \A m \in f[p] : p \notin subscriptions[m].claims => Claimants(p) = {}

Passes(f) == Validates => GivenUpFirst(f)

\* A member that has heard of the generation leads.
HasLeader == \E m \in members : clientState[m] = "COMPLETING_REBALANCE" /\ clientGeneration[m] = currentGeneration

\* The leader's assignment comes, and is written with the generation.
SyncGroup ==
    \* enabling conditions
    /\ state = "COMPLETING_REBALANCE"
    /\ HasLeader
    \* state changes
    /\ \E f \in Assignments :
        /\ Passes(f)
        /\ assigned' = [m \in Members |-> To(f, m)]
        /\ given' = [m \in Members |->
               IF clientGeneration[m] = currentGeneration /\ ClaimGeneration # "heard" THEN To(f, m) ELSE given[m]]
    /\ generation' = currentGeneration
    /\ abandoned' = unwritten
    /\ unwritten' = 0
    /\ rejoined' = {}
    /\ state' = "STABLE"
    /\ UNCHANGED <<currentGeneration, members, joined, subscriptions, clientState, clientGeneration>>
    /\ UNCHANGED <<heardGeneration, hasMemberId, clientOwned, remembered, mustJoin, networkVars>>

\* The assignor throws, or its assignment is refused by the leader's client. Its application polls again, so that the
\* leader joins again, and everybody with it.
AssignorFails ==
    \* enabling conditions
    /\ state = "COMPLETING_REBALANCE"
    /\ HasLeader
    /\ Assignments = {} \/ \E f \in Assignments : ~Passes(f)
    \* state changes
    /\ state' = "PREPARING_REBALANCE"
    /\ joined' = {}
    /\ unwritten' = unwritten + 1
    /\ UNCHANGED <<generation, abandoned, assigned, rejoined, currentGeneration, members, subscriptions>>
    /\ UNCHANGED <<clientVars, networkVars>>

\* Nobody has heard of the generation, so nobody leads. The coordinator waits for the leader's SyncGroup, then prepares
\* another rebalance.
LeaderIsLost ==
    \* enabling conditions
    /\ state = "COMPLETING_REBALANCE"
    /\ ~HasLeader
    \* state changes
    /\ state' = "PREPARING_REBALANCE"
    /\ joined' = {}
    /\ unwritten' = unwritten + 1
    /\ UNCHANGED <<generation, abandoned, assigned, rejoined, currentGeneration, members, subscriptions>>
    /\ UNCHANGED <<clientVars, networkVars>>

\* A client that has its assignment has to join again: it has to give something up.
JoinsAgain(m) == Cooperative /\ (clientOwned[m] \cup remembered[m]) \ assigned[m] # {}

\* The answer to SyncGroup. A cooperative member that has to give something up does, and joins again.
ReceiveAssignment(m) ==
    \* enabling conditions
    /\ state = "STABLE"
    /\ m \in members
    /\ clientState[m] = "COMPLETING_REBALANCE"
    /\ clientGeneration[m] = currentGeneration
    \* state changes
    /\ clientState' = [clientState EXCEPT ![m] = "STABLE"]
    /\ heardGeneration' = [heardGeneration EXCEPT ![m] = currentGeneration]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = assigned[m]]
    /\ remembered' = [remembered EXCEPT ![m] = {}]
    /\ given' = [given EXCEPT ![m] = assigned[m]]
    /\ mustJoin' = IF JoinsAgain(m) THEN mustJoin \cup {m} ELSE mustJoin
    /\ UNCHANGED <<writtenVars, coordinatorVars, clientGeneration, hasMemberId, networkVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Members that go and come.                                               *)
(***************************************************************************)

\* The generation of the record that says that nobody is left.
EmptiedGeneration == currentGeneration + 1

\* A member leaves, or its session times out, or it has not joined in time: then its client does not know yet.
RemoveMember(m, told) ==
    \* enabling conditions
    /\ MembersGo
    /\ m \in members \ StaticMembers
    /\ Disturb
    \* state changes
    /\ members' = members \ {m}
    /\ subscriptions' = [subscriptions EXCEPT ![m] = NoSubscription]
    /\ joined' = IF state = "PREPARING_REBALANCE" THEN joined \ {m} ELSE {}
    /\ IF members = {m}
       THEN /\ state' = "EMPTY"
            /\ currentGeneration' = EmptiedGeneration
            /\ generation' = EmptiedGeneration
            /\ abandoned' = IF state = "COMPLETING_REBALANCE" THEN unwritten + 1 ELSE unwritten
            /\ unwritten' = 0
            /\ assigned' = [n \in Members |-> {}]
            /\ rejoined' = {}
       ELSE /\ state' = "PREPARING_REBALANCE"
            /\ unwritten' = IF state = "COMPLETING_REBALANCE" THEN unwritten + 1 ELSE unwritten
            /\ UNCHANGED <<currentGeneration, generation, abandoned, assigned, rejoined>>
    /\ IF told THEN GivesUp(m, FALSE) ELSE UNCHANGED clientVars
    /\ UNCHANGED delayed

\* A member wants the group to rebalance: its topics have changed, or its application says so.
WantRebalance(m) ==
    \* enabling conditions
    /\ m \in members \ mustJoin
    /\ clientState[m] = "STABLE" /\ clientGeneration[m] = currentGeneration
    /\ Disturb
    \* state changes
    /\ mustJoin' = mustJoin \cup {m}
    /\ UNCHANGED <<writtenVars, coordinatorVars, delayed>>
    /\ UNCHANGED <<clientState, clientGeneration, heardGeneration, hasMemberId, clientOwned, remembered, given>>

\* A removed client hears of it with its next heartbeat.
LearnRemoval(m) ==
    \* enabling conditions
    /\ m \notin members
    /\ clientState[m] \in {"COMPLETING_REBALANCE", "STABLE"}
    \* state changes
    /\ GivesUp(m, FALSE)
    /\ UNCHANGED <<writtenVars, coordinatorVars, networkVars>>

\* The process of a static member starts again.
RestartStatic(m) ==
    \* enabling conditions
    /\ m \in StaticMembers \cap members
    /\ clientState[m] # "UNJOINED"
    /\ Disturb
    \* state changes
    /\ GivesUp(m, FALSE)
    /\ UNCHANGED <<writtenVars, coordinatorVars, delayed>>

-----------------------------------------------------------------------------
\* ClassicGroup.validateOffsetCommit.
AdmitsCommit(m) ==
    m \in members /\ clientGeneration[m] = currentGeneration /\ state # "COMPLETING_REBALANCE"

\* A client commits.
Commit(m, p) ==
    \* enabling conditions
    /\ Committing
    /\ p \in clientOwned[m]
    \* state changes
    /\ UNCHANGED vars

-----------------------------------------------------------------------------
\* A client hears of what was decided.
Hears(m) == ReceiveAssignment(m) \/ LearnIllegalGeneration(m) \/ LearnRemoval(m)

CoordinatorStep == CompleteJoin \/ AssignorFails \/ LeaderIsLost

Disturbance ==
    \/ CompleteWithout
    \/ \E m \in Members :
        \/ LoseAnswer(m)
        \/ SendDelayed(m)
        \/ WantRebalance(m)
        \/ RestartStatic(m)
        \/ \E told \in BOOLEAN : RemoveMember(m, told)

Next ==
    \/ CoordinatorStep
    \/ SyncGroup
    \/ Disturbance
    \/ \E m \in Members :
        \/ JoinGroup(m)
        \/ Hears(m)
        \/ \E s \in delayed[m] : ArriveDelayed(m, s)
        \/ \E p \in Partitions : Commit(m, p)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ state \in {"EMPTY", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"}
    /\ state = "EMPTY" <=> members = {}
    /\ joined \subseteq members
    /\ generation <= currentGeneration
    /\ state = "STABLE" => generation = currentGeneration
    /\ \A m \in Members :
        /\ clientState[m] \in {"UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"}
        /\ clientState[m] = "UNJOINED" => clientOwned[m] = {} /\ clientGeneration[m] = NoGeneration
        /\ clientGeneration[m] <= currentGeneration
        /\ m \in members => hasMemberId[m] \/ m \in StaticMembers
        /\ Cardinality(delayed[m]) <= 1

=============================================================================
