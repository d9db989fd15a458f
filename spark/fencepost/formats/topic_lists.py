"""The lists of topics in answers, which are long and mostly the same for every client that asks."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass

from fencepost.formats import json_text

# So many lists of at least that many characters are remembered, and not parsed when another answer has them.
_KNOWN, _LONG = 8, 1 << 16


@dataclass(frozen=True)
class TopicList:
    """One list of topics: its text, the text of each topic, and the digests of these texts."""

    text: str
    topics: tuple[str, ...]
    digests: tuple[str, ...]
    digest: str


class TopicsOfAnswer:
    """Finds the topics of one answer: ``end`` must be called with the answer first."""

    def __init__(self) -> None:
        self.topics: TopicList | None = None
        self._place = (0, 0)

    def end(self, text: str, at: int) -> int:
        """Find the topics of the answer that begins at ``at``, and return where the answer ends."""
        if not text.startswith("{", at):
            return json_text.end_of(text, at)
        return json_text.members(text, at, {"topics": self._end_of_topics})[1]

    def with_digest(self, text: str, start: int, stop: int) -> str:
        """The text of the answer, from ``start`` to ``stop``, with a digest in place of its topics, if it
        has any.
        """
        if self.topics is None:
            return text[start:stop]
        first, last = self._place
        return f'{text[start:first]}"{self.topics.digest}"{text[last:stop]}'

    def _end_of_topics(self, text: str, at: int) -> int:
        if not text.startswith("[", at):
            return json_text.end_of(text, at)
        self.topics = next((known for known in _known if text.startswith(known.text, at)), None)
        if self.topics is None:
            self.topics = _read(text, at)
        self._place = at, at + len(self.topics.text)
        return self._place[1]


_known: deque[TopicList] = deque(maxlen=_KNOWN)


def _read(text: str, at: int) -> TopicList:
    topics, end = json_text.elements(text, at)
    digests = tuple(_digest(topic) for topic in topics)
    topic_list = TopicList(text[at:end], tuple(topics), digests, _digest("".join(digests)))
    if len(topic_list.text) >= _LONG:
        _known.append(topic_list)
    return topic_list


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
