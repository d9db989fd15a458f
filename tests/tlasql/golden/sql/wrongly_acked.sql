-- generated from tests/tlasql/fragment/Case.tla:84 by `tlasql compile`; do not edit
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
    CASE WHEN BOOL_AND(COALESCE(c1, FALSE)) THEN TRUE WHEN BOOL_AND(COALESCE(NOT c1, FALSE)) THEN FALSE END AS verdict
  FROM judged
  GROUP BY
    cluster,
    ack_id
)
SELECT
  cluster,
  ack_id AS subject,
  CASE WHEN agreed.states = acks.candidates THEN agreed.verdict END AS outcome
FROM silver.acks AS acks
FULL OUTER JOIN agreed
  USING (cluster, ack_id)
