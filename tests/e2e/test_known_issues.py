"""What known_issues.toml says of releases, and what the logs of these releases show."""

from __future__ import annotations

import re
from typing import Any

from fencepost.known_issues import issues_behind

RELEASE = re.compile(r"\d+\.\d+\.\d+")


def test_an_issue_names_each_release_whose_logs_show_it(audit: Any, folders: Any, captures: Any) -> None:
    """Of an invariant that only one issue violates; altered copies of captures show what no broker did. A
    capture is named after its brokers' release: what is seen in ranges is seen in clients.
    """
    found = audit.rows(
        "SELECT DISTINCT cluster, invariant FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'"
    )
    lacking = set()
    for row in found:
        release = row["cluster"].rpartition("-")[2]
        issues = issues_behind(row["invariant"], {})
        if len(issues) == 1 and folders[row["cluster"]].parent == captures:
            (issue,) = issues
            if all(map(RELEASE.fullmatch, issue.seen_in)) and release not in issue.seen_in:
                lacking.add((issue.id, release))
    assert sorted(lacking) == []
