-------------------------- MODULE BrokenLagReport --------------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCLagReport

\* The cleaner does not acquire the mutex.
MutexNotAsked(i) == TRUE

\* Closing a task does not modify its directory (KAFKA-20805).
ClosedWithAnOldTime(d) == modified[d]

\* The cleaner ignores the locks.
LocksNotAsked(d) == TRUE

\* A thread does not lock the directories that it reports.
ReportedWithoutLocks(t) == {}

\* A thread reports the end offsets of the changelogs.
EndsReported(t, k) ==
    IF k \notin Reportable(t) \/ (LoggedStores(k) = 0 /\ ~ZeroForNonLogged) THEN NotReported
    ELSE IF k \in running[t] /\ LoggedStores(k) > 0 THEN LatestOffset
    ELSE end[k]

\* A store that is not logged counts as one.
OneForNonLogged(t, k) ==
    IF k \notin Reportable(t) \/ (LoggedStores(k) = 0 /\ ~ZeroForNonLogged) THEN NotReported
    ELSE IF k \in running[t] /\ LoggedStores(k) > 0 THEN LatestOffset
    ELSE LoggedOffsetSum(t[1], k) + NonLoggedStores(k)

\* The mutex is held by one thread alone, as in the proposal, instead of being shared.
MutexNotShared(t) == mutex[t[1]] \subseteq {t} /\ ~cleaning[t[1]]

=============================================================================
