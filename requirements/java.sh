#!/usr/bin/env bash
# Java 17 or newer must be there: Spark, Kafka and TLC run on it. Installs it from Debian's packages when it is missing.
set -euo pipefail

version() { java -version 2>&1 | sed -nE '1,3s/.*version "([0-9]+).*/\1/p' | head -n 1; }

found=$(command -v java >/dev/null && version || true)
if [ -n "$found" ] && [ "$found" -ge 17 ] && [ "$found" -lt 22 ]; then exit 0; fi

why="Spark needs Java 17 (17 to 21); found: ${found:-none}."
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "$why Install a Java 17 runtime with your system's packages (Debian: apt-get install openjdk-17-jre-headless) and run this again." >&2
  exit 1
fi
echo "$why Installing openjdk-17-jre-headless from the system's packages ..."
log=$(mktemp)
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  echo "Java 17 could not be installed (log above). Install openjdk-17-jre-headless by hand and run this again." >&2
  exit 1
fi
if [ "$(version)" != 17 ]; then
  echo "Java 17 is installed but 'java' is still version $(version): put it first on PATH (update-alternatives --config java)." >&2
  exit 1
fi
