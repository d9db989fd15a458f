"""What happens when in a simulated year, in shares of it, so that a shorter one has the same events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
BEGIN_MS = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp() * 1000)


@dataclass(frozen=True)
class Calendar:
    """The events of ``days`` days; all times are in ms of Unix time."""

    days: int

    @property
    def end_ms(self) -> int:
        """The first moment after the year."""
        return BEGIN_MS + self.days * DAY_MS

    @property
    def upgrade_ms(self) -> int:
        """The first broker is stopped and starts as 4.3."""
        return self._day(0.2)

    @property
    def upgraded_ms(self) -> int:
        """All brokers are of the new release, and so are the features."""
        return self.upgrade_ms + 12 * HOUR_MS

    @property
    def all_kept_ms(self) -> tuple[int, int]:
        """No run, and brokers keep all logs meanwhile."""
        return self._day(0.4), self._day(0.44)

    @property
    def partly_lost_ms(self) -> tuple[int, int]:
        """A month without a run, in which brokers delete what is too old."""
        return self._day(0.6), self._day(0.68)

    @property
    def replaced_ms(self) -> int:
        """Broker 3 goes, broker 4 comes."""
        return self._day(0.76) + 9 * HOUR_MS

    def wrong_clock_ms(self, broker_id: int, ms: int) -> int:
        """By how much a broker's clock is ahead at a moment."""
        ahead, behind = self._day(0.84) + 7 * HOUR_MS, self._day(0.9) + 7 * HOUR_MS
        if broker_id == 2 and ahead <= ms < ahead + DAY_MS:
            return DAY_MS
        return -DAY_MS if broker_id == 1 and behind <= ms < behind + DAY_MS else 0

    def _day(self, share: float) -> int:
        return BEGIN_MS + round(self.days * share) * DAY_MS
