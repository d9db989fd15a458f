---- MODULE Stock ----
(* Goods in places: tuples and records as arguments, maps in maps, negative numbers. *)
EXTENDS Integers, FiniteSets, Sequences
CONSTANTS SKU, WH
VARIABLES onhand, reserved, moves
Places == SKU \X WH
At(s, w) == IF <<s, w>> \in DOMAIN onhand THEN onhand[s, w] ELSE 0
Res(k) == IF k \in DOMAIN reserved THEN reserved[k] ELSE [qty |-> 0, orders |-> {}]
NotOver == \A k \in DOMAIN reserved : reserved[k].qty <= At(k.sku, k.wh)
Orders == \A k \in DOMAIN reserved : reserved[k].qty > 0 <=> reserved[k].orders # {}
NonNegative == \A <<s, w>> \in Places : At(s, w) >= 0
Hist == \A s \in DOMAIN moves : \A d \in DOMAIN moves[s] : \A i \in DOMAIN moves[s][d] : moves[s][d][i][2] # 0
Balanced == \A s \in DOMAIN moves :
              \A d \in DOMAIN moves[s] :
                LET sum[i \in 0 .. Len(moves[s][d])] == IF i = 0 THEN 0 ELSE sum[i - 1] + moves[s][d][i][2]
                IN sum[Len(moves[s][d])] >= 0
OnceReserved == \A j, k \in DOMAIN reserved : j # k => reserved[j].orders \cap reserved[k].orders = {}
Keyed == \A k \in DOMAIN reserved : k \in [sku : SKU, wh : WH]
Move == \E <<s, w>> \in Places, v \in WH, n \in 1 .. 2 :
          /\ <<s, w>> \in DOMAIN onhand /\ <<s, v>> \in DOMAIN onhand /\ v # w
          /\ onhand' = [onhand EXCEPT ![s, w] = @ - n, ![<<s, v>>] = @ + n]
Kept == \A p \in DOMAIN onhand : p \in DOMAIN onhand' /\ onhand'[p] >= 0
Release == \A k \in DOMAIN reserved : k \in DOMAIN reserved' => reserved'[k].qty <= reserved[k].qty \/ reserved'[k].orders # reserved[k].orders
THEOREM [](NotOver /\ Orders /\ NonNegative /\ Hist /\ Balanced /\ OnceReserved /\ Keyed)
THEOREM [][Move]_onhand /\ [][Kept]_onhand /\ [][Release]_reserved
====
