-------------------------- MODULE LagReportObserved --------------------------
(***************************************************************************)
(* What is seen of LagReport. Its actions do not speak of it: here they    *)
(* are joined with what logs show after each step, and with what was       *)
(* reported, deleted and taken up in the last one.                         *)
(***************************************************************************)
EXTENDS LagReport

\* @typeAlias: deletion = {deletion: DELETION, deletedBy: Str, hasState: Bool, lagReported: Bool, sinceRelease: Int, cleanupDelay: Int};
\* @typeAlias: lagReport = {report: REPORT, reported: Bool, offsetSum: Int, endOffsetSum: Int, loggedStores: Int, nonLoggedStores: Int, loggedOffsetSum: Int};
\* @typeAlias: assignedTask = {assigned: ASSIGNED, onReportedLag: Bool, directoryExists: Bool, deletedBy: Str};

\* A thread has locked the directory: the one that has the task, or one that has reported it.
\* @type: DIRECTORY -> Bool;
VARIABLE locked

\* The tasks that each thread was assigned because of a lag that was reported.
\* @type: THREAD -> Set(TASK);
VARIABLE onReport

(***************************************************************************)
(* What happened in the last step. Earlier is forgotten.                   *)
(***************************************************************************)

\* The directory that was deleted: by whom, whether its task has stores (here all have), while a lag report of the
\* instance had no assignment yet, how long after the thread that had the task let go of it.
\* @type: Set($deletion);
VARIABLE deletions

\* What a thread reported of each task, beside what the changelogs and the instance's stores have.
\* @type: Set($lagReport);
VARIABLE lagReports

\* The task that a thread took up: whether it was assigned because of a lag that its instance had reported, whether the
\* directory was there, and who had deleted it.
\* @type: Set($assignedTask);
VARIABLE assignedTasks

eventVars    == <<deletions, lagReports, assignedTasks>>
observedVars == <<vars, locked, onReport, eventVars>>

ObservedInit ==
    /\ Init
    /\ locked = [d \in {} |-> FALSE]
    /\ onReport = [t \in Threads |-> {}]
    /\ deletions = {} /\ lagReports = {} /\ assignedTasks = {}

-----------------------------------------------------------------------------
Happened(deleted, reported, taken) ==
    /\ deletions' = deleted
    /\ lagReports' = reported
    /\ assignedTasks' = taken

DeletionOf(d) ==
    [deletion     |-> d,
     deletedBy    |-> deletedBy'[d],
     hasState     |-> TRUE,
     lagReported  |-> ThreadsOf(d[1]) \cap reporting # {},
     sinceRelease |-> now - released[d],
     cleanupDelay |-> CleanupDelay]

ReportOf(t, k) ==
    [report          |-> <<t, k>>,
     reported        |-> OffsetSum(t, k) # NotReported,
     offsetSum       |-> IF OffsetSum(t, k) = NotReported THEN 0 ELSE OffsetSum(t, k),
     endOffsetSum    |-> end[k],
     loggedStores    |-> LoggedStores(k),
     nonLoggedStores |-> NonLoggedStores(k),
     loggedOffsetSum |-> LoggedOffsetSum(t[1], k)]

TaskTaken(t, k) ==
    [assigned        |-> <<t, k>>,
     onReportedLag   |-> k \in onReport[t],
     directoryExists |-> k \in OnDisk(t[1]),
     deletedBy       |-> IF Directory(t, k) \in DOMAIN deletedBy THEN deletedBy[Directory(t, k)] ELSE ""]

\* What logs show after a step.
Shows ==
    /\ locked' = [d \in DOMAIN deletedBy' |-> IsLocked(d)']
    /\ onReport' = IF phase = "joining" /\ phase' = "assigned"
                   THEN [t \in Threads |-> {k \in plan'[t] : Reported(t[1], k)}]
                   ELSE onReport

ObservedNext ==
    /\ \/ (GroupStep \/ ThreadStep \/ CleanerStep \/ Tick) /\ Happened({}, {}, {})
       \/ \E t \in Threads :
            \/ Report(t) /\ Happened({}, {ReportOf(t, k) : k \in Tasks}, {})
            \/ \E k \in Tasks :
                \/ Open(t, k) /\ Happened({}, {}, {TaskTaken(t, k)})
                \/ Wipe(t, k) /\ Happened({DeletionOf(Directory(t, k))}, {}, {})
       \/ \E i \in Instances : \E k \in Tasks : Delete(i, k) /\ Happened({DeletionOf(<<i, k>>)}, {}, {})
    /\ Shows

ObservedSpec == ObservedInit /\ [][ObservedNext]_observedVars

-----------------------------------------------------------------------------
\* The types above, for TLC.
ObservedTypeOK == TypeOK /\ locked = [d \in DOMAIN deletedBy |-> IsLocked(d)]

=============================================================================
