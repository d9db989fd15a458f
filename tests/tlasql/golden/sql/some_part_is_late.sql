-- generated from SomePartIsLate in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- SomePartIsLate == \A r \in requests : r.ok => \E s \in requests : s.id = r.id /\ s.epoch > 1
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
    `s.epoch` > 1 AS predicate
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
      WHEN BOOL_OR(quantified_1_judged.predicate)
      THEN TRUE
      WHEN COUNT(*) = MAX(quantified_1_expected.expected)
      AND BOOL_AND(NOT quantified_1_judged.predicate IS NULL)
      THEN FALSE
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
    quantified_1.holds AS `\E s \in requests : s.id = r.id /\ s.epoch > 1`
  FROM silver.request_states AS request_states
  LEFT JOIN quantified_1
    ON request_states.cluster = quantified_1.cluster
    AND request_states.request_id = quantified_1.request_id
    AND request_states.candidate = quantified_1.candidate
), judged AS (
  SELECT
    *,
    `r.ok` AS antecedent,
    `\E s \in requests : s.id = r.id /\ s.epoch > 1` AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    part_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    `r.ok`,
    `\E s \in requests : s.id = r.id /\ s.epoch > 1`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '\\E s \\in requests : s.id = r.id /\\ s.epoch > 1' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    part_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    MIN_BY(
      NAMED_STRUCT(
        'group_id',
        group_id,
        'life',
        life,
        'failed_conjunct',
        failed_conjunct,
        'r.ok',
        `r.ok`,
        '\\E s \\in requests : s.id = r.id /\\ s.epoch > 1',
        `\E s \in requests : s.id = r.id /\ s.epoch > 1`
      ),
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    CASE WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict) THEN 'several_states' END AS reason
  FROM weighed
  GROUP BY
    cluster,
    part_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`group_id`, requests.group_id) AS group_id,
      agreed.first_state.`life` AS life
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(part_id AS r), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  agreed.from_time,
  agreed.to_time,
  CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = requests.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason END, 'not_known')
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`r.ok` AS `r.ok`,
        agreed.first_state.`\E s \in requests : s.id = r.id /\ s.epoch > 1` AS `\E s \in requests : s.id = r.id /\ s.epoch > 1`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(requests.request_id, requests.candidates), MAP('ignoreNullFields', 'false'))
  END AS evidence
FROM silver.requests AS requests
FULL OUTER JOIN agreed
  USING (cluster, part_id)
