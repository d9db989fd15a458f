"""The clients of one group: they join, follow their assignments, leave, and commit, sometimes too late.

A walk of random steps. Between a commit and a step of the group is more time than the clock tolerance of an
audit, so that only one state is possible for a refused commit, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from coordinator import ERRORS, NONE, Group, PartitionTruth, Place, Request
from encoding import Record, uuid_text

GAP_MS = 80


@dataclass(frozen=True)
class Mix:
    """The probability of events, per step or per commit."""

    moments_held: float = 0.035  # a commit is delayed beyond a step that changes its client's partitions
    unheard: float = 0.05  # a commit is sent by a client that does not know its new epoch yet
    rogue: float = 0.0015  # the current epoch, for another member's partition
    ahead: float = 0.0003  # an epoch that never existed
    outsider: float = 0.0005  # a commit without a member id, while the group has members
    idle: float = 0.1  # share of partitions without progress: the same offset is committed again
    by_name: float = 0.1  # share of requests in version 9, which has topic names
    interrupted: float = 0.02  # another change of membership before all members have followed the last one
    empties: float = 0.1  # share of groups that are empty for a while, half of them deleted
    rebalance_every: int = 50  # commits


@dataclass(frozen=True)
class Decided:
    """A request with its answer: its version, duration and time, its error, and the truth about its
    partitions.
    """

    group: str
    request: Request
    connection: int
    version: int
    took_ms: float
    done_ms: int
    error: int
    parts: tuple[PartitionTruth, ...]

    @property
    def error_name(self) -> str:
        """Kafka's name of the error."""
        return ERRORS[self.error]


@dataclass
class Client:
    """One client, with its view of the group."""

    member_id: str
    client_id: str
    number: int
    epoch: int = 0
    owned: set[Place] = field(default_factory=set)
    correlation_id: int = 0


@dataclass
class Written:
    """The result of the walk: batches of records with their time, and answered requests in order."""

    batches: list[tuple[int, list[Record]]] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)


class Clients:
    """The walk over one group until it has answered ``wanted`` requests."""

    def __init__(self, group: Group, size: int, start_ms: int, rng: Random, mix: Mix) -> None:
        self.group, self.size, self.now, self.mix = group, size, start_ms, mix
        self.written = Written()
        self.clients: list[Client] = []
        self._wanted = 0
        self._rng = rng
        self.named = 0
        self._stepped = True
        self._step = 0
        self._held: list[tuple[int, Client, Request]] = []
        self._offsets: dict[Place, int] = {}
        self._idle = {place for place in group.places if rng.random() < mix.idle}

    def run(self, wanted: int) -> Written:
        """Walk."""
        rng, decided = self._rng, self.written.decided
        self._wanted = wanted
        for _ in range(self.size):
            self._join()
            for _ in range(rng.randrange(6)):
                self._move()
        self._settle()
        empties_at = rng.randrange(wanted) if rng.random() < self.mix.empties else wanted
        due = self._next_change(0)
        while len(decided) < wanted:
            if len(decided) >= empties_at:
                empties_at = wanted
                self._be_empty()
            elif len(decided) >= due:
                due = self._next_change(len(decided))
                self._change()
                self._settle()
            else:
                self._commit()
        return self.written

    def _next_change(self, done: int) -> int:
        return done + 1 + int(self._rng.expovariate(1 / self.mix.rebalance_every))

    # --- steps of the group ---------------------------------------------------------------------------------

    def _write(self, records: list[Record]) -> None:
        if records:
            self.written.batches.append((self.now, records))

    def _tick(self, *, step: bool) -> None:
        """Advance the time, by more if a commit and a step of the group follow each other."""
        self.now += GAP_MS if step or self._stepped else 0
        self.now += self._rng.randrange(4, 40)
        self._stepped = step
        self._step += 1

    def _join(self, client: Client | None = None) -> None:
        if client is None:
            self.named += 1
            name = f"{self.group.name}-{self.named}"
            client = Client(uuid_text(self._rng.randbytes(16)), name, self.named)
            self.clients.append(client)
        self._tick(step=True)
        self._write(self.group.join(client.member_id, client.client_id, self.now))

    def _change(self) -> None:
        """A member joins, leaves or is fenced, or the topics change."""
        live = [each for each in self.clients if each.member_id in self.group.members]
        kind = self._rng.choice(("join", "leave", "leave", "fence", "fence", "topics"))
        if kind == "join" or len(live) <= max(1, self.size // 2):
            self._join()
            return
        client = self._rng.choice(live)
        if kind == "topics":
            self._change_topics(client)
            return
        self._remove(client)
        if kind == "leave":
            self.clients.remove(client)

    def _change_topics(self, client: Client) -> None:
        if self._next_move(client) in (None, "heartbeat"):
            self._hold(client)
            self._tick(step=True)
            self._write(self.group.change_topics(client.member_id, self.now))

    def _remove(self, client: Client) -> None:
        self._hold(client, times=4)
        self._tick(step=True)
        self._write(self.group.remove(client.member_id))

    def _be_empty(self) -> None:
        rng = self._rng
        for client in [each for each in self.clients if each.member_id in self.group.members]:
            self._remove(client)
        self.clients.clear()
        for _ in range(rng.randrange(1, 4)):
            self._decide_outsider()
        if rng.random() < 0.5:
            self._deliver(everything=True)
            self._tick(step=True)
            self._write(self.group.delete())
            self._offsets.clear()
            self._decide_gone()
        for _ in range(max(1, self.size // 2)):
            self._join()
        self._settle()

    # --- clients' own steps ---------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Steps until no client has anything left to do, unless another change comes in between."""
        while self._move():
            if self._rng.random() < 0.12:
                self._commit()
            if self._rng.random() < self.mix.interrupted:
                self._change()

    def _move(self) -> bool:
        """One random step that some client or its heartbeat can do."""
        moves = [(client, move) for client in self.clients if (move := self._next_move(client))]
        if not moves:
            return False
        self._do(*self._rng.choice(moves))
        return True

    def _do(self, client: Client, move: str) -> None:
        if move == "hear":
            self._hear(client)
        elif move == "revoke":
            self._hold(client)
            client.owned.difference_update(self.group.members[client.member_id].pending)
        elif move == "heartbeat":
            self._hold(client)
            self._tick(step=True)
            self._write(self.group.heartbeat(client.member_id, self.now))
        else:
            client.epoch, client.owned = 0, set()
            if self._rng.random() < 0.7:
                self._join(client)
            else:
                self.clients.remove(client)

    def _next_move(self, client: Client) -> str | None:
        member = self.group.members.get(client.member_id)
        if member is None:
            return "learn"
        if client.epoch != member.epoch or not member.assigned.keys() <= client.owned:
            return "hear"
        if not client.owned.isdisjoint(member.pending):
            return "revoke"
        return "heartbeat" if self.group.due(member) else None

    def _hear(self, client: Client) -> None:
        member = self.group.members[client.member_id]
        client.epoch = member.epoch
        client.owned |= member.assigned.keys()

    # --- commits --------------------------------------------------------------------------------------------

    def _hold(self, client: Client, times: int = 1) -> None:
        """Sometimes send a commit before this step that arrives after it."""
        if client.epoch > 0 and client.owned and self._rng.random() < self.mix.moments_held * times:
            late = self._step + self._rng.randrange(1, 25)
            self._held.append((late, client, self._request(client, client.epoch, sorted(client.owned))))

    def _deliver(self, *, everything: bool = False) -> None:
        arriving = [each for each in self._held if everything or each[0] <= self._step]
        if arriving:
            self._held = [each for each in self._held if each not in arriving]
            for _, client, request in arriving:
                self._decide(client, request)

    def _commit(self) -> None:
        self._deliver()
        rng, mix = self._rng, self.mix
        chance = rng.random()
        if chance < mix.outsider:
            self._decide_outsider()
            return
        client = self._one_that_commits(unheard=rng.random() < mix.unheard)
        if client is None:
            self._move()
            return
        epoch, chosen = client.epoch, sorted(client.owned)
        chance -= mix.outsider
        if chance < mix.rogue:
            chosen = [place for place in self.group.places if place not in client.owned] or chosen
        elif chance < mix.rogue + mix.ahead:
            epoch = self.group.epoch + 3
        self._decide(client, self._request(client, epoch, chosen))

    def _one_that_commits(self, *, unheard: bool) -> Client | None:
        """A member that owns partitions; with ``unheard`` it may not know its new epoch yet."""
        live = [each for each in self.clients if each.owned and each.member_id in self.group.members]
        if not unheard:
            live = [each for each in live if self._next_move(each) != "hear"]
        return self._rng.choice(live) if live else None

    def _request(self, client: Client, epoch: int, places: list[Place]) -> Request:
        count = min(len(places), self._rng.choice((1, 1, 1, 1, 2, 3)))
        chosen = self._rng.sample(places, count)
        client.correlation_id += 1
        offsets = tuple((place, self._next_offset(place)) for place in chosen)
        return Request(client.member_id, client.client_id, client.correlation_id, epoch, offsets)

    def _next_offset(self, place: Place) -> int:
        step = 0 if place in self._idle else self._rng.randrange(1, 50)
        self._offsets[place] = self._offsets.get(place, 1000) + step
        return self._offsets[place]

    def _decide_outsider(self) -> None:
        """A tool outside the group commits."""
        tool = Client("", f"{self.group.name}-admin-{len(self.written.decided)}", 0)
        self._decide(tool, self._request(tool, -1, self.group.places))

    def _decide_gone(self) -> None:
        """A client of the previous life commits to a group that was deleted."""
        client = Client(uuid_text(self._rng.randbytes(16)), f"{self.group.name}-gone", 0)
        self._decide(client, self._request(client, 4, self.group.places))

    def _decide(self, client: Client, request: Request) -> None:
        if len(self.written.decided) == self._wanted:
            return
        self._tick(step=False)
        by_name = self._rng.random() < self.mix.by_name
        error, parts = self.group.decide(request)
        if error == NONE:
            self._write(self.group.commit_records(parts, self.now, by_name=by_name))
        took = self._rng.uniform(0.3, 4.0)
        done = self.now + int(self._rng.random() * took)
        self.written.decided.append(
            Decided(
                self.group.name,
                request,
                client.number,
                9 if by_name else 10,
                took,
                done,
                error,
                tuple(parts),
            )
        )
