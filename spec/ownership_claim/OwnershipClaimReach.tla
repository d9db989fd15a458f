------------------------- MODULE OwnershipClaimReach --------------------------
(***************************************************************************)
(* What must be reachable, so that no marked definition holds only because *)
(* the situation it speaks of never comes up. Each definition here claims  *)
(* that the situation is impossible; TLC must refute every one of them on  *)
(* a model in which the definition holds.                                  *)
(***************************************************************************)
EXTENDS MCOwnershipClaim

\* No two members claim one partition.
NoTwoValidClaimsReach == ~\E c \in claims : c.held /\ c.greatestClaimOfOthers # NoClaim

\* No claim of a cooperative member is stale.
NoStaleClaimWinsReach == ~\E c \in claims : c.held /\ Stale(c)

\* No owner has to give up a partition.
NoHandoverBeforeRevocationReach == ~\E c \in claims : c.held /\ Valid(c) /\ ~c.assignedToSelf

\* No partition goes from one member to another that stay both.
NoHandoverFromAbsentMemberReach == ~\E a \in handovers : a.previousOwnerStays

\* No member claims what it was assigned.
ClaimWasAssignedReach == ~\E c \in claims : c.held

\* No member is sent away.
BrokerKeepsItsJoinRuleReach == ~\E j \in joins : ByTheRule(j) /\ j.error = "UNKNOWN_MEMBER_ID"

\* No member is let in with a generation.
NoStaleJoinAdmittedReach ==
    ~\E j \in joins : ~j.elsewhere /\ j.error = "NONE" /\ NamesGeneration(j)

\* No generation is written after one that was abandoned.
PassesAnAbandonedGeneration == generation' # generation /\ abandoned' > 0
GenerationGrowsByOneReach   == [][~PassesAnAbandonedGeneration]_vars

\* No commit is accepted.
CommitOfCurrentGenerationReach == ~\E c \in commits : c.protocol = "classic" /\ c.accepted /\ ~c.unfenced

=============================================================================
