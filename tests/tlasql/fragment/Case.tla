---- MODULE Case ----
EXTENDS Integers, FiniteSets
\* @typeAlias: request = {id: REQUEST, epoch: Int, ok: Bool};
\* @type: Int;
VARIABLE level
\* @type: MEMBER -> Int;
VARIABLE epoch
\* @type: MEMBER -> Set(PARTITION);
VARIABLE held
\* @type: Set($request);
VARIABLE requests
\* @type: Set($request);
VARIABLE acks

\* Scalars, one table, two conjuncts.
\* @invariant("scalars", "critical", "group")
Scalars == level >= 2 /\ level # 4

\* A conjunct without a quantifier beside one with: two frames.
\* @invariant("two_clauses", "critical", "group")
TwoClauses == level > 1 /\ \A m \in DOMAIN epoch : epoch[m] > 1

\* A filtered range, and a quantifier below a negation.
\* @invariant("filtered", "warning", "member")
Filtered ==
    /\ \A m \in {n \in DOMAIN epoch : epoch[n] > 2} : epoch[m] # 5
    /\ ~ \E m \in DOMAIN epoch : epoch[m] = 0

\* IF, membership, unary minus, arithmetic.
\* @invariant("arithmetic", "info", "member")
Arithmetic ==
    LET Twice(n) == 2 * n
    IN \A m \in DOMAIN epoch :
           IF epoch[m] \in {1, 2, 4} THEN -Twice(epoch[m]) + 6 > 0 ELSE (epoch[m] - 1) * 2 <= 4

\* Two tables joined: the value is not held beside the elements.
\* @invariant("joined", "critical", "partition")
Joined == \A m \in DOMAIN epoch : \A p \in held[m] : epoch[m] > 1

\* Three tables; names that columns of the scope have too.
\* @invariant("three_at_once", "critical", "partition")
ThreeAtOnce ==
    \A cluster, life, n \in DOMAIN held :
        \A p \in held[cluster] \cap held[life] \cap held[n] : cluster = life \/ life = n \/ cluster = n

\* A quantifier after a test, and an equivalence.
\* @invariant("guarded", "warning", "member")
Guarded == \A m \in DOMAIN epoch : epoch[m] > 1 => \A p \in held[m] : epoch[m] < 4 <=> epoch[m] # 3

\* @step("level_never_falls", "critical", "group") @transitive
LevelNeverFalls == level' >= level

\* False when nothing changes: the step allows for that by itself.
\* @step("level_grows_by_one", "warning", "group")
LevelGrowsByOne == level' = level + 1

\* @step("old_epochs_stay", "warning", "member") @transitive
OldEpochsStay == \A m \in DOMAIN epoch \cap DOMAIN epoch' : epoch[m] > 2 => epoch'[m] >= epoch[m]

\* A quantifier inside a predicate over records.
\* @invariant("some_part_is_late", "critical", "request")
SomePartIsLate == \A r \in requests : r.ok => \E s \in requests : s.id = r.id /\ s.epoch > 1

\* Two records compared, each with each of its request.
\* @invariant("parts_alike", "info", "request")
PartsAlike == \A r, s \in requests : r.id = s.id => r = s

\* The same where another one is asked for.
\* @invariant("some_other_part_is_later", "info", "request")
SomeOtherPartIsLater == \A r \in requests : r.ok => \E s \in requests : s.id = r.id /\ s # r /\ s.epoch >= r.epoch

\* Of two sets of records, each has rows of its own; the records have one name.
\* @invariant("both_are_early", "warning", "request")
BothAreEarly == (\A r \in requests : r.ok => r.epoch < 3) /\ (\A r \in acks : r.ok => r.epoch < 2)

\* @decision("early", "requests")
Early(r) == r.ok /\ \A s \in requests : s.id = r.id => s.epoch <= 2

\* A text.
\* @decision("error", "requests")
Error(r) == CASE ~r.ok -> "FENCED" [] r.epoch > 1 -> "STALE" [] OTHER -> "NONE"

\* @type: $request => Str;
\* @decision("older_error", "requests")
OlderError(r) == IF r.epoch > 0 THEN "NONE" ELSE "STALE"

\* A set of records of the same type, and a number.
\* @decision("acked", "acks")
Acked(a) == IF a.ok THEN a.epoch ELSE -1

\* @decision("wrongly_acked", "acks")
WronglyAcked(a) == a.ok /\ a.epoch > 1

====
