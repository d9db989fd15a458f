------------------------ MODULE OffsetCommitProps ------------------------
(***************************************************************************)
(* What must hold of offset-commit fencing, and how each policy decides.   *)
(*                                                                         *)
(* TLC checks these definitions on the behaviours of OffsetCommit; tlasql  *)
(* compiles the same text to SQL and runs it over the history that was     *)
(* rebuilt from a cluster's logs. A comment before a marked definition     *)
(* says what it means, where it does not hold, and what the person on call *)
(* should do when it is violated.                                          *)
(***************************************************************************)
EXTENDS OffsetCommit

(***************************************************************************)
(* The four policies. A commit c carries the state it met at the           *)
(* coordinator; a policy says whether it is accepted.                      *)
(***************************************************************************)

\* KIP-848 as first shipped (consumer groups up to 4.2): only the member's current epoch is accepted.
\* @decision("strict")
Strict(c) ==
    \/ c.unfenced
    \/ c.memberKnown /\ c.clientEpoch = c.memberEpoch

\* KAFKA-19779 as proposed: an older epoch is accepted if nothing was revoked from the member since.
\* @decision("member_revocation")
MemberRevocation(c) ==
    \/ c.unfenced
    \/ /\ c.memberKnown
       /\ c.revocationEpoch < c.clientEpoch
       /\ c.clientEpoch <= c.memberEpoch

\* KAFKA-19779, the precise form: an older epoch is accepted if this partition was not revoked since.
\* @decision("partition_revocation")
PartitionRevocation(c) ==
    \/ c.unfenced
    \/ /\ c.memberKnown
       /\ c.partitionRevocationEpoch < c.clientEpoch
       /\ c.clientEpoch <= c.memberEpoch

\* KIP-1251 for one partition: the current epoch is accepted without looking at ownership; an older one is
\* accepted if the partition is assigned (or pending revocation) since that epoch or before.
AcceptedByAssignmentEpoch(c) ==
    \/ c.unfenced
    \/ /\ c.memberKnown
       /\ \/ c.clientEpoch = c.memberEpoch
          \/ /\ c.clientEpoch < c.memberEpoch
             /\ c.assignmentEpoch >= 0
             /\ c.assignmentEpoch <= c.clientEpoch

\* KIP-1251 as shipped (consumer groups from 4.3): one refused partition refuses the whole request.
\* @decision("assignment_epoch")
AssignmentEpoch(c) ==
    \A d \in commits : d.request = c.request => AcceptedByAssignmentEpoch(d)

\* The rule that the broker which answered c implements.
BrokerRule(c) == IF c.rule = "strict" THEN Strict(c) ELSE AssignmentEpoch(c)

(***************************************************************************)
(* The truth about a commit, from the history of ownership alone.          *)
(***************************************************************************)

\* The member owned the partition at the epoch it presents, and another member has owned it since.
Zombie(c) == c.ownedAtClientEpoch /\ c.reassignedSince

\* The member owned the partition at the epoch it presents and owns it still, without a break.
Owner(c) == c.ownedAtClientEpoch /\ c.uninterrupted

(***************************************************************************)
(* Invariants over the state of the group.                                 *)
(***************************************************************************)

\* @invariant("epoch_order", "critical", "member")
EpochOrder ==
    \A m \in DOMAIN memberEpoch :
        /\ revocationEpoch[m] < memberEpoch[m]
        /\ memberEpoch[m] <= targetAssignmentEpoch
        /\ targetAssignmentEpoch <= groupEpoch

\* @invariant("no_partition_owned_twice", "critical", "partition")
NoPartitionOwnedTwice ==
    \A m \in DOMAIN owned : \A n \in DOMAIN owned :
        \A p \in owned[m] \cap owned[n] : m = n

\* @invariant("assignment_epoch_bound", "critical", "partition")
AssignmentEpochBound ==
    \A m \in DOMAIN owned : \A p \in owned[m] :
        assignmentEpoch[m][p] <= memberEpoch[m]

\* @invariant("partition_revocation_bound", "critical", "partition")
PartitionRevocationBound ==
    \A m \in DOMAIN partitionRevocationEpoch : \A p \in DOMAIN partitionRevocationEpoch[m] :
        partitionRevocationEpoch[m][p] <= revocationEpoch[m]

(***************************************************************************)
(* Steps: what may happen from one observable state to the next.           *)
(***************************************************************************)

\* @step("group_epoch_never_falls", "critical", "group") @transitive
GroupEpochNeverFalls == groupEpoch' >= groupEpoch

\* @step("target_assignment_epoch_never_falls", "critical", "group") @transitive
TargetAssignmentEpochNeverFalls == targetAssignmentEpoch' >= targetAssignmentEpoch

\* @step("member_epoch_never_falls", "critical", "member") @transitive
MemberEpochNeverFalls ==
    \A m \in DOMAIN memberEpoch \cap DOMAIN memberEpoch' :
        memberEpoch'[m] >= memberEpoch[m]

(***************************************************************************)
(* Invariants over commits.                                                *)
(***************************************************************************)

\* @invariant("no_zombie_accepted", "critical", "commit")
NoZombieAccepted == \A c \in commits : Zombie(c) => ~c.accepted

\* @invariant("no_owner_refused", "warning", "commit")
NoOwnerRefused == \A c \in commits : Owner(c) => ~c.fenced

\* @invariant("broker_keeps_its_rule", "critical", "commit")
BrokerKeepsItsRule ==
    \A c \in commits : c.accepted \/ c.fenced => (c.accepted <=> BrokerRule(c))

\* @invariant("policies_relax_in_order", "critical", "commit")
PoliciesRelaxInOrder ==
    \A c \in commits : Owner(c) =>
        /\ Strict(c) => MemberRevocation(c)
        /\ MemberRevocation(c) => PartitionRevocation(c)
        /\ PartitionRevocation(c) => AcceptedByAssignmentEpoch(c)

\* @invariant("no_policy_admits_a_zombie", "critical", "commit")
NoPolicyAdmitsAZombie ==
    \A c \in commits : Zombie(c) =>
        /\ ~Strict(c)
        /\ ~MemberRevocation(c)
        /\ ~PartitionRevocation(c)
        /\ ~AcceptedByAssignmentEpoch(c)

\* @invariant("no_commit_for_anothers_partition", "critical", "commit")
NoCommitForAnothersPartition ==
    \A c \in commits : c.accepted /\ ~c.unfenced => ~c.ownedByAnother

\* @invariant("no_commit_for_unowned_partition", "warning", "commit")
NoCommitForUnownedPartition ==
    \A c \in commits : c.accepted /\ ~c.unfenced => c.ownedBySelf \/ c.ownedByAnother

=============================================================================
