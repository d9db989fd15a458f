------------------------------- MODULE LagReport -------------------------------
(***************************************************************************)
(* Kafka Streams: how instances report the lag of their stores, how tasks  *)
(* are assigned by it, and what the state cleaner does meanwhile (KIP-441; *)
(* as shipped with locks per directory).                                   *)
(*                                                                         *)
(* An instance has stream threads; each is a member of the group. When a   *)
(* rebalance begins each thread reports, for tasks whose state is on the   *)
(* instance's disk, how far it has come. The leader assigns each task to   *)
(* an instance that is caught up, or the one that lags least, and to any   *)
(* of its threads. The thread then takes the task's directory, and         *)
(* restores what is missing.                                               *)
(*                                                                         *)
(* Beside that each instance has a cleaner. It deletes directories that no *)
(* thread has locked and that were not modified for the cleanup delay. If  *)
(* it deletes one between report and assignment, the assignment rests on a *)
(* state that is gone. What prevents that (constant Protection):           *)
(*                                                                         *)
(*   "none"               nothing                                          *)
(*   "rebalancing_state"  the cleaner does not begin while the instance is *)
(*                        REBALANCING (before KIP-429)                     *)
(*   "mutex"              KIP-441: the cleaner holds it while it runs, a   *)
(*                        thread from its report to its assignment         *)
(*   "shared_mutex"       the same, which all threads of an instance may   *)
(*                        hold at once, and the cleaner only alone         *)
(*   "directory_locks"    as shipped: a thread locks the directories that  *)
(*                        it reports, and lets go of those that it was not *)
(*                        assigned                                         *)
(*                                                                         *)
(* It follows StreamsPartitionAssignor, TaskManager, StateDirectory,       *)
(* ProcessorStateManager, ClientState. Left out: that a cooperative        *)
(* rebalance takes two rounds to move a task (what happens between them is *)
(* what happens here before the next report), standby and warm-up tasks    *)
(* (directories on other instances, which stay as they are here), exactly- *)
(* once, global stores, cleanUp() and the cleaning at start, the streams   *)
(* protocol of groups (KIP-1071), which reports no lag.                    *)
(*                                                                         *)
(* What logs show of all this is in LagReportObserved.                     *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

\* @type: Set(INSTANCE);
CONSTANT Instances

\* num.stream.threads
\* @type: Int;
CONSTANT ThreadsPerInstance

\* Tasks whose stores are all logged, tasks with a logged store and another one that is not, tasks with none that is.
\* @type: Set(TASK);
CONSTANT LoggedTasks
\* @type: Set(TASK);
CONSTANT MixedTasks
\* @type: Set(TASK);
CONSTANT NonLoggedTasks

\* See above.
\* @type: Str;
CONSTANT Protection

\* What modifies a directory beside its creation, before a thread lets go of it:
\*   "clean_close"  closing the task: it writes the checkpoint; a thread that dies writes none (up to 4.2)
\*   "creation"     nothing (4.3.0, 4.3.1)
\*   "any_close"    closing the task, and the thread's death (from KAFKA-20805 on)
\* @type: Str;
CONSTANT ModifiedBy

\* TRUE: KIP-441: a store that is not logged has lag zero. FALSE: as shipped it is not looked at.
\* @type: Bool;
CONSTANT ZeroForNonLogged

\* TRUE: stream threads die, and others take their place; tasks find their state corrupted, and wipe it.
\* @type: Bool;
CONSTANT Failures

\* state.cleanup.delay.ms and acceptable.recovery.lag
\* @type: Int;
CONSTANT CleanupDelay
\* @type: Int;
CONSTANT AcceptableRecoveryLag

ASSUME Protection \in {"none", "rebalancing_state", "mutex", "shared_mutex", "directory_locks"}
ASSUME ModifiedBy \in {"clean_close", "creation", "any_close"}
ASSUME {ZeroForNonLogged, Failures} \subseteq BOOLEAN
ASSUME {ThreadsPerInstance, CleanupDelay, AcceptableRecoveryLag} \subseteq Nat

-----------------------------------------------------------------------------
(***************************************************************************)
(* The directories. One is in the DOMAIN from when it is created first.    *)
(***************************************************************************)

\* Who deleted it: "cleaner", "wipe" (the thread that has the task); "" while it exists.
\* @type: DIRECTORY -> Str;
VARIABLE deletedBy

(***************************************************************************)
(* The rest of an instance.                                                *)
(***************************************************************************)

\* The tasks that a thread has, those that it has taken up, and those whose directory it has locked.
\* @type: THREAD -> Set(TASK);
VARIABLE assigned
\* @type: THREAD -> Set(TASK);
VARIABLE running
\* @type: THREAD -> Set(TASK);
VARIABLE holds

\* The threads that hold the instance's mutex, and whether its cleaner runs.
\* @type: INSTANCE -> Set(THREAD);
VARIABLE mutex
\* @type: INSTANCE -> Bool;
VARIABLE cleaning

\* When a directory was modified, and when the thread that had the task let go of it.
\* @type: DIRECTORY -> Int;
VARIABLE modified
\* @type: DIRECTORY -> Int;
VARIABLE released

\* How far the logged stores in the directory have come in the changelogs, and the ends of those.
\* @type: DIRECTORY -> Int;
VARIABLE offset
\* @type: TASK -> Int;
VARIABLE end

\* @type: Int;
VARIABLE now

(***************************************************************************)
(* The group.                                                              *)
(***************************************************************************)

\* "stable", "joining" (threads report), "assigned" (threads hear of their assignment).
\* @type: Str;
VARIABLE phase

\* How many rebalances there were.
\* @type: Int;
VARIABLE rebalances

\* The threads that have reported, and have no assignment yet.
\* @type: Set(THREAD);
VARIABLE reporting

\* The offset sums of the reports.
\* @type: THREAD -> TASK -> Int;
VARIABLE reports

\* What the leader assigned.
\* @type: THREAD -> Set(TASK);
VARIABLE plan

threadVars == <<assigned, running, holds>>
diskVars   == <<modified, released, offset, end>>
groupVars  == <<phase, rebalances, reporting, reports, plan>>
vars       == <<deletedBy, threadVars, diskVars, groupVars, mutex, cleaning, now>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Threads, tasks, lags.                                                   *)
(***************************************************************************)

Tasks   == LoggedTasks \cup MixedTasks \cup NonLoggedTasks

\* A thread is an instance and a number, a directory an instance and a task.
Threads         == Instances \X (1..ThreadsPerInstance)
ThreadsOf(i)    == {t \in Threads : t[1] = i}
Directories     == Instances \X Tasks
Directory(t, k) == <<t[1], k>>
OnDisk(i)       == {k \in Tasks : <<i, k>> \in DOMAIN deletedBy /\ deletedBy[<<i, k>>] = ""}

LoggedStores(k)    == IF k \in NonLoggedTasks THEN 0 ELSE 1
NonLoggedStores(k) == IF k \in LoggedTasks THEN 0 ELSE 1

\* Task.LATEST_OFFSET: an active task that runs. Of a task that is not reported there is no offset sum: the leader takes
\* it as zero.
LatestOffset == -2
NotReported  == -1

With(f, x, value) == [y \in DOMAIN f \cup {x} |-> IF y = x THEN value ELSE f[y]]

\* The thread holds the lock, or nobody does.
Free(t, k)  == \A other \in ThreadsOf(t[1]) : other # t => k \notin holds[other]
IsLocked(d) == \E t \in ThreadsOf(d[1]) : d[2] \in holds[t]

\* Locks are taken and given up one at a time, and not while the cleaner runs (StateDirectory is synchronized).
LocksAreFree(t) == ~cleaning[t[1]]

\* The directories that a thread reports: of all on the disk, or as shipped of those that it could lock. Then it has
\* locked them.
Reportable(t) ==
    IF Protection = "directory_locks" THEN {k \in OnDisk(t[1]) : Free(t, k)} ELSE OnDisk(t[1])
LockedForReport(t) == IF Protection = "directory_locks" THEN Reportable(t) ELSE {}

\* What the logged stores of a task have come to.
LoggedOffsetSum(i, k) == IF k \in OnDisk(i) THEN offset[<<i, k>>] ELSE 0

\* What a thread reports of a task. Stores that are not logged add nothing.
OffsetSum(t, k) ==
    IF k \notin Reportable(t) \/ (LoggedStores(k) = 0 /\ ~ZeroForNonLogged) THEN NotReported
    ELSE IF k \in running[t] /\ LoggedStores(k) > 0 THEN LatestOffset
    ELSE LoggedOffsetSum(t[1], k)

\* What an instance has reported of a task: the newest of its threads' reports.
SumsOf(i, k)   == {reports[t][k] : t \in ThreadsOf(i)}
Newest(sums)   == CHOOSE s \in sums : \A other \in sums : other <= s
Reported(i, k) == SumsOf(i, k) # {NotReported}

\* The lag of a task on an instance, as the leader computes it (ClientState.computeTaskLags).
Lag(i, k) ==
    IF LatestOffset \in SumsOf(i, k) THEN 0
    ELSE IF ~Reported(i, k) THEN end[k]
    ELSE IF Newest(SumsOf(i, k)) > end[k] THEN end[k]
    ELSE end[k] - Newest(SumsOf(i, k))

\* KIP-441: a task goes to an instance that is caught up; where none is, to the one that lags least. A task that is
\* stateless in the eyes of the leader goes to any.
IsStateful(k)  == LoggedStores(k) > 0 \/ ZeroForNonLogged
CaughtUp(k)    == {i \in Instances : Lag(i, k) <= AcceptableRecoveryLag}
Candidates(k)  ==
    IF ~IsStateful(k) THEN Instances
    ELSE IF CaughtUp(k) # {} THEN CaughtUp(k)
    ELSE {i \in Instances : \A other \in Instances : Lag(i, k) <= Lag(other, k)}

-----------------------------------------------------------------------------
Init ==
    /\ deletedBy = [d \in {} |-> ""]
    /\ assigned = [t \in Threads |-> {}] /\ running = assigned /\ holds = assigned
    /\ plan = assigned
    /\ mutex = [i \in Instances |-> {}]
    /\ cleaning = [i \in Instances |-> FALSE]
    /\ modified = [d \in Directories |-> 0] /\ released = modified /\ offset = modified
    /\ end = [k \in Tasks |-> 0]
    /\ now = 0
    /\ phase = "stable" /\ rebalances = 0 /\ reporting = {}
    /\ reports = [t \in Threads |-> [k \in Tasks |-> NotReported]]

-----------------------------------------------------------------------------
(***************************************************************************)
(* A rebalance.                                                            *)
(***************************************************************************)

BeginRebalance ==
    \* enabling conditions
    /\ phase = "stable"
    /\ \A t \in Threads : running[t] = assigned[t]
    \* state changes
    /\ phase' = "joining" /\ rebalances' = rebalances + 1
    /\ UNCHANGED <<deletedBy, threadVars, diskVars, reporting, reports, plan, mutex, cleaning, now>>

\* The mutex can be had by this thread: a mutex by one, a shared one by all threads, but not while the cleaner runs.
MutexIsFree(t) ==
    CASE Protection = "mutex"        -> mutex[t[1]] \subseteq {t} /\ ~cleaning[t[1]]
      [] Protection = "shared_mutex" -> ~cleaning[t[1]]
      [] OTHER                       -> TRUE

\* subscriptionUserData: a thread says what is on the disk of its instance. Its consumer sends it with JoinGroup.
Report(t) ==
    \* enabling conditions
    /\ phase = "joining"
    /\ t \notin reporting
    /\ MutexIsFree(t)
    /\ Protection = "directory_locks" => LocksAreFree(t)
    \* state changes
    /\ mutex' = [mutex EXCEPT ![t[1]] = IF Protection \in {"mutex", "shared_mutex"} THEN @ \cup {t} ELSE @]
    /\ holds' = [holds EXCEPT ![t] = @ \cup LockedForReport(t)]
    /\ reporting' = reporting \cup {t}
    /\ reports' = [reports EXCEPT ![t] = [k \in Tasks |-> OffsetSum(t, k)]]
    /\ UNCHANGED <<deletedBy, assigned, running, diskVars, phase, rebalances, plan, cleaning, now>>

\* The leader assigns each task to a thread of a candidate.
Assign ==
    \* enabling conditions
    /\ phase = "joining"
    /\ reporting = Threads
    \* state changes
    /\ \E chosen \in [Tasks -> Threads] :
        /\ \A k \in Tasks : chosen[k][1] \in Candidates(k)
        /\ plan' = [t \in Threads |-> {k \in Tasks : chosen[k] = t}]
    /\ phase' = "assigned"
    /\ UNCHANGED <<deletedBy, assigned, running, holds, diskVars, rebalances, reporting, reports, mutex, cleaning, now>>

\* The tasks that a thread closes, and what that makes of the time at which a directory was modified.
Closed(t)           == running[t] \ plan[t]
TouchedByClosing(d) == IF ModifiedBy = "creation" THEN modified[d] ELSE now
TouchedByDying(d)   == IF ModifiedBy = "any_close" THEN now ELSE modified[d]

\* The directories that a thread has locked when it has its assignment. As shipped, those that it keeps; others it locks
\* when it takes the task up. KIP-441 (and Kafka before it): those of all its tasks, but what another thread still has.
LockedThen(t) ==
    IF Protection = "directory_locks" THEN holds[t] \cap plan[t] ELSE {k \in plan[t] : Free(t, k)}

\* onPartitionsAssigned: a thread closes what it has no more.
Receive(t) ==
    \* enabling conditions
    /\ phase = "assigned"
    /\ t \in reporting
    /\ LocksAreFree(t)
    \* state changes
    /\ reporting' = reporting \ {t}
    /\ phase' = IF reporting = {t} THEN "stable" ELSE "assigned"
    /\ assigned' = [assigned EXCEPT ![t] = plan[t]]
    /\ running' = [running EXCEPT ![t] = @ \cap plan[t]]
    /\ holds' = [holds EXCEPT ![t] = LockedThen(t)]
    /\ mutex' = [mutex EXCEPT ![t[1]] = @ \ {t}]
    /\ modified' = [d \in Directories |-> IF d[1] = t[1] /\ d[2] \in Closed(t) THEN TouchedByClosing(d) ELSE modified[d]]
    /\ released' = [d \in Directories |-> IF d[1] = t[1] /\ d[2] \in Closed(t) THEN now ELSE released[d]]
    /\ UNCHANGED <<deletedBy, offset, end, rebalances, reports, plan, cleaning, now>>

\* A thread takes a task up: it locks the directory, creates it if there is none, and restores.
Open(t, k) ==
    \* enabling conditions
    /\ k \in assigned[t] \ running[t]
    /\ Free(t, k)
    /\ LocksAreFree(t)
    \* state changes
    /\ running' = [running EXCEPT ![t] = @ \cup {k}]
    /\ holds' = [holds EXCEPT ![t] = @ \cup {k}]
    /\ deletedBy' = With(deletedBy, Directory(t, k), "")
    /\ modified' = IF k \in OnDisk(t[1]) THEN modified ELSE [modified EXCEPT ![Directory(t, k)] = now]
    /\ offset' = [offset EXCEPT ![Directory(t, k)] = end[k]]
    /\ UNCHANGED <<assigned, released, end, groupVars, mutex, cleaning, now>>

\* A thread processes: the task's stores and changelogs grow.
Process(t, k) ==
    \* enabling conditions
    /\ k \in running[t]
    /\ LoggedStores(k) > 0
    \* state changes
    /\ end' = [end EXCEPT ![k] = @ + 1]
    /\ offset' = [offset EXCEPT ![Directory(t, k)] = end[k] + 1]
    /\ UNCHANGED <<deletedBy, threadVars, modified, released, groupVars, mutex, cleaning, now>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The cleaner.                                                            *)
(***************************************************************************)

\* What it asks before it begins.
MayBegin(i) ==
    CASE Protection \in {"mutex", "shared_mutex"} -> mutex[i] = {}
      [] Protection = "rebalancing_state"         -> phase = "stable"
      [] OTHER                                    -> TRUE

BeginCleaning(i) ==
    \* enabling conditions
    /\ ~cleaning[i]
    /\ OnDisk(i) # {}
    /\ MayBegin(i)
    \* state changes
    /\ cleaning' = [cleaning EXCEPT ![i] = TRUE]
    /\ UNCHANGED <<deletedBy, threadVars, diskVars, groupVars, mutex, now>>

\* What it asks before it deletes: the time from a directory's last modification, and its lock.
Age(d)       == now - modified[d]
MayDelete(d) == ~IsLocked(d)

Delete(i, k) ==
    \* enabling conditions
    /\ cleaning[i]
    /\ k \in OnDisk(i)
    /\ MayDelete(<<i, k>>)
    /\ Age(<<i, k>>) > CleanupDelay
    \* state changes
    /\ deletedBy' = [deletedBy EXCEPT ![<<i, k>>] = "cleaner"]
    /\ offset' = [offset EXCEPT ![<<i, k>>] = 0]
    /\ UNCHANGED <<threadVars, modified, released, end, groupVars, mutex, cleaning, now>>

FinishCleaning(i) ==
    \* enabling conditions
    /\ cleaning[i]
    \* state changes
    /\ cleaning' = [cleaning EXCEPT ![i] = FALSE]
    /\ UNCHANGED <<deletedBy, threadVars, diskVars, groupVars, mutex, now>>

\* Time passes. Threads take up their tasks sooner than the cleanup delay is over.
Tick ==
    \* enabling conditions
    /\ \A t \in Threads : running[t] = assigned[t]
    \* state changes
    /\ now' = now + 1
    /\ UNCHANGED <<deletedBy, threadVars, diskVars, groupVars, mutex, cleaning>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* What fails.                                                             *)
(***************************************************************************)

\* A thread dies between rebalances, and another takes its place: it has nothing yet. A task's directory is as it was.
Die(t) ==
    \* enabling conditions
    /\ Failures
    /\ phase = "stable"
    /\ assigned[t] # {}
    /\ LocksAreFree(t)
    \* state changes
    /\ assigned' = [assigned EXCEPT ![t] = {}]
    /\ running' = [running EXCEPT ![t] = {}]
    /\ holds' = [holds EXCEPT ![t] = {}]
    /\ modified' = [d \in Directories |->
                        IF d[1] = t[1] /\ d[2] \in running[t] THEN TouchedByDying(d) ELSE modified[d]]
    /\ released' = [d \in Directories |-> IF d[1] = t[1] /\ d[2] \in running[t] THEN now ELSE released[d]]
    /\ UNCHANGED <<deletedBy, offset, end, groupVars, mutex, cleaning, now>>

\* A thread finds the state of a task corrupted: it wipes it, and takes the task up anew.
Wipe(t, k) ==
    \* enabling conditions
    /\ Failures
    /\ k \in running[t]
    /\ k \in OnDisk(t[1])
    \* state changes
    /\ running' = [running EXCEPT ![t] = @ \ {k}]
    /\ deletedBy' = [deletedBy EXCEPT ![Directory(t, k)] = "wipe"]
    /\ offset' = [offset EXCEPT ![Directory(t, k)] = 0]
    /\ UNCHANGED <<assigned, holds, modified, released, end, groupVars, mutex, cleaning, now>>

-----------------------------------------------------------------------------
GroupStep ==
    \/ BeginRebalance
    \/ Assign
    \/ \E t \in Threads : Receive(t)

ThreadStep == \E t \in Threads : Die(t) \/ \E k \in Tasks : Process(t, k)

CleanerStep == \E i \in Instances : BeginCleaning(i) \/ FinishCleaning(i)

Next ==
    \/ GroupStep
    \/ ThreadStep
    \/ CleanerStep
    \/ Tick
    \/ \E t \in Threads : Report(t) \/ \E k \in Tasks : Open(t, k) \/ Wipe(t, k)
    \/ \E i \in Instances : \E k \in Tasks : Delete(i, k)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(***************************************************************************)
(* The types above, for TLC.                                               *)
(***************************************************************************)

TypeOK ==
    /\ DOMAIN deletedBy \subseteq Directories
    /\ \A d \in DOMAIN deletedBy : deletedBy[d] \in {"", "cleaner", "wipe"}
    /\ \A t \in Threads : running[t] \subseteq assigned[t] /\ running[t] \subseteq holds[t]
    /\ \A t \in Threads : \A other \in ThreadsOf(t[1]) : t # other => holds[t] \cap holds[other] = {}
    /\ \A d \in Directories : modified[d] \in 0..now /\ released[d] \in 0..now /\ offset[d] \in 0..end[d[2]]
    /\ phase \in {"stable", "joining", "assigned"}
    /\ phase = "stable" => reporting = {}
    /\ \A i \in Instances : mutex[i] \subseteq reporting

=============================================================================
