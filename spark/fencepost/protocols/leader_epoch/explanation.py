"""Explains a verdict about a committed offset, a fetch, a metadata answer or a leader-epoch-checkpoint in a
sentence or two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.leader_epoch.report import INCARNATIONS
from fencepost.reading import Reader, rows
from fencepost.words import duration, printable, time_of

Row = Mapping[str, Any]

COMMITS = "marts.fct_committed_offsets"
FETCHES = "marts.fct_fetch_positions"
ANSWERS = "marts.fct_metadata_answers"
_ENTRIES = "silver.leader_epoch_entries"
_MODULE = "LeaderEpochProps"
_ORIGINS = {
    "committed": "the one its group had committed",
    "reset": "as ListOffsets told it",
    "truncated": "where the log ended before the offset that it had",
    "read": "where it had read to",
    "elsewhere": "which it had from elsewhere",
    None: "from where is not known",
}


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, of the verdicts whose witness is a row of one of these tables."""
    witnesses = {
        row["verdict_id"]: set(json.loads(row["witness"] or "{}").values())
        for row in verdicts
        if row["module"] == _MODULE
    }
    ids = sorted(each for witness in witnesses.values() for each in witness if isinstance(each, str))
    explanations: dict[str, Explanation] = {}
    for column, (mart, sentence) in _SENTENCES.items() if ids else ():
        if not reader.has(mart):
            continue
        for row in rows(reader.scan(mart, where={column: ids})):
            # a line of a request log has a position, a checkpoint has none
            line = (row["file"], row["position"]) if "position" in row else ()
            sentence_of_it = Explanation(sentence(row), *line)
            explanations |= {
                verdict: sentence_of_it for verdict, witness in witnesses.items() if row[column] in witness
            }
    return explanations


def topic_names(reader: Reader) -> dict[str, str]:
    """The names of topics by their ids, deleted topics included."""
    if not reader.has(INCARNATIONS):
        return {}
    incarnations = reader.scan(INCARNATIONS, ("topic_id", "topic"))
    return {row["topic_id"]: row["topic"] for row in rows(incarnations) if row["topic"] is not None}


def _commit(row: Row) -> str:
    answer = "was stored" if row["error"] == "NONE" else f"was refused ({row['error']})"
    by_id = (
        f" by topic id {row['committed_topic_id']}" if row["is_by_id"] and row["committed_topic_id"] else ""
    )
    return (
        f"{time_of(row['committed_at'])}  group {row['group_id']!r} ({_client(row)}) committed offset "
        f"{row['committed_offset']} of {_place(row)}{by_id} at leader epoch {row['committed_leader_epoch']}; "
        f"it {answer}.\n"
        f"It is of {_incarnation(row['origin_topic_id'])}; {_live(row)}. {_rules(row)}."
    )


def _fetch(row: Row) -> str:
    answer = "and was answered" if row["error"] == "NONE" else f"and was refused ({row['error']})"
    if row["error"] == "NONE" and row["diverging_epoch"] >= 0:
        answer = f"and was told that the logs part at offset {row['diverging_end_offset']}"
    offset = row["fetch_offset"]
    place = f"offset {offset}" if offset is not None else "the offset that its fetch session had"
    return (
        f"{time_of(row['requested_at'])}  {_client(row)} began to read {_place(row)} at "
        f"{place}, {_ORIGINS.get(row['origin'], row['origin'])}, {answer} by broker "
        f"{row['broker_id']}.\n"
        f"The offset is of {_incarnation(row['origin_topic_id'])}; {_live(row)}. {_rules(row)}."
    )


def _answer(row: Row) -> str:
    behind = row["behind_ms"]
    late = f", {duration(behind)} behind the metadata log at least," if behind else ""
    if row["partition"] is None:
        topics = "several topics" if row["topic"] is None else f"topic {printable(row['topic'])}"
        return (
            f"{time_of(row['responded_at'])}  broker {row['broker_id']}{late} told {_client(row)} "
            f"of {topics}. What the client had is not known: lines of its requests may be missing, it "
            f"cannot be told from others, or nothing shows that it keeps what it is told. So it may have had "
            f"something newer."
        )
    answered = _state(row["told_topic_id"], row["told_leader_epoch"]) if row["is_told"] else "nothing"
    cached = _state(row["cached_topic_id"], row["cached_leader_epoch"])
    reaction = {True: "took it", False: "refused it", None: "may have taken it, which is not known"}
    return (
        f"{time_of(row['responded_at'])}  broker {row['broker_id']}{late} told {_client(row)} "
        f"of {_place(row)}: {answered}. The client had {cached}, and {reaction[row['is_accepted']]}.\n"
        f"{_rules(row)}, KIP-232 without its maximum {_word(row['kip_232_without_max'])}."
    )


def _entry(row: Row) -> str:
    begins = row["batches_start_offset"]
    of_log = "has no batch of it" if begins is None else f"has its first batch at offset {begins}"
    return (
        f"{time_of(row['captured_at'])}  when it was read, the leader-epoch-checkpoint of broker "
        f"{row['broker_id']} for {_place(row)} had leader epoch {row['leader_epoch']} begin at offset "
        f"{row['start_offset']}; the log {of_log}."
    )


def _place(row: Row) -> str:
    return (
        f"{printable(row['topic']) if row['topic'] is not None else '(topic not known)'}-{row['partition']}"
    )


def _client(row: Row) -> str:
    software = f", {printable(row['software_name'])} {printable(row['software_version'])}"
    name = printable(row["client_id"]) if row["client_id"] is not None else "not known"
    return f"client {name}{software if row['software_name'] else ''}"


def _incarnation(topic_id: str | None) -> str:
    if topic_id is None:
        return "an incarnation that nothing tells"
    return f"topic id {topic_id}" if topic_id else "no incarnation"


def _live(row: Row) -> str:
    if row["live_topic_id"] is None:
        return "which one lived then is not known"
    return f"topic id {row['live_topic_id']} lived then" if row["live_topic_id"] else "none lived then"


def _state(topic_id: str | None, leader_epoch: int | None) -> str:
    if topic_id is None:
        return "something that is not known"
    name = f"topic id {topic_id}" if topic_id else "no topic id"
    return f"{name}, leader epoch {'not known' if leader_epoch is None else leader_epoch}"


def _rules(row: Row) -> str:
    return f"KIP-232 says {_word(row['kip_232'])}, the shipped rule {_word(row['shipped'])}"


def _word(decided: str | None) -> str:
    return "unknown" if decided is None else decided


_SENTENCES: Mapping[str, tuple[str, Callable[[Row], str]]] = {
    "commit_id": (COMMITS, _commit),
    "fetch_position_id": (FETCHES, _fetch),
    "answer_partition_id": (ANSWERS, _answer),
    "entry_id": (_ENTRIES, _entry),
}
"""By the column that identifies a row: its table, and the function that describes the row."""
