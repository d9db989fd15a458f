-------------------------- MODULE MCOwnershipClaim --------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of OwnershipClaim. The  *)
(* marked step as TLC's property comes from OwnershipClaimPropsMarked.     *)
(* Below them what only a model can be asked: what a client has, no claim  *)
(* says for certain.                                                       *)
(***************************************************************************)
EXTENDS OwnershipClaimPropsMarked, TLC

\* Behaviours are followed up to this generation.
\* @type: Int;
CONSTANT MaxGeneration

Bounded == currentGeneration <= MaxGeneration

\* No member and no partition is special, but for static members.
Symmetry == Permutations(Members \ StaticMembers) \cup Permutations(StaticMembers) \cup Permutations(Partitions)

-----------------------------------------------------------------------------
\* Of the members of a group no two have a partition. A client that was removed, and has not heard of it, is no member.
NoTwoOwners ==
    \A m \in members : \A n \in members : m # n => clientOwned[m] \cap clientOwned[n] = {}

\* The coordinator and Kafka's assignor do what the definitions of their rule say.
CoordinatorKeepsTheProposal == \A j \in joins : j.error = IF JoinCheck THEN ProposedJoin(j) ELSE ShippedJoin(j)
AssignorKeepsItsRule ==
    \A c \in claims : Assignor = "generation" /\ Cooperative /\ ClaimByGeneration(c) # "valid" => ~c.assignedToSelf

\* The check refuses no member that has what it claims, and that nobody else was given since.
NoOwnerLosesItsClaims ==
    \A j \in joins : j.error = "ILLEGAL_GENERATION" =>
        subscriptions[j.member].claims \cap assigned[j.member] = {}

-----------------------------------------------------------------------------
(***************************************************************************)
(* What happens in the end: nothing disturbs the group any more. Whoever   *)
(* has to act acts: nothing more is assumed.                               *)
(***************************************************************************)
\* What a client does by itself or when it hears of something, and the arrival of its late request.
ClientStep(m) == JoinGroup(m) \/ Hears(m) \/ \E s \in delayed[m] : ArriveDelayed(m, s)

FairSpec ==
    /\ ObservedInit
    /\ [][ObservedNext /\ Bounded']_observedVars
    /\ WF_vars((CompleteJoin \/ SyncGroup \/ AssignorFails \/ LeaderIsLost) /\ Bounded')
    /\ \A m \in Members : WF_vars(ClientStep(m) /\ Bounded')

\* The group is at rest: all are in, each has what it was assigned, and every partition has an owner.
AtRest ==
    /\ state = "STABLE"
    /\ members = Members
    /\ \A m \in Members : clientState[m] = "STABLE" /\ clientOwned[m] = assigned[m] /\ m \notin mustJoin
    /\ UNION {assigned[m] : m \in Members} = Partitions

\* Every rebalance ends.
ComesToRest == <>[]AtRest

\* The bound is far enough: a group that comes to rest does so before.
BoundIsFarEnough == currentGeneration < MaxGeneration

=============================================================================
