# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Ten questions to the lake of an audit
#
# Jupyter (with jupytext), VS Code and PyCharm open this file as a notebook; Python runs it as it is. It needs
# PyIceberg, DuckDB and pandas, and neither Java nor Fencepost. `CATALOG` is `[lake] catalog` of the
# configuration, with an absolute path. [reading.md](../reading.md) says how other tools read the same tables.

# %%
import os
import re
import sys

import duckdb
from pyiceberg.catalog import load_catalog

CATALOG = os.environ.get("CATALOG", "sqlite:////var/lib/fencepost/catalog.db")
# the catalog is called lake: by another name it has no tables
lake = load_catalog("lake", type="sql", uri=CATALOG)
database = duckdb.connect()
database.execute("CREATE SCHEMA marts")
answers = {}


def ask(question, sql):
    """The answer as a data frame; marts that the query names are read when they are first named."""
    for mart in sorted(set(re.findall(r"marts\.(\w+)", sql))):
        if not database.execute("FROM duckdb_views() WHERE view_name = ?", [mart]).fetchall():
            database.register(f"rows of {mart}", lake.load_table(f"marts.{mart}").scan().to_arrow())
            database.execute(f'CREATE VIEW marts.{mart} AS FROM "rows of {mart}"')
    answers[question] = database.sql(sql).df()
    if "get_ipython" not in globals():  # a notebook shows what a cell returns
        sys.stdout.write(f"\n{question}\n{answers[question].to_string(index=False)}\n")
    return answers[question]


# %%
ask(
    "What is wrong now, and since when?",
    """
    SELECT cluster, severity, state, title, first_seen, last_seen, fingerprint
    FROM marts.fct_incidents WHERE state IN ('new', 'ongoing')
    ORDER BY list_position(['critical', 'warning', 'info'], severity), first_seen
    """,
)

# %%
ask(
    "Which groups break which rules?",
    """
    SELECT cluster, group_id, invariant, count(*) AS verdicts, min(from_time) AS first_seen
    FROM marts.fct_incident_verdicts
    WHERE group_id IS NOT NULL GROUP BY ALL ORDER BY verdicts DESC
    """,
)

# %%
ask(
    "What could not be judged, and why?",
    """
    SELECT invariant, reason, sum(unknown) AS unknown
    FROM marts.fct_unknown_reasons GROUP BY ALL ORDER BY unknown DESC
    """,
)

# %%
ask(
    "Did a zombie's commit get through, and which offset did it overwrite?",
    """
    SELECT cluster, group_id, topic, partition, client_id, committed_offset, offset_before, responded_at
    FROM marts.fct_offset_commits WHERE is_zombie_admitted ORDER BY responded_at
    """,
)

# %%
ask(
    "Whose commits were refused although they owned the partition?",
    """
    SELECT cluster, group_id, client_id, broker_error, count(*) AS refused
    FROM marts.fct_offset_commits
    WHERE is_spurious GROUP BY ALL ORDER BY refused DESC
    """,
)

# %%
ask(
    "What would another fencing policy have answered?",
    """
    SELECT policy, sum(commits) AS commits, sum(refused) AS refused, sum(spurious) AS owners_refused,
      sum(zombies_admitted) AS zombies_admitted, sum(unknown) AS unknown
    FROM marts.fct_policy_comparison GROUP BY policy ORDER BY owners_refused
    """,
)

# %%
ask(
    "Who fenced my producers, and why?",
    """
    SELECT cluster, transactional_id, cause, error, client_id, count(*) AS times, max(occurred_at) AS last
    FROM marts.fct_fencing_events WHERE transactional_id IS NOT NULL GROUP BY ALL ORDER BY times DESC
    """,
)

# %%
ask(
    "Which transactions hang, and how are they ended?",
    """
    SELECT cluster, topic, partition, transactional_id, age_s, remedy
    FROM marts.fct_dangling_transactions ORDER BY age_s DESC
    """,
)

# %%
ask(
    "Why does a group rebalance, and whom does it wait for?",
    """
    SELECT cluster, group_id, reason, waited_for, count(*) AS rebalances, max(rebalance_ms) AS longest_ms
    FROM marts.fct_rebalances GROUP BY ALL ORDER BY rebalances DESC
    """,
)

# %%
ask(
    "Which groups have offsets of a topic that was created again?",
    """
    SELECT cluster, group_id, topic, partition, committed_offset, risk, records_at_risk
    FROM marts.fct_orphaned_offsets
    ORDER BY records_at_risk DESC
    """,
)
