---- MODULE Commit ----
EXTENDS Integers, FiniteSets
CONSTANTS RM, Most
\* @type: Str;
VARIABLE round
\* @type: RM -> Str;
VARIABLE state

Advance == round' = round + 1 /\ UNCHANGED state

\* No two managers decide differently.
\* @invariant("consistent", "critical", "cluster")
Consistent == \A a, b \in RM : ~ (state[a] = "aborted" /\ state[b] = "committed")

\* There are at most so many rounds for each manager.
\* @invariant("bounded", "critical", "cluster")
Bounded == round <= Most * Cardinality(RM)

\* No state is called as a manager is.
\* @invariant("named", "critical", "cluster")
Named == \A a \in RM : state[a] # "r1"

\* Rounds advance.
\* @step("advances", "critical", "cluster")
Advances == [][Advance]_<<round, state>>

\* This one cannot be judged over logs.
\* @invariant("unlisted", "critical", "cluster")
Unlisted == \E f \in [Int -> Int] : f[round] = 1
====
