-------------------------- MODULE OffsetCommitReach --------------------------
(***************************************************************************)
(* What must be reachable, so that no marked definition holds only because *)
(* the situation it speaks of never comes up. Each definition here claims  *)
(* that the situation is impossible; TLC must refute every one of them on  *)
(* the healthy model.                                                      *)
(***************************************************************************)
EXTENDS MCOffsetCommit

\* No member has revoked, is behind the target, while the target is behind the group.
EpochOrderReach ==
    ~\E m \in DOMAIN memberEpoch :
        /\ 0 < revocationEpoch[m]
        /\ memberEpoch[m] < targetAssignmentEpoch
        /\ targetAssignmentEpoch < groupEpoch

\* No two members own partitions at once.
NoPartitionOwnedTwiceReach ==
    ~\E m, n \in DOMAIN owned : m # n /\ owned[m] # {} /\ owned[n] # {}

\* No member keeps a partition into a later epoch.
AssignmentEpochBoundReach ==
    ~\E m \in DOMAIN owned : \E p \in owned[m] : assignmentEpoch[m][p] < memberEpoch[m]

\* No member revokes a second time, another partition.
PartitionRevocationBoundReach ==
    ~\E m \in DOMAIN partitionRevocationEpoch : \E p \in DOMAIN partitionRevocationEpoch[m] :
        partitionRevocationEpoch[m][p] < revocationEpoch[m]

\* The three epochs never grow.
GroupEpochGrows            == groupEpoch' > groupEpoch
TargetAssignmentEpochGrows == targetAssignmentEpoch' > targetAssignmentEpoch
MemberEpochGrows           == \E m \in DOMAIN memberEpoch \cap DOMAIN memberEpoch' : memberEpoch'[m] > memberEpoch[m]

GroupEpochNeverFallsReach            == [][~GroupEpochGrows]_vars
TargetAssignmentEpochNeverFallsReach == [][~TargetAssignmentEpochGrows]_vars
MemberEpochNeverFallsReach           == [][~MemberEpochGrows]_vars

\* No zombie commit arrives.
NoZombieAcceptedReach == ~\E c \in commits : Zombie(c)

\* No owner commits at an epoch that has passed.
NoOwnerRefusedReach == ~\E c \in commits : Owner(c) /\ c.clientEpoch < c.memberEpoch

\* The coordinator never accepts an epoch that has passed.
BrokerKeepsItsRuleReach == ~\E c \in commits : c.accepted /\ ~c.unfenced /\ c.clientEpoch < c.memberEpoch

\* No member is refused in a transaction.
BrokerNamesItsErrorReach == ~\E c \in commits : c.error = "ILLEGAL_GENERATION"

\* The policies never differ on an owner: neither the strict one from the proposal, nor the two proposals.
PoliciesRelaxInOrderReach ==
    ~\E c \in commits : Owner(c) /\ ~Strict(c) /\ ~MemberRevocation(c) /\ PartitionRevocation(c)

\* No zombie commit arrives from a member that is still in the group.
NoPolicyAdmitsAZombieReach == ~\E c \in commits : Zombie(c) /\ c.memberKnown

\* No member's commit is accepted while another member owns something.
NoCommitForAnothersPartitionReach ==
    ~\E c \in commits :
        /\ c.accepted
        /\ ~c.unfenced
        /\ \E n \in DOMAIN owned \ {c.member} : owned[n] # {}

\* No member's commit is accepted while a partition is without an owner.
NoCommitForUnownedPartitionReach ==
    ~\E c \in commits :
        /\ c.accepted
        /\ ~c.unfenced
        /\ \E p \in Partitions : \A n \in DOMAIN owned : p \notin owned[n]

\* No producer commits without a member while a member owns something.
NoMemberlessCommitForOwnedPartitionReach ==
    ~\E c \in commits :
        /\ c.accepted
        /\ c.unfenced
        /\ c.transactional
        /\ \E n \in DOMAIN owned : owned[n] # {}

\* No member of a streams group commits after it has revoked and heard of its next epoch.
NoCommitAfterRevocationReach ==
    ~\E c \in commits :
        /\ c.protocol = "streams"
        /\ c.memberKnown
        /\ 0 < c.revocationEpoch
        /\ c.revocationEpoch < c.clientEpoch

=============================================================================
