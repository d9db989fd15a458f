--------------------------- MODULE MCOffsetCommit ---------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of OffsetCommit. The    *)
(* marked steps as TLC's properties come from OffsetCommitPropsMarked.     *)
(* Below them what only a model can be asked: the log of a cluster shows   *)
(* no coordinator with the proposal's rules, and stored offsets have their *)
(* own tests where they are rebuilt.                                       *)
(***************************************************************************)
EXTENDS OffsetCommitPropsMarked, TLC

\* Behaviours are followed up to this group epoch.
\* @type: Int;
CONSTANT MaxGroupEpoch

EpochsBounded == groupEpoch <= MaxGroupEpoch

\* With transactions, behaviours are followed up to the second accepted commit: one to be pending, one to be newer.
CommitsBounded == logEnd <= 2

\* No member, partition or request is special.
Symmetry == Permutations(Members) \cup Permutations(Partitions)

-----------------------------------------------------------------------------
(***************************************************************************)
(* KAFKA-19779 as a coordinator's rule.                                    *)
(***************************************************************************)

\* A coordinator with a rule of the proposal answers as the proposal's policy says (BrokerRule has no case for it).
KeepsTheProposal ==
    \A c \in commits : c.accepted <=>
        CASE c.rule = "member_revocation"    -> MemberRevocation(c)
          [] c.rule = "partition_revocation" -> PartitionRevocation(c)

\* The member-level revocation epoch refuses every owner that the strict rule refuses: it would have been no gain.
\* TLC must refute this. That it refuses no further one is PoliciesRelaxInOrder.
RefusesAllThatStrictDoes == \A c \in commits : Owner(c) /\ ~Strict(c) => ~MemberRevocation(c)

\* For every owner each policy accepts what the one before it accepts: PoliciesRelaxInOrder without its exception.
\* TLC must refute this where a member may have a partition back in the epoch in which it gave it up.
RelaxesInOrderThroughout == \A c \in commits : Owner(c) /\ Strict(c) => PartitionRevocation(c)

(***************************************************************************)
(* Transactions.                                                           *)
(***************************************************************************)

\* What is stored is never replaced by what was committed before it.
StoredOffsetNeverGoesBack == [][\A p \in Partitions : storedAt'[p] >= storedAt[p]]_storedAt

\* No transaction is lost because an owner's commit was refused. This is the price of false fencing: Kafka Streams
\* aborts, and restores its state.
NoTransactionLostToFencing == \A c \in commits : c.transactional /\ Owner(c) => ~c.fenced

\* No transaction ends with an offset for a partition that another member owns by then. TLC refutes this under every
\* policy, since fencing looks at commits when they arrive, not when they become final. It is why a fetch of offsets
\* has to wait for pending ones (UNSTABLE_OFFSET_COMMIT): the new owner would start before the old one's last commit.
NoPendingOffsetOutlivesOwnership ==
    \A m \in Members : \A p \in DOMAIN pendingOffsets[m] : \A n \in Live \ {m} : p \notin owned[n]

=============================================================================
