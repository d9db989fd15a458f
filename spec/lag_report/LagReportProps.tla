---------------------------- MODULE LagReportProps ----------------------------
(***************************************************************************)
(* What must hold between lag reports, assignments and the state cleaner   *)
(* of Kafka Streams, and what KIP-441 and shipped Kafka make of a report.  *)
(*                                                                         *)
(* TLC checks these definitions on the behaviours of LagReport; tlasql     *)
(* compiles the same text to SQL and runs it over the history that was     *)
(* rebuilt from a cluster's and its applications' logs. A comment before a *)
(* marked definition says what it means, where it does not hold, and what  *)
(* the person on call should do when it is violated.                       *)
(*                                                                         *)
(* A thread reports offset sums: how far the logged stores of a task have  *)
(* come in their changelogs. The leader makes lags of them. Negative       *)
(* numbers are no lags but sentinels.                                      *)
(***************************************************************************)
EXTENDS LagReportObserved

(***************************************************************************)
(* Reports. An element r is what a thread reported of one task, or that it *)
(* did not, beside the task's stores.                                      *)
(***************************************************************************)

\* Task.LATEST_OFFSET (-2), or UNKNOWN_OFFSET_SUM (-3).
IsSentinel(r) == r.reported /\ r.offsetSum < 0

\* ClientState.computeTaskLags: what is missing of the changelogs. A sum past their end is not believed: all is missing.
\* What is not reported counts as zero.
LagOfSum(r) == IF r.offsetSum > r.endOffsetSum THEN r.endOffsetSum ELSE r.endOffsetSum - r.offsetSum

\* KIP-441: the total lag of a task on an instance: the lag of its logged stores, and zero for each store that is not
\* logged. A task with such stores only is stateful, and its lag is 0 on every instance: all are equal candidates. -1 is
\* a task without stores: it has no lag. -2 (LATEST_OFFSET: it is active and runs there) and -3 (UNKNOWN_OFFSET_SUM) are
\* sentinels, and no lags.
\*
\* Where it does not hold: no release decides by it: stores that are not logged are not looked at. Where the ends of the
\* changelogs, or which stores a task has, are not known, the lag is not. A store in
\* memory that is logged counts as logged: while its task is assigned, the report has its offset.
\*
\* On call: nothing to do by itself. Where it says 0 and shipped_total_lag -1 the task has stores without a changelog,
\* and no assignment looks at where they are: moving the task loses them (fct_lag_reports).
\* @decision("proposed_total_lag", "lagReports")
ProposedTotalLag(r) ==
    IF IsSentinel(r) THEN r.offsetSum
    ELSE IF r.loggedStores > 0 THEN LagOfSum(r)
    ELSE IF r.nonLoggedStores > 0 THEN 0
    ELSE -1

\* As shipped (StreamsPartitionAssignor, ClientState.computeTaskLags): the ends of the changelogs less the offset sum.
\* -1: left out. A task whose stores are all without a changelog is stateless for the assignment, whatever is reported.
\* -2 and -3 are sentinels, and no lags.
\*
\* Where it does not hold: groups of the streams protocol (KIP-1071) report no lag. A custom TaskAssignor (KIP-924) sees
\* these lags and may decide by anything else. Where the ends of the changelogs are not known, the lag is not.
\*
\* On call: nothing to do by itself. A lag that is the whole changelog on every instance says that a task has no state
\* anywhere: it will be restored from the beginning wherever it goes. A sum past the end (the leader warns of it) says
\* that the changelog was truncated or created again: see the incarnations of its topic.
\* @decision("shipped_total_lag", "lagReports")
ShippedTotalLag(r) ==
    IF IsSentinel(r) THEN r.offsetSum
    ELSE IF r.loggedStores > 0 THEN LagOfSum(r)
    ELSE -1

\* An offset sum that is reported is the sum over the logged stores of the task, as the instance's own log shows them.
\*
\* Where it does not hold: of stores in memory the offsets are not on the disk: a task that is not assigned is reported
\* without them. What a task reports while it restores is older than what its log says a moment later; where the log does
\* not show the offsets at the report, it is unknown. Sentinels are not judged. A sum that would overflow is
\* 9223372036854775807.
\*
\* On call: the leader assigns this task by a number that is not its lag. Look for a checkpoint that was copied from
\* another instance, or a state directory that two instances share. Stop the instance, delete the task's directory, and
\* start it again: the task is restored from its changelog.
\* @violated("a reported offset sum is not that of the logged stores")
\* @invariant("reported_sum_is_of_logged_stores", "warning", "report")
ReportedSumIsOfLoggedStores ==
    \A r \in lagReports : r.reported /\ r.offsetSum >= 0 /\ r.loggedStores > 0 => r.offsetSum = r.loggedOffsetSum

\* A store that is not logged adds zero to what is reported of a task: the sum is that of the logged stores, whether it
\* has others or not, and 0 if it has no logged one.
\*
\* Where it does not hold: sentinels are not judged. A task of which nothing is reported is not judged: shipped Kafka
\* leaves out a task without logged stores. Where the stores of a task or their offsets are not known it is unknown.
\*
\* On call: a client computes sums in a way of its own, or names as not logged a store that has a changelog: compare the
\* topology of the application (Topology.describe()) with its changelog topics. Until that is clear, do not trust where
\* its tasks are assigned: the report shows what they restore.
\* @violated("a store that is not logged changed the reported offset sum")
\* @invariant("zero_is_the_identity", "warning", "report")
ZeroIsTheIdentity ==
    \A r \in lagReports : r.reported /\ r.offsetSum >= 0 /\ r.nonLoggedStores > 0 => r.offsetSum = r.loggedOffsetSum

(***************************************************************************)
(* The cleaner. An element d is a directory that was deleted.              *)
(***************************************************************************)

\* A task without stores has a directory as well, with nothing in it. It is never locked: the cleaner deletes it again and
\* again, also while the task runs.
ByCleaner(d) == d.deletedBy = "cleaner" /\ d.hasState

\* The mutex of KIP-441: the cleaner deletes nothing while a lag report of its instance waits for its assignment. So
\* what was reported is there when the assignment comes.
\*
\* Where it does not hold: shipped Kafka has no such mutex, but a lock for each directory that is reported. With several
\* threads in an instance a directory is free when the thread that had locked it has its assignment, and another one
\* waits (MCLagReport_shipped_4_2_two_threads). The directory of a task without stores may go at any time; where it is
\* not known whether a task has stores, it is unknown. A run of the cleaner that deletes nothing leaves no trace.
\*
\* On call: see whether the task of the directory was assigned to this instance (assigned_directory_exists): then it is
\* restored from the beginning of its changelog. If so, make state.cleanup.delay.ms larger than the longest rebalance,
\* restart and restore together take. If the instance shares its state.dir with another one, give each its own.
\* @violated("a state directory was deleted while its lag report waited for the assignment")
\* @invariant("no_cleaning_while_lag_is_reported", "critical", "deletion")
NoCleaningWhileLagIsReported == \A d \in deletions : ByCleaner(d) => ~d.lagReported

\* The cleaner leaves a directory alone for state.cleanup.delay.ms after the thread that had the task let go of it. That
\* is the time in which the task may come back to its state.
\*
\* Where it does not hold: the cleaner goes by the time at which the directory was modified. In 4.3.0 and 4.3.1 that is
\* when it was created (KAFKA-20805, MCLagReport_shipped_4_3_within_the_delay); up to 4.2 when the last checkpoint was
\* written, which a thread that dies does not (MCLagReport_shipped_4_2_thread_dies). A lock that was taken only to report
\* a lag does not count. Where the log does not show who let go, and when, it is unknown.
\*
\* On call: a task that comes back is restored from the beginning; the report says what that cost. On 4.3.0 and 4.3.1
\* set state.cleanup.delay.ms to days, or upgrade to 4.4, which has KAFKA-20805. Elsewhere look for a tool that restores
\* or copies state directories with their old times.
\* @violated("a state directory was deleted before the cleanup delay had passed")
\* @invariant("no_cleaning_within_the_delay", "warning", "deletion")
NoCleaningWithinTheDelay == \A d \in deletions : ByCleaner(d) => d.sinceRelease >= d.cleanupDelay

\* As shipped: the cleaner deletes no directory that a thread has locked, because it has the task or has reported its
\* lag.
\*
\* Where it does not hold: the thread that has a task may wipe its directory itself (a corrupted task, an unclean end
\* under exactly-once). Taking a lock is not logged: where only a release shows that there was one, it is unknown whether
\* the thread had it all the time. The line about a release may be lost: that the thread had the lock counts only if it
\* gives the directory up after the deletion. The lock is one of a process: two processes with one state.dir are kept
\* apart by the lock of the whole folder.
\*
\* On call: two processes work in one state.dir, or somebody deletes folders by hand: `lsof +D` on the folder names who
\* has it open. Stop the instance; give each its own state.dir.
\* @violated("a locked state directory was deleted")
\* @step("no_locked_directory_deleted", "critical", "directory")
NoLockedDirectoryDeleted ==
    \A d \in DOMAIN deletedBy \cap DOMAIN deletedBy' :
        deletedBy'[d] # deletedBy[d] /\ deletedBy'[d] = "cleaner" => ~locked[d]

(***************************************************************************)
(* Assignments. An element a is a task that a thread took up.              *)
(***************************************************************************)

\* A task that was assigned to an instance because of the lag that it had reported still has its directory there when
\* the thread takes it up.
\*
\* Where it does not hold: as shipped one thread reports a directory, and another of the same instance may be assigned
\* the task: between the two the cleaner may take it (MCLagReport_shipped_4_2_two_threads,
\* MCLagReport_shipped_4_3_two_threads). A thread that wipes its own state does not count. What was reported is unknown
\* where neither the request nor the group's record is there.
\*
\* On call: the task restores all of its changelog: the restores of the report say from which offset, and how long. It
\* cannot be stopped once begun; standby tasks (num.standby.replicas) keep the application reading meanwhile. To prevent
\* it make state.cleanup.delay.ms large; on 4.3.0 and 4.3.1 see no_cleaning_within_the_delay.
\* @violated("a task was assigned for state that had been deleted")
\* @invariant("assigned_directory_exists", "critical", "task")
AssignedDirectoryExists ==
    \A a \in assignedTasks : a.onReportedLag => a.directoryExists \/ a.deletedBy = "wipe"

=============================================================================
