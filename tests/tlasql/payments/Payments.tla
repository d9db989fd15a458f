---- MODULE Payments ----
(* Records that two columns name, and claims about two of them. *)
EXTENDS Integers
\* @type: Set({order: ORDER, amount: Int, ok: Bool});
VARIABLE payments

\* @invariant("paid", "critical", "payment")
Paid == \A p \in payments : p.ok => p.amount > 0

\* @invariant("none_twice", "critical", "payment")
NoneTwice == \A p \in payments : p.amount > 5 => ~ \E q \in payments : q.order = p.order /\ q.amount < 0

\* @invariant("alike", "critical", "payment")
Alike == \A p, q \in payments : q.order = p.order /\ p.ok => q.amount < 9 /\ q.ok
====
