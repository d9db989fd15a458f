-- generated from WronglyAcked in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- WronglyAcked(a) == a.ok /\ a.epoch > 1
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    ack_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    ok AS `a.ok`,
    epoch AS `a.epoch`
  FROM silver.ack_states
), judged AS (
  SELECT
    *,
    `a.ok` AND `a.epoch` > 1 AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    ack_id,
    COUNT(*) AS states,
    CASE WHEN BOOL_AND(COALESCE(c1, FALSE)) THEN TRUE WHEN BOOL_AND(COALESCE(NOT c1, FALSE)) THEN FALSE END AS verdict,
    CASE WHEN BOOL_OR(c1) AND BOOL_OR(NOT c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    ack_id
)
SELECT
  cluster,
  ack_id AS subject,
  CASE WHEN agreed.states = acks.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = acks.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(CASE WHEN agreed.states = acks.candidates THEN agreed.reason END, 'not_known')
  END AS reason
FROM silver.acks AS acks
FULL OUTER JOIN agreed
  USING (cluster, ack_id)
