"""The command ``fencepost simulate``.

The answers of the policies are decisions of the specification, which the marts have. A release decides a
commit by one of them: which one follows from the kind of group (``brokers.RELAXED_SINCE``). Brokers store
assignment epochs only since they decide by them. In an older history a partition counts as assigned at the
member's epoch, so there a refusal of an owner by assignment epochs proves nothing, and is unknown.
"""

from __future__ import annotations

import re
from argparse import Namespace

import pyarrow as pa

from fencepost.protocols.base import UsageError
from fencepost.protocols.offset_commit.brokers import ASSIGNMENT_EPOCH, GENERATION, RELAXED_SINCE
from fencepost.protocols.offset_commit.simulation.arguments import POLICIES
from fencepost.reading import Reader, rows
from fencepost.words import counted

COMMITS = "marts.fct_offset_commits"
BROKER = "broker"
"""The answers that the brokers gave."""
OLDEST = (4, 0)
"""The first release with consumer groups: older ones decide all commits by the generation."""
NEWEST = (4, 4)
"""The newest release that was asked (tests/captures): what comes after it may have another rule."""

_COUNTS = {
    "commits": "true",
    "accepted_instead": "{broker} = 'reject' AND {answer} = 'accept'",
    "refused_instead": "{broker} = 'accept' AND {answer} = 'reject'",
    "owners_refused": "{answer} = 'reject' AND truth = 'owner'",
    "zombies_admitted": "{answer} = 'accept' AND truth = 'zombie'",
    "unknown": "{answer} = 'unknown' OR {broker} = 'unknown'",
    "truth_unknown": "{answer} IN ('accept', 'reject') AND truth = 'unknown'",
}
_LISTED = (
    "cluster", "requested_at", "group_id", "topic", "partition", "committed_offset", "client_id",
    "client_epoch", "truth", "broker_answer",
)  # fmt: skip


def run(reader: Reader, arguments: Namespace) -> tuple[pa.Table, bool, str | None]:
    """For each cluster a row for each rule, with counts; or the commits that one rule answers otherwise.

    The columns are ``cluster, rule`` and those of _COUNTS, or _LISTED, ``simulated`` and ``commit_id``.
    Commits without an epoch, which no rule can fence, are left out.
    """
    chosen = {"cluster": arguments.cluster, "group_id": arguments.group}
    given = {name: value for name, value in chosen.items() if value is not None}
    where = " AND ".join(["truth <> 'unfenced'", *(f"{name} = :{name}" for name in given)])
    if arguments.limit < 1:
        raise UsageError(f"--limit {arguments.limit}: name a number of commits, from 1 on")
    answer = None if arguments.rule is None else _answer(arguments.rule)
    _require_commits(reader, given)
    if answer is None:
        return _counted(reader, where, given), True, _left_out(reader, given)
    query = f"""
    SELECT {", ".join(_LISTED)}, {answer} AS simulated, commit_id FROM {COMMITS}
    WHERE {where} AND broker_answer IN ('accept', 'reject')
      AND {answer} IN ('accept', 'reject') AND {answer} <> broker_answer
    ORDER BY cluster, requested_at, commit_id LIMIT {int(arguments.limit)}
    """
    return reader.query(query, **given), True, _in_words(reader, where, given, answer)


def _in_words(reader: Reader, where: str, given: dict[str, str], answer: str) -> str:
    """How many commits the rows are of, and of how many nobody can tell."""
    columns = ", ".join(
        f"count_if({_COUNTS[name].format(broker='broker_answer', answer=answer)}) AS `{name}`"
        for name in ("commits", "accepted_instead", "refused_instead", "unknown")
    )
    (row,) = rows(reader.query(f"SELECT {columns} FROM {COMMITS} WHERE {where}", **given))
    return (
        f"Of {counted(row['commits'], 'commit')} it would have accepted {row['accepted_instead']:,} that "
        f"were refused, and refused {row['refused_instead']:,} that were accepted; of {row['unknown']:,} it "
        "is not known."
    )


def _left_out(reader: Reader, given: dict[str, str]) -> str | None:
    """How many commits the counts lack, which a report counts; None if they lack none."""
    of = " AND ".join(["truth = 'unfenced'", *(f"{name} = :{name}" for name in given)])
    (row,) = rows(reader.query(f"SELECT count(*) AS number FROM {COMMITS} WHERE {of}", **given))
    if not row["number"]:
        return None
    are = "is" if row["number"] == 1 else "are"
    return (
        f"{counted(row['number'], 'commit')} without an epoch {are} not counted here, and {are} in a report: "
        "no rule can fence such a commit."
    )


def _require_commits(reader: Reader, given: dict[str, str]) -> None:
    """Raise UsageError where a cluster or a group was named of which there are no commits."""
    if given and not reader.scan(COMMITS, ("commit_id",), {name: [each] for name, each in given.items()}):
        named = ", ".join(f"{name.replace('_id', '')} {each!r}" for name, each in given.items())
        raise UsageError(f"no commits are known of {named}: see `fencepost report`")


def _counted(reader: Reader, where: str, given: dict[str, str]) -> pa.Table:
    answers = {BROKER: "broker_answer", **{rule: _answer(rule) for rule in (*POLICIES, *_releases())}}
    counts = ", ".join(
        f"count_if({condition.format(broker='broker_answer', answer=answer)}) AS `{rule}:{name}`"
        for rule, answer in answers.items()
        for name, condition in _COUNTS.items()
    )
    query = f"SELECT cluster, {counts} FROM {COMMITS} WHERE {where} GROUP BY cluster ORDER BY cluster"
    found = [
        {"cluster": row["cluster"], "rule": rule, **{name: row[f"{rule}:{name}"] for name in _COUNTS}}
        for row in rows(reader.query(query, **given))
        for rule in answers
    ]
    texts = [pa.field(name, pa.string()) for name in ("cluster", "rule")]
    return pa.Table.from_pylist(found, pa.schema([*texts, *(pa.field(name, pa.int64()) for name in _COUNTS)]))


def _releases() -> list[str]:
    """A release of each kind: those that changed the rule of some group, and the last before them."""
    changed = sorted({since.release for since in RELAXED_SINCE.values()})
    major, minor = changed[0]
    return [f"{major}.{minor}" for major, minor in ((major, minor - 1), *changed)]


def _answer(rule: str) -> str:
    """The answer of a policy or of a release to a commit, in SQL: accept, reject or unknown. Raises
    UsageError.
    """
    if rule in POLICIES:
        return f"decision_{rule}"
    release = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(?:\.\d+)?", rule)
    if release is None or (int(release[1]), int(release[2])) < OLDEST:
        raise UsageError(
            f"{rule}: name a policy ({', '.join(POLICIES)}), or a release since 4.0, such as 4.3"
        )
    if (int(release[1]), int(release[2])) > NEWEST:
        known = ".".join(map(str, NEWEST))
        raise UsageError(f"{rule}: the newest release whose rules are known here is {known}")
    kinds = {kind: _of_kind(kind, (int(release[1]), int(release[2]))) for kind in RELAXED_SINCE}
    alike = len(set(kinds.values())) == 1
    # a kind of group that is not known, or that had only commits, is one of these
    other = kinds["consumer"] if alike else "'unknown'"
    return (
        f"CASE WHEN rule = '{GENERATION}' THEN decision_broker_rule "
        f"WHEN group_type = 'streams' THEN {kinds['streams']} "
        f"WHEN group_type IN ('consumer', 'simple') THEN {kinds['consumer']} "
        f"WHEN rule IS NULL THEN 'unknown' ELSE {other} END"
    )


def _of_kind(kind: str, release: tuple[int, int]) -> str:
    if release < RELAXED_SINCE[kind].release:
        return "decision_strict"
    return (
        "CASE WHEN decision_assignment_epoch = 'reject' AND truth IN ('owner', 'unknown') "
        f"AND coalesce(rule, '') <> '{ASSIGNMENT_EPOCH}' THEN 'unknown' ELSE decision_assignment_epoch END"
    )
