---- MODULE Doors ----
(* Doors and a lift, with what is possible next. *)
EXTENDS Naturals, FiniteSets, Sequences
CONSTANTS Floor, Door
VARIABLES at, open, calls, queue
Open(d) == /\ d \notin open
           /\ at \in Floor
           /\ open' = open \union {d}
           /\ UNCHANGED <<at, calls, queue>>
Close(d) == d \in open /\ open' = open \ {d} /\ UNCHANGED <<at, calls>> /\ UNCHANGED queue
Go == \E f \in calls : /\ open = {} /\ f # at
                       /\ at' = f
                       /\ calls' = calls \ {f}
                       /\ UNCHANGED <<open, queue>>
Serve == IF queue = <<>> THEN UNCHANGED <<at, open, calls, queue>>
         ELSE /\ Head(queue) # at /\ at' = Head(queue) /\ queue' = Tail(queue) /\ UNCHANGED <<open, calls>>
Call == \E f \in Floor : calls' = calls \cup {f} /\ f \notin calls /\ UNCHANGED <<at, open, queue>>
Moved == at' \in calls /\ open' = {} /\ UNCHANGED <<calls, queue>>
Next == Go \/ Serve \/ Call \/ \E d \in Door : Open(d) \/ Close(d)
NoDeadlock == ENABLED Next
Closable == \A d \in open : ENABLED Close(d)
CanGo == calls # {} /\ open = {} => ENABLED Go
ServeOK == ENABLED Serve \/ Head(queue) = at
Pop == ENABLED (queue' = Tail(queue))
Jump == ENABLED Moved <=> calls # {}
Cases == ENABLED (CASE at = 0 -> at' = 1 [] at = 1 -> at' = 0 /\ open # {} [] OTHER -> at' \in calls)
Stepping == ENABLED Go => at' # at \/ UNCHANGED <<calls, open>>
Each == \A d \in Door, f \in Floor : [][(d \in open /\ at = f) => at' = at]_<<at, open>>
EachOf(f) == [][at = f => at' # f]_at
All == (\A f \in Floor : EachOf(f)) /\ [][Len(queue') <= Len(queue)]_queue
Rigid == \A f \in calls : [][(f \in calls')]_calls
OfEach(S) == \A f \in S : [][at = f => at' = f]_at
OfCalls == OfEach(calls \cup {at})
Always == \A f \in Floor : [](f \in calls => f # at)
Fair == \A f \in Floor : <>(at = f)
THEOREM [](NoDeadlock /\ Closable /\ CanGo /\ ServeOK /\ Pop /\ Jump /\ Cases)
THEOREM [][Stepping]_<<at, open, calls>> /\ Each /\ All /\ Always
THEOREM Rigid /\ OfCalls /\ Fair /\ (\A f \in Floor : EachOf(f))
====
