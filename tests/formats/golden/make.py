"""Write generated.jsonl: random messages of every record type and version, serialised by Kafka's own classes.

Run by hand when the schema table grows; needs a JDK (jshell) and the jars:

    python tests/formats/golden/make.py .jars/kafka-4.4.0 tests/formats/golden/generated.jsonl

Each line: record, part, version, fields (Kafka's JSON form, tagged fields at their default left out), hex
(the bytes behind the framing of keys and values). Message classes that the jars do not have are named.
"""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).resolve().parents[3] / "spark" / "fencepost" / "formats" / "schemas"
INSTANCES = 3
PACKAGES = {
    "consumer_offsets": ("org.apache.kafka.coordinator.group.generated.", True),
    "share_group_state": ("org.apache.kafka.coordinator.share.generated.", True),
    "transaction_state": ("org.apache.kafka.coordinator.transaction.generated.", True),
    "cluster_metadata": ("org.apache.kafka.common.metadata.", False),
    "control_records": ("org.apache.kafka.common.message.", False),
    "consumer_protocol": ("org.apache.kafka.common.message.", False),
}
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXTS = ["", "g", "orders-π", 'quo"te\n', "𝕂afka 'group'", "x" * 130]

JAVA = """
import java.nio.file.*; import java.util.*;
import com.fasterxml.jackson.databind.*;
import org.apache.kafka.common.protocol.*;
void convert(String line, List<String> out) throws Exception {
  String[] part = line.split("\\t", 3);
  short version = Short.parseShort(part[1]);
  try {
    Class<?> converter = Class.forName(part[0] + "JsonConverter");
    JsonNode json = new ObjectMapper().readTree(part[2]);
    var read = converter.getMethod("read", JsonNode.class, short.class);
    Message message = (Message) read.invoke(null, json, version);
    java.nio.ByteBuffer bytes = MessageUtil.toByteBufferAccessor(message, version).buffer();
    byte[] raw = new byte[bytes.remaining()]; bytes.get(raw);
    out.add(HexFormat.of().formatHex(raw));
  } catch (Exception e) { out.add("! " + (e.getCause() == null ? e : e.getCause())); }
}
List<String> out = new ArrayList<>();
for (String line : Files.readAllLines(Path.of("IN"))) convert(line, out);
Files.write(Path.of("OUT"), out);
/exit
"""


def inside(version: int, versions: str) -> bool:
    """Whether Kafka's version range notation covers ``version``."""
    if versions == "none":
        return False
    first, _, last = versions.removesuffix("+").partition("-")
    return int(first) <= version and (versions.endswith("+") or version <= int(last or first))


def value(kind: str, rng: random.Random) -> Any:
    """A random value of a base type, in Kafka's JSON form."""
    if kind in BITS:
        top = 2 ** (BITS[kind] - 1)
        return rng.choice([0, -1, 1, top - 1, -top, rng.randrange(-top, top)])
    if kind == "uuid":
        return base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=")
    if kind == "bytes":
        return base64.b64encode(rng.randbytes(rng.choice([0, 1, 40]))).decode()
    if kind == "string":
        return rng.choice(TEXTS)
    return {"bool": rng.random() < 0.5, "uint16": rng.randrange(65536), "float64": rng.uniform(-1e9, 1e9)}[
        kind
    ]


def fields(specs: list[Any], structs: dict[str, Any], version: int, rng: random.Random) -> dict[str, Any]:
    """Random fields of one struct at one version."""
    made: dict[str, Any] = {}
    for spec in specs:
        tagged = inside(version, spec.get("taggedVersions", "none"))
        if not inside(version, spec.get("versions", spec.get("taggedVersions"))) or (
            tagged and rng.random() < 0.4
        ):
            continue
        name = spec["name"][0].lower() + spec["name"][1:]
        nullable = inside(version, spec.get("nullableVersions", "none"))
        if nullable and rng.random() < 0.3:
            made[name] = None
        elif spec["type"].startswith("[]"):
            made[name] = [one(spec, structs, version, rng) for _ in range(rng.choice([0, 1, 3]))]
        else:
            made[name] = one(spec, structs, version, rng)
        if tagged and (made[name] == spec.get("default", object()) or made[name] in (0, False)):
            del made[name]
    return made


def one(spec: Any, structs: dict[str, Any], version: int, rng: random.Random) -> Any:
    """One value, or one element of an array."""
    base = spec["type"].removeprefix("[]")
    inner = spec.get("fields") or structs.get(base)
    return value(base, rng) if inner is None else fields(inner, structs, version, rng)


def messages() -> Iterator[dict[str, Any]]:
    """Every record, part and version with random fields."""
    rng = random.Random(20)
    for file, (package, suffixed) in PACKAGES.items():
        for record in json.loads((SCHEMAS / f"{file}.json").read_text())["records"]:
            for part in ("key", "value"):
                if part not in record:
                    continue
                message = record[part]
                first, _, last = message["versions"].partition("-")
                kafka = record.get("schema", record["name"]) + (part.capitalize() if suffixed else "")
                for version in range(int(first), int(last or first) + 1):
                    for _ in range(INSTANCES):
                        made = fields(message["fields"], message.get("structs", {}), version, rng)
                        case = {"record": record["name"], "part": part, "version": version, "fields": made}
                        yield {"class": package + kafka, **case}


def main() -> None:
    """Serialise through jshell and write the file."""
    jars, target = Path(sys.argv[1]), Path(sys.argv[2])
    cases = list(messages())
    with tempfile.TemporaryDirectory() as scratch:
        given, script, answers = (Path(scratch) / name for name in ("in", "run.jsh", "out"))
        lines = [f"{case.pop('class')}\t{case['version']}\t{json.dumps(case['fields'])}" for case in cases]
        given.write_text("\n".join(lines))
        script.write_text(JAVA.replace("IN", str(given), 1).replace('"OUT"', f'"{answers}"'))
        path = ":".join(str(jar) for jar in sorted(jars.glob("*.jar")))
        subprocess.run(["jshell", "--class-path", path, str(script)], check=True, stdout=subprocess.DEVNULL)
        hexes = answers.read_text().splitlines()
    with target.open("w") as out:
        for case, answer in zip(cases, hexes, strict=True):
            if answer.startswith("!"):
                sys.stderr.write(
                    f"left out {case['record']} {case['part']} v{case['version']}: {answer[2:]}\n"
                )
                continue
            out.write(json.dumps({**case, "hex": answer}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
