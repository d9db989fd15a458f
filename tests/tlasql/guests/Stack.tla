---- MODULE Stack ----
(* What the PlusCal translator makes of procedures: program counters and stacks of frames. *)
EXTENDS Naturals, Sequences
CONSTANT defaultInitValue, Procs, MaxDepth
VARIABLES pc, stack, lo, hi, items
vars == << pc, stack, lo, hi, items >>
StackOK == \A self \in Procs : Len(stack[self]) <= MaxDepth
Nested == \A self \in DOMAIN stack :
            \A i \in 1 .. Len(stack[self]) - 1 :
               LET inner == stack[self][i]
                   outer == stack[self][i + 1]
               IN  inner.procedure = outer.procedure => inner.lo >= outer.lo /\ inner.hi <= outer.hi
Returns == \A self \in Procs : pc[self] = "Error" => stack[self] = << >>
Call(self) == /\ pc[self] = "start"
              /\ stack' = [stack EXCEPT ![self] = << [ procedure |->  "sort",
                                                       pc        |->  "Done",
                                                       lo        |->  lo[self],
                                                       hi        |->  hi[self] ] >>
                                                   \o stack[self]]
              /\ lo' = [lo EXCEPT ![self] = @ + 1]
              /\ pc' = [pc EXCEPT ![self] = "sort"]
              /\ UNCHANGED << hi, items >>
Return(self) == /\ pc' = [pc EXCEPT ![self] = Head(stack[self]).pc]
                /\ lo' = [lo EXCEPT ![self] = Head(stack[self]).lo]
                /\ hi' = [hi EXCEPT ![self] = Head(stack[self]).hi]
                /\ stack' = [stack EXCEPT ![self] = Tail(stack[self])]
                /\ UNCHANGED items
Next == \E self \in Procs : Call(self) \/ Return(self)
Sorted == \A self \in Procs : pc[self] = "Done" =>
            \A i, j \in lo[self] .. hi[self] : (i \in DOMAIN items /\ j \in DOMAIN items /\ i < j) => items[i] <= items[j]
Undefined == \A self \in Procs : defaultInitValue # pc[self]
THEOREM []StackOK /\ []Nested /\ []Returns /\ []Sorted /\ []Undefined /\ [][Next]_vars
====
