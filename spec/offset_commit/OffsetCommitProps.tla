------------------------ MODULE OffsetCommitProps ------------------------
(***************************************************************************)
(* What must hold of offset-commit fencing, and how each policy decides.   *)
(*                                                                         *)
(* TLC checks these definitions on the behaviours of OffsetCommit and      *)
(* ClassicGroup; tlasql compiles the same text to SQL and runs it over the *)
(* history that was rebuilt from a cluster's logs. A comment before a      *)
(* marked definition says what it means, where it does not hold, and what  *)
(* the person on call should do when it is violated.                       *)
(*                                                                         *)
(* The groups of a cluster are of several kinds, and the words below cover *)
(* them: in a streams group a partition is an active task (of a commit,    *)
(* the task that reads it); in a classic group the group epoch, the target *)
(* assignment epoch and every member epoch are the generation; a share     *)
(* group has epochs, and neither owners nor commits.                       *)
(***************************************************************************)
EXTENDS OffsetCommit

(***************************************************************************)
(* The four policies, and the rule of the broker that answered. A commit c *)
(* carries the state it met at the coordinator; a policy says whether it   *)
(* is accepted, whatever kind of group it was sent to.                     *)
(***************************************************************************)

\* KIP-848 as first shipped (consumer groups up to 4.2, streams groups of 4.1): a commit is accepted at the
\* member's current epoch and at no other. What the member owns is not looked at.
\*
\* Where it does not hold: an epoch that has passed is refused although the member may own the partition still,
\* so this policy refuses owners (no_owner_refused). From 4.2 a member of a consumer group can release partitions
\* without a new epoch (KAFKA-19974); the current epoch then no longer proves ownership. In a classic group it compares
\* generations and leaves out that plain commits wait while the group rebalances (broker_rule has that).
\*
\* On call: many reject here beside accept under assignment_epoch says that brokers of 4.3 or later would end the
\* refusals. `kafka-features.sh --bootstrap-server BROKER:9092 describe` and the brokers' versions tell which rule
\* answers today.
\* @decision("strict", "commits")
Strict(c) ==
    \/ c.unfenced
    \/ c.memberKnown /\ c.clientEpoch = c.memberEpoch

\* KAFKA-19779 as proposed: an older epoch is accepted if nothing at all was revoked from the member since. One
\* epoch per member, derived here from its records: no broker stores it. In a streams group the revocation of
\* active tasks counts and that of standby and warm-up tasks does not (the proposal's ActiveTaskRevocationEpoch).
\*
\* Where it does not hold: it refuses an owner whose other partition was revoked. It admits an old commit of a
\* member that left and joined again under the same id, since its revocation epoch starts at 0 again
\* (MCOffsetCommit_design_ids_used_again). Rebuilt from records; a hole in the log makes it unknown. The proposal does not
\* speak of classic groups: there it says what would follow if a generation were treated as a member epoch. A member
\* that a conversion takes over into a consumer group begins one below its generation, since the coordinator forgets
\* what was before.
\*
\* On call: nothing to do: no broker decides by it. It shows what the proposal would have answered.
\* @decision("member_revocation", "commits")
MemberRevocation(c) ==
    \/ c.unfenced
    \/ /\ c.memberKnown
       /\ c.revocationEpoch < c.clientEpoch
       /\ c.clientEpoch <= c.memberEpoch

\* KAFKA-19779 in its precise form: an older epoch is accepted if this very partition was not revoked from the
\* member since. A partition that was never revoked from the member counts as revoked at 0.
\*
\* Where it does not hold: it trusts the client to commit only for partitions it owned at the epoch it presents:
\* a partition the member never had is accepted. Member ids used again defeat it as they defeat
\* member_revocation.
\*
\* On call: nothing to do: no broker decides by it. Where it accepts what member_revocation rejects, the
\* member-level bound was the reason.
\* @decision("partition_revocation", "commits")
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

\* The broker refused this partition of a request for a reason of its own, such as a topic that does not exist. The
\* coordinator is asked about the others without it.
LeftOut(d) == ~d.accepted /\ ~d.fenced

\* KIP-1251 as shipped (streams groups from 4.2, consumer groups from 4.3): the current epoch is accepted without
\* a look at ownership; an older one for a partition that is assigned, or pending revocation, since that epoch or
\* before. One refused partition refuses the whole request. In a streams group a partition is assigned when the
\* active task that reads it is.
\*
\* Where it does not hold: an owned partition is refused when it shares a request with a revoked one. The current
\* epoch is accepted for any partition, owned or not (no_commit_for_anothers_partition). Records of consumer groups
\* written by 4.2 carry no assignment epochs: each partition then counts as assigned at the member epoch, and owners
\* at older epochs are refused. A topic unknown to the broker's metadata, or outside the topology of a streams group, is
\* refused for another reason. Classic groups have no such rule.
\*
\* On call: accept here beside STALE_MEMBER_EPOCH from the broker on an older release says that an upgrade to 4.3
\* removes the error; on 4.3 or later it is broker_keeps_its_rule that is violated.
\* @decision("assignment_epoch", "commits")
AssignmentEpoch(c) ==
    /\ AcceptedByAssignmentEpoch(c)
    /\ \A d \in commits : d.request = c.request => LeftOut(d) \/ AcceptedByAssignmentEpoch(d)

\* Classic groups: a known member at the group's generation. Between the JoinGroup answers, which begin a generation,
\* and the SyncGroup of the leader, which brings its assignment, a plain commit has to wait.
Generation(c) ==
    \/ c.unfenced
    \/ /\ c.memberKnown
       /\ c.clientEpoch = c.memberEpoch
       /\ c.transactional \/ ~c.rebalancing

\* What the broker that answered had to decide, by the rule its version has for this kind of group: in a classic
\* group the generation, and for plain commits no rebalance that waits for its assignment; in a consumer or streams
\* group the strict rule or KIP-1251's; a share group takes no commits. Beside the four policies it tells what is, not
\* what might be.
\*
\* Where it does not hold: the rule follows from the versions and features the log shows; where they are not known,
\* as for a group of unknown kind, it is unknown. Static members, classic members of a group under migration and
\* topics that the broker's metadata did not know are decided by further rules that are not modelled. The proposal's
\* two policies are no broker's rule and have no case here.
\*
\* On call: where the broker's answer differs from this one, broker_keeps_its_rule is violated: begin there. A
\* reject here beside accept under assignment_epoch is a refusal that brokers of 4.3 or later would not give; in a
\* classic group, one that the consumer group protocol (group.protocol=consumer) would not give.
\* @decision("broker_rule", "commits")
BrokerRule(c) ==
    CASE c.rule = "generation"       -> Generation(c)
      [] c.rule = "strict"           -> Strict(c)
      [] c.rule = "assignment_epoch" -> AssignmentEpoch(c)
      [] c.rule = "none_accepted"    -> FALSE

(***************************************************************************)
(* The error of a commit that is refused. Clients go by it: on             *)
(* STALE_MEMBER_EPOCH a consumer commits again at its next epoch, on the   *)
(* others it joins again; a producer aborts. UNSTABLE_OFFSET_COMMIT is no  *)
(* answer to a commit: it tells a fetch to wait.                           *)
(***************************************************************************)

\* Consumer and streams groups: OffsetCommit before v9 has no member epoch, and nothing to be refused by.
TooOld(c) ==
    /\ ~c.unfenced
    /\ c.rule # "generation"
    /\ ~c.transactional
    /\ ~c.classicMember
    /\ c.apiVersion < 9

\* Which error says that the group is not there. TxnOffsetCommit has it from v6 on (KIP-1319, 4.4).
MissingGroup(c) ==
    IF c.apiVersion >= (IF c.transactional THEN 6 ELSE 9) THEN "GROUP_ID_NOT_FOUND" ELSE "ILLEGAL_GENERATION"

\* Which error says that the epoch, or for an epoch that has passed the partition, is not the member's.
WrongEpoch(c) ==
    IF c.rule = "generation" \/ c.classicMember \/ (c.transactional /\ c.apiVersion < 6) THEN "ILLEGAL_GENERATION"
    ELSE "STALE_MEMBER_EPOCH"

\* What a coordinator that refuses c says, in the order in which it looks: ClassicGroup.validateOffsetCommit, and that of
\* ConsumerGroup and StreamsGroup, which look at no instance id, and of ShareGroup, which looks at nothing.
RefusedWith(c) ==
    IF c.rule = "none_accepted" THEN "GROUP_ID_NOT_FOUND"
    ELSE IF ~c.groupKnown THEN MissingGroup(c)
    ELSE IF c.rule = "generation" /\ c.instanceFenced THEN "FENCED_INSTANCE_ID"
    ELSE IF ~c.memberKnown THEN "UNKNOWN_MEMBER_ID"
    ELSE IF TooOld(c) THEN "UNSUPPORTED_VERSION"
    ELSE IF c.rule = "generation" /\ c.clientEpoch = c.memberEpoch THEN "REBALANCE_IN_PROGRESS"
    ELSE WrongEpoch(c)

\* The error that the broker that answered had to give, NONE when it had to accept: by its version, the kind of group
\* and member, the API and its version. It is broker_rule in the words that a client hears.
\*
\* Where it does not hold: as broker_rule. Errors that come before the rule (a coordinator elsewhere or loading,
\* authorization, a producer that is fenced, metadata too large) say nothing of group and member and are not decided
\* here. Which error a group that is not there has is told of brokers from 4.0 only, and only where nothing can have made
\* the group since: a client that joins makes one before anything is written. Where a refused commit may have met several
\* states that are refused with different errors it is unknown, though broker_rule is not.
\*
\* On call: compare it with the answer (broker_error): where they differ, look at broker_names_its_error. To know what
\* a client does next, this is the column to read: STALE_MEMBER_EPOCH ends with its next heartbeat.
\* @decision("shipped_error", "commits")
ShippedError(c) == IF BrokerRule(c) /\ ~TooOld(c) THEN "NONE" ELSE RefusedWith(c)

\* The error that KAFKA-19779 as proposed would have given, by the member-level revocation epoch; NONE where it would have
\* accepted. The proposal keeps Kafka's errors: STALE_MEMBER_EPOCH, for a transactional commit ILLEGAL_GENERATION.
\*
\* Where it does not hold: as member_revocation, which it follows, and as shipped_error for what is looked at before the
\* epoch.
\*
\* On call: nothing to do: no broker decides by it. NONE beside an error in shipped_error is a refusal that the proposal
\* would have spared.
\* @decision("proposed_error", "commits")
ProposedError(c) == IF MemberRevocation(c) /\ ~TooOld(c) THEN "NONE" ELSE RefusedWith(c)

(***************************************************************************)
(* The truth about a commit, from the history of ownership alone.          *)
(***************************************************************************)

\* The member owned the partition at the epoch it presents, and another member has owned it since.
Zombie(c) == c.ownedAtClientEpoch /\ c.reassignedSince

\* The member owned the partition at the epoch it presents and owns it still, without a break.
Owner(c) == c.ownedAtClientEpoch /\ c.uninterrupted

\* A coordinator of the group looked at the commit. Where none did, the commit met no state that a policy could compare.
Decided(c) == c.error \notin {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}

\* What the committer is to the partition, whatever any policy or broker makes of it: its zombie (it owned the partition at
\* the epoch it presents, and another member has owned it since), its owner (it owned it then and owns it still, without a
\* break), or neither.
\*
\* Where it does not hold: it follows from the records of assignments alone, so it is unknown where these are not whole:
\* across a hole in the log, and for epochs from before the log cleaner has been over it. In a streams group a partition is
\* owned by whom its active task was assigned to. A commit without an epoch claims no ownership and is not_owner here.
\*
\* On call: zombie beside an accepted commit is no_zombie_accepted, owner beside a refused one no_owner_refused: begin
\* there.
\* @decision("truth", "commits")
Truth(c) == IF Zombie(c) THEN "zombie" ELSE IF Owner(c) THEN "owner" ELSE "not_owner"

(***************************************************************************)
(* Invariants over the state of the group.                                 *)
(***************************************************************************)

\* A member's last revocation lies before its epoch, no member is ahead of the target assignment it moves
\* towards, and no target assignment is ahead of the group. Everything fencing compares rests on this order.
\*
\* Where it does not hold: only at the end of a batch: the coordinator writes several records in one batch and
\* the order between them is never observable. Brokers before 4.4 leave the group epoch above the assignment
\* epoch when the last member goes; that is inside the order. Static members away with epoch -2 are not live
\* members here. In a classic group all but the revocation epoch are the generation of the last assignment, so that
\* the order says of it only that revocations came before. In a share group no partition is revoked: there it speaks
\* of the three epochs.
\*
\* On call: run `kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe --group G --members --verbose`,
\* then with --state for --members, and compare CURRENT-EPOCH, TARGET-EPOCH, TARGET-ASSIGNMENT-EPOCH and GROUP-EPOCH.
\* If they are out of order on the live broker too, the coordinator's state is damaged: move the coordinator (restart
\* the leader of that __consumer_offsets partition) and keep the segments. If only the log shows it, look at the
\* records around from_position with `kafka-dump-log.sh --offsets-decoder --files SEGMENT`.
\* @violated("a member's epochs are out of order")
\* @invariant("epoch_order", "critical", "member")
EpochOrder ==
    \A m \in DOMAIN memberEpoch :
        /\ revocationEpoch[m] < memberEpoch[m]
        /\ memberEpoch[m] <= targetAssignmentEpoch
        /\ targetAssignmentEpoch <= groupEpoch

\* A partition is assigned to, or waits for revocation at, one member at most; no active task runs twice. This is the
\* exclusive ownership that a group exists for.
\*
\* Where it does not hold: only at the end of a batch: one batch may hand a partition over. It says what the
\* coordinator believes: a client that was fenced may go on consuming until it hears of it. In a classic group the
\* assignment is a client's work: the coordinator passes on what the leader's assignor made, and an assignor that is
\* not Kafka's may give a partition to several members on purpose. Standby and warm-up tasks are copies and are not
\* judged, nor are share groups, whose members own nothing.
\*
\* On call: two members process the same records now. `kafka-consumer-groups.sh --bootstrap-server BROKER:9092
\* --describe --group G --members --verbose` (`kafka-streams-groups.sh` likewise) shows both; restart one of the two
\* clients so that it joins anew. In a classic group look at the assignor (partition.assignment.strategy) and at the
\* log of the group's leader. In the others a coordinator that meets such records while loading fails with "because
\* the partition is still owned at epoch": expect the group to be unavailable after the next coordinator move, and
\* keep the segments for the report.
\* @violated("two members own one partition")
\* @invariant("no_partition_owned_twice", "critical", "partition")
NoPartitionOwnedTwice ==
    \A m \in DOMAIN owned : \A n \in DOMAIN owned :
        \A p \in owned[m] \cap owned[n] : m = n

\* A partition cannot have been assigned in an epoch its owner has not reached. KIP-1251 accepts older epochs
\* down to this one, so an assignment epoch from the future refuses every commit but those at the current epoch.
\*
\* Where it does not hold: where a record carries no assignment epochs (consumer groups written by 4.2 or before,
\* streams groups by 4.1) the broker takes the member epoch for all of them and the bound holds by construction,
\* which says nothing. It says as little of classic groups, whose assignment is of the generation it came with.
\*
\* On call: commits of this member for this partition fail with STALE_MEMBER_EPOCH until its epoch catches up. Look at
\* the record in `kafka-dump-log.sh --offsets-decoder --files SEGMENT` at from_position; restart the client if commits
\* do not recover within one rebalance.
\* @violated("a partition was assigned in an epoch that its owner has not reached")
\* @invariant("assignment_epoch_bound", "critical", "partition")
AssignmentEpochBound ==
    \A m \in DOMAIN owned : \A p \in owned[m] :
        assignmentEpoch[m][p] <= memberEpoch[m]

\* The member's revocation epoch is at least as large as the one of each of its partitions. The proposal replaces
\* the precise check per partition by one number per member on the strength of this.
\*
\* Where it does not hold: in consumer groups on brokers from 4.2, whose members release partitions in the epoch that
\* they have: when they are at once asked for another (KAFKA-19974), and when they change their subscription while the
\* next target assignment is yet to come (KAFKA-19431). A partition was then revoked at the epoch the member still
\* has, which no revocation epoch below it can bound (MCOffsetCommit_design_epoch_stays_partition_revocation). Members of
\* streams groups move on by one (seen up to 4.3). Both epochs are derived, nobody stores them, and no broker decides
\* by them: of a classic group, which loses partitions with a new generation and no other way, it tells nothing new.
\*
\* On call: nothing to do by itself. An ordinary change of subscription does this. The member's epoch does not tell
\* any more that it owns what it owned in it: if no_zombie_accepted or no_commit_for_anothers_partition is violated
\* by this member at this time, work on that.
\* @violated("a partition has a newer revocation epoch than its member")
\* @invariant("partition_revocation_bound", "info", "partition")
PartitionRevocationBound ==
    \A m \in DOMAIN partitionRevocationEpoch : \A p \in DOMAIN partitionRevocationEpoch[m] :
        partitionRevocationEpoch[m][p] <= revocationEpoch[m]

(***************************************************************************)
(* Steps: what may happen from one observable state to the next.           *)
(***************************************************************************)

\* The group epoch only grows while the group exists; so does the generation of a classic group, and the epoch of a
\* share group. Target assignments and member epochs are ordered by it.
\*
\* Where it does not hold: within one life of the group only: a group that was deleted, or expired when empty,
\* starts again at the lowest epoch. A conversion between classic and consumer group ends no life: the coordinator
\* writes the old group's end and the new one's beginning in one batch, and the epoch goes on from the generation (or
\* the generation from the epoch). A step across a hole in the log is unknown: the group may have been deleted and
\* born again in it.
\*
\* On call: records were lost or an older copy of the partition became leader. Check for an unclean leader election of
\* that __consumer_offsets partition (`kafka-topics.sh --bootstrap-server BROKER:9092 --describe --topic
\* __consumer_offsets`, controller log) and treat committed offsets of the whole partition as suspect.
\* @violated("a group's epoch fell")
\* @step("group_epoch_never_falls", "critical", "group") @transitive
GroupEpochNeverFalls == groupEpoch' >= groupEpoch

\* A newer target assignment is never replaced by an older one. Members that have moved to the newer one would
\* otherwise be ahead of their target.
\*
\* Where it does not hold: within one life of the group only, which a conversion between classic and consumer group
\* does not end. In a classic group it is the generation once more. A step across a hole in the log is unknown.
\*
\* On call: as for group_epoch_never_falls; if the group epoch did not fall with it, an assignor's late result was
\* installed: keep the coordinator's log of that minute. Members recover with the next target assignment;
\* `kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe --group G --state --verbose` shows whether one
\* has come.
\* @violated("an older target assignment replaced a newer one")
\* @step("target_assignment_epoch_never_falls", "critical", "group") @transitive
TargetAssignmentEpochNeverFalls == targetAssignmentEpoch' >= targetAssignmentEpoch

\* From one record of a member to the next its epoch grows or stays. A commit can only be told from a zombie's
\* because epochs of one member are never used twice. It holds of members of every kind of group; a classic member's
\* epoch is the generation.
\*
\* Where it does not hold: within one life of the member only: leaving and joining again under the same id starts
\* anew and is no step. A member that a conversion between classic and consumer group takes over goes on: its epoch
\* continues from the generation, and back. A step across a hole in the log is unknown.
\*
\* On call: the client will see FENCED_MEMBER_EPOCH (a classic one ILLEGAL_GENERATION) and join again by itself. Look
\* for a leader change of the __consumer_offsets partition at from_time, as for group_epoch_never_falls, and for two
\* processes that use one member id.
\* @violated("a member's epoch fell")
\* @step("member_epoch_never_falls", "critical", "member") @transitive
MemberEpochNeverFalls ==
    \A m \in DOMAIN memberEpoch \cap DOMAIN memberEpoch' :
        memberEpoch'[m] >= memberEpoch[m]

(***************************************************************************)
(* Invariants over commits.                                                *)
(***************************************************************************)

\* A commit for a partition that was taken from the member and given to another, at an epoch in which the member
\* owned it, is never accepted. This is what fencing is for: a zombie's commit overwrites the offsets of the new
\* owner.
\*
\* Where it does not hold: on brokers from 4.2 a member of a consumer group keeps its epoch when it releases one
\* partition and is at once asked for another (KAFKA-19974), and when it gives up what it does not subscribe to any more
\* before the next target assignment is there (KAFKA-19431); a delayed commit at it is accepted for the released
\* partition (MCOffsetCommit_design_epoch_stays_zombie, MCOffsetCommit_design_unsubscribed_zombie). A member id used again may meet its
\* own old epochs. Transactional commits without member id and commits to an empty group carry nothing to be fenced by
\* and are not counted as zombies. A transactional commit is judged when it is accepted: if its partition changes hands
\* before its transaction ends it is no zombie's, and the new owner waits for the marker (UNSTABLE_OFFSET_COMMIT).
\* A commit that was stored counts as accepted, also where its client was told COORDINATOR_NOT_AVAILABLE.
\*
\* On call: the committed offset of this partition may have gone backwards or forwards. Run `kafka-consumer-groups.sh
\* --bootstrap-server BROKER:9092 --describe --group G`, and compare CURRENT-OFFSET with what the owner processed; if
\* the owner has not committed since, stop the group and correct with `kafka-consumer-groups.sh --bootstrap-server
\* BROKER:9092 --group G --reset-offsets --topic T:P --to-offset N --execute`, where N is the offset up to which the
\* owner came. Then find the client whose commit was late (client_id, connection) and why.
\* @violated("a zombie's commit was accepted")
\* @invariant("no_zombie_accepted", "critical", "commit")
NoZombieAccepted == \A c \in commits : Zombie(c) => ~c.accepted

\* A member that has owned the partition without a break since the epoch it presents is never refused by a
\* fencing rule. A refusal here is false: nobody else has anything to lose by the commit.
\*
\* Where it does not hold: the strict rule refuses every owner that has not heard of its new epoch yet, which is why
\* it was replaced (MCOffsetCommit_consumer_4_1_refuses_owners). The shipped rule refuses an owned partition when its
\* request carries a refused one. In a classic group every rebalance refuses owners at the old generation
\* (ILLEGAL_GENERATION; MCClassicGroup_refuses_owners); a plain commit at the new one before its assignment
\* (REBALANCE_IN_PROGRESS) is not counted, since that generation has no owners yet; and a member that was removed
\* shows as an owner in the log until the others' next assignment. Errors other than fencing (coordinator loading,
\* authorization) do not count as refusals.
\*
\* On call: nothing is lost unless the client gives up: a plain consumer commits again at the new epoch, a
\* transactional producer aborts (ILLEGAL_GENERATION, CommitFailedException) and Kafka Streams may restore its
\* state. If it happens often, move consumer groups to brokers of 4.3 or later, streams groups to 4.2, classic
\* groups to the consumer protocol, or commit less often during rebalances.
\* @violated("an owner's commit was refused")
\* @invariant("no_owner_refused", "warning", "commit")
NoOwnerRefused == \A c \in commits : Owner(c) => ~c.fenced

\* Wherever the broker accepted or fenced a commit, it did what the rule of its own version says about the state
\* the commit met (broker_rule). It checks the broker, and equally this specification and the state that was rebuilt.
\*
\* Where it does not hold: where the rule of the answering broker is unknown the verdict is unknown. Static
\* members, classic members of a group under migration and topics that the broker's metadata did not know are
\* decided by further rules that are not modelled. A refused commit met one of several states: it is violated
\* only if it is in every one of them. A classic group's rebalance shows in the log when it is over: before that
\* a commit may have met either generation where nothing tells which its member was in.
\*
\* On call: first doubt the evidence: clocks (request log against records, tolerance in the configuration), a
\* broker whose version changed in a rolling upgrade, a coordinator move in that second. `fencepost explain
\* VERDICT_ID` shows the request, the answer and the state. If it stands, the broker has a defect: keep segments
\* and request log, report it with both.
\* @violated("a broker decided a commit against its own rule")
\* @invariant("broker_keeps_its_rule", "critical", "commit")
BrokerKeepsItsRule ==
    \A c \in commits : c.accepted \/ c.fenced => (c.accepted <=> BrokerRule(c))

\* A broker that refuses a commit by its rule names the error that this rule, the API and its version have for it
\* (shipped_error). Clients go by the error: one that says UNKNOWN_MEMBER_ID makes a member join again that only had to
\* commit once more.
\*
\* Where it does not hold: where shipped_error is unknown the verdict is, too. A refusal that should have been an
\* acceptance breaks this one with broker_keeps_its_rule. Other errors than those of the rule are not judged: so says
\* UNSUPPORTED_VERSION of a transactional commit that the coordinator of its transaction would not add its partition
\* (AddPartitionsToTxn v5), as after a downgrade of transaction.version.
\*
\* On call: as for broker_keeps_its_rule. If only the error is wrong, the commit was rightly refused: nothing is lost, but
\* look what the client made of it (a rejoin, an aborted transaction). Report it with the request and the answer.
\* @violated("a broker refused a commit with another error than its rule names")
\* @invariant("broker_names_its_error", "critical", "commit")
BrokerNamesItsError ==
    \A c \in commits : c.fenced \/ (c.error = "UNSUPPORTED_VERSION" /\ ~c.transactional) => c.error = ShippedError(c)

\* The member gave the partition up in the epoch that it has, and has it back.
HadBackInItsEpoch(c) == c.memberKnown /\ c.partitionRevocationEpoch = c.memberEpoch

\* For owners, each policy accepts at least what the one before it accepts: strict, member revocation epoch,
\* partition revocation epoch, assignment epoch. So each step of the design only took false refusals away.
\*
\* Where it does not hold: it speaks of owners alone: for a partition the member never owned, the precise form of
\* the proposal accepts an older epoch that the shipped rule refuses. It compares the shipped rule for one
\* partition at a time, since a shared request would bring in the other partitions. Where assignment epochs were
\* not stored, an owner may be accepted by a revocation epoch and refused by its assignment epoch. On brokers from 4.2 a
\* member of a consumer group that gives up what it does not subscribe to any more, and subscribes again before the next
\* target assignment is there, may have it back in the same epoch: the partition revocation epoch then refuses what the
\* strict rule accepts (MCOffsetCommit_consumer_4_3_subscribes_again), and nothing is said of it. In a classic group
\* it compares what the policies would say, not what was asked of any broker; a partition's assignment epoch there is
\* the generation that brought it to the member.
\*
\* On call: no user is harmed by this alone. It says that revocation epochs and assignment epochs of one member
\* contradict each other: look at its records from the earlier epoch on (`fencepost explain VERDICT_ID`), and
\* whether 4.2 brokers wrote some of them.
\* @violated("a fencing policy refuses an owner whom a stricter one accepts")
\* @invariant("policies_relax_in_order", "critical", "commit")
PoliciesRelaxInOrder ==
    \A c \in commits : Decided(c) /\ Owner(c) /\ ~HadBackInItsEpoch(c) =>
        /\ Strict(c) => MemberRevocation(c)
        /\ MemberRevocation(c) => PartitionRevocation(c)
        /\ PartitionRevocation(c) => AcceptedByAssignmentEpoch(c)

\* None of the four policies would have accepted a zombie, whatever the broker answered. It says that replacing
\* one rule by another gives up no safety.
\*
\* Where it does not hold: in consumer groups on brokers from 4.2 every policy but the precise partition revocation
\* epoch admits a zombie whose member kept its epoch (KAFKA-19974). Both policies of the proposal admit the commits
\* of a member id used again. Neither shows on a member that has left: it is refused by its id. In a classic group
\* the strict policy is the generation and the others are hypothetical.
\*
\* On call: if no_zombie_accepted is violated by the same commit, work on that one. If not, the broker refused by
\* luck of its version: the same commit would pass after a change of brokers. Look at what made the member id or
\* the epoch repeat.
\* @violated("a fencing policy would accept a zombie's commit")
\* @invariant("no_policy_admits_a_zombie", "critical", "commit")
NoPolicyAdmitsAZombie ==
    \A c \in commits : Decided(c) /\ Zombie(c) =>
        /\ ~Strict(c)
        /\ ~MemberRevocation(c)
        /\ ~PartitionRevocation(c)
        /\ ~AcceptedByAssignmentEpoch(c)

\* No commit of a group member is accepted for a partition that another member owns at that moment. It would
\* overwrite the owner's offsets, whether or not the sender ever owned the partition.
\*
\* Where it does not hold: the shipped rule accepts the current epoch without a look at ownership, so a client
\* that commits for partitions it does not own gets through on every version (RogueClient_anothers_partition), in
\* streams groups and, at the current generation, in classic groups as well. Applications that commit offsets they
\* were handed by another process do this on purpose. Commits to an empty group are not judged, and transactional commits
\* without a member are those of no_memberless_commit_for_owned_partition.
\*
\* On call: the verdict names the sender, the owner and the offset. `kafka-consumer-groups.sh --bootstrap-server
\* BROKER:9092 --describe --group G` shows CURRENT-OFFSET (with --members --verbose instead, who has the partition
\* now): compare it with the owner's position. If it went backwards records are processed again, if it went forwards
\* records may be skipped: stop the sender, then correct with `kafka-consumer-groups.sh --bootstrap-server BROKER:9092
\* --group G --reset-offsets --topic T:P --to-offset N --execute`, where N is the offset up to which the owner came,
\* while the group is stopped.
\* @violated("a commit for another member's partition was accepted")
\* @invariant("no_commit_for_anothers_partition", "critical", "commit")
NoCommitForAnothersPartition ==
    \A c \in commits : c.accepted /\ ~c.unfenced => ~c.ownedByAnother

\* A commit of a group member is accepted only for a partition that some member owns at that moment. A partition
\* between two owners belongs to nobody, and its next owner starts from what is committed now.
\*
\* Where it does not hold: the current epoch is accepted without a look at ownership. In consumer groups on brokers
\* from 4.2 (KAFKA-19974) the last commit of a partition just released may arrive late and be accepted, usually
\* harmlessly. A member id that joined again may commit for what it owned before. A classic group that rebalances
\* cooperatively hears which partitions it loses together with the new generation, and commits them once more in
\* onPartitionsRevoked: accepted at that generation, owned by nobody (MCClassicGroup_cooperative_unowned_partition).
\* A consumer that hears that a topic was created again commits for the new topic before the group has assigned it.
\* Commits to an empty group and transactional commits without a member are not judged.
\*
\* On call: look whether the committed offset is the last the previous owner processed: then nothing is wrong but
\* the timing. If the topic was created again at that time, it is an offset of the topic before, from which the next
\* owner begins: fct_orphaned_offsets has what that skips. If the sender never owned the partition, find out what it
\* commits for: a wrong topic name in the application, or offsets handed over by another process.
\* @violated("a commit for a partition that nobody owned was accepted")
\* @invariant("no_commit_for_unowned_partition", "warning", "commit")
NoCommitForUnownedPartition ==
    \A c \in commits : c.accepted /\ ~c.unfenced => c.ownedBySelf \/ c.ownedByAnother

\* No transactional commit that names no member is accepted for a partition that a member owns. Kafka accepts it:
\* nothing in it can be fenced (generation -1). But it overwrites the owner's offset, and nobody can tell whether the
\* producer belongs to the owner.
\*
\* Where it does not hold: in every application that commits with sendOffsetsToTransaction and a group id alone, as
\* clients before KIP-447 do, and clients of other makers still: also where each producer commits for the partitions of
\* its own consumer, which is no fault. So it says where offsets are unprotected, not that one is wrong. It breaks no
\* rule of Kafka. Commits to a group without members are nobody's, and plain commits without a member are refused while
\* the group has members.
\*
\* On call: the verdict names the transactional id, the offset and the owner. `fencepost sql "SELECT * FROM
\* marts.fct_offset_commits WHERE truth = 'unfenced' AND owner_member_id IS NOT NULL"` has offset_before: if the offset
\* went back, records are processed again. See whether the producer runs in the owner's process. Pass the consumer's
\* groupMetadata() to sendOffsetsToTransaction: then an old member is refused.
\* @violated("a transactional commit without a member was accepted for an owned partition")
\* @invariant("no_memberless_commit_for_owned_partition", "info", "commit")
NoMemberlessCommitForOwnedPartition ==
    \A c \in commits : c.accepted /\ c.unfenced /\ c.transactional => ~c.ownedByAnother

\* In a streams group no live member's commit reaches the coordinator at an epoch at or below the member's revocation
\* epoch. KAFKA-19779 asks this of Kafka Streams: commit inside onTasksRevoked, and after it not until the member has
\* heard of its next epoch. With its members keeping to that, the member-level revocation epoch refuses no owner. What
\* the log can show of it: the coordinator had confirmed the revocation when this commit, at an epoch from before,
\* arrived.
\*
\* Where it does not hold: a commit that was sent in time and delayed on its way arrives all the same
\* (MCOffsetCommit_design_client_rule_delayed), and the log does not tell it from one sent late. Kafka as shipped has no such
\* rule for clients, since KIP-1251 accepts these commits for what the member still owns. A commit sent after the
\* revocation and decided before its confirmation shows nothing. Revocations of standby and warm-up tasks do not
\* count. Consumer and classic groups, and members that have left, are not judged.
\*
\* On call: nothing to do by itself. Where no_owner_refused is violated by the same commits, this says that the
\* client could have avoided the refusals: on brokers of 4.1 raise commit.interval.ms or move to 4.2 or later. Where
\* it never is, the member-level revocation epoch would have served this application as well as KIP-1251 does.
\* @violated("a member committed after it had confirmed the revocation")
\* @invariant("no_commit_after_revocation", "info", "commit")
NoCommitAfterRevocation ==
    \A c \in commits :
        Decided(c) /\ c.protocol = "streams" /\ c.memberKnown /\ c.clientEpoch > 0 => c.revocationEpoch < c.clientEpoch

=============================================================================
