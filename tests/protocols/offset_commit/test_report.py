"""What the report says of commits that were refused, but not fenced."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from fencepost.protocols.offset_commit.report import Commits
from fencepost.reading import Reader


class _Reader:
    """A lake in which 79 of a cluster's commits were refused because an ACL forbids them."""

    @staticmethod
    def query(sql: str) -> pa.Table:
        if "other_errors" not in sql:
            return pa.table({"cluster": pa.array([], pa.string())})
        names = [each.split("`")[1] for each in sql.split(" AS ") if each.startswith("`")]
        return pa.Table.from_pylist(
            [
                {
                    "cluster": "c",
                    "commits": 454,
                    "truth_unknown": 0,
                    "other_errors": 79,
                    **dict.fromkeys(names, 0),
                }
            ]
        )


def test_commits_that_an_acl_forbids_are_counted() -> None:
    told = " ".join(Commits(cast("Reader", cast("Any", _Reader())))("c"))
    assert "The broker answered 79 more with an error that fences nobody" in told
