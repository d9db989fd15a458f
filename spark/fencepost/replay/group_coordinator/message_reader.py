"""Kafka's types in the bytes of a message, read one after the other as Kafka's own classes do."""

from __future__ import annotations

from collections.abc import Sequence


class Reader:
    """Reads values of Kafka's types one after the other; ValueError for bytes that are no such value."""

    def __init__(self, data: bytes, at: int) -> None:
        """Read from the byte ``at`` on, which each read moves on."""
        self._data, self.at = data, at

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes have been read."""
        return self.at == len(self._data)

    def texts(self) -> list[str]:
        """An array of strings."""
        return [self.text() for _ in range(self._count())]

    def partitions(self) -> list[tuple[str, Sequence[int]]]:
        """Topics with their partitions, as they are listed."""
        return [(self.text(), [self.int32() for _ in range(self._count())]) for _ in range(self._count())]

    def data(self) -> bytes | None:
        """Bytes with their length before them."""
        size = self.int32()
        return None if size == -1 else self._take(size)

    def int32(self) -> int:
        """An int32."""
        return int.from_bytes(self._take(4), "big", signed=True)

    def int64(self) -> int:
        """An int64."""
        return int.from_bytes(self._take(8), "big", signed=True)

    def text(self, *, nullable: bool = False) -> str:
        """A string; a null one is empty."""
        size = int.from_bytes(self._take(2), "big", signed=True)
        return "" if nullable and size == -1 else self._take(size).decode("utf-8", "replace")

    def _count(self) -> int:
        """The length of an array, whose elements have two bytes at least."""
        count = self.int32()
        if not 0 <= count <= (len(self._data) - self.at) // 2:
            raise ValueError(f"{count} elements")
        return count

    def _take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self._data):
            raise ValueError(f"{size} bytes")
        data, self.at = self._data[self.at : end], end
        return data
