------------------------ MODULE OwnershipClaimProps -------------------------
(***************************************************************************)
(* What must hold when the members of a classic group join with claims of  *)
(* partitions, and what KIP-792, its predecessors and shipped brokers make *)
(* of claims that are old.                                                 *)
(*                                                                         *)
(* TLC checks these definitions on the behaviours of OwnershipClaim;       *)
(* tlasql compiles the same text to SQL and runs it over the history that  *)
(* was rebuilt from a cluster's logs. A comment before a marked definition *)
(* says what it means, where it does not hold, and what the person on call *)
(* should do when it is violated.                                          *)
(***************************************************************************)
EXTENDS OwnershipClaimObserved

(***************************************************************************)
(* Claims. An element c is one partition that a member claims, in the      *)
(* subscription by which the leader assigned a generation; claimed         *)
(* generation -1 where it names none. greatestClaimOfOthers is the         *)
(* greatest generation of the other members' claims of that partition, -2  *)
(* without one.                                                            *)
(***************************************************************************)

\* Another member claims the partition with a newer generation.
Stale(c) == c.claimedGeneration < c.greatestClaimOfOthers

\* Another member claims it with the same generation: one of the two is wrong, and nothing says which.
Contradicted(c) == c.claimedGeneration = c.greatestClaimOfOthers

Valid(c) == c.claimedGeneration > c.greatestClaimOfOthers

\* The assignor's rule (KIP-792's validateSubscription; AbstractStickyAssignor from 3.5 and 3.4.1): of several claims
\* of a partition the one with the greatest generation is valid; if two have it, both are invalid.
\*
\* Where it does not hold: custom assignors decide as they like, and so do other clients' (the rule is theirs to
\* call). A claim without a generation counts as -1: older than any. A member whose subscription cannot be read may
\* have claimed anything: then every claim is unknown.
\*
\* On call: a stale claim is no fault by itself: its member missed a generation and will be told to give the partition
\* up. Many of one member say that it is late in every rebalance: compare max.poll.interval.ms with what it does
\* between polls.
\* @decision("claim_by_generation", "claims")
ClaimByGeneration(c) ==
    IF Stale(c) THEN "stale" ELSE IF Contradicted(c) THEN "contradicted" ELSE "valid"

\* The rule of 3.0 to 3.4.0: only members that name the newest generation of all are believed; a claim of any older
\* generation counts for nothing, also where nobody else claims the partition.
\*
\* Where it does not hold: other releases decide by the generation of each partition. Which release the leader has the
\* claim does not say: its requests do.
\*
\* On call: where it says stale and claim_by_generation says valid, a leader of those releases gives the partition
\* away while its owner still has it (KAFKA-14639): upgrade the consumers of this group to 3.4.1 or later.
\* @decision("claim_by_newest_generation", "claims")
ClaimByNewestGeneration(c) ==
    IF c.claimedGeneration < c.greatestClaimedGeneration THEN "stale"
    ELSE IF Contradicted(c) THEN "contradicted"
    ELSE "valid"

\* No member that kept a partition while it joined meets another claim of it with the same generation. An assignor that
\* sees two such claims cannot tell the owner: Kafka's takes the partition from both, older ones throw, and the group
\* rebalances without end.
\*
\* Where it does not hold: members whose subscription names no generation contradict each other as soon as one has
\* missed something (MCOwnershipClaim_design_custom_contradict). With the generation a client that goes on naming what
\* it lost does (MCOwnershipClaim_kip_792_claims_anew). An assignor that throws leaves no record to judge: then
\* generations are abandoned one after the other. What eager members remember is not judged. A member that cannot be read
\* makes it unknown.
\*
\* On call: two consumers believed to have this partition: look for records that were processed twice since the
\* rebalance before. Restart the member whose claim is not what it was assigned (claim_was_assigned); if the group
\* does not come to rest, stop all members at once and start them again. Clients before 2.8.1 and 3.0: upgrade them
\* (KAFKA-12984).
\* @violated("two members claim one partition with the same generation")
\* @invariant("no_two_valid_claims", "critical", "claim")
NoTwoValidClaims == \A c \in claims : c.held => ~Contradicted(c)

\* No assignor gives a partition to a member with a stale claim: the member with the newer one has it.
\*
\* Where it does not hold: eager members have given everything up when they join; what they claim is a memory, and is
\* not judged. Kafka's own cooperative assignor does it for members that subscribe to different topics
\* (MCOwnershipClaim_shipped_different_topics): it takes any claim for a partition that the member has.
\*
\* On call: two consumers have had this partition since the rebalance: assigned_to and the member with the newer
\* claim (contradicted_by). Look for records processed twice. With an assignor of your own
\* (partition.assignment.strategy): it must compare generations. With Kafka's: give all members of the group the same
\* topics, and report it.
\* @violated("a member with a stale claim was given the partition")
\* @invariant("no_stale_claim_wins", "critical", "claim")
NoStaleClaimWins == \A c \in claims : c.held /\ Stale(c) => ~c.assignedToSelf

\* No partition goes to a member while another that has it has not given it up. A cooperative owner is first told to
\* give it up, joins again without it, and then it goes to the next (KIP-429).
\*
\* Where it does not hold: only claims tell who has a partition. A static member that has not joined again is assigned
\* by the subscription it sent before, which lacks what it got since (MCOwnershipClaim_shipped_static_two_owners).
\* Leaders of 3.0 to 3.4.0 break it for a member that has not heard of a generation
\* (MCOwnershipClaim_consumer_3_0_handover), newer ones where members subscribe to different topics
\* (no_stale_claim_wins).
\*
\* On call: until the old owner hears of its assignment two consumers have this partition; its commits are refused.
\* Look for records processed twice. The group's rebalances name the assignor (fct_rebalances): Kafka's of an old
\* release (upgrade the group's consumers), or one of your own, which must leave a partition unassigned until its owner
\* has joined without it.
\* @violated("a partition was handed over before its owner gave it up")
\* @invariant("no_handover_before_revocation", "critical", "claim")
NoHandoverBeforeRevocation == \A c \in claims : c.held /\ Valid(c) => ~c.assignedToAnother

\* No partition goes to a member while the one that the assignment before gave it to is in the group and has not
\* joined since: it has not heard that it has to give anything up.
\*
\* Where it does not hold: a static member that does not join in time stays in the group, and is assigned by the
\* subscription it sent before (MCOwnershipClaim_shipped_static_two_owners). Where no request log covers the time, and
\* its subscription is the same as before, whether it has joined is unknown.
\*
\* On call: two consumers have had this partition since the rebalance, until previous_owner joins again: look for
\* records processed twice. It was too slow for the rebalance: raise max.poll.interval.ms above what it does between
\* two polls, or give it less in one (max.poll.records).
\* @violated("a partition was taken from a member that had not joined")
\* @invariant("no_handover_from_absent_member", "warning", "assignment")
NoHandoverFromAbsentMember == \A a \in handovers : a.previousOwnerStays => a.previousOwnerJoined

\* What a member claims is what it was assigned: by the newest assignment up to the generation that it names.
\*
\* Where it does not hold: a member that has joined a generation and has not heard of its assignment names the
\* generation all the same, with the partitions of the one before (MCOwnershipClaim_shipped_not_heard). A client that
\* was removed from its group and joins again is another member: what it still claims (franz-go does, the Java client
\* claims nothing then) was assigned to the member that is gone. Claims without a generation are unknown.
\*
\* On call: nothing to do for a single one: the next rebalance mends it. A member that does it again and again does
\* not receive its assignments (look at its SyncGroup requests), or its client does not give up what it should: see
\* its version.
\* @violated("a member claims what it was never assigned")
\* @invariant("claim_was_assigned", "info", "claim")
ClaimWasAssigned == \A c \in claims : c.held => c.wasAssigned

(***************************************************************************)
(* JoinGroup. An element j is a request beside what the coordinator had    *)
(* when it decided. presentedGeneration is that of its subscription, -1    *)
(* for a new member.                                                       *)
(***************************************************************************)

\* As shipped (ClassicGroup.validateMember and what is before it in GroupMetadataManager): the coordinator looks at
\* the member id, the group instance id and the assignors, never at the generation.
\*
\* Where it does not hold: a broker that is not the group's coordinator, or that loads it, looks at nothing. The size
\* of the group, the session timeout and authorization are decided by other things. A member that is removed or
\* replaced while it waits is told in the end. A group of another kind has further rules, which depend on the broker's
\* configuration (group.consumer.migration.policy): there it is unknown, unless the broker's server.log says that
\* classic members are kept out.
\*
\* On call: UNKNOWN_MEMBER_ID and MEMBER_ID_REQUIRED are how members begin again; many of the first say that members
\* are removed (session.timeout.ms, max.poll.interval.ms). FENCED_INSTANCE_ID: two processes have one
\* group.instance.id. INCONSISTENT_GROUP_PROTOCOL: the member has no assignor that all others have.
\* @decision("shipped_join", "joins")
ShippedJoin(j) ==
    IF ~j.hasMemberId
    THEN IF ~j.protocolsSupported THEN "INCONSISTENT_GROUP_PROTOCOL"
         ELSE IF ~j.static /\ j.apiVersion >= 4 THEN "MEMBER_ID_REQUIRED"
         ELSE "NONE"
    ELSE IF ~j.protocolsSupported THEN "INCONSISTENT_GROUP_PROTOCOL"
    ELSE IF j.static /\ j.instanceKnown /\ j.instanceFenced THEN "FENCED_INSTANCE_ID"
    ELSE IF (j.static /\ ~j.instanceKnown) \/ ~j.memberKnown THEN "UNKNOWN_MEMBER_ID"
    ELSE "NONE"

\* A group's first generation is 1: a member that was in none yet says -1, or 0 (franz-go).
NamesGeneration(j) == j.presentedGeneration > 0

\* KIP-792 as proposed: a member that is let in and names a generation, one before the current, is refused
\* (ILLEGAL_GENERATION). It keeps its member id, gives up what it has, and joins again as if it were new.
\*
\* Where it does not hold: no broker has it; the proposal puts the generation into JoinGroup, where it never came, and
\* here it is that of the subscription. A member that names none is let in. A generation after the current one is let in: a
\* coordinator that has moved may have lost one that it had begun.
\*
\* On call: nothing to do by itself. Beside shipped_join it says that the broker let in what the proposal would have
\* refused (no_stale_join_admitted).
\* @decision("proposed_join", "joins")
ProposedJoin(j) ==
    IF ShippedJoin(j) # "NONE" THEN ShippedJoin(j)
    ELSE IF NamesGeneration(j) /\ j.presentedGeneration < j.currentGeneration
    THEN "ILLEGAL_GENERATION"
    ELSE "NONE"

\* It was let in without a member id, and removed or replaced while it waited for the others.
ToldInTheEnd(j) == ~j.hasMemberId /\ j.error \in {"UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"}

\* The errors by which the rule speaks. ILLEGAL_GENERATION is the proposal's.
ByTheRule(j) ==
    /\ ~j.elsewhere /\ ~ToldInTheEnd(j)
    /\ j.error \in {"NONE", "MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID",
                     "INCONSISTENT_GROUP_PROTOCOL", "ILLEGAL_GENERATION"}

\* A broker answers JoinGroup by its own rule: it lets in whom the rule lets in, and refuses others with the error of
\* the rule.
\*
\* Where it does not hold: answers of a broker that is not the coordinator, and errors that state does not explain,
\* are not judged, nor is a new member that was removed or replaced while it waited. Where several states may have been
\* met, and they differ, it is unknown. So it is where the group is of another kind (as for shipped_join), and where a
\* member with other assignors may have joined since the newest record (INCONSISTENT_GROUP_PROTOCOL).
\*
\* On call: the coordinator let in a member that it does not have, or refused one that it has. Compare its log at that
\* time ("Preparing to rebalance group", "Dynamic member", "Static member") with the verdict; look for a coordinator
\* that moved (`kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe --group G --state`), and report it
\* with the broker's version.
\* @violated("a broker answered a JoinGroup against its own rule")
\* @invariant("broker_keeps_its_join_rule", "critical", "join")
BrokerKeepsItsJoinRule == \A j \in joins : ByTheRule(j) => j.error = ShippedJoin(j)

\* No member is let in with a generation before the current one: its claims are of that generation.
\*
\* Where it does not hold: no shipped broker checks it (MCOwnershipClaim_shipped_admits_stale). A member whose answer
\* was lost, or that was away, names the generation it knows, and what it claims may be right all the same. A
\* subscription without a generation is let in by both.
\*
\* On call: nothing to do for a single one: Kafka's assignors compare generations. If the group has an assignor of its
\* own, look whether that does (no_stale_claim_wins). If one member does it in each rebalance it learns of generations
\* too late: look at its poll interval, and at disconnects in its log.
\* @violated("a member with an old generation was let in")
\* @invariant("no_stale_join_admitted", "info", "join")
NoStaleJoinAdmitted ==
    \A j \in joins : ~j.elsewhere /\ j.error = "NONE" /\ NamesGeneration(j)
                     => ProposedJoin(j) # "ILLEGAL_GENERATION"

(***************************************************************************)
(* Generations, and commits under them.                                    *)
(***************************************************************************)

\* The generation of a group grows by one with each assignment that is written, and with each generation that begins
\* and is abandoned before it has one. So one generation has one assignment, and a number says which.
\*
\* Where it does not hold: within one life of a group: one that was deleted starts again. A generation that is written
\* a second time, as when a static member is replaced, is no step, whatever it assigns then. Of abandoned generations
\* only JoinGroup answers and the coordinator's log tell; without them a step over several is unknown.
\*
\* On call: the coordinator gave a generation out twice, or left some out: two members may hold different assignments
\* of one generation, and both commit. Look for an unclean election of this partition of __consumer_offsets, or a
\* broker that lost its disk; restart the members of the group one after the other.
\* @violated("a group's generation did not grow by one")
\* @step("generation_grows_by_one", "critical", "group")
GenerationGrowsByOne == generation' # generation => generation' = generation + 1 + abandoned'

\* A commit that a classic group accepts is one of its current generation.
\*
\* Where it does not hold: a commit without a generation to a group without members is accepted by design
\* (kafka-consumer-groups.sh, simple consumers) and not judged. That the generation is current does not show that the
\* member has the partition: no_commit_for_anothers_partition does.
\*
\* On call: a member that was replaced has overwritten its successor's offset: compare committed_offset in the verdict
\* with the commits around it, stop the member, and reset the offset if it went back (`kafka-consumer-groups.sh
\* --bootstrap-server BROKER:9092 --group G --reset-offsets --topic T:P --to-offset N --execute`, while the group is
\* stopped). Report it with the broker's version.
\* @violated("a commit of another generation than the current one was accepted")
\* @invariant("commit_of_current_generation", "critical", "commit")
CommitOfCurrentGeneration ==
    \A c \in commits : c.protocol = "classic" /\ c.accepted /\ ~c.unfenced => c.generation = c.currentGeneration

=============================================================================
