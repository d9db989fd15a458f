"""Producers without a transactional id, which bump their epochs themselves."""

from __future__ import annotations

from epochs import Identity
from producers import NOBODY, Writer
from record_batch import Batch, next_sequence
from truth import Partition, now_ms


class Idempotent(Writer):
    """A producer without a transactional id: only partitions know its epochs."""

    newest: tuple[list[bytes], int] = ([], 0)
    """The records of its newest batch, and their timestamp."""

    def init(self) -> None:
        """Get a producer id. Any broker gives one."""
        message = {"TransactionalId": None, "TransactionTimeoutMs": 2**31 - 1}
        request = self.init_request(message, NOBODY, "init", "new_instance")
        self.send(request, self.key, NOBODY)

    def bump_locally(self) -> None:
        """Bump the epoch of the same producer id locally; sequences start at 0."""
        self.adopt((self.identity[0], self.identity[1] + 1))
        self.bench.epochs.moved(self.key, self.identity, "local")

    def produce(
        self,
        place: Partition,
        records: int = 3,
        sequence: int | None = None,
        identity: Identity | None = None,
        step: str = "produce",
        *,
        again: bool = False,
    ) -> str:
        """Write records; ``sequence`` and ``identity`` are those of the request, by default the right ones.

        ``step`` "duplicate" is a batch that the partition already has. With ``again`` the batch has the
        records of the previous one, as from a client that got no answer to it.
        """
        presented = identity or self.identity
        base = self.sequences.get(place, 0) if sequence is None else sequence
        if not again:
            self.newest = (self.bench.values(records), now_ms())
        values, sent_ms = self.newest
        batch = Batch(values, *presented, base, timestamp_ms=sent_ms)
        error = self.write(step, place, batch, self.bench.dialect.plain)
        if error == "NONE" and step == "produce":
            self.sequences[place] = next_sequence(base, len(values))
        return error
