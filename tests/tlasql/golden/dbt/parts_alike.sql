-- generated from PartsAlike in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
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
  invariant = 'parts_alike' and verdict = 'violated'
