-- generated from TransactionEndedByItsProducer in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
{{ config(severity='warn', tags=['generated', 'invariant']) }}

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
  invariant = 'transaction_ended_by_its_producer' and verdict = 'violated'
