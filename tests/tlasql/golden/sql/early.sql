-- generated from Early in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- Early(r) == r.ok /\ \A s \in requests : s.id = r.id => s.epoch <= 2
WITH quantified_1_rows AS (
  SELECT
    cluster,
    request_id,
    candidate,
    epoch AS `s.epoch`
  FROM silver.request_states
), quantified_1_judged AS (
  SELECT
    cluster,
    request_id,
    candidate,
    `s.epoch` <= 2 AS predicate
  FROM quantified_1_rows
), quantified_1_lost AS (
  SELECT DISTINCT
    cluster,
    TRUE AS lost
  FROM silver.requests
  WHERE
    cluster IS NULL OR request_id IS NULL
), quantified_1_expected AS (
  SELECT
    requests.cluster,
    requests.request_id,
    COUNT(*) AS expected
  FROM silver.requests AS requests
  LEFT JOIN quantified_1_lost
    ON quantified_1_lost.cluster IS NULL OR requests.cluster = quantified_1_lost.cluster
  WHERE
    quantified_1_lost.lost IS NULL
  GROUP BY
    requests.cluster,
    requests.request_id
), quantified_1 AS (
  SELECT
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate,
    CASE
      WHEN BOOL_OR(NOT quantified_1_judged.predicate)
      THEN FALSE
      WHEN COUNT(*) = MAX(quantified_1_expected.expected)
      AND BOOL_AND(NOT quantified_1_judged.predicate IS NULL)
      THEN TRUE
    END AS holds
  FROM quantified_1_judged
  LEFT JOIN quantified_1_expected
    ON quantified_1_judged.cluster = quantified_1_expected.cluster
    AND quantified_1_judged.request_id = quantified_1_expected.request_id
  GROUP BY
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate
), frame AS (
  SELECT
    request_states.cluster,
    request_states.group_id,
    request_states.life,
    request_states.part_id,
    request_states.candidate,
    request_states.from_position,
    request_states.to_position,
    request_states.from_time,
    request_states.to_time,
    request_states.ok AS `r.ok`,
    quantified_1.holds AS `\A s \in requests : s.id = r.id => s.epoch <= 2`
  FROM silver.request_states AS request_states
  LEFT JOIN quantified_1
    ON request_states.cluster = quantified_1.cluster
    AND request_states.request_id = quantified_1.request_id
    AND request_states.candidate = quantified_1.candidate
), judged AS (
  SELECT
    *,
    `r.ok` AND `\A s \in requests : s.id = r.id => s.epoch <= 2` AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    part_id,
    COUNT(*) AS states,
    CASE WHEN BOOL_AND(COALESCE(c1, FALSE)) THEN TRUE WHEN BOOL_AND(COALESCE(NOT c1, FALSE)) THEN FALSE END AS verdict,
    CASE WHEN BOOL_OR(c1) AND BOOL_OR(NOT c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    part_id
)
SELECT
  cluster,
  part_id AS subject,
  CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason END, 'not_known')
  END AS reason
FROM silver.requests AS requests
FULL OUTER JOIN agreed
  USING (cluster, part_id)
