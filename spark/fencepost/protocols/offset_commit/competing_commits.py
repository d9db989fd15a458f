"""Commits that may have written the same records: finds which commit wrote which, as far as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.protocols.offset_commit.matches import Matches, Options


def group_competing(fitting: Options) -> Iterator[Options]:
    """Components of commits that compete for records, directly or through other commits: in each, the records
    that fit each commit.
    """
    takers = _takers(fitting)
    seen: set[int] = set()
    for commit in fitting:
        if commit in seen:
            continue
        component, waiting = {}, [commit]
        seen.add(commit)
        while waiting:
            one = waiting.pop()
            component[one] = fitting[one]
            for record in fitting[one]:
                # one look at each record is enough
                for other in takers.pop(record, ()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
        yield component


def choose(component: Options, matches: Matches, state_at: Callable[[int], int]) -> None:
    """Note in ``matches`` which record is sure, and which are doubtful, for commits that compete.

    ``state_at``: the number of the state that a record's group was in when the record was written.
    """
    records = sorted({record for fits in component.values() for record in fits})
    if len(component) < len(records):
        matches.doubtful.update(component)
    elif len(component) == len(records):
        if len({state_at(record) for record in records}) > 1:
            _choose_apart(component, matches)
            return
        # ordered by the first record that fits each: offsets cannot be wrong, a broker's clock can
        in_order = sorted(component, key=lambda commit: (min(component[commit]), commit))
        for commit, record in zip(in_order, records, strict=True):
            if record in component[commit]:
                matches.record[commit] = record


def _choose_apart(component: Options, matches: Matches) -> None:
    """The order matters here, because the group's states differ: only a pair without alternative is sure."""
    takers = _takers(component)
    remaining = {commit: list(records) for commit, records in component.items()}
    singles = [commit for commit, records in remaining.items() if len(records) == 1]
    while singles:
        commit = singles.pop()
        if not remaining[commit]:
            continue
        record = remaining[commit][0]
        for other in takers[record]:
            if other != commit and record in remaining[other]:
                remaining[other].remove(record)
                if len(remaining[other]) == 1:
                    singles.append(other)
    for commit, records in remaining.items():
        if len(records) == 1:
            matches.record[commit] = records[0]
        elif records:
            matches.doubtful[commit] = records


def _takers(options: Options) -> dict[int, list[int]]:
    """Record -> the commits that may have written it."""
    takers: dict[int, list[int]] = {}
    for commit, records in options.items():
        for record in records:
            takers.setdefault(record, []).append(commit)
    return takers
