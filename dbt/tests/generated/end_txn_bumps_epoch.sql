-- generated from EndTxnBumpsEpoch in spec/producer_epoch/TransactionLogRules.tla by `tlasql compile`; do not edit
{{ config(severity='error', tags=['generated', 'step']) }}

select
  verdict_id,
  cluster,
  scope,
  witness,
  from_position,
  from_time,
  failed_conjunct,
  observed
from {{ ref('fct_invariant_verdicts') }}
where
  invariant = 'end_txn_bumps_epoch' and verdict = 'violated'
