"""``make plays``: random plays on real brokers, judged by oracles.

    python -m plays.run play --plays 200 --seed 1       # or --seconds 3600
    python -m plays.run replay SCRIPT.jsonl             # give a written script again, and judge it
    python -m plays.run shrink SCRIPT.jsonl --fault O2:no_sequence_gap
    python -m plays.run judge FOLDER ...                # judge performances that were kept
    python -m plays.run store FOLDER                    # keep a performance in tests/plays/recorded
    python -m plays.run show --seed 7                   # the steps of a seed

The folder ``--work`` keeps every performance with a fault: its script, the account, the brokers' files.
Exit code 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock

from brokers import LabError
from plays.judging import WAYS, Judgement, Way, in_pieces, judge_all, keep_faults, with_holes
from plays.making import STEPS, make
from plays.oracles.case import Fault
from plays.oracles.unknowns import Unknowns
from plays.recordings import store
from plays.script import Script, read
from plays.shrink import plays_of, shrink
from plays.stage import Performance, perform

_PLAYS, _CLUSTERS = 15, 18  # on one cluster, and in one lake: an audit costs 20 CPU s, and 2 for each cluster
_STAGES = 4  # clusters at once; most of a play is waiting


class Season:
    """Plays of many seeds: clusters are given one after the other, while the ones before are judged."""

    def __init__(self, work: Path, options: argparse.Namespace) -> None:
        self.work, self.options = work, options
        self.faults: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.begun = time.monotonic()
        self.unknowns = Unknowns()
        self._lock = Lock()

    def run(self) -> int:
        """Until the number of plays, or the time, is reached; the number of faults."""
        with ThreadPoolExecutor(_STAGES) as stages, ThreadPoolExecutor(1) as judges:
            judging: Future[None] | None = None
            given: list[Performance] = []
            for performance in self._performances(stages):
                given.append(performance)
                if len(given) == _CLUSTERS:
                    judging = self._after(judging, judges, given)
                    given = []
            if given:
                judging = self._after(judging, judges, given)
            if judging is not None:
                judging.result()
        for fault in self.unknowns.faults():
            self._note(fault)
        self._say()
        return sum(self.faults.values())

    def _after(
        self, judging: Future[None] | None, judges: Executor, given: list[Performance]
    ) -> Future[None]:
        """Judge these when the ones before are judged; clusters are given no faster than they are judged."""
        if judging is not None:
            judging.result()
        return judges.submit(self._judge, given)

    def _performances(self, stages: Executor) -> Iterator[Performance]:
        """As they end, some clusters at once."""
        scripts = self._scripts()
        running = {stages.submit(self._perform, each) for each in itertools.islice(scripts, _STAGES)}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {stages.submit(self._perform, each) for each in itertools.islice(scripts, len(ended))}
            yield from (found for each in ended if (found := each.result()) is not None)

    def _scripts(self) -> Iterator[Script]:
        left = self.options.plays
        for seed in itertools.count(self.options.seed):
            if left <= 0 or self._is_late():
                return
            script = make(seed, min(_PLAYS, left), self.options.steps, self.options.release)
            left -= _PLAYS
            yield script.of(step for step in script.steps if step["op"] not in self.options.without)

    def _is_late(self) -> bool:
        seconds = self.options.seconds
        return seconds is not None and time.monotonic() - self.begun > seconds

    def _perform(self, script: Script) -> Performance | None:
        begun, used = time.monotonic(), time.thread_time()
        self._count(
            plays=len({step["play"] for step in script.steps if "play" in step}),
            steps=len(script.steps),
            clusters=1,
        )
        started = time.time()
        performance = self._try(script) or self._try(script)
        if performance is None:
            self.faults["stage"] += 1
            return None
        facts = performance.facts
        events = Counter(fact["event"] for fact in facts)
        counted = ("request", "down", "cast", "cast_missing", "copied", "step_failed")
        self._count({name: events[name] for name in counted})
        self._count(players_cpu_s=round(time.thread_time() - used))
        setting, took = script.setting, time.monotonic() - begun
        up = (facts[0]["ts_ms"] / 1000 - started) if facts else 0.0
        failed = f"{events['step_failed']} steps failed" if events["step_failed"] else "all steps done"
        told = f"{events['request']} requests, {failed}, {took:.0f} s ({up:.0f} to start)"
        cluster = f"{setting.release} tv{setting.transaction_version} x{setting.brokers}"
        print(f"{script.name}: {told}; {cluster} {' '.join(setting.options)}", flush=True)
        return performance

    def _try(self, script: Script) -> Performance | None:
        """None if the cluster failed, which is no fault of the audit: a port was taken, say."""
        try:
            return perform(script, self.work / "clusters" / script.name)
        except Exception:
            print(f"{script.name}: the cluster failed: {traceback.format_exc()[-900:]}", flush=True)
            return None

    def _judge(self, given: list[Performance]) -> None:
        begun, used = time.monotonic(), time.thread_time()
        found = judge_all(given, self.work / "lake", WAYS)
        self._count(audits=found.audits, audit_cpu_s=round(found.cpu_s))
        self._keep(given, found)
        for fault in self.unknowns.add(found.cases):
            self._note(fault)
        self._count(judge_cpu_s=round(time.thread_time() - used))
        print(
            f"judged {', '.join(found.faults)}: {found.cpu_s:.0f} CPU s, {time.monotonic() - begun:.0f} s; "
            f"{self.counts['plays']} plays played, {sum(self.faults.values())} faults",
            flush=True,
        )

    def _note(self, fault: Fault) -> None:
        """A fault that is of no cluster alone."""
        print(f"  {json.dumps(fault)}", flush=True)
        self.faults[fault["fault"]] += 1
        with (self.work / "faults.jsonl").open("a") as out:
            out.write(json.dumps(fault) + "\n")

    def _keep(self, given: list[Performance], found: Judgement) -> None:
        for performance in given:
            faults = found.faults[performance.script.name]
            names = Counter(fault["fault"] for fault in faults)
            self.faults.update(names)
            with (self.work / "faults.jsonl").open("a") as out:
                for fault in faults:
                    out.write(json.dumps({"cluster": performance.script.name, **fault}, default=str) + "\n")
            if faults:
                keep_faults(performance, faults)
                print(f"  {performance.script.name}: {dict(names)}", flush=True)
            elif not self.options.keep:
                shutil.rmtree(performance.home)

    def _count(self, *counted: Mapping[str, int], **more: int) -> None:
        with self._lock:
            self.counts.update(*counted, **more)

    def _say(self) -> None:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu = sum(each.ru_utime + each.ru_stime for each in used)
        plays, seconds = max(self.counts["plays"], 1), time.monotonic() - self.begun
        self.counts["brokers_and_clients_cpu_s"] = round(
            used[1].ru_utime + used[1].ru_stime - self.counts["audit_cpu_s"]
        )
        (self.work / "unknown.json").write_text(json.dumps(self.unknowns.shares(), indent=1))
        print(dict(self.counts))
        print(f"{seconds:.0f} s, {cpu:.0f} CPU s; a play {seconds / plays:.1f} s, {cpu / plays:.1f} CPU s")
        print("\n".join(f"{count:6} {name}" for name, count in self.faults.most_common()) or "no fault")


class Finder:
    """Gives a script and judges it, by default in all ways."""

    def __init__(self, work: Path, ways: Sequence[Way] = WAYS) -> None:
        self.work, self.ways = work, ways

    def __call__(self, script: Script) -> list[Fault]:
        """Its faults. Raises ``LabError`` if the cluster failed twice."""
        home = self.work / "again" / script.name
        try:
            performance = perform(script, home)
        except LabError:
            performance = perform(script, home)
        faults = judge_all([performance], self.work / "again-lake", self.ways).faults[script.name]
        keep_faults(performance, faults)
        return faults


def _tell(faults: list[Fault]) -> int:
    for fault in faults:
        print(json.dumps(fault, default=str)[:1500])
    print(dict(Counter(fault["fault"] for fault in faults)) or "no fault")
    return len(faults)


def _shrink(options: argparse.Namespace, work: Path) -> int:
    script = read(options.files[0])
    kept = options.files[0].with_name("faults.jsonl")
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    named: Fault = next((f for f in known if f["fault"] == options.fault), {})
    plays = sorted(plays_of(named)) if named else []
    target = work / f"small-{script.name}-{options.fault.replace(':', '-')}.jsonl"
    target.unlink(missing_ok=True)
    ways = [way for name, way in (("O6", in_pieces), ("O9", with_holes)) if options.fault.startswith(name)]
    smaller = shrink(script, options.fault, Finder(work, ways), options.seconds or 1800, plays)
    for small in smaller:
        small.write(target)
        print(f"{len(small.steps)} steps: {target}", flush=True)
    if not target.exists():
        print(f"{options.fault} did not show again: give the script to replay some times")
    return int(not target.exists())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("command", choices=["play", "replay", "shrink", "judge", "store", "show"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--work", type=Path, default=Path(".fencepost/plays"))
    parser.add_argument("--plays", type=int, default=1 << 31)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS, help="of one play")
    parser.add_argument("--release", help="of the brokers; else drawn")
    parser.add_argument(
        "--without", nargs="*", default=[], help="kinds of steps to leave out, of known faults say"
    )
    parser.add_argument("--fault", help="to shrink: its name, as it was printed")
    parser.add_argument("--keep", action="store_true", help="keep performances without faults, too")
    options = parser.parse_args(arguments)
    work = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    if options.command == "show":
        for step in make(options.seed, 1, options.steps, options.release).steps:
            print(json.dumps(step))
        return 0
    if options.command == "play":
        return int(Season(work, options).run() > 0)
    if options.command == "replay":
        return int(_tell(Finder(work)(read(options.files[0]))) > 0)
    if options.command == "shrink":
        return _shrink(options, work)
    if options.command == "store":
        performance = Performance(options.files[0].absolute())
        print(store(performance, performance.script.name))
        return 0
    found = judge_all([Performance(file.absolute()) for file in options.files], work / "lake", WAYS)
    return int(sum(_tell(faults) for faults in found.faults.values()) > 0)


if __name__ == "__main__":
    sys.exit(main())
