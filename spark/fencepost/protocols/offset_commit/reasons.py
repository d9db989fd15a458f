"""Why the state that a commit met is unknown."""

from __future__ import annotations

from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.reasons import (
    CLEANED_AWAY,
    LOST_IN_ELECTION,
    NO_ANSWER,
    NO_COORDINATOR,
    NOT_CAPTURED,
    NOT_LOGGED,
    NOT_TOLD_APART,
    OTHER_CLOCK,
    RECORDS_LOST,
    RELEASE_UNKNOWN,
    SEVERAL_STATES,
    TOPIC_UNKNOWN,
    Unknown,
    behind_end,
    other_log,
)
from fencepost.replay.group_coordinator.requests import ELSEWHERE
from fencepost.replay.logs import Base


class Reasons:
    """The reasons for commits to one coordinator's groups."""

    def __init__(
        self,
        log: str,
        lateness: Lateness,
        base: Base | None,
        contradicted: Base | None = None,
        *,
        newest_ms: int | None = None,
        untold: bool = False,
    ) -> None:
        """``log``: the name of the coordinator's partition; ``base``: the part of it that compaction left;
        ``contradicted``: that part, if it is left out since it contradicts what follows; ``newest_ms``: the
        time of its newest record, if others may have followed; ``untold``: it is not known which incarnation
        of the log decided the commits.
        """
        self._contradicted = contradicted
        self._log = log
        self._newest_ms = newest_ms
        self._untold = untold
        self._lateness = lateness
        self._base = base

    def unanswered(self, commit: Commit) -> Unknown | None:
        """The reason if, as far as is known, no coordinator decided the commit; None for other commits."""
        if commit.broker_error is None:
            return Unknown(NO_ANSWER, "the request log has no answer for this partition")
        if not commit.accepted and commit.broker_error in ELSEWHERE:
            return Unknown(
                NO_COORDINATOR, f"no coordinator at that moment: the broker answered {commit.broker_error}"
            )
        return None

    def lost(self, reason: str) -> Unknown:
        """Why the state is unknown by which a coordinator decided that then lost its records: ``reason``."""
        if reason == RECORDS_LOST:
            detail = f"records lost: {self._log} has nothing of what its broker accepted around this commit"
            return Unknown(RECORDS_LOST, detail)
        return Unknown(
            LOST_IN_ELECTION,
            f"perhaps lost: this broker ceased to lead {self._log} after this commit, and what it had "
            "written last may have been lost then",
        )

    def unplaced(self, commit: Commit, matches: Matches) -> Unknown:
        """Why no place in the log was found for a request that has an answer."""
        request, base = commit.request, self._base or self._contradicted
        start_ms = request.requested_ms - self._lateness.of(request)
        content = f"{self._log} has records with this commit's content"
        if request.broker_id in matches.other_clocks:
            return Unknown(
                OTHER_CLOCK,
                f"another clock: the records of broker {request.broker_id} in {self._log} have other times "
                "than its request log: correct its timezone in the configuration",
            )
        if request.broker_id in matches.unlike:
            return other_log(request.broker_id, self._log)
        if commit.number in matches.competing:
            return Unknown(NOT_TOLD_APART, f"not told apart: {content}, and more commits than records")
        if base is not None and base.ms is not None and start_ms <= base.ms:
            return self._cleaned_away("where this commit was decided")
        if commit.number in matches.late:
            return Unknown(
                NOT_TOLD_APART,
                f"logged later than clock.tolerance_ms: {content} from before, and nothing tells which it is",
            )
        return self._not_captured(commit)

    def _not_captured(self, commit: Commit) -> Unknown:
        if self._untold:
            return Unknown(
                SEVERAL_STATES,
                "log deleted: the log of the group's coordinator was deleted around this commit, and nothing "
                "tells whether the old or the new coordinator decided it",
            )
        if self._newest_ms is not None and self._newest_ms < commit.request.responded_ms:
            return behind_end(self._log, self._newest_ms)
        if commit.accepted:
            return Unknown(
                NOT_CAPTURED,
                f"not captured: the record of this accepted commit is not in the log of {self._log}",
            )
        return Unknown(NOT_CAPTURED, f"not captured: {self._log} has no records from around this commit")

    def _cleaned_away(self, where: str) -> Unknown:
        return Unknown(CLEANED_AWAY, f"cleaned away: compaction has been over {self._log} {where}")

    def missing(self, request: CommitRequest, *, complete: bool, keyed: bool, ruled: bool) -> Unknown:
        """Which part is missing of a state that was found: of the group's history unless ``complete``, of the
        metadata log unless ``keyed`` and ``ruled``; else of what happened before the records.
        """
        if not complete and self._contradicted is not None:
            return self._cleaned_away(
                "before this commit, and what is left contradicts what follows: copies of this log were "
                "compacted apart"
            )
        if not complete:
            return Unknown(
                NOT_CAPTURED,
                f"the group's history before this commit is not complete in the log of {self._log}",
            )
        if not keyed:
            return Unknown(
                TOPIC_UNKNOWN,
                "what the commit's topic is to the group is not known: no record of the topic is in the "
                "captured metadata log, or none of the topology in the group's, or another topic got the "
                "name meanwhile",
            )
        if ruled and self._base is not None:
            return self._cleaned_away(
                "before this commit, and what is left does not tell who owned what then"
            )
        if ruled:
            return Unknown(
                NOT_LOGGED, "the coordinator wrote no record of all that it knew when it decided this commit"
            )
        return Unknown(
            RELEASE_UNKNOWN,
            f"the version of broker {request.broker_id} is not known: its registration is not in the "
            "captured metadata log",
        )
