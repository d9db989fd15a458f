"""Makes scripts from a seed: a cluster, and plays that are told in turns.

A play is a few *phrases*, told in turns, too. A phrase is a legal story of one client with a few mutations: a
stale epoch, a gap in the sequences, a second instance, an operator who steps in.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from plays import names
from plays.script import Script, Setting, Step

STEPS = 60
_AT_ONCE = 3
_PHRASES = 4
_HOSTILE = 0.3  # of plays: names as hostile as Kafka takes them
_CASTS = 0.4  # of clusters: real clients from the begin
_THREE = 0.18  # of clusters: three brokers
_CLOCKS = 0.15  # of clusters: brokers with wrong clocks
_AHEAD_S = (0.0, 0.0, 0.4, -0.4, 3.0, -3.0, 30.0, -30.0, 700.0, 3600.0, -3600.0)
MAKERS = (
    "java-consumer",
    "java-classic",
    "java-producer",
    "java-hurried",
    "librdkafka",
    "kafka-python",
    "aiokafka",
    "franz",
    "streams",
    "streams-classic",
    "streams-eos",
)
"""Real clients that a play may have beside requests by schema."""


def make(seed: int, plays: int, steps: int = STEPS, release: str | None = None) -> Script:
    """The script of a seed: ``plays`` plays of about ``steps`` steps on one cluster."""
    rng = random.Random(seed)
    setting = draw_setting(rng, release)
    waiting = [Play(rng, setting, f"p{number}", steps).tell() for number in range(1, plays + 1)]
    told: list[Step] = []
    if rng.random() < _CASTS:
        told += [draw_cast(rng, setting) for _ in range(rng.choice([1, 2]))]
    while waiting:
        chosen = rng.choice(waiting[:_AT_ONCE])
        step = next(chosen, None)
        if step is None:
            waiting.remove(chosen)
        else:
            told.append(step)
    script = Script(f"s{seed}", setting, told)
    own = random.Random(f"clocks of {seed}")
    return with_clocks(script, own) if own.random() < _CLOCKS else script


def with_clocks(script: Script, rng: random.Random) -> Script:
    """The same on brokers whose clocks differ, some of which are set while they run."""
    brokers = script.setting.brokers
    setting = replace(script.setting, ahead_s=tuple(rng.choice(_AHEAD_S) for _ in range(brokers)))
    told = [*script.steps]
    for _ in range(rng.choice([0, 1, 2, 4])):
        step = {"op": "clock", "broker": rng.randint(1, brokers), "ahead_s": rng.choice(_AHEAD_S)}
        told.insert(rng.randrange(len(told) + 1), step)
    return replace(script, setting=setting, steps=told)


def draw_setting(rng: random.Random, release: str | None = None) -> Setting:
    """A cluster: mostly one broker of the newest release with few surprises."""
    chosen = rng.choices(["4.4.0", "4.3.1", "4.2.1", "3.9.2"], [5, 3, 2, 2])[0]
    release = release or chosen
    options = [
        name
        for name, share in (
            ("short_sessions", 0.15),
            ("short_timeouts", 0.2),
            ("expiring_ids", 0.1),
            ("unverified", 0.12),
        )
        if rng.random() < share
    ]
    settings: dict[str, object] = {
        "group.min.session.timeout.ms": 1000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
        "producer.id.expiration.check.interval.ms": 500,
    }
    if "expiring_ids" in options:
        settings["transactional.id.expiration.ms"] = 4000
        settings["transaction.remove.expired.transaction.cleanup.interval.ms"] = 1000
    if "unverified" in options:
        settings["transaction.partition.verification.enable"] = "false"
    if rng.random() < 0.2:
        settings["group.consumer.migration.policy"] = rng.choice(["disabled", "upgrade", "downgrade"])
    brokers = 3 if rng.random() < _THREE else 1
    if brokers > 1:
        settings |= {
            "transaction.state.log.replication.factor": 3,
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            "replica.lag.time.max.ms": 3000,
        }
        if rng.random() < 0.5:
            options.append("unclean")
            settings["unclean.leader.election.enable"] = "true"
    version = rng.choices([2, 1], [3, 1])[0] if release >= "4" else 0
    return Setting(release, version, brokers, settings, tuple(options))


def draw_cast(rng: random.Random, setting: Setting) -> Step:
    """Real clients of one maker. Kafka Streams of 4.2 is not among the jars."""
    has_streams = not setting.release.startswith("4.2")
    makers = [maker for maker in MAKERS if has_streams or not maker.startswith("streams")]
    return {"op": "cast", "maker": rng.choice(makers), "s": rng.choice([5, 8])}


class Play:
    """Makes the steps of one play."""

    def __init__(self, rng: random.Random, setting: Setting, label: str, steps: int) -> None:
        self.rng, self.setting, self.label, self.steps = rng, setting, label, steps
        self.topics = {f"{name}-{label}": rng.choice([1, 2, 3]) for name in "abc"[: rng.choice([2, 3])]}
        inside = ""
        if self.chance(_HOSTILE):
            inside = names.fragment(rng)
            self.topics[names.topic(rng, "c", label)] = 2
        kinds = {"k": 2} | ({"c": 2} if setting.is_new else {})
        kinds |= {"s": 1, "h": 1} if setting.release >= "4.2" else {}
        self.groups = [f"{kind}{n}{inside}-{label}" for kind, count in kinds.items() for n in range(count)]
        ids = [f"x{n}{inside}-{label}" for n in range(3)]
        self.ids = {x: setting.transaction_version < 2 or self.chance(0.25) for x in ids}
        self.writers = [f"i{n}{inside}-{label}" for n in range(2)]
        self.wild = rng.choice([0, 0.5, 1, 2])  # how often a client does what it should not
        self.theme = rng.choice([None, self.transaction, self.classic, self.member, self.world])

    def tell(self) -> Iterator[Step]:
        """Its steps; the last one asks Kafka about everything in it."""
        for topic, partitions in self.topics.items():
            yield self.labelled({"op": "create", "topic": topic, "parts": partitions})
        telling: list[Iterator[Step]] = []
        for _ in range(self.steps):
            telling += [self.phrase() for _ in range(_PHRASES - len(telling))]
            told = self.rng.choice(telling)
            step = next(told, None)
            if step is None:
                telling.remove(told)
            else:
                yield self.labelled(step)
        yield self.labelled({"op": "ask"})

    def labelled(self, step: Step) -> Step:
        return {"play": self.label, **step}

    def phrase(self) -> Iterator[Step]:
        kinds = {
            self.transaction: 9.0,
            self.classic: 6.0,
            self.idempotent: 3.0,
            self.reads: 2.0,
            self.world: 1.6,
        }
        if self.setting.is_new:
            kinds[self.member] = 7.0
        if self.theme in kinds:
            kinds[self.theme] *= 3
        (kind,) = self.rng.choices(list(kinds), list(kinds.values()))
        return kind()

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def group(self, kinds: str) -> str:
        """A group of one of these kinds; seldom one of another, which is then converted or mixed."""
        if self.setting.is_new and self.chance(0.1) and kinds in "kc":
            kinds = "kc".replace(kinds, "")
        return self.rng.choice([g for g in self.groups if g[0] in kinds])

    def place(self) -> dict[str, Any]:
        topic = self.rng.choice(list(self.topics))
        return {"topic": topic, "p": self.rng.randrange(self.topics[topic])}

    def some_topics(self) -> list[str]:
        return sorted(self.rng.sample(list(self.topics), self.rng.choice([1, 2, 2])))

    def epoch(self, wrong: float) -> str:
        return self.rng.choice(["stale", "stale", "next"]) if self.chance(wrong * self.wild) else "current"

    def sequence(self) -> str:
        return self.rng.choice(["gap", "again", "zero"]) if self.chance(0.1 * self.wild) else "next"

    def transaction(self) -> Iterator[Step]:
        """A producer's transactions, to which an operator, another instance or an administrator may come."""
        rng, x = self.rng, self.rng.choice(list(self.ids))
        who: Step = {"x": x, "inst": int(self.chance(0.2)), "old": self.ids[x]}
        short = "short_timeouts" in self.setting.options and self.chance(0.5)
        timeout = rng.choice([1500, 3000]) if short else 60_000
        give = rng.choice(["fresh"] * 3 + ["keep"] * 4 + ["current", "stale"])
        yield {"op": "init", **who, "give": give, "timeout": timeout}
        for _ in range(rng.choice([1, 1, 2, 3])):
            places = [self.place() for _ in range(rng.choice([1, 1, 2, 3]))]
            for place in places:
                if who["old"] and not ("unverified" in self.setting.options and self.chance(0.3)):
                    yield {"op": "add", **who, **place, "epoch": self.epoch(0.06)}
                size, epoch, sequence = rng.randint(1, 4), self.epoch(0.08), self.sequence()
                yield {"op": "write", **who, **place, "n": size, "epoch": epoch, "seq": sequence}
            if self.chance(0.3):
                member = {"g": self.group("kcs"), "m": rng.choice(["m0", "m1", None])}
                generation = rng.choice(["current"] * 4 + ["none", "stale"])
                yield {
                    "op": "offsets",
                    **who,
                    **member,
                    **self.place(),
                    "gen": generation,
                    "off": rng.randrange(50),
                }
            if self.chance(0.09 * self.wild):
                yield from self.operator(who, rng.choice(places))
            if self.chance(0.07 * self.wild):
                yield {"op": "fence", "x": x, "admin": rng.choice(["adminclient-1", "connect-worker-1"])}
            if self.chance(0.1 * self.wild):
                yield {"op": "init", **who, "inst": 1 - who["inst"], "give": "fresh", "timeout": 60_000}
            if self.chance(0.1):
                return  # left open
            commit = self.chance(0.7)
            end = {
                "op": "end",
                **who,
                "commit": commit,
                "epoch": self.epoch(0.08),
                "other": self.chance(0.1 * self.wild),
            }
            yield end
            if self.chance(0.15 * self.wild):
                again = commit if self.chance(0.7) else not commit
                yield {
                    **end,
                    "commit": again,
                    "epoch": rng.choice(["current", "stale"]),
                    "other": self.chance(0.4),
                }

    def operator(self, who: Step, place: Step) -> Iterator[Step]:
        """An operator ends a transaction in one partition; its producer may write on."""
        told = {"commit": self.chance(0.3), "epoch": self.epoch(0.2), "coordinator": self.rng.choice([-1, 0])}
        yield {"op": "marker", **who, **place, **told}
        if self.chance(0.5):
            size = self.rng.randint(1, 4)
            yield {"op": "write", **who, **place, "n": size, "epoch": "current", "seq": "next"}

    def idempotent(self) -> Iterator[Step]:
        """A producer without a transactional id, which may raise its own epoch."""
        who = {
            "x": self.rng.choice(self.writers),
            "inst": 0,
            "old": not self.setting.is_new,
        }
        yield {"op": "init", **who, "give": self.rng.choice(["keep"] * 3 + ["fresh"]), "timeout": 60_000}
        place = self.place()
        for _ in range(self.rng.randint(2, 5)):
            epoch = "bump" if self.chance(0.1) else self.epoch(0.06)
            where = place if self.chance(0.8) else self.place()
            yield {
                "op": "write",
                **who,
                **where,
                "n": self.rng.randint(1, 3),
                "epoch": epoch,
                "seq": self.sequence(),
            }

    def classic(self) -> Iterator[Step]:
        """A member of a classic group: it joins, the group rebalances, members commit and leave."""
        rng, g = self.rng, self.group("k")
        m = rng.choice(["m0", "m1", "m2"])
        short = "short_sessions" in self.setting.options and self.chance(0.3)
        joining = {
            "static": self.chance(0.25),
            "new": self.chance(0.12),
            "session": 1500 if short else 30_000,
        }
        yield {"op": "kjoin", "g": g, "m": m, **joining, "topics": self.some_topics()}
        yield {"op": "kround", "g": g}
        for _ in range(rng.randint(1, 4)):
            act = rng.choices(["commit", "kbeat", "kround", "ksync", "fetchoff"], [6, 2, 2, 1, 1])[0]
            yield self.act(act, g, rng.choice([m, m, "m0", "m1"]))
        if self.chance(0.3):
            yield {"op": "kleave", "g": g, "m": m, "silent": self.chance(0.25)}
            yield self.act("commit", g, m)
        if self.chance(0.12 * self.wild):
            yield {"op": "delgroup", "g": g}

    def member(self) -> Iterator[Step]:
        """A member of a consumer, streams or share group: it heartbeats, commits and leaves."""
        rng = self.rng
        g = self.group(rng.choice(["c"] * 4 + ["s", "s", "h"]) if self.setting.release >= "4.2" else "c")
        m = rng.choice(["m0", "m1", "m2"])
        how = {"op": "beat", "g": g, "topics": self.some_topics(), "static": False, "new": False, "ack": True}
        yield {**how, "m": m, "as": "join", "static": self.chance(0.25), "new": self.chance(0.15)}
        for _ in range(rng.randint(3, 8)):
            n = rng.choice([m, m, "m0", "m1", "m2"])
            act = rng.choices(["beat", "commit", "fetchoff", "subscribe"], [7, 6, 1, 0.6])[0]
            if act == "beat" or (g[0] == "h" and act != "subscribe"):
                kind = rng.choices(
                    ["current", "stale", "future", "join"], [12, 0.7 * self.wild, 0.5 * self.wild, 0.5]
                )[0]
                yield {**how, "m": n, "as": kind, "ack": self.chance(0.75)}
            elif act == "subscribe":
                yield {**how, "m": n, "as": "current", "subscribe": True}
            else:
                yield self.act(act, g, n)
        if self.chance(0.35):
            yield {**how, "m": m, "as": rng.choice(["leave", "leave", "away"])}
            if g[0] != "h":
                yield self.act("commit", g, m)
        if self.chance(0.08 * self.wild):
            yield {"op": "delgroup", "g": g}

    def act(self, act: str, g: str, m: str) -> Step:
        rng = self.rng
        if act == "commit":
            own = rng.choices(["own", "anothers", "any"], [6, 2 * self.wild, 2 * self.wild])[0]
            epoch = rng.choices(
                ["current", "stale", "future", "none"], [8, 2 * self.wild, 0.6 * self.wild, 0.7]
            )[0]
            content = {"off": rng.randrange(100), "epoch": epoch, "v": rng.choice([7, 8, 9, 10, 10])}
            return {"op": "commit", "g": g, "m": m, "own": own, **self.place(), **content}
        if act == "kbeat":
            return {
                "op": "kbeat",
                "g": g,
                "m": m,
                "epoch": rng.choices(["current", "stale"], [8, self.wild])[0],
            }
        if act == "fetchoff":
            who = m if self.chance(0.5) else None
            return {"op": "fetchoff", "g": g, "m": who, "stable": self.chance(0.5), **self.place()}
        return {"op": act, "g": g, "m": m}

    def reads(self) -> Iterator[Step]:
        """A reader: lists offsets, fetches by id and by name; and records that no producer id has."""
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            place = self.place()
            whence = rng.choice(["start", "middle", "end", "beyond"])
            by = rng.choice(["id", "id", "old id", "name"])
            yield rng.choice(
                [
                    {"op": "list", **place, "iso": rng.randint(0, 1), "at": rng.choice([-1, -2])},
                    {"op": "fetch", **place, "iso": rng.randint(0, 1), "by": by, "from": whence},
                    {"op": "fill", **place, "n": rng.randint(1, 6), "by": rng.choice(["id", "name"])},
                    {"op": "offdel", "g": self.group("kcs"), **place},
                ]
            )

    def world(self) -> Iterator[Step]:
        """What happens around the clients: topics, configuration, brokers, time."""
        phrases = {
            self.recreate: 3,
            self.event: 4,
            self.expire: 0.6,
            self.sleep: 2,
            self.lose: 0.06,
            self.cast: 0.35,
        }
        if self.setting.brokers > 1:
            phrases |= {self.outage: 3.0, self.move: 3.5}
        else:
            phrases |= {self.restart: 0.5}
        (phrase,) = self.rng.choices(list(phrases), list(phrases.values()))
        return phrase()

    def recreate(self) -> Iterator[Step]:
        """A topic is deleted, and another of the same name created."""
        topic = self.rng.choice(list(self.topics))
        yield {"op": "delete", "topic": topic}
        if self.chance(0.5):
            yield {"op": "sleep", "s": 0.3}
        yield {"op": "create", "topic": topic, "parts": self.topics[topic]}

    def event(self) -> Iterator[Step]:
        """Records are deleted, partitions added, live directories copied."""
        place = self.place()
        at = self.rng.choice(["middle", "end", "stable"])
        steps = [
            {"op": "truncate", **place, "at": at},
            {"op": "grow", "topic": place["topic"], "by": 1},
            {"op": "copy"},
        ]
        yield from self.rng.choices(steps, [6, 3, 1])

    def expire(self) -> Iterator[Step]:
        """Producers' state expires soon, or late again."""
        ms = self.rng.choice([1500, 86_400_000])
        yield {"op": "config", "name": "producer.id.expiration.ms", "value": str(ms)}
        if ms < 10_000:
            yield {"op": "sleep", "s": 2.5}

    def sleep(self) -> Iterator[Step]:
        yield {"op": "sleep", "s": self.rng.choice([0.2, 1.0, 3.5])}

    def lose(self) -> Iterator[Step]:
        """A coordinator's topic is deleted, and made again by the next request."""
        yield {"op": "lose", "topic": self.rng.choice(["__transaction_state", "__consumer_offsets"])}
        yield {"op": "sleep", "s": 2.0}

    def cast(self) -> Iterator[Step]:
        yield draw_cast(self.rng, self.setting)

    def restart(self) -> Iterator[Step]:
        yield {"op": "restart", "how": self.rng.choice(["stop", "kill"])}

    def move(self) -> Iterator[Step]:
        """A leader is elected, or a partition moved to other brokers."""
        place = self.place()
        elect = {"op": "elect", **place, "unclean": self.chance(0.3)}
        yield self.rng.choice([elect, {"op": "reassign", **place, "to": self.rng.sample([1, 2, 3], 2)}])

    def outage(self) -> Iterator[Step]:
        """One of three brokers is away for a while: stopped, killed or paused."""
        broker, how = self.rng.randint(1, 3), self.rng.choice(["stop", "kill", "kill", "pause"])
        yield {"op": "down", "broker": broker, "how": how}
        if self.chance(0.6):
            yield {"op": "sleep", "s": self.rng.choice([1.0, 4.0])}
        yield {"op": "up", "broker": broker}
