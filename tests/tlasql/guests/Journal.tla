------------------------------- MODULE Journal -------------------------------
(* A bank whose balances are replayed from its journal: folds in which the order matters. *)
EXTENDS Integers, Sequences, FiniteSets, TLC
CONSTANTS Accounts, Limit
VARIABLES journal, snapshot, applied, status, cache

Max(S) == CHOOSE x \in S : \A y \in S : x >= y
Min(S) == CHOOSE x \in S : \A y \in S : x =< y
MapThenFoldSet(op(_,_), base, f(_), choose(_), S) ==
  LET iter[s \in SUBSET S] == IF s = {} THEN base ELSE LET x == choose(s) IN op(f(x), iter[s \ {x}])
  IN  iter[S]
FoldLeft(op(_, _), base, seq) ==
  MapThenFoldSet(LAMBDA x, y : op(y, x), base, LAMBDA i : seq[i], LAMBDA S : Max(S), DOMAIN seq)
FoldRight(op(_, _), seq, base) == MapThenFoldSet(op, base, LAMBDA i : seq[i], LAMBDA S : Min(S), DOMAIN seq)
FlattenSeq(seqs) ==
  IF Len(seqs) = 0 THEN seqs ELSE
    LET flatten[i \in 1 .. Len(seqs)] == IF i = 1 THEN seqs[i] ELSE flatten[i - 1] \o seqs[i]
    IN flatten[Len(seqs)]
IsPrefix(s, t) == Len(s) <= Len(t) /\ SubSeq(s, 1, Len(s)) = SubSeq(t, 1, Len(s))

Put(m, k, v) == [x \in DOMAIN m \cup {k} |-> IF x = k THEN v ELSE m[x]]
Del(m, k) == [x \in DOMAIN m \ {k} |-> m[x]]
ApplyEvent(bal, e) ==
  CASE e.kind = "open"     -> (e.acc :> 0) @@ bal
    [] e.kind = "deposit"  -> IF e.acc \in DOMAIN bal THEN [bal EXCEPT ![e.acc] = @ + e.amount] ELSE bal
    [] e.kind = "withdraw" -> IF e.acc \in DOMAIN bal /\ bal[e.acc] >= e.amount
                              THEN [bal EXCEPT ![e.acc] = @ - e.amount] ELSE bal
    [] e.kind = "close"    -> Del(bal, e.acc)
    [] OTHER -> bal
NoBalances == [x \in {} |-> 0]
Balances == FoldLeft(ApplyEvent, NoBalances, journal)
BalancesAt(n) == FoldLeft(ApplyEvent, NoBalances, SubSeq(journal, 1, n))
\* INV: SnapshotIsReplay
SnapshotIsReplay == applied \in 0 .. Len(journal) => snapshot = BalancesAt(applied)
\* INV: NeverNegative
NeverNegative == \A a \in DOMAIN Balances : Balances[a] >= 0
\* INV: CacheFollows
CacheFollows == \A a \in DOMAIN cache : a \in DOMAIN Balances /\ cache[a] = Balances[a]
\* INV: Total
Total ==
  LET b == Balances
      any(S) == CHOOSE a \in S : TRUE
  IN  MapThenFoldSet(LAMBDA a, s : s + b[a], 0, LAMBDA a : a, any, DOMAIN b) <= Limit
\* INV: Known
Known == DOMAIN Balances \subseteq Accounts

\* order state machine
Step(s, e) ==
  IF s = "new" /\ e.kind = "open" THEN "opened"
  ELSE IF s = "opened" /\ e.kind = "close" THEN "closed"
  ELSE IF s = "closed" THEN "closed"
  ELSE s
\* INV: StatusIsReplay
StatusIsReplay == \A a \in Accounts : FoldLeft(Step, "new", SelectSeq(journal, LAMBDA e : e.acc = a)) = status[a]
\* stops at the first event that is not allowed
RECURSIVE FirstBad(_, _)
FirstBad(i, open) ==
  IF i > Len(journal) THEN 0
  ELSE LET e == journal[i] IN
       IF e.kind = "open" THEN (IF e.acc \in open THEN i ELSE FirstBad(i + 1, open \cup {e.acc}))
       ELSE IF e.kind = "close" THEN (IF e.acc \notin open THEN i ELSE FirstBad(i + 1, open \ {e.acc}))
       ELSE IF e.acc \in open THEN FirstBad(i + 1, open) ELSE i
\* INV: AllAllowed
AllAllowed == FirstBad(1, {}) = 0
\* INV: AppliedAllowed
AppliedAllowed == LET bad == FirstBad(1, {}) IN bad # 0 => applied < bad
Running[i \in 0 .. Len(journal)] ==
  IF i = 0 THEN 0
  ELSE IF journal[i].kind = "deposit" THEN Running[i-1] + journal[i].amount ELSE Running[i - 1] \div 2
\* INV: RunningMax
RunningMax == \A i \in 0 .. Len(journal) : Running[i] <= Limit
\* INV: Deposited
Deposited == \A i \in 0 .. Len(journal) : FoldLeft(LAMBDA t, e : t + e.amount, 0, SubSeq(journal, 1, i)) <= Limit
\* INV: Foreign
Foreign == FoldLeft(LAMBDA t, e : t + cache[e.acc], 0, journal) >= 0
Last2 ==
  FoldRight(LAMBDA e, acc : IF acc.n < 2 THEN [n |-> acc.n + 1, kinds |-> <<e.kind>> \o acc.kinds] ELSE acc,
            journal, [n |-> 0, kinds |-> <<>>])
\* INV: LastTwo
LastTwo == Last2.kinds # <<"close", "close">>
\* INV: Seen
Seen ==
  LET next(so, e) == [seen |-> so.seen \cup {e.acc}, dup |-> so.dup \/ (e.kind = "open" /\ e.acc \in so.seen)]
  IN  ~FoldLeft(next, [seen |-> {}, dup |-> FALSE], journal).dup
\* INV: Flat
Flat == Len(FlattenSeq([i \in DOMAIN journal |-> IF journal[i].kind = "close" THEN <<>> ELSE <<i>>])) >= applied
\* INV: OneName
OneName == (LET last == FoldLeft(Step, "new", journal) IN last # "closed") /\ (LET last == FirstBad(1, {}) IN last = 0)
\* ACTION_PROP: OnlyAppend
OnlyAppend ==
  [][/\ IsPrefix(journal, journal')
     /\ FoldLeft(ApplyEvent, snapshot, SubSeq(journal', Len(journal) + 1, Len(journal'))) = snapshot'
    ]_<<journal, snapshot>>
=============================================================================
