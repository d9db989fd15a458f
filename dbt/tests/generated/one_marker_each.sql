-- generated from OneMarkerEach in spec/producer_epoch/MarkerRules.tla by `tlasql compile`; do not edit
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
  invariant = 'one_marker_each' and verdict = 'violated'
