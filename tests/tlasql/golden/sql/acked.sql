-- generated from Acked in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- Acked(a) == IF a.ok THEN a.epoch ELSE -1
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
    CASE `a.ok`
      WHEN TRUE
      THEN `a.epoch`
      WHEN FALSE
      THEN -1
      ELSE CASE WHEN `a.epoch` = -1 THEN `a.epoch` END
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    ack_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE WHEN MIN(c1) < MAX(c1) THEN 'several_states' END AS reason
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
