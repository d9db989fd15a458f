-- generated from BothAreEarly in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- BothAreEarly == (\A r \in requests : r.ok => r.epoch < 3) /\ (\A r \in acks : r.ok => r.epoch < 2)
WITH frame_1 AS (
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
    ok AS `r.ok`,
    epoch AS `r.epoch`
  FROM silver.request_states
), judged_1 AS (
  SELECT
    *,
    `r.ok` AS antecedent,
    `r.epoch` < 3 AS c1
  FROM frame_1
), weighed_1 AS (
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
    `r.epoch`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'r.epoch < 3' END AS failed_conjunct
  FROM judged_1
), agreed_1 AS (
  SELECT
    cluster,
    part_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    MIN_BY(
      NAMED_STRUCT('group_id', group_id, 'life', life, 'failed_conjunct', failed_conjunct, 'r.ok', `r.ok`, 'r.epoch', `r.epoch`),
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
  FROM weighed_1
  GROUP BY
    cluster,
    part_id
), frame_2 AS (
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
    ok AS `r.ok`,
    epoch AS `r.epoch`
  FROM silver.ack_states
), judged_2 AS (
  SELECT
    *,
    `r.ok` AS antecedent,
    `r.epoch` < 2 AS c1
  FROM frame_2
), weighed_2 AS (
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
    `r.ok`,
    `r.epoch`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'r.epoch < 2' END AS failed_conjunct
  FROM judged_2
), agreed_2 AS (
  SELECT
    cluster,
    ack_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    MIN_BY(
      NAMED_STRUCT('group_id', group_id, 'life', life, 'failed_conjunct', failed_conjunct, 'r.ok', `r.ok`, 'r.epoch', `r.epoch`),
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
  FROM weighed_2
  GROUP BY
    cluster,
    ack_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed_1.first_state.`group_id`, requests.group_id) AS group_id,
      agreed_1.first_state.`life` AS life
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed_1.states = requests.candidates THEN agreed_1.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(part_id AS r), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed_1.from_position,
  agreed_1.to_position,
  agreed_1.from_time,
  agreed_1.to_time,
  CASE WHEN agreed_1.states = requests.candidates THEN agreed_1.verdict END AS verdict,
  COALESCE(agreed_1.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed_1.states = requests.candidates
    THEN CASE WHEN NOT agreed_1.verdict THEN agreed_1.first_state.`failed_conjunct` END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed_1.states = requests.candidates THEN agreed_1.verdict END IS NULL
    THEN COALESCE(CASE WHEN agreed_1.states = requests.candidates THEN agreed_1.reason END, 'not_known')
  END AS reason,
  CASE
    WHEN NOT agreed_1.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed_1.states = requests.candidates THEN agreed_1.verdict END, FALSE)
    THEN TO_JSON(
      STRUCT(agreed_1.first_state.`r.ok` AS `r.ok`, agreed_1.first_state.`r.epoch` AS `r.epoch`),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed_1.states = requests.candidates THEN agreed_1.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(requests.request_id, requests.candidates), MAP('ignoreNullFields', 'false'))
  END AS evidence
FROM silver.requests AS requests
FULL OUTER JOIN agreed_1
  USING (cluster, part_id)
UNION ALL
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed_2.first_state.`group_id`, acks.group_id) AS group_id,
      agreed_2.first_state.`life` AS life
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed_2.states = acks.candidates THEN agreed_2.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(ack_id AS r), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed_2.from_position,
  agreed_2.to_position,
  agreed_2.from_time,
  agreed_2.to_time,
  CASE WHEN agreed_2.states = acks.candidates THEN agreed_2.verdict END AS verdict,
  COALESCE(agreed_2.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed_2.states = acks.candidates
    THEN CASE WHEN NOT agreed_2.verdict THEN agreed_2.first_state.`failed_conjunct` END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed_2.states = acks.candidates THEN agreed_2.verdict END IS NULL
    THEN COALESCE(CASE WHEN agreed_2.states = acks.candidates THEN agreed_2.reason END, 'not_known')
  END AS reason,
  CASE
    WHEN NOT agreed_2.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed_2.states = acks.candidates THEN agreed_2.verdict END, FALSE)
    THEN TO_JSON(
      STRUCT(agreed_2.first_state.`r.ok` AS `r.ok`, agreed_2.first_state.`r.epoch` AS `r.epoch`),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed_2.states = acks.candidates THEN agreed_2.verdict END, FALSE)
    )
    THEN '{}'
  END AS evidence
FROM silver.acks AS acks
FULL OUTER JOIN agreed_2
  USING (cluster, ack_id)
