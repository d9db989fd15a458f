"""Commits that compete for the same records: which wrote which, as far as that can be told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.protocols.offset_commit.matches import Matches, Options


def group_competing(fitting: Options) -> Iterator[Options]:
    """The commits that compete for records, directly or through others, with the records that fit them."""
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
                # asked once is enough
                for other in takers.pop(record, ()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
        yield component


def choose(component: Options, matches: Matches, state_at: Callable[[int], int]) -> None:
    """Note what is sure, and what is doubtful, of commits that compete. ``state_at``: the state of a record's
    group when it was written.
    """
    records = sorted({record for fits in component.values() for record in fits})
    if len(component) < len(records):
        matches.doubtful.update(component)
    elif len(component) == len(records):
        if len({state_at(record) for record in records}) > 1:
            _choose_apart(component, matches)
            return
        # ordered by where the log allows it first: no broker's clock can be wrong about that
        in_order = sorted(component, key=lambda commit: (min(component[commit]), commit))
        for commit, record in zip(in_order, records, strict=True):
            if record in component[commit]:
                matches.record[commit] = record


def _choose_apart(component: Options, matches: Matches) -> None:
    """Where the order matters, only what leaves no choice is sure."""
    takers = _takers(component)
    left = {commit: list(found) for commit, found in component.items()}
    singles = [commit for commit, found in left.items() if len(found) == 1]
    while singles:
        commit = singles.pop()
        if not left[commit]:
            continue
        record = left[commit][0]
        for other in takers[record]:
            if other != commit and record in left[other]:
                left[other].remove(record)
                if len(left[other]) == 1:
                    singles.append(other)
    for commit, found in left.items():
        if len(found) == 1:
            matches.record[commit] = found[0]
        elif found:
            matches.doubtful[commit] = found


def _takers(options: Options) -> dict[int, list[int]]:
    """The commits that may have written each record."""
    takers: dict[int, list[int]] = {}
    for commit, found in options.items():
        for record in found:
            takers.setdefault(record, []).append(commit)
    return takers
